"""Specification of the infra card: what it states, what it admits, when two of them match."""

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from sqlalchemy import Engine

from infranoise.analysis.card import card
from infranoise.analysis.card_check import differences, lacks, match
from infranoise.analysis.read_ledger import read_study
from infranoise.analysis.render.card_markdown import card_markdown
from infranoise.analysis.run_facts import run_facts
from infranoise.models.card import Card

SCHEMA = Path(__file__).parents[2] / "docs" / "card.schema.json"


@pytest.fixture
def own(make_ledger: Callable[..., Engine]) -> Card:
    study = read_study(make_ledger())
    return card(study, run_facts(study))


def test_a_card_of_ours_states_what_a_reader_needs(own: Card) -> None:
    assert [band.name for band in own.bands] == ["1x", "2x", "uncapped"]
    assert own.bands[0].memory is not None
    assert (own.bands[0].memory.floor, own.bands[2].memory and own.bands[2].memory.ceiling) == (
        1.0, "uncapped",
    )  # fmt: skip
    assert (own.concurrency, own.egress, own.time_limits) == (("2",), ("none",), ("1",))
    assert own.nodes[0].trials == own.trials_ended
    assert own.limits_not_in_force == ("cpu floor: not in force",)
    assert own.excluded == ("suite/z: no verifier",)
    errors = {row.band: row for row in own.infra_errors}
    assert errors["1x"].causes == {"oom_killed": errors["1x"].infra_errors}
    assert errors["2x"].rate_without_collateral < errors["2x"].rate
    assert own.seed == 20260205
    assert all(own.tasks.values())
    assert lacks(own) == ()


def test_the_published_schema_is_that_of_the_card_and_the_card_fits_it(own: Card) -> None:
    published = json.loads(SCHEMA.read_text())
    assert published == Card.model_json_schema()
    jsonschema.validate(json.loads(own.model_dump_json()), published)


def test_a_card_survives_its_file(own: Card) -> None:
    assert Card.model_validate_json(own.model_dump_json()) == own


def test_the_document_says_the_same_and_cannot_be_steered(own: Card) -> None:
    evil = own.model_copy(
        update={
            "experiment": "a|b<script>\x1b[2J",
            "harness": ("x\n## forged",),
        }
    )
    text = card_markdown(evil)
    assert "# Infra card: a\\|b&lt;script>" in text
    assert "\x1b" not in text
    assert "\n## forged" not in text
    assert "| 1x | 1x to 1x |" in text
    assert "## Unstated" in text


UNSTATED = {
    "floors and ceilings": {"bands": ()},
    "nodes": {"nodes": ()},
    "egress": {"egress": ()},
    "seed": {"seed": None},
    "contents of tasks": {"tasks": {"t": ""}},
    "infra error rates by cause": {"infra_errors": ()},
}


@pytest.mark.parametrize("what", UNSTATED)
def test_what_is_taken_away_is_missed(own: Card, what: str) -> None:
    poorer = own.model_copy(update=UNSTATED[what])
    assert what in [lack.what for lack in lacks(poorer)]
    assert what not in [lack.what for lack in lacks(own)]


def test_two_cards_match_only_when_everything_that_decides_is_known_and_the_same(
    own: Card,
) -> None:
    def with_item(item: str, *values: str) -> Card:
        return own.model_copy(update={"configuration": {**own.configuration, item: values}})

    assert match(differences(own, own)) == "matched"
    assert match(differences(own, with_item("network", "public"))) == "not matched"
    assert match(differences(own, with_item("network"))) == "not known to match"
    assert match(differences(own, with_item("dates", "2030-01-01"))) == "matched"
    strange = own.model_copy(update={"tasks": {"elsewhere": "1"}})
    assert match(differences(own, strange)) == "not matched"

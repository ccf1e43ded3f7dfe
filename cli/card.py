"""`card`: the infra card of an experiment; what a card leaves unstated; whether two match."""

import json
from pathlib import Path

from pydantic import ValidationError
from rich.console import Console

from ..analysis.card import card
from ..analysis.card_check import differences, lacks, match
from ..analysis.json_values import json_value
from ..analysis.render.card_markdown import card_markdown
from ..analysis.render.card_text import differences_text, lacks_text
from ..analysis.run_facts import run_facts
from ..models.card import Card
from ..models.errors import DesignError
from .folder import cannot_write
from .sides import address_of, study_of

MARKDOWN, DOCUMENT = "infra-card.md", "infra-card.json"
MATCHES = {"matched": 0, "not matched": 4, "not known to match": 5}
UNSTATED = 7


def write_card(source: str, *, out: Path | None, as_json: bool) -> int:
    """Print the card of results; with `out`, write it there as Markdown and as JSON."""
    made = card_of(source)
    document, text = made.model_dump_json(indent=1) + "\n", card_markdown(made)
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
            (out / DOCUMENT).write_text(document, encoding="utf-8")
            (out / MARKDOWN).write_text(text, encoding="utf-8")
        except OSError as error:
            raise cannot_write(out, error) from error
    print(document if as_json else text, end="")
    return 0


def check_card(source: str, *, as_json: bool) -> int:
    """Print what a card, or results, leave unstated; 0 if nothing, else 7."""
    found = lacks(card_of(source))
    if as_json:
        print(json.dumps({"unstated": json_value(found)}, indent=1))
    else:
        Console().print(lacks_text(found))
    return UNSTATED if found else 0


def diff_cards(a: str, b: str, *, as_json: bool) -> int:
    """Print two cards, or results, side by side; 0 if they match, 4 if not, 5 if nobody knows."""
    items = differences(card_of(a), card_of(b))
    verdict = match(items)
    if as_json:
        print(json.dumps({"match": verdict, "items": json_value(items)}, indent=1))
    else:
        Console().print(differences_text(items, (Path(a).name, Path(b).name), verdict))
    return MATCHES[verdict]


def print_schema() -> int:
    """Print the JSON schema of a card."""
    print(json.dumps(Card.model_json_schema(), indent=1))
    return 0


def card_of(source: str) -> Card:
    """A card from its file, or made of results.

    Raises:
        DesignError: the file is no card.
    """
    path = Path(source)
    if path.suffix == ".json" and path.is_file() and _says_it_is_a_card(path):
        try:
            return Card.model_validate_json(path.read_bytes())
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "the card"
            raise DesignError(f"{source}: {where}: {first['msg']}") from error
    study = study_of(address_of(source))
    return card(study, run_facts(study))


def _says_it_is_a_card(path: Path) -> bool:
    with path.open("rb") as file:
        return b'"infranoise.card/' in file.read(4096)

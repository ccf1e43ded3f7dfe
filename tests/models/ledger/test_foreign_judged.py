"""Specification of judging facts: as `classify` does, however often and in whatever order."""

from typing import Any, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.models.classify import classify
from infranoise.models.evidence import Evidence, PhaseName
from infranoise.models.ledger.attempts import judgement
from infranoise.models.ledger.foreign_judged import judged_facts
from infranoise.models.tri import Tri

TRI = st.sampled_from(get_args(Tri))
PHASES = st.fixed_dictionaries(
    {"name": st.sampled_from(get_args(PhaseName)), "wall_s": st.none() | st.floats(0, 1e4)},
    optional={
        "timed_out": st.booleans(),
        "exit_code": st.sampled_from([None, 0, 1, 137]),
        "oom_kills": st.sampled_from([None, 0, 2]),
        "left_behind": st.none(),
        "lost": st.sampled_from(["", "its way broke"]),
    },
)
API = st.fixed_dictionaries({"calls": st.just(3), "unanswered_s": st.floats(0, 1e4)})
FACTS = st.fixed_dictionaries(
    {"node_seen": TRI},
    optional={
        "phases": st.lists(PHASES, max_size=3),
        "reward": st.sampled_from([None, 0.0, 0.5, 1.0]),
        "answered": TRI,
        "agent_fault": st.sampled_from(["", "it broke"]),
        "cancelled": st.sampled_from(["", "by its user"]),
        "fault": st.just({"cause": "evicted", "message": "gone"}),
        "api": API,
    },
)


@settings(max_examples=200)
@given(FACTS)
def test_facts_are_judged_as_their_evidence_is(facts: dict[str, Any]) -> None:
    outcome = classify(Evidence(**facts))
    assert judged_facts(facts) == (outcome, judgement(outcome))


def test_a_number_of_more_than_64_bits_is_judged_too() -> None:
    huge = {"cause": "unknown", "message": "", "facts": {"bytes": 10**30}}
    assert judged_facts({"fault": huge})[0].cause == "unknown"

"""The wire: JSON there and back, and a clear refusal of what we do not speak."""

import json
from collections.abc import Callable

import pytest

from infranoise.models.entry import Entry
from infranoise.models.errors import WireError
from infranoise.models.limits import Limits
from infranoise.models.message import AttemptMessage, AttemptRecord
from infranoise.models.task import Task
from infranoise.models.trial import CellKey, TrialKey


@pytest.fixture
def message(make_task: Callable[..., Task]) -> AttemptMessage:
    return AttemptMessage(
        attempt_id="a.1",
        trial_id="a",
        experiment="e",
        key=TrialKey(cell=CellKey(task="t", entry="lean", band="1x"), sample=0),
        number=1,
        task=make_task(),
        entry=Entry(agent="policy", model="lean"),
        limits=Limits(memory_floor_bytes=1, memory_ceiling_bytes=2),
        runtime="process",
        network="none",
        agent_timeout_s=1.0,
        verifier_timeout_s=1.0,
        build_timeout_s=1.0,
        seed=1,
        queued_at=0.0,
        placed_at=0.0,
        deadline_at=9.0,
    )


def test_a_message_survives_the_wire(message: AttemptMessage) -> None:
    assert AttemptMessage.decode(message.encode()) == message


def test_a_record_survives_the_wire(make_record: Callable[..., AttemptRecord]) -> None:
    record = make_record("a")
    assert AttemptRecord.decode(record.encode()) == record


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "version: .*same infranoise release"),
        ({"number": 0}, "number: "),
        ({"limits": {"memory_floor_bytes": 3, "memory_ceiling_bytes": 2}}, "limits: "),
        ({"surprise": 1}, "surprise: "),
    ],
)
def test_what_we_do_not_speak_is_refused_by_its_field(
    message: AttemptMessage, change: dict[str, object], words: str
) -> None:
    text = json.dumps(json.loads(message.encode()) | change)
    with pytest.raises(WireError, match=f"(?s)AttemptMessage: {words}"):
        AttemptMessage.decode(text)


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(WireError, match="the message: Invalid JSON"):
        AttemptMessage.decode("{")

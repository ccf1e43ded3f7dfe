"""Runs one attempt of an agent of Harbor's, in the Python that Harbor is installed in.

    python harbor_attempt.py TASK RUNTIME AGENT FOLDER [ACCESS [ATTEMPT]]

TASK is a folder; ACCESS is an `ApiAccess` as JSON. Writes the attempt's record as one JSON line.
"""

import json
import sys
import time
from pathlib import Path

from pydantic import TypeAdapter

from infranoise.models.api_access import ApiAccess
from infranoise.models.entry import Entry
from infranoise.models.limits import Limits
from infranoise.models.message import AttemptMessage
from infranoise.models.task_file import load_task
from infranoise.models.trial import CellKey, TrialKey
from infranoise.workers.artefacts import Artefacts
from infranoise.workers.attempt import Node, run_attempt
from infranoise.workers.bearings import Bearings
from infranoise.workers.runtimes import Runtimes
from infranoise.workers.settings import worker_settings
from infranoise.workers.slots import Slots


def main() -> None:
    folder, runtime, agent, kept, *access = sys.argv[1:]
    entry = Entry.model_validate(json.loads(agent))
    task, now = load_task(Path(folder)), time.time()
    id_ = f"t{time.time_ns()}.1" if len(access) < 2 else access[1]
    message = AttemptMessage(
        attempt_id=id_,
        trial_id=id_[:-2],
        experiment="tests",
        key=TrialKey(cell=CellKey(task=task.name, entry=entry.name, band="b"), sample=0),
        number=1,
        fence=7,
        task=task,
        entry=entry,
        limits=Limits(memory_ceiling_bytes=256 << 20),
        runtime=runtime,
        network="public",
        agent_timeout_s=task.spec.agent_timeout_s,
        verifier_timeout_s=20,
        build_timeout_s=60,
        seed=1,
        queued_at=now,
        placed_at=now,
        deadline_at=now + 300,
        api=TypeAdapter(ApiAccess | None).validate_json(access[0] if access else "null"),
    )
    runtimes = Runtimes(worker_settings({"INFRANOISE_STATE": str(Path(kept) / "state")}))
    node = Node("here", Bearings(), Slots(1), {}, Artefacts(Path(kept)))
    print(run_attempt(message, runtimes.named(runtime), node).encode())


if __name__ == "__main__":
    main()

"""Inspect's own part of the importers' benchmark, run by the Python that Inspect is installed in.

importers_peer.py make FILE SAMPLES     write a log by Inspect's own writer
importers_peer.py read FILE             read it with `samples_df`; prints CPU seconds, memory
"""

import json
import resource
import sys
import time
from datetime import UTC, datetime, timedelta

from inspect_ai.analysis import samples_df
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalResults,
    EvalSample,
    EvalSpec,
    write_eval_log,
)
from inspect_ai.model import ModelUsage
from inspect_ai.scorer import Score

START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = "Mend the failing build, then run the tests; leave a note of what was wrong. " * 6


def make(path: str, samples: int) -> None:
    """A log whose samples look like those of an agentic eval, less their transcripts."""
    log = EvalLog(
        status="success",
        eval=EvalSpec(
            created=START.isoformat(),
            task="bench",
            task_id="bench",
            eval_id="bench",
            run_id="bench",
            dataset=EvalDataset(name="bench", samples=samples // 4),
            model="mockllm/model",
            config=EvalConfig(epochs=4, max_samples=8),
        ),
        results=EvalResults(total_samples=samples, completed_samples=samples),
        samples=[sample(k) for k in range(samples)],
    )
    write_eval_log(log, path)


def sample(k: int) -> EvalSample:
    """The k-th sample: four epochs of each id, a third of them right, one in fifty an error."""
    start = START + timedelta(seconds=k)
    return EvalSample(
        id=f"task-{k // 4:05d}",
        epoch=1 + k % 4,
        uuid=f"uuid-{k}",
        input=WORDS,
        target="done",
        scores={"includes": Score(value="C" if k % 3 == 0 else "I", answer="done")},
        metadata={"category": f"c{k % 7}", "difficulty": k % 5},
        model_usage={"mockllm/model": ModelUsage(input_tokens=1000 + k, output_tokens=200)},
        started_at=start.isoformat(),
        completed_at=(start + timedelta(seconds=90)).isoformat(),
        total_time=90.0,
        working_time=80.0,
    )


def read(path: str) -> None:
    """Read the log as Inspect's documentation says, and tell what it took."""
    since = time.process_time()
    frame = samples_df(path)
    took = time.process_time() - since
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rows": len(frame), "cpu_s": took, "peak_mib": peak}))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]))
    else:
        read(sys.argv[2])

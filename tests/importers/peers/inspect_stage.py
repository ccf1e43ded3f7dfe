"""A stage for Inspect: an eval that needs no network, whose samples end in known ways.

Run by the Python that Inspect is installed in: `inspect_stage.py FOLDER FORMAT SAMPLES`.
"""

import sys
from typing import Any

from inspect_ai import Task, eval  # type: ignore[import-not-found]
from inspect_ai.dataset import MemoryDataset, Sample  # type: ignore[import-not-found]
from inspect_ai.model import ModelOutput  # type: ignore[import-not-found]
from inspect_ai.scorer import includes  # type: ignore[import-not-found]
from inspect_ai.solver import Generate, TaskState, solver  # type: ignore[import-not-found]

TRIED: set[tuple[str, int]] = set()


@solver  # type: ignore[untyped-decorator]
def scripted() -> Any:
    """Does what the sample's id says."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        kind = str(state.sample_id).partition("-")[0]
        tried = (str(state.sample_id), state.epoch)
        if kind == "lost" or (kind == "flaky" and tried not in TRIED):
            TRIED.add(tried)
            raise ConnectionError("Name or service not known")
        answer = "yes" if kind in ("right", "flaky") else "no"
        state.output = ModelOutput.from_content("mockllm/model", answer)
        return state

    return solve


def main() -> None:
    """Run the eval."""
    folder, form, samples = sys.argv[1], sys.argv[2], int(sys.argv[3])
    kinds = ("right", "wrong", "lost", "flaky")
    dataset = MemoryDataset(
        [Sample(id=f"{kinds[k % len(kinds)]}-{k}", input="?", target="yes") for k in range(samples)]
    )
    task = Task(dataset=dataset, solver=scripted(), scorer=includes(), epochs=2, name="staged")
    eval(
        task,
        model="mockllm/model",
        log_dir=folder,
        log_format=form,
        display="none",
        fail_on_error=False,
        retry_on_error=1,
        max_samples=4,
    )


if __name__ == "__main__":
    main()

"""What does not fit, told before anything is spent."""

from rich.console import Console

from ..models.errors import DesignError
from .settle import Settled


def show_misfits(console: Console, settled: Settled, *, leave_out: bool) -> None:
    """Print what does not fit.

    Raises:
        DesignError: a task cannot run and nobody said to leave it out.
    """
    for misfit in settled.misfits:
        if not misfit.blocks:
            console.print(f"note: {misfit.task}: {misfit.why}", style="yellow", markup=False)
    blocked = [misfit for misfit in settled.misfits if misfit.blocks]
    for misfit in blocked:
        text = f"{misfit.kind} defect: {misfit.task}: {misfit.why}"
        console.print(text, style="red", markup=False, highlight=False)
    if blocked and not leave_out:
        raise DesignError(
            f"{len({m.task for m in blocked})} task(s) cannot run here (above); mend them, list "
            "them in exclude = [...], or leave them out with --leave-out"
        )

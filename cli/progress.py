"""Live progress of a run: on a terminal a table that moves, elsewhere a line now and then."""

import time
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..scheduler.happened import Happened

LINE_EVERY_S = 5.0


class RunProgress:
    """Counts what comes home and shows it. A context manager.

    Args:
        done: trials that had an outcome before this run began.
        total: trials planned.
        bands: names in the order of the report.
        budget_usd: what the run may cost; None where nothing says.

    `spent_usd` is what it has cost, of earlier runs too.
    """

    def __init__(
        self,
        console: Console,
        done: int,
        total: int,
        bands: Sequence[str],
        budget_usd: float | None = None,
    ) -> None:
        self.spent_usd, self._budget_usd = 0.0, budget_usd
        self._console, self._done, self._total, self._bands = console, done, total, bands
        self._before, self._since = done, time.monotonic()
        self._verdicts: Counter[tuple[str, str]] = Counter()
        self._causes: Counter[str] = Counter()
        self._replays = 0
        self._last_line = 0.0
        self._live = Live(
            get_renderable=self._view, console=console, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        else:
            self._line("starting the queue server and the worker")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()
        elif error is None:
            self._line(self._summary())

    def happened(self, event: Happened) -> None:
        """One attempt came home."""
        outcome = event.ingested.outcome
        if event.record is not None:
            self.spent_usd += event.record.usage.cost_usd or 0.0
        if event.replay is not None:
            self._replays += 1
            self._say_now_and_then()
            return
        if event.ingested.accepted:
            self._done += 1
            self._verdicts[event.key.cell.band, outcome.verdict] += 1
        if outcome.verdict == "infra_error":
            self._causes[outcome.cause] += 1
        self._say_now_and_then()

    def _say_now_and_then(self) -> None:
        if not self._console.is_terminal and time.monotonic() - self._last_line >= LINE_EVERY_S:
            self._line(self._summary())

    def _line(self, text: str) -> None:
        self._last_line = time.monotonic()
        self._console.print(text, highlight=False)

    def _summary(self) -> str:
        causes = ", ".join(f"{n} {cause}" for cause, n in self._causes.most_common())
        replays = f" · kills replayed: {self._replays}" if self._replays else ""
        return (
            f"{self._done}/{self._total} trials · {self._rate():.1f}/s · {self._left()} · "
            f"infra errors: {causes or 'none'}{replays}{self._money()}"
        )

    def _money(self) -> str:
        if self._budget_usd is None:
            return f" · {self.spent_usd:.2f} USD" if self.spent_usd else ""
        return f" · {self.spent_usd:.2f} of {self._budget_usd:.2f} USD"

    def _rate(self) -> float:
        return (self._done - self._before) / max(0.001, time.monotonic() - self._since)

    def _left(self) -> str:
        rate = self._rate()
        if rate == 0:
            return "time left unknown"
        left_s = (self._total - self._done) / rate
        return f"{left_s // 60:.0f}:{left_s % 60:02.0f} left"

    def _view(self) -> RenderableType:
        table = Table(box=None, pad_edge=False)
        for name in ("band", "passed", "failed", "infra errors"):
            table.add_column(name, justify="left" if name == "band" else "right")
        for band in self._bands:
            counts = [self._verdicts[band, v] for v in ("passed", "failed", "infra_error")]
            infra = Text(str(counts[2]), style="red" if counts[2] else "")
            table.add_row(Text(band), str(counts[0]), str(counts[1]), infra)
        bar = ProgressBar(total=max(1, self._total), completed=self._done, width=60)
        return Group(Text(self._summary()), Padding(bar, (0, 0, 1, 0)), table)

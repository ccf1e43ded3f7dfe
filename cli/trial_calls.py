"""The calls that an attempt made of its model's API, as `trial show` tells them."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..models.api_call import ApiCall, ApiUse, use_of

SHOWN = 60
COLUMNS = ("call", "at s", "first byte s", "end s", "in", "out", "retry", "how it ended")


def calls_json(calls: Sequence[ApiCall]) -> dict[str, object]:
    """The calls of an attempt and what they add up to, as a document."""
    return {
        "sum": use_of(calls).model_dump(mode="json"),
        "calls": [call.model_dump(mode="json") for call in calls],
    }


def calls_shown(calls: Sequence[ApiCall]) -> Iterator[RenderableType]:
    """The calls of an attempt in their order: when, how long, how they ended, what they took.

    Of very many, the first and the last are shown.
    """
    if not calls:
        return
    yield Text("  calls of the model's API", style="bold")
    yield Text(f"    {_sum(use_of(calls))}")
    table = Table(box=None, pad_edge=False)
    for name in COLUMNS:
        words = name == COLUMNS[-1]
        table.add_column(name, justify="left" if words else "right", no_wrap=not words)
    rows = list(enumerate(calls, 1))
    half = SHOWN // 2
    left_out = len(rows) - SHOWN
    for number, call in rows if left_out <= 0 else rows[:half]:
        table.add_row(*map(Text, _row(number, call, calls[0].at)))
    if left_out > 0:
        table.add_row("…", *[""] * 6, f"{left_out} more, all with --json")
        for number, call in rows[-half:]:
            table.add_row(*map(Text, _row(number, call, calls[0].at)))
    yield Padding(table, (0, 0, 0, 4))


def _row(number: int, call: ApiCall, since: float) -> tuple[str, ...]:
    tokens = call.tokens
    sent = "?" if tokens is None else str(tokens.input + tokens.cache_read + tokens.cache_write)
    words = call.words
    if call.retry_after_s is not None:
        words += f", asked to wait {call.retry_after_s:g} s"
    return (
        str(number),
        f"{call.at - since:.2f}",
        "-" if call.first_byte_s is None else f"{call.first_byte_s:.3f}",
        f"{call.total_s:.3f}",
        sent,
        "?" if tokens is None else str(tokens.output),
        str(call.retry),
        words,
    )


def _sum(use: ApiUse) -> str:
    """What the calls add up to, in one line."""
    counts = (
        (use.calls, "calls"),
        (use.failed, "failed"),
        (use.rate_limited, "429"),
        (use.server_errors, "5xx"),
        (use.cut, "cut"),
        (use.retries, "retries"),
    )
    parts = [f"{count} {word}" for count, word in counts if count]
    parts.append(f"{use.wait_s:.2f} s waited")
    if use.first_byte_p50_s is not None and use.first_byte_p95_s is not None:
        parts.append(
            f"first byte p50 {use.first_byte_p50_s:.3f} s, p95 {use.first_byte_p95_s:.3f} s"
        )
    if use.tokens is not None:
        parts.append(f"{use.tokens.total:,} tokens")
    if use.cost_usd is not None:
        parts.append(f"{use.cost_usd:.4f} USD")
    return " · ".join(parts)

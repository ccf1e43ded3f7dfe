"""Calls of a model's API: what the gateway saw of each, and what they add up to for an attempt."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field

from .provider import Tokens
from .value import Value

Ending = Literal["complete", "cut", "unreachable", "silent", "malformed", "client_left", "ended"]
"""How a call ended: answered whole; broken off by the upstream; not connected; nothing said for too
long; an answer that is not of its form; left by the agent; cut by us as its attempt had ended."""

OURS_OR_THEIRS = frozenset({401, 403, 407, 408, 409, 425, 429})
"""Answers of the 400s that are no fault of what the agent asked: keys, limits, clashes."""


class ApiCall(Value):
    """One call. Nothing of its content.

    `at` is Unix seconds; `first_byte_s` and `total_s` count from there, None where no byte came.
    `status` is the upstream's, None where it gave none. `retry` is how often the client says that
    it had tried before; `retry_after_s` what the upstream asked it to wait. `tokens` is None where
    the upstream did not tell; `charged` is what was held against the allowance all the same.
    """

    id: str
    experiment: str
    attempt: str
    provider: str
    model: str
    route: str
    at: float
    ending: Ending
    status: int | None = None
    first_byte_s: float | None = None
    total_s: float
    request_id: str = ""
    retry: int = 0
    retry_after_s: float | None = None
    streamed: bool = False
    sent_bytes: int = 0
    received_bytes: int = 0
    tokens: Tokens | None = None
    charged: Tokens = Tokens()
    cost_usd: float | None = None
    detail: str = ""

    @property
    def failed(self) -> bool:
        """The API failed the agent: no whole answer, or one that says so; never a bad request."""
        if self.ending in ("client_left", "ended"):
            return False
        if self.ending != "complete" or self.status is None:
            return True
        return self.status >= 500 or self.status in OURS_OR_THEIRS

    @property
    def words(self) -> str:
        """How it ended, in a few words."""
        status = "" if self.status is None else f"HTTP {self.status}"
        how = "" if self.ending == "complete" else self.ending.replace("_", " ")
        said = ", ".join(filter(None, (status, how))) or "nothing"
        return f"{said} ({self.detail})" if self.detail else said


class ApiUse(Value):
    """An attempt's calls in sum. Latencies are seconds; None where no call has such a number.

    `wait_s` is the time in which at least one call was under way. `failed` calls are those that
    the API failed; `last_failed` says that so was the last one, `last_words` how. `refused` counts
    what the gateway itself refused, by reason. `unanswered_s` is how long the last call had waited
    for its first byte, where it has none or was left before it.
    """

    calls: int = 0
    failed: int = 0
    rate_limited: int = 0
    server_errors: int = 0
    cut: int = 0
    retries: int = 0
    refused: dict[str, int] = Field(default_factory=dict)
    first_byte_p50_s: float | None = None
    first_byte_p95_s: float | None = None
    total_p50_s: float | None = None
    total_p95_s: float | None = None
    wait_s: float = 0.0
    tokens: Tokens | None = None
    cost_usd: float | None = None
    sent_bytes: int = 0
    received_bytes: int = 0
    last_failed: bool = False
    last_words: str = ""
    unanswered_s: float = 0.0


def use_of(
    calls: Sequence[ApiCall],
    *,
    refused: dict[str, int] | None = None,
    under_way: Sequence[tuple[float, float]] = (),
    unanswered_s: float = 0.0,
) -> ApiUse:
    """What calls of one attempt add up to.

    Args:
        refused: the gateway's own refusals by reason.
        under_way: (since, now) of calls that have not ended; they count as waiting alone.
        unanswered_s: how long one of these has waited for its first byte.
    """
    told = [call.tokens for call in calls if call.tokens is not None]
    costs = [call.cost_usd for call in calls if call.cost_usd is not None]
    firsts = [call.first_byte_s for call in calls if call.first_byte_s is not None]
    totals = [call.total_s for call in calls if call.ending == "complete"]
    last = max(calls, key=lambda call: call.at + call.total_s, default=None)
    if last is not None and last.ending == "client_left" and last.first_byte_s is None:
        unanswered_s = max(unanswered_s, last.total_s)
    return ApiUse(
        calls=len(calls),
        failed=sum(call.failed for call in calls),
        rate_limited=sum(call.status == 429 for call in calls),
        server_errors=sum((call.status or 0) >= 500 for call in calls),
        cut=sum(call.ending == "cut" for call in calls),
        retries=sum(call.retry > 0 for call in calls),
        refused=refused or {},
        first_byte_p50_s=percentile(firsts, 0.5),
        first_byte_p95_s=percentile(firsts, 0.95),
        total_p50_s=percentile(totals, 0.5),
        total_p95_s=percentile(totals, 0.95),
        wait_s=covered_s([*((c.at, c.at + c.total_s) for c in calls), *under_way]),
        tokens=added(told) if told else None,
        cost_usd=sum(costs) if costs else None,
        sent_bytes=sum(call.sent_bytes for call in calls),
        received_bytes=sum(call.received_bytes for call in calls),
        last_failed=last is not None and last.failed,
        last_words="" if last is None else last.words,
        unanswered_s=unanswered_s,
    )


def covered_s(spans: Iterable[tuple[float, float]]) -> float:
    """The time that at least one of the spans (from, to) covers.

    >>> covered_s([(0.0, 2.0), (1.0, 3.0), (5.0, 6.0)])
    4.0
    """
    total, end = 0.0, -math.inf
    for since, until in sorted(spans):
        if until > end:
            total += until - max(since, end)
            end = until
    return total


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest of the values that at least this share of them do not exceed; None of none.

    >>> percentile([3.0, 1.0, 2.0, 4.0], 0.5)
    2.0
    """
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def added(parts: Iterable[Tokens]) -> Tokens:
    """Tokens of many calls as one."""
    names = ("input", "output", "cache_read", "cache_write")
    each = list(parts)
    return Tokens(**{name: sum(getattr(one, name) for one in each) for name in names})

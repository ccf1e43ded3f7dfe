"""The clock that a time limit binds: all of an agent's time, or that without its API's."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...models.api_access import ApiWait


class AgentClock:
    """Runs from its making.

    Args:
        limit_s: what it may reach; None for no limit.
        api_wait: whether time inside `waiting` counts.
        longest_wait_s: of that, so much is left out at most.
    """

    def __init__(
        self,
        limit_s: float | None,
        api_wait: ApiWait = "counts",
        longest_wait_s: float = float("inf"),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit_s, self._excluded = limit_s, api_wait == "excluded"
        self._longest_s, self._now = longest_wait_s, now
        self._since = now()
        self._waited_s = 0.0
        self._waits_since: float | None = None

    @property
    def elapsed_s(self) -> float:
        """All seconds since the beginning."""
        return self._now() - self._since

    @property
    def api_wait_s(self) -> float:
        """Seconds spent waiting for the API until now."""
        under_way = 0.0 if self._waits_since is None else self._now() - self._waits_since
        return self._waited_s + under_way

    @property
    def left_s(self) -> float | None:
        """Seconds until the limit binds, should nothing be waited for; None: it never does."""
        if self._limit_s is None:
            return None
        left_out = min(self.api_wait_s, self._longest_s) if self._excluded else 0.0
        return self._limit_s - (self.elapsed_s - left_out)

    @property
    def left_waiting_s(self) -> float | None:
        """How long one may wait for the API now before the limit binds; None: for ever."""
        left = self.left_s
        if left is None or not self._excluded:
            return left
        return left + max(0.0, self._longest_s - self.api_wait_s)

    @property
    def over(self) -> bool:
        """Whether the limit binds."""
        left = self.left_s
        return left is not None and left <= 0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """The API is waited for inside."""
        self._waits_since = self._now()
        try:
            yield
        finally:
            self._waited_s += self._now() - self._waits_since
            self._waits_since = None

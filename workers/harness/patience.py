"""A command in a pod whose time limit leaves out what it waits for its model's API."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...models.errors import PodLost
from ...models.execution import ExecResult
from ..pods.pod import Pod

LOOK_AGAIN_S = 0.5


@dataclass(slots=True)
class Patience:
    """A limit on a command's own time.

    Args:
        limit_s: seconds that the command may take beside its waiting.
        longest_wait_s: of its waiting, so much is left out at most.
        waited_s: how long it has waited until now; None where that cannot be told: it counts.
    """

    limit_s: float
    longest_wait_s: float
    waited_s: Callable[[], float | None]
    _over: threading.Event = field(default_factory=threading.Event)
    _cut_off: bool = False

    def run(
        self,
        pod: Pod,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        user: str | None,
        cwd: str | None,
    ) -> ExecResult:
        """Run a command. One that is cut off has `timed_out`, whatever it had waited for.

        Raises:
            PodLost
        """
        watch = threading.Thread(target=self._watch, args=(pod,), daemon=True, name="patience")
        watch.start()
        try:
            most_s = self.limit_s + self.longest_wait_s
            result = pod.exec(argv, timeout_s=most_s, env=env, user=user, cwd=cwd)
        finally:
            self._over.set()
            watch.join()
        if self._cut_off:
            return result.model_copy(update={"exit_code": None, "timed_out": True})
        return result

    def _watch(self, pod: Pod) -> None:
        since, left_s = time.monotonic(), self.limit_s
        while not self._over.wait(max(LOOK_AGAIN_S, left_s)):
            waited_s = min(self.waited_s() or 0.0, self.longest_wait_s)
            left_s = self.limit_s - (time.monotonic() - since - waited_s)
            if left_s <= 0:
                self._cut_off = not self._over.is_set()
                try:
                    pod.quiesce()
                except PodLost:
                    return  # whoever runs the command is told the same
                return

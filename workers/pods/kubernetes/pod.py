"""One attempt's pod in a cluster."""

import io
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Self

from ....models.counters import Counters
from ....models.errors import PodError, PodLost, StartFailed
from ....models.execution import KILLED, ExecResult
from ....models.kube_evidence import KubeEvidence
from ....models.limits import Effective
from ....models.node import NodeProfile
from ...meters.load import read_load
from ...meters.procfs import Told
from .. import archive
from ..pod import PodOrder, Whereabouts
from . import files, limits, scripts, words
from .api import ApiTrouble
from .channel import STDOUT
from .cluster import Cluster
from .counters import after_the_end, from_files
from .diary import Diary
from .exec import Execution, Place
from .leftovers import Leftovers
from .life import Life

QUIESCE_TRIES = 5


class KubernetesPod:
    """A `Pod` of its own in a cluster, with nothing in it but a shell that waits."""

    root = ""

    def __init__(
        self,
        cluster: Cluster,
        order: PodOrder,
        shape: words.Shape,
        diary: Diary,
        leftovers: Leftovers,
    ) -> None:
        self._order = order
        self._last: Counters | None = None
        self._first: Mapping[str, str] = {}
        self._newest: Mapping[str, str] = {}
        self._profile: NodeProfile | None = None
        self.image_id = words.image_of(order, shape) or ""
        self._life = Life(cluster, order, shape, diary, leftovers)
        self._witness = self._life.witness

    @property
    def attempt_id(self) -> str:
        """The attempt that it is of."""
        return self._order.attempt_id

    def start(self) -> Effective:
        """Make the pod, wait until it runs, read back what was granted.

        Raises:
            Unschedulable, ImagePullFailed, StartFailed: in the cluster's words.
            Refused: the cluster admitted other limits than the band's.
        """
        self._life.begin()
        return self._read_back()

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
    ) -> ExecResult:
        """Run one command, as `Pod.exec` says.

        Raises:
            PodLost: the facts `reason`, `oom_killed`, `exit_code` say what became of the pod.
        """
        execution = self._execution()
        try:
            result = execution.run(
                argv,
                cap_bytes=self._order.output_cap_bytes,
                timeout_s=timeout_s,
                env={**self._order.env, **(env or {})},
                user=user,
                cwd=cwd,
                stdin=stdin,
            )
        except ApiTrouble as trouble:
            raise self._life.lost(str(trouble)) from trouble
        if result.timed_out or execution.heard.code is not None:
            return result
        return self._without_a_last_word(execution, result)

    def quiesce(self) -> int:
        """Kill every process but PID 1 and what it waits for, as `Pod.quiesce` says."""
        if not self._witness.alive():
            return 0
        for attempt in range(QUIESCE_TRIES):
            with suppress(ApiTrouble):
                # As an argument: a full pod may have no process left to read a script with.
                told = self._read(scripts.QUIESCE)
                if told.strip().isdecimal():
                    return int(told)
            if not self._witness.alive():
                return 0
            time.sleep(0.1 * 2**attempt)
        raise self._life.lost("its processes cannot be killed")

    def upload(self, source: Path, target: PurePosixPath) -> None:
        """Copy in, as `Pod.upload` says.

        Raises:
            PodLost: the pod has no `tar`, or not every byte arrived.
        """
        files.upload(self._execution(), self._life.lost, source, target)

    def download(self, source: PurePosixPath, target: Path) -> bool:
        """Copy out, as `Pod.download` says.

        Raises:
            PodLost: the stream broke off before its end.
        """
        cap_bytes = self._order.limits.storage_ceiling_bytes or archive.DOWNLOAD_CAP_BYTES
        return files.download(self._execution(), self._life.lost, source, target, cap_bytes)

    def counters(self) -> Counters:
        """What the pod has consumed: its control group's own counters, read in the pod.

        Raises:
            PodLost: it is gone, and nothing was ever read.
        """
        if self._witness.alive():
            with suppress(ApiTrouble):
                self._newest = limits.files(self._read(scripts.READ_FILES))
                self._last = from_files(self._newest, self._last)
                return self._last
        told = after_the_end(self._witness.facts(), self._last)
        if told is None:
            raise self._life.lost("its counters were never read")
        return told

    def stop(self) -> None:
        """Delete the pod, and wait until its last words have been heard."""
        self._life.end()

    def ending(self, verdict_at: float | None = None) -> KubeEvidence | None:
        """What the cluster told of this pod until now, as `Witnessed.ending` says."""
        return self._witness.ending(verdict_at)

    def whereabouts(self) -> Whereabouts | None:
        """What the cluster gave this pod, as `Witnessed.whereabouts` says."""
        given = self._witness.granted()
        if given is None:
            return None
        given = given.model_copy(update={"user": limits.user(self._first)})
        loads = tuple(read_load(Told(held=held)) for held in (self._first, self._newest))
        return Whereabouts(given, self._profile, *loads)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            with suppress(PodError):
                self.stop()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _read_back(self) -> Effective:
        try:
            inside = limits.files(self._read(scripts.READ_FILES))
        except ApiTrouble as trouble:
            raise StartFailed(f"the pod runs, but cannot be reached: {trouble}") from trouble
        self._last, self._first, self._newest = from_files(inside, None), inside, inside
        node = self._witness.now["spec"].get("nodeName", "")
        self._profile = self._life.profiles.of(node, lambda: self._read(scripts.NODE_FILES))
        return limits.effective(self._witness.now, inside, self._order.limits)

    # --- its life ---

    def _execution(self) -> Execution:
        if not self._witness.alive():
            raise self._life.lost("it is not there for a command")
        return Execution(
            self._life.api,
            Place(self._life.path),
            kill=self.quiesce,
            ended=lambda: not self._witness.alive(),
        )

    def _read(self, text: str) -> str:
        """Run a script of ours and return what it printed."""
        execution, out = self._execution(), io.BytesIO()
        for channel, content in execution.plain(text):
            if channel == STDOUT:
                out.write(content)
        return out.getvalue().decode("utf-8", "replace")

    def _without_a_last_word(self, execution: Execution, result: ExecResult) -> ExecResult:
        """The end of a command whose shell fell with it: by the command's own hand, or the pod's.

        Raises:
            PodLost: the pod has come to its end, and not at a ceiling of its own.
        """
        ended = execution.heard.ended
        if ended is not None and ended.exit_code is not None and self._answers():
            return result
        self._life.await_end()
        facts = self._witness.facts()
        code = ended.exit_code if ended else None
        ceiling = facts.oom_killed or facts.reason == "Evicted"
        if code == KILLED and ceiling and not facts.disruption:
            return result.model_copy(update={"exit_code": KILLED})
        raise self._life.lost(ended.words if ended else "the connection ended before the command")

    def _answers(self) -> bool:
        """Whether the pod lives: a status lags, a command does not."""
        try:
            return self._read("echo alive").strip() == "alive"
        except (ApiTrouble, PodLost):
            return False

"""One attempt's pod in a cluster."""

import io
import logging
import tarfile
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path, PurePosixPath
from typing import Any, Self

from ...models import kube_reading
from ...models.counters import Counters
from ...models.errors import PodError, PodLost, Refused, StartFailed
from ...models.execution import KILLED, ExecResult
from ...models.kube_evidence import KubeEvidence
from ...models.limits import Effective
from . import archive, kubernetes_start
from . import kubernetes_scripts as scripts
from . import kubernetes_words as words
from .kubernetes_api import ApiTrouble
from .kubernetes_channel import STDERR, STDOUT
from .kubernetes_cluster import Cluster, unfitting
from .kubernetes_counters import after_the_end, from_files
from .kubernetes_diary import Diary
from .kubernetes_exec import Execution, Place, Script, mark
from .kubernetes_start import Patience
from .kubernetes_watch import gone
from .pod import PodOrder

LOG = logging.getLogger(__name__)
READ_BACK_S = 30.0
STATUS_LAGS_S = 6.0  # a status follows the end that it tells of by up to some seconds
REMOVAL_SLACK_S = 30.0
NO_SUCH_PATH = 3
QUIESCE_TRIES = 5
SPOOL_BYTES = 8 * 1024 * 1024


class KubernetesPod:
    """A `Pod` of its own in a cluster, with nothing in it but a shell that waits."""

    root = ""

    def __init__(
        self, cluster: Cluster, order: PodOrder, shape: words.Shape, diary: Diary, wait_s: float
    ) -> None:
        self._cluster, self._order, self._shape, self._diary = cluster, order, shape, diary
        self.image_id = words.image_of(order, shape) or ""
        # A pull is this runtime's build.
        self._patience = Patience(wait_s, order.build_timeout_s + order.start_timeout_s)
        self._name, self._uid = words.pod_name(order), ""
        self._last: Counters | None = None
        self._seen: KubeEvidence | None = None
        self._lock = threading.Lock()
        self._stopped = False

    def start(self) -> Effective:
        """Make the pod, wait until it runs, read back what was granted.

        Raises:
            Unschedulable, ImagePullFailed, StartFailed: in the cluster's words.
            Refused: the cluster admitted other limits than the band's.
        """
        manifest = words.manifest(self._order, self._shape, time.time())
        self._refuse_what_fits_nowhere(manifest)
        try:
            made = self._cluster.create(manifest, self._patience.schedule_s)
        except ApiTrouble as trouble:
            raise StartFailed(f"the cluster does not take the pod: {trouble}") from trouble
        self._uid = made["metadata"]["uid"]
        self._cluster.reflector.follow(made)
        self._refuse_surprises(manifest, made)
        self._await_running()
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
                env=dict(env or {}),
                user=user,
                cwd=cwd,
                stdin=stdin,
            )
        except ApiTrouble as trouble:
            raise self._lost(str(trouble)) from trouble
        if result.timed_out or execution.heard.code is not None:
            return result
        return self._without_a_last_word(execution, result)

    def quiesce(self) -> int:
        """Kill every process but PID 1 and what it waits for, as `Pod.quiesce` says."""
        if not self._alive():
            return 0
        for attempt in range(QUIESCE_TRIES):
            with suppress(ApiTrouble):
                # As an argument: a full pod may have no process left to read a script with.
                told = self._read(scripts.QUIESCE)
                if told.strip().isdecimal():
                    return int(told)
            if not self._alive():
                return 0
            time.sleep(0.1 * 2**attempt)
        raise self._lost("its processes cannot be killed")

    def upload(self, source: Path, target: PurePosixPath) -> None:
        """Copy in, as `Pod.upload` says: a tar stream whose length is told beforehand.

        Raises:
            PodLost: the pod has no `tar`, or not every byte arrived.
        """
        with tempfile.SpooledTemporaryFile(SPOOL_BYTES) as spool:
            for piece in archive.pack(source, target):
                spool.write(piece)
            size_bytes = spool.tell()
            spool.seek(0)
            word = mark()
            script = Script(scripts.unpacking(size_bytes, word), word, spool.read())
        execution = self._execution()
        complaint = b"".join(self._output(execution, script, STDERR))
        if execution.code() != 0:
            told = complaint.decode("utf-8", "replace").strip()
            raise self._lost(f"{target} could not be uploaded ({execution.code()}): {told}")

    def download(self, source: PurePosixPath, target: Path) -> bool:
        """Copy out, as `Pod.download` says.

        Raises:
            PodLost: the stream broke off before its end.
        """
        cap_bytes = self._order.limits.storage_ceiling_bytes or archive.DOWNLOAD_CAP_BYTES
        word, execution = mark(), self._execution()
        script = Script(scripts.packing(str(source), word), word)
        pieces = self._output(execution, script, STDOUT)
        with closing(pieces):
            first = next(pieces, b"")
            if execution.code() == NO_SUCH_PATH or not first:
                return self._nothing_there(execution)
            try:
                return archive.unpack(_chained(first, pieces), target, cap_bytes)
            except tarfile.TarError as error:
                raise self._lost(f"{source}: its archive broke off: {error}") from error

    def counters(self) -> Counters:
        """What the pod has consumed: its control group's own counters, read in the pod.

        Raises:
            PodLost: it is gone, and nothing was ever read.
        """
        if self._alive():
            with suppress(ApiTrouble):
                self._last = from_files(words.files(self._read(scripts.READ_FILES)), self._last)
                return self._last
        told = after_the_end(self._facts(), self._last)
        if told is None:
            raise self._lost("its counters were never read")
        return told

    def stop(self) -> None:
        """Delete the pod, and wait until its last words have been heard."""
        with self._lock:
            if not self._uid or self._stopped:
                return
            try:
                self._remove()
            except ApiTrouble as trouble:
                raise PodLost(f"pod {self._name} stays: {trouble}", reason="removal") from trouble
            finally:
                self._seen = self._facts()
            self._stopped = True
            self._cluster.reflector.forget(self._uid)

    def ending(self, verdict_at: float | None = None) -> KubeEvidence | None:
        """What the cluster told of this pod until now; None where it was never asked for.

        Args:
            verdict_at: when the verdict was read, Unix seconds of this machine.
        """
        seen = self._seen or (self._facts() if self._uid else None)
        if seen is None or verdict_at is None:
            return seen
        skew_s = self._cluster.api.skew_s or 0.0
        return seen.model_copy(update={"verdict_at": verdict_at + skew_s})

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

    # --- its beginning ---

    def _refuse_what_fits_nowhere(self, manifest: Mapping[str, Any]) -> None:
        requests = manifest["spec"]["containers"][0]["resources"]["requests"]
        if self._cluster.fits(requests) == "no":
            error, self._seen = unfitting(requests)
            raise error

    def _refuse_surprises(self, manifest: Mapping[str, Any], made: Mapping[str, Any]) -> None:
        asked, admitted = (p["spec"]["containers"][0].get("resources") for p in (manifest, made))
        found = words.surprises(asked or {}, admitted or {})
        if found:
            raise Refused(
                f"the cluster admitted another band than was asked: {'; '.join(found)}; remove the "
                "LimitRange or webhook that does this, or ask for what it grants",
                reason="admitted_differs",
            )

    def _await_running(self) -> None:
        at = self._stage()
        while at in ("schedule", "start"):
            if not self._leaves(at):
                seen = self._facts(troubled=True)
                requests = words.resources(self._order.limits, self._shape.qos)["requests"]
                late = {"overdue": kubernetes_start.overdue(at, seen)}
                self._seen = seen.model_copy(
                    update=late | {"floor_fits": self._cluster.fits(requests)}
                )
                raise kubernetes_start.problem(at, self._seen)
            at = self._stage()
        if at == "over":
            self._seen = self._facts(troubled=True)
            raise kubernetes_start.problem(at, self._seen)

    def _leaves(self, at: kubernetes_start.Stage) -> bool:
        """Wait until the pod is no longer at a stage; False if that outlasts our patience."""
        return self._cluster.reflector.wait(
            self._uid, lambda _: self._stage() != at, self._patience.of(at)
        )

    def _stage(self) -> kubernetes_start.Stage:
        history = self._cluster.reflector.history(self._uid)
        pod = history[-1].pod
        states = (pod.get("status") or {}).get("containerStatuses") or ()
        return kubernetes_start.stage(
            kube_reading.facts(history),
            bound=bool(pod["spec"].get("nodeName")),
            running=any("running" in (one.get("state") or {}) for one in states),
        )

    def _read_back(self) -> Effective:
        try:
            inside = words.files(self._read(scripts.READ_FILES))
        except ApiTrouble as trouble:
            raise StartFailed(f"the pod runs, but cannot be reached: {trouble}") from trouble
        self._last = from_files(inside, None)
        pod = self._cluster.reflector.history(self._uid)[-1].pod
        return words.effective(pod, inside, self._order.limits)

    # --- its life ---

    def _execution(self) -> Execution:
        if not self._alive():
            raise self._lost("it is not there for a command")
        return Execution(
            self._cluster.api,
            Place(self._cluster.path(self._name)),
            kill=self.quiesce,
            ended=lambda: not self._alive(),
        )

    def _read(self, text: str) -> str:
        """Run a script of ours and return what it printed."""
        execution, out = self._execution(), io.BytesIO()
        for channel, content in execution.plain(text):
            if channel == STDOUT:
                out.write(content)
        return out.getvalue().decode("utf-8", "replace")

    def _output(self, execution: Execution, script: Script, wanted: int) -> Generator[bytes]:
        try:
            for channel, content in execution.output(script):
                if channel == wanted:
                    yield content
        except ApiTrouble as trouble:
            raise self._lost(str(trouble)) from trouble
        if execution.code() is None:
            raise self._lost("the connection ended before the command")

    def _nothing_there(self, execution: Execution) -> bool:
        if execution.code() not in (0, NO_SUCH_PATH):
            raise self._lost(f"its files cannot be packed (exit code {execution.code()})")
        return False

    def _alive(self) -> bool:
        if not self._uid or self._stopped:
            return False
        history = self._cluster.reflector.history(self._uid)
        return bool(history) and not gone(history) and not kube_reading.facts(history).ended

    def _without_a_last_word(self, execution: Execution, result: ExecResult) -> ExecResult:
        """The end of a command whose shell fell with it: by the command's own hand, or the pod's.

        Raises:
            PodLost: the pod has come to its end, and not at a ceiling of its own.
        """
        ended = execution.heard.ended
        if ended is not None and ended.exit_code is not None and self._answers():
            return result
        self._await_end()
        facts = self._facts()
        code = ended.exit_code if ended else None
        ceiling = facts.oom_killed or facts.reason == "Evicted"
        if code == KILLED and ceiling and not facts.disruption:
            return result.model_copy(update={"exit_code": KILLED})
        raise self._lost(ended.words if ended else "the connection ended before the command")

    def _answers(self) -> bool:
        """Whether the pod lives: a status lags, a command does not."""
        try:
            return self._read("echo alive").strip() == "alive"
        except (ApiTrouble, PodLost):
            return False

    def _await_end(self) -> None:
        self._cluster.reflector.wait(
            self._uid, lambda history: not history or _over(history), STATUS_LAGS_S
        )

    # --- its end ---

    def _remove(self) -> None:
        """Say that it is us, then delete, and hear the pod out."""
        reflector = self._cluster.reflector
        reflector.ours(self._uid)
        self._diary.intent("cleanup", self._uid, self._name)
        self._cluster.delete(self._name, self._uid)
        if not reflector.wait(self._uid, gone, words.GRACE_S + REMOVAL_SLACK_S):
            self._cluster.delete(self._name, self._uid, grace_s=0)
            reflector.look(self._uid)

    def _lost(self, symptom: str) -> PodLost:
        if not self._uid or self._stopped:
            return PodLost(f"pod {self._name} is not there: {symptom}", reason="removed")
        with suppress(ApiTrouble):
            self._cluster.reflector.look(self._uid)
        seen = self._facts()
        reason = seen.disruption or seen.reason or seen.ended_as or "connection"
        return PodLost(
            f"pod {self._name} ({seen.phase or 'gone'}): {symptom}",
            reason=reason,
            oom_killed=seen.oom_killed,
            exit_code=seen.exit_code,
        )

    def _facts(self, *, troubled: bool = False) -> KubeEvidence:
        """What its history says; node and events are asked for where something went wrong."""
        history = self._cluster.reflector.history(self._uid)
        if not history:
            return self._seen or KubeEvidence()
        seen = kube_reading.facts(history, intent="cleanup" if history[-1].ours else "")
        if not (troubled or seen.ended or seen.deleted or seen.disruption):
            return seen
        node = self._cluster.node(seen.node.name)
        told = kube_reading.troubles(self._cluster.events(self._uid))
        update: dict[str, object] = {"node": node, "troubles": told}
        if self._seen is not None:
            update |= {"overdue": self._seen.overdue, "floor_fits": self._seen.floor_fits}
        return seen.model_copy(update=update)


def _over(history: Sequence[kube_reading.Transition]) -> bool:
    last = history[-1]
    return gone(tuple(history)) or last.ours or kube_reading.facts(history).ended


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest

"""The worker's end of its pods' outlets: makes them, asks them, ends them."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...models.allow import AllowList
from ...models.egress import Egress
from ...models.egress_seen import EgressSeen
from ...models.errors import StartFailed
from ..network.link import INSIDE
from ..network.shaping import shape
from . import link
from .places import DEFAULT_PORTS, door_of
from .trying import try_out

ANSWER_BYTES, WITHIN_S, STOP_WITHIN_S = 1 << 20, 20.0, 5.0
NEEDED = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH")  # nothing else of ours is its business
LOST = "the process that carries what pods send out has died"


class OutletsLost(Exception):
    """The process that carries everything is gone, and every way out with it."""


class Outlets:
    """The outlets of one worker, and the process that serves them; started at the first need.

    Args:
        fixed: names with addresses of this node's own choice, such as mirrors.
    """

    def __init__(self, fixed: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self._fixed = dict(fixed or {})
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def open(
        self,
        attempt: str,
        pid: int,
        allow: tuple[str, ...],
        gateway: str,
        egress_mbps: Egress | None = None,
    ) -> "Outlet":
        """Give a pod its outlet, capped and measured if asked, tried out from inside.

        Args:
            pid: a process in the pod's network, which has only `lo` yet.
            gateway: the gateway's URL as this node sees it; "": the attempt has no model.
        Raises:
            StartFailed: it cannot be made, or leads where it must not, or not where it must.
        """
        door, wanted = door_of(gateway), AllowList.of(allow)
        ports = {*wanted.ports, *DEFAULT_PORTS.values(), *((door.port,) if door else ())}
        end = link.near_end(pid, ports, wanted.networks)
        outlet = Outlet(self, attempt, end.namespace, wanted, egress_mbps)
        order = {
            "do": "open",
            "id": attempt,
            "allow": allow,
            "door": asdict(door) if door else None,
        }
        try:
            if egress_mbps is not None:
                outlet.rates = link.settle(end.namespace, pid, egress_mbps)
            self.ask(order, tuple(one.fileno() for one in end.sockets))
            probe = try_out(pid, door)
            self.ask({"do": "begin", "id": attempt})
        except (StartFailed, OutletsLost, OSError) as error:
            outlet.close()
            facts = error.facts if isinstance(error, StartFailed) else {}
            raise StartFailed(f"the pod's outlet: {error}", **facts) from error
        finally:
            end.let_go()
        outlet.probe = probe
        return outlet

    def ask(self, order: Mapping[str, Any], handles: tuple[int, ...] = ()) -> dict[str, Any]:
        """What the process answers to an order; safe from many threads.

        Raises:
            OutletsLost: it has died. StartFailed: it would not, with its words.
        """
        with self._lock:
            if order["do"] == "open" and not self._alive():
                self._start()
            answer = self._answer(order, handles)
        if "error" in answer:
            raise StartFailed(str(answer["error"]))
        return answer

    @property
    def pid(self) -> int | None:
        """The process that carries everything; None: none was needed yet."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """End the process, and every outlet."""
        with self._lock:
            self._end()

    def _alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _start(self) -> None:
        self._end()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(WITHIN_S)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __package__.partition(".")[0] + ".workers.outlet.service"],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                env={name: os.environ[name] for name in NEEDED if name in os.environ},
            )
        self._control = ours
        self._answer({"do": "names", "fixed": self._fixed}, ())

    def _answer(self, order: Mapping[str, Any], handles: tuple[int, ...]) -> dict[str, Any]:
        if self._control is None:
            raise OutletsLost(LOST)
        try:
            socket.send_fds(self._control, [json.dumps(order).encode()], handles)
            answer = self._control.recv(ANSWER_BYTES)
        except OSError as error:
            self._end()  # an answer that came later would be taken for that of another order
            raise OutletsLost(f"{LOST}: {error}") from error
        if not answer:
            self._end()
            raise OutletsLost(LOST)
        told: dict[str, Any] = json.loads(answer)
        return told

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            try:
                self._process.wait(STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._control = self._process = None


@dataclass(slots=True)
class Outlet:
    """One pod's outlet. `probe` is what was tried from inside before anything ran there, `rates`
    the fields of `Effective` that tell of its link, where those were asked for."""

    _outlets: Outlets
    _attempt: str
    _namespace: int
    _allow: AllowList
    _egress_mbps: Egress | None = None
    rates: dict[str, float | None] = field(default_factory=dict)
    probe: dict[str, str] = field(default_factory=dict)
    _last: EgressSeen = field(default_factory=EgressSeen)
    _open: bool = True

    def join_again(self, pid: int) -> None:
        """Link the pod's next life, whose network has only `lo`.

        Raises:
            StartFailed: it cannot be linked.
        """
        try:
            link.join_again(self._namespace, pid, self._allow.networks)
            if isinstance(self._egress_mbps, float):
                shape(pid, link.DEVICE, INSIDE, self._egress_mbps, self._namespace)
        except OSError as error:
            raise StartFailed(f"the pod's outlet cannot be joined again: {error}") from error

    def seen(self) -> EgressSeen:
        """What was counted until now; once it is closed, in all."""
        if self._open:
            self._last = self._asked("report")
        return self._last

    def close(self) -> EgressSeen:
        """End it, and tell what was counted in all. Safe to call twice."""
        if self._open:
            self._last = self._asked("close")
            self._open = False
            os.close(self._namespace)
        return self._last

    def _asked(self, do: str) -> EgressSeen:
        try:
            answer = self._outlets.ask({"do": do, "id": self._attempt})
        except (OutletsLost, StartFailed) as error:
            # A process that does not know the outlet was started after the one that did.
            lost = self._last.lost or (str(error) if isinstance(error, OutletsLost) else LOST)
            return self._last.model_copy(update={"lost": lost, "probe": self.probe})
        seen = EgressSeen.model_validate(answer["seen"])
        return seen.model_copy(update={"probe": self.probe})

"""What a worker is told by its environment, read once, at the door."""

import os
import platform
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from ..models.allow import plain
from ..models.errors import DesignError
from ..models.size import mebibytes
from ..models.spec import MIB

GRACE_S = 300.0
PROBE_EVERY_S = 3600.0
NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """A worker's settings.

    `slots` is how many attempts it may run at once; home never sends more. `state` holds private
    folders of pods and records of what to reap. `blobs` is where this node finds blobs, should that
    be another place than home says. `runtimes` are the kinds of pods that it offers; empty: what
    there is. `events`: tell Flower of every attempt. A worker that is told to leave lets attempts
    end within `grace_s`. `namespace` is where Kubernetes pods are made ("": none are), of the
    kubeconfig's `kube_context`; `image_prefix` is where images named by environment hash lie, and
    `service_account` the one without rights that pods are given. The file `alive` is touched at
    each heartbeat.
    The node's speed is probed and its surroundings looked at every `probe_every_s` (0: never);
    `reach` names hosts (`host:port`) that are tried then, beside name servers and registries.
    `gateway_in_pods` is the gateway's address as pods here see it ("": as home says).
    `egress_hosts` are names that this node gives addresses of its own choice, for pods whose way
    out is watched over.
    """

    broker: str
    node: str
    slots: int
    state: Path
    artefacts: Path | None
    build_network: str | None
    tethered: bool
    events: bool = True
    cpus: float | None = None
    memory_bytes: int | None = None
    blobs: str = ""
    runtimes: tuple[str, ...] = ()
    grace_s: float = GRACE_S
    namespace: str = ""
    kubeconfig: str | None = None
    kube_context: str | None = None
    image_prefix: str = ""
    service_account: str = ""
    alive: Path | None = None
    probe_every_s: float = 0.0
    reach: tuple[str, ...] = ()
    gateway_in_pods: str = ""
    egress_hosts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def worker_settings(environ: Mapping[str, str]) -> WorkerSettings:
    """Settings from `INFRANOISE_*` variables.

    Raises:
        DesignError: a variable that should hold an amount does not, or the node's id is no name.
    """
    slots = environ.get("INFRANOISE_SLOTS", str(os.cpu_count() or 1))
    if not slots.isdecimal() or int(slots) < 1:
        raise DesignError(f"INFRANOISE_SLOTS={slots!r}: give a whole number of at least 1")
    node = environ.get("INFRANOISE_NODE") or platform.node() or "node"
    if not NAME.fullmatch(node):
        raise DesignError(
            f"INFRANOISE_NODE={node!r}: a node's id is made of letters, digits, '.', '_' and '-', "
            "64 at most, and begins with a letter or a digit"
        )
    artefacts = environ.get("INFRANOISE_ARTEFACTS")
    grace_s = _amount(environ, "INFRANOISE_GRACE", float)
    return WorkerSettings(
        broker=environ.get("INFRANOISE_BROKER_URL", "redis://127.0.0.1:6379/0"),
        node=node,
        slots=int(slots),
        state=Path(environ.get("INFRANOISE_STATE") or default_state(environ)),
        artefacts=Path(artefacts) if artefacts else None,
        build_network=environ.get("INFRANOISE_BUILD_NETWORK") or None,
        tethered=environ.get("INFRANOISE_TETHERED") == "1",
        events=environ.get("INFRANOISE_EVENTS") != "0",
        cpus=_amount(environ, "INFRANOISE_CPUS", float),
        memory_bytes=_amount(environ, "INFRANOISE_MEMORY", _bytes),
        blobs=environ.get("INFRANOISE_BLOBS", ""),
        runtimes=tuple(environ.get("INFRANOISE_RUNTIMES", "").replace(",", " ").split()),
        grace_s=GRACE_S if grace_s is None else grace_s,
        namespace=environ.get("INFRANOISE_KUBERNETES_NAMESPACE", ""),
        kubeconfig=environ.get("KUBECONFIG") or None,
        kube_context=environ.get("INFRANOISE_KUBERNETES_CONTEXT") or None,
        image_prefix=environ.get("INFRANOISE_IMAGE_PREFIX", ""),
        service_account=environ.get("INFRANOISE_KUBERNETES_SERVICE_ACCOUNT", ""),
        alive=Path(environ["INFRANOISE_ALIVE"]) if environ.get("INFRANOISE_ALIVE") else None,
        probe_every_s=_probe_every_s(environ),
        reach=tuple(environ.get("INFRANOISE_REACH", "").replace(",", " ").split()),
        gateway_in_pods=environ.get("INFRANOISE_GATEWAY_IN_PODS", ""),
        egress_hosts=_hosts(environ.get("INFRANOISE_EGRESS_HOSTS", "")),
    )


def _hosts(text: str) -> dict[str, tuple[str, ...]]:
    """Names with their addresses, from `name=address name=address`."""
    found: dict[str, tuple[str, ...]] = {}
    for pair in text.replace(",", " ").split():
        name, _, address = pair.partition("=")
        try:
            known = plain(name)
            ip_address(address)
        except ValueError:
            known = ""
        if not known:
            raise DesignError(
                f"INFRANOISE_EGRESS_HOSTS: {pair!r} is no name with an address; write "
                "mirror.example=10.0.0.5"
            )
        found[known] = (*found.get(known, ()), address)
    return found


def _probe_every_s(environ: Mapping[str, str]) -> float:
    """A node of a fleet is probed at its start and every hour; the one of a single run is not."""
    told_s = _amount(environ, "INFRANOISE_PROBE_EVERY", float)
    if told_s is not None:
        return told_s
    return 0.0 if environ.get("INFRANOISE_TETHERED") == "1" else PROBE_EVERY_S


def _bytes(text: str) -> int:
    return round(mebibytes(text) * MIB)


def _amount[T](environ: Mapping[str, str], name: str, read: Callable[[str], T]) -> T | None:
    text = environ.get(name)
    if not text:
        return None
    try:
        return read(text)
    except ValueError as error:
        raise DesignError(f"{name}={text!r}: {error}") from error


def default_state(environ: Mapping[str, str]) -> Path:
    """Where pods' private folders lie unless told otherwise: a real disk, not a tmpfs."""
    base = environ.get("XDG_STATE_HOME")
    if base:
        return Path(base) / "infranoise"
    if os.getuid() == 0:
        return Path("/var/lib/infranoise")
    home = environ.get("HOME")
    return (Path(home) / ".local/state" if home else Path(tempfile.gettempdir())) / "infranoise"

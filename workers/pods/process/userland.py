"""What a process pod sees of this machine: its programs, read-only, and little else.

Everything that is not named here is the pod's own private tree, as in a container.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TOOLS = "/opt/infranoise/bin"  # inside the pod; `python` and `python3` are there
PATH = f"{TOOLS}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu", "/sys")
SETTINGS = ("ssl", "pki", "ca-certificates", "crypto-policies", "alternatives", "ld.so.conf.d")
COPIED = (
    *("ld.so.cache", "ld.so.conf", "resolv.conf", "nsswitch.conf", "host.conf", "hosts"),
    *("services", "protocols", "mime.types", "localtime", "os-release", "debian_version"),
)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
OWN = ("tmp", "root", "home", "run", "etc", "proc", "dev/pts", "dev/shm", "var/tmp", TOOLS[1:])
STICKY = ("tmp", "var/tmp")  # mode 1777

USERS = """root:x:0:0:root:/root:/bin/sh
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
"""
GROUPS = "root:x:0:\ndaemon:x:1:\nnogroup:x:65534:\n"


@dataclass(frozen=True, slots=True)
class Userland:
    """The parts of a pod's tree that come from outside the task; paths are relative to its root.

    `binds` and `devices` pair a path on the host with its place; `links` pair a place with where
    it points; `files` pair a place with its content; `folders` are all that there must be, those
    to mount on included, parents first.
    """

    binds: tuple[tuple[str, str], ...]
    devices: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, bytes], ...]
    folders: tuple[str, ...]

    def places(self) -> tuple[str, ...]:
        """Everything that is made of it in a pod's tree."""
        pairs = (*self.links, *self.files)
        return (*self.folders, *(place for place, _ in pairs), *(p for _, p in self.devices))

    def hides(self, below: str) -> bool:
        """Whether a place in the pod's tree is the host's, so that a pod cannot write there."""
        places = (*(place for _, place in self.binds), "proc", "dev")
        return any(below == place or below.startswith(place + "/") for place in places)


def of_host(host: Path = Path("/"), python: Path | None = None) -> Userland:
    """Look up what this machine has to show.

    Args:
        host: its root folder.
        python: the interpreter that `python3` is in a pod; None takes the one we run on.
    """
    interpreter = python or Path(sys.executable).resolve()
    shown = [path for path in PROGRAMS if (host / path[1:]).is_dir()]
    links = [(path[1:], _target(host, path)) for path in shown if (host / path[1:]).is_symlink()]
    folders = [path for path in shown if not (host / path[1:]).is_symlink()]
    folders += [f"/etc/{name}" for name in SETTINGS if (host / "etc" / name).is_dir()]
    prefix = str(interpreter.parent.parent)
    if not _inside(prefix, folders):
        folders.append(prefix)
    tools = [(f"{TOOLS[1:]}/{name}", str(interpreter)) for name in ("python", "python3")]
    devices = [f"/dev/{name}" for name in DEVICES if (host / "dev" / name).exists()]
    standard = [("dev/fd", "/proc/self/fd"), ("dev/ptmx", "pts/ptmx")]
    standard += [(f"dev/std{n}", f"/proc/self/fd/{i}") for i, n in enumerate(("in", "out", "err"))]
    return Userland(
        folders=with_parents((*OWN, *(path[1:] for path in folders))),
        binds=tuple((path, path[1:]) for path in folders),
        devices=tuple((path, path[1:]) for path in devices),
        links=(*links, *tools, *standard),
        files=(*_copies(host), ("etc/passwd", USERS.encode()), ("etc/group", GROUPS.encode())),
    )


def with_parents(folders: Iterable[str]) -> tuple[str, ...]:
    """Folders and all that they lie in, parents first.

    >>> with_parents(["dev/pts", "tmp"])
    ('dev', 'dev/pts', 'tmp')
    """
    parts = [folder.split("/") for folder in folders]
    return tuple(sorted({"/".join(path[: n + 1]) for path in parts for n in range(len(path))}))


def _target(host: Path, path: str) -> str:
    return str((host / path[1:]).readlink())


def _inside(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def _copies(host: Path) -> list[tuple[str, bytes]]:
    """Small public settings, by content: what they link to need not exist in the pod."""
    sources = [(f"etc/{name}", host / "etc" / name) for name in COPIED]
    return [(place, source.read_bytes()) for place, source in sources if source.is_file()]

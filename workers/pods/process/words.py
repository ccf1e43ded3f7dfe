"""How a command is put so that it runs in a process pod: its words, and its environment. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..pod import PodOrder
from .userland import PATH, TOOLS
from .watchdog import MARK

NOT_JOINED = 125  # the exit code of a command that never came into the pod's cgroups
JOIN = (
    f'while [ "$1" != -- ]; do echo 0 > "$1" || exit {NOT_JOINED}; shift; done; '
    'shift; ulimit -c 0; umask 022; exec "$@"'
)


def joined(joins: Iterable[Path], inside: Sequence[str], argv: Sequence[str]) -> tuple[str, ...]:
    """A shell that joins the pod's cgroups, gives up core files, and becomes the command.

    The umask is set because the worker's may be any.

    Args:
        joins: files to write 0 to.
        inside: the words that take what follows into the pod's namespaces.
    """
    return ("/bin/sh", "-c", JOIN, "sh", *map(str, joins), "--", *inside, *argv)


def environment(
    pod: str, order: PodOrder, image: Mapping[str, str], extra: Mapping[str, str], root: str
) -> dict[str, str]:
    """All that a command finds in its environment; nothing is inherited from the worker.

    Args:
        pod: its name, by which a pod without a control group knows its processes.
        image: what the task's image sets; the order and then `extra` have their way over it.
        root: the pod's root on this machine; "" where commands see it as `/`.
    """
    own = {
        "PATH": PATH,
        "HOME": f"{root}/root",
        "LANG": "C.UTF-8",
        **image,
        **order.env,
        **extra,
        MARK: pod,
        "INFRANOISE_ROOT": root,
    }
    if root:  # the tools lie in the private tree
        own["PATH"] = own["PATH"].replace(TOOLS, f"{root}{TOOLS}")
        own.setdefault("TMPDIR", f"{root}/tmp")
    return own

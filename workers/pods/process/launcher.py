"""The program that opens enclosures: one small process per worker, forked once per pod.

Run as `python -I -S launcher.py` with a SOCK_SEQPACKET socket as stdin. A request is one JSON
message (`Request` says its keys) with two file descriptors. The pod's lifeline is a socket whose
other end the worker keeps and never writes to: PID 1 reads it until the worker closes it or dies,
and then the kernel kills whatever else is in the pod. On the report, a pipe, goes `pid N`, and
`error TEXT` if there is one; it ends when the pod is ready.

It is a program of its own, with nothing but the standard library, because a user namespace can
only be entered by a process with a single thread, and because forking a small process costs
2 ms of CPU where starting Python costs 13 to 30.
"""

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
from typing import TypedDict

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
MNT_DETACH = 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV = 1, 2, 4
SYS_MOUNT_SETATTR = 442  # the same on every architecture; Linux 5.12
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}
PR_SET_CHILD_SUBREAPER = 36
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
SHM_BYTES = 64 * 1024 * 1024  # what Docker gives
MESSAGE_BYTES = 1 << 16

libc = ctypes.CDLL(None, use_errno=True)


class Request(TypedDict):
    """What a pod's enclosure is made of.

    `binds` are (path on the host, path below root) shown read-only, `devices` likewise but as
    they are; every target exists already. `ids` is (first uid, first gid, how many) outside that
    stand for 0.. inside.
    """

    root: str
    workdir: str
    binds: list[tuple[str, str]]
    devices: list[tuple[str, str]]
    network: bool
    ids: tuple[int, int, int]


def check(result: int, doing: str) -> None:
    """Raise OSError with what was being done, when a libc call failed."""
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{doing}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """mount(2)."""
    result = libc.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()
    )
    check(result, f"mount {source} on {target}")


def protect(target: str) -> None:
    """Make a mount and all mounts below it read-only; flags that are locked stay as they are."""
    attributes = struct.pack("QQQQ", ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, 0, 0, 0)
    result = libc.syscall(
        SYS_MOUNT_SETATTR, AT_FDCWD, target.encode(), AT_RECURSIVE, attributes, len(attributes)
    )
    check(result, f"make {target} read-only")


def enter(root: str) -> None:
    """Make root the root of the file tree and let go of the old one (pivot_root(2), last note)."""
    os.chdir(root)
    check(libc.syscall(SYS_PIVOT_ROOT[os.uname().machine], b".", b"."), f"pivot_root to {root}")
    check(libc.umount2(b".", MNT_DETACH), "unmount the host's tree")
    os.chdir("/")


def furnish(request: Request) -> None:
    """Mount what the pod may see of the host, and its own /proc, /dev/pts and /dev/shm."""
    root = request["root"]
    mount("none", "/", "none", MS_REC | MS_PRIVATE)
    mount(root, root, "none", MS_BIND | MS_NOSUID | MS_NODEV)
    for source, below in request["binds"]:
        mount(source, f"{root}/{below}", "none", MS_BIND | MS_REC)
        protect(f"{root}/{below}")
    for source, below in request["devices"]:
        mount(source, f"{root}/{below}", "none", MS_BIND)
    secure = MS_NOSUID | MS_NODEV | MS_NOEXEC
    mount("proc", f"{root}/proc", "proc", secure)
    mount("devpts", f"{root}/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666")
    mount("shm", f"{root}/dev/shm", "tmpfs", secure, f"mode=1777,size={SHM_BYTES}")


def raise_loopback() -> None:
    """Set the `lo` of a fresh network namespace up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        asked = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(probe, SIOCGIFFLAGS, asked))[1]
        fcntl.ioctl(probe, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def live(request: Request, lifeline: int) -> None:
    """Be PID 1: furnish the enclosure, then become a `cat` that reads the lifeline for ever.

    SIGCHLD stays ignored across the exec, so the kernel reaps whatever is orphaned in the pod.
    A socket, unlike a pipe, cannot be opened a second time through /proc/1/fd. The exec closes
    the report, as it does every other descriptor; only after it may others look into PID 1.
    """
    furnish(request)
    if not request["network"]:
        raise_loopback()
    enter(request["root"])
    if request["ids"][2] > 1:
        os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    os.chdir(request["workdir"])
    nowhere = os.open("/dev/null", os.O_RDWR)
    for source, place in ((lifeline, 0), (nowhere, 1), (nowhere, 2)):
        os.dup2(source, place)
    os.execv("/bin/cat", ["pod"])


def unfold(request: Request, lifeline: int, report: int, parent: socket.socket) -> None:
    """Leave the host's namespaces, have our ids mapped, and fork the pod's PID 1."""
    spaces = os.CLONE_NEWUSER | os.CLONE_NEWNS | os.CLONE_NEWPID | os.CLONE_NEWIPC
    os.unshare(spaces | (0 if request["network"] else os.CLONE_NEWNET))
    parent.send(b"u")
    if parent.recv(1) != b"m":
        raise PermissionError("the kernel refused the uid mapping")
    first = os.fork()
    if first:
        os.write(report, f"pid {first}\n".encode())
        os._exit(0)
    live(request, lifeline)


def map_ids(pid: int, ids: tuple[int, int, int]) -> None:
    """Write the uid and gid maps of a process that has just entered its own user namespace."""
    uid, gid, count = ids
    if count == 1:  # setgroups must be given up before an ordinary user may map a group
        write(f"/proc/{pid}/setgroups", "deny")
    write(f"/proc/{pid}/uid_map", f"0 {uid} {count}")
    write(f"/proc/{pid}/gid_map", f"0 {gid} {count}")


def write(path: str, text: str) -> None:
    """Write a small kernel file in one call."""
    handle = os.open(path, os.O_WRONLY)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def launch(request: Request, lifeline: int, report: int) -> None:
    """Fork one enclosure; what goes wrong in it is told on the report."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        try:
            unfold(request, lifeline, report, theirs)
        except Exception as problem:  # the fork must end here whatever happened, and say why
            os.write(report, f"error {problem}\n".encode())
        finally:
            os._exit(1)
    theirs.close()
    try:
        if ours.recv(1):
            map_ids(child, request["ids"])
            ours.send(b"m")
    except OSError as problem:
        os.write(report, f"error cannot map ids: {problem}\n".encode())
    finally:
        ours.close()


def serve(control: socket.socket) -> None:
    """Answer requests until the worker is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # the PID 1s become ours to reap
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 2)
        if not message:
            return
        for descriptor in descriptors:  # recv_fds takes flags, and leaves them unused
            os.set_inheritable(descriptor, False)
        try:
            launch(json.loads(message), *descriptors)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


if __name__ == "__main__":
    serve(socket.socket(fileno=0))

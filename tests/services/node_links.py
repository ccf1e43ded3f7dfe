"""Nodes with addresses of their own: network namespaces, each linked to home's by a cable.

Needs root, iproute2, iptables and nsenter. Names and addresses are of this test alone; all of it is
gone when the links are closed.
"""

import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from typing import Literal

NEEDS = ("ip", "iptables", "tc", "nsenter")
Side = Literal["home", "node"]
SLOW = (
    ("netem", "delay", "300ms", "50ms"),
    ("tbf", "rate", "128kbit", "burst", "4kb", "latency", "4s"),  # where the kernel has no netem
)


def missing_for_links() -> str:
    """What keeps us from making network namespaces here; "" if nothing does."""
    if os.geteuid() != 0:
        return "root (network namespaces)"
    absent = [name for name in NEEDS if shutil.which(name) is None]
    if absent:
        return ", ".join(absent)
    tried = subprocess.run(("unshare", "-n", "true"), capture_output=True, check=False)
    return "" if tried.returncode == 0 else "the right to make network namespaces"


class Links:
    """Home and its nodes. `home` has one address for each cable."""

    def __init__(self, nodes: Sequence[str]) -> None:
        mark = secrets.token_hex(3)
        self._spaces = {name: f"inr-{mark}-{name}" for name in ("home", *nodes)}
        self._number = {name: number for number, name in enumerate(nodes)}
        self._mark = mark
        for space in self._spaces.values():
            _run("ip", "netns", "add", space)
            _run("ip", "-n", space, "link", "set", "lo", "up")
        for name in nodes:
            self._lay(name)

    def inside(self, name: str) -> tuple[str, ...]:
        """What to put before a command that is to run there; its files stay those of all."""
        return ("nsenter", f"--net=/var/run/netns/{self._spaces[name]}", "--")

    def home_address(self, node: str) -> str:
        """Where a node finds home."""
        return f"198.18.{self._number[node]}.1"

    @property
    def home_addresses(self) -> tuple[str, ...]:
        return ("127.0.0.1", *(self.home_address(node) for node in self._number))

    def deafen(self, node: str, side: Side) -> None:
        """From now on this side of a node's cable hears nothing; what it sends goes out."""
        space, cable = self._end(node, side)
        _run(*self._tables(space), "-A", "INPUT", "-i", cable, "-j", "DROP")

    def cut(self, node: str) -> None:
        """Nothing goes through a node's cable, and nobody is told so."""
        self.deafen(node, "home")
        self.deafen(node, "node")

    def heal(self, node: str) -> None:
        """Both sides hear again."""
        for side in ("home", "node"):
            space, cable = self._end(node, side)  # type: ignore[arg-type]
            rule = ("INPUT", "-i", cable, "-j", "DROP")
            while _holds(*self._tables(space), "-C", *rule):
                _run(*self._tables(space), "-D", *rule)

    def slow(self, node: str) -> str:
        """What a node sends takes its time; in words, how it is made to."""
        space, cable = self._end(node, "node")
        for words in SLOW:
            if _holds("tc", "-n", space, "qdisc", "replace", "dev", cable, "root", *words):
                return " ".join(words)
        raise RuntimeError("this kernel has neither netem nor tbf")

    def close(self) -> None:
        """Take everything away; a cable goes with its ends."""
        for space in self._spaces.values():
            subprocess.run(("ip", "netns", "del", space), capture_output=True, check=False)

    def _lay(self, node: str) -> None:
        number = self._number[node]
        ends = [self._end(node, "home"), self._end(node, "node")]
        (home, near), (there, far) = ends
        peer = ("peer", "name", far, "netns", there)
        _run("ip", "link", "add", near, "netns", home, "type", "veth", *peer)
        for (space, cable), last in zip(ends, (1, 2)):
            address = f"198.18.{number}.{last}/30"
            _run("ip", "-n", space, "addr", "add", address, "dev", cable)
            _run("ip", "-n", space, "link", "set", cable, "up")

    def _end(self, node: str, side: Side) -> tuple[str, str]:
        """The namespace and the name of one end of a node's cable."""
        number = self._number[node]
        space = self._spaces["home" if side == "home" else node]
        return space, f"inr{self._mark}{side[0]}{number}"

    def _tables(self, space: str) -> tuple[str, ...]:
        return ("nsenter", f"--net=/var/run/netns/{space}", "--", "iptables", "--wait")


def _run(*words: str) -> None:
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(words)}: {ended.stderr.strip()}")


def _holds(*words: str) -> bool:
    return subprocess.run(words, capture_output=True, check=False).returncode == 0

"""What a pod does through its outlet, counted in lists that do not grow without end."""

from dataclasses import dataclass, field

from ...models.egress_seen import (
    NETWORK_FAULTS,
    DnsFault,
    DnsSeen,
    EgressSeen,
    HostSeen,
    RefusedAs,
    RefusedSeen,
)

MOST = 64  # of each list: hosts, refusals, names
LONGEST_TEXT = 253


def _shown(text: str) -> str:
    """What a pod wrote, as it may be shown: some letters of it, none that steers a terminal."""
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in text[:LONGEST_TEXT])


@dataclass(slots=True)
class Way:
    """One host at one port, as it is counted."""

    host: str
    port: int
    connections: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    failed: int = 0
    why: str = ""
    cut_off: bool = False

    def reached(self) -> None:
        """Count a connection."""
        self.connections += 1
        self.cut_off = False

    def missed(self, why: str, *, cut_off: bool) -> None:
        """Count a connection that did not come about."""
        self.failed += 1
        self.why, self.cut_off = why[:LONGEST_TEXT], cut_off


@dataclass(slots=True)
class Tally:
    """The counts of one pod. A list that is full counts what is new in one number."""

    _ways: dict[tuple[str, int], Way] = field(default_factory=dict)
    _others: list[Way] = field(default_factory=list)
    _refused: dict[tuple[str, int | None, RefusedAs], int] = field(default_factory=dict)
    _dns: dict[tuple[str, DnsFault], int] = field(default_factory=dict)
    _unknown: dict[str, DnsFault] = field(default_factory=dict)
    _more_refused: int = 0
    _more_dns: int = 0

    def forget(self) -> None:
        """Begin anew."""
        for counts in (self._ways, self._others, self._refused, self._dns, self._unknown):
            counts.clear()
        self._more_refused = self._more_dns = 0

    def way(self, host: str, port: int) -> Way:
        """Where to count connections to a host's port."""
        found = self._ways.get((host, port))
        if found is not None:
            return found
        made = Way(host, port)
        if len(self._ways) < MOST:
            self._ways[host, port] = made
        else:
            self._others += [] if self._others else [made]
            made = self._others[0]
        return made

    def refuse(self, to: str, port: int | None, how: RefusedAs) -> None:
        """Count something that was not let."""
        key = (_shown(to), port, how)
        if key in self._refused or len(self._refused) < MOST:
            self._refused[key] = self._refused.get(key, 0) + 1
        else:
            self._more_refused += 1

    def unnamed(self, name: str, fault: DnsFault, *, again: bool = True) -> None:
        """Count a name that got no address.

        Args:
            again: also if it was counted before. Programs ask twice for what they ask once.
        """
        key = (_shown(name), fault)
        if not again and key in self._dns:
            return
        if key in self._dns or len(self._dns) < MOST:
            self._dns[key] = self._dns.get(key, 0) + 1
            self._unknown[key[0]] = fault
        elif fault == "forbidden":
            self._more_refused += 1
        else:
            self._more_dns += 1

    def named(self, name: str) -> None:
        """Note that a name got its address."""
        self._unknown.pop(_shown(name), None)

    def seen(self) -> EgressSeen:
        """All that was counted until now."""
        return EgressSeen(
            hosts=tuple(
                HostSeen(
                    host=way.host,
                    port=way.port,
                    connections=way.connections,
                    bytes_out=way.bytes_out,
                    bytes_in=way.bytes_in,
                    failed=way.failed,
                    why=way.why,
                    cut_off=way.cut_off,
                )
                for way in self._ways.values()
            ),
            refused=tuple(
                RefusedSeen(to=to, port=port, how=how, count=count)
                for (to, port, how), count in self._refused.items()
            ),
            dns=tuple(
                DnsSeen(name=name, fault=fault, count=count, cut_off=self._cut_off(name, fault))
                for (name, fault), count in self._dns.items()
            ),
            more_connections=sum(way.connections for way in self._others),
            more_refused=self._more_refused,
            more_dns=self._more_dns,
        )

    def _cut_off(self, name: str, fault: DnsFault) -> bool:
        return fault in NETWORK_FAULTS and self._unknown.get(name) == fault

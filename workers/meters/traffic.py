"""What passed through the interfaces of a network namespace."""

from dataclasses import astuple, dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes and packets that came in and went out, over all interfaces but `lo`."""

    rx_bytes: int = 0
    rx_packets: int = 0
    tx_bytes: int = 0
    tx_packets: int = 0

    def since(self, before: Self) -> Self:
        """What has passed since an earlier reading; interfaces that are new count from 0.

        >>> Traffic(9, 3, 5, 2).since(Traffic(4, 1, 0, 0))
        Traffic(rx_bytes=5, rx_packets=2, tx_bytes=5, tx_packets=2)
        """
        pairs = zip(astuple(self), astuple(before), strict=True)
        return type(self)(*(max(0, now - then) for now, then in pairs))


def traffic(net_dev: str) -> Traffic:
    """From the text of /proc/PID/net/dev.

    >>> traffic("h\\nh\\n  lo: 5 0 0 0 0 0 0 0 5 0\\neth0:1024 8 0 0 0 0 0 0 77 1\\n")
    Traffic(rx_bytes=1024, rx_packets=8, tx_bytes=77, tx_packets=1)
    """
    sums = [0, 0, 0, 0]
    for line in net_dev.splitlines()[2:]:
        name, _, numbers = line.partition(":")
        if name.strip() != "lo":
            fields = numbers.split()
            sums = [sum(pair) for pair in zip(sums, (int(fields[i]) for i in (0, 1, 8, 9)))]
    return Traffic(*sums)

"""Traffic of a pod's interfaces, from the kernel's table."""

from infranoise.workers.meters.traffic import Traffic, traffic

TABLE = (
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
    "    lo:     900     1    0    0    0     0          0         0      900     1    0\n"
    "  eth0: 1000     2    0    0    0     0          0         0      50     1    0    0\n"
    "  eth1:24        2    0    0    0     0          0         0      7     1    0    0\n"
)


def test_interfaces_add_up_and_loopback_does_not_count() -> None:
    assert traffic(TABLE) == Traffic(1024, 4, 57, 2)


def test_what_was_our_own_measuring_is_left_out_and_never_makes_a_count_negative() -> None:
    assert traffic(TABLE).since(Traffic(1000, 1, 57, 5)) == Traffic(24, 3, 0, 0)

"""What an outlet costs: one for a pod, a connection and a MiB through it, beside direct ones.

    python benchmarks/outlet.py [--out FILE]

Needs root and network namespaces, as outlets do. Everything stays on this machine. CPU-seconds are
of the worker's side and of the process that carries; programs in the pod are not in them. Goals:
20 ms CPU for a pod, 1 ms for a connection, 1 ms for a MiB.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from infranoise.workers.network.namespace import within
from infranoise.workers.outlet import question
from infranoise.workers.outlet.link import why_no_outlets
from infranoise.workers.outlet.outlets import Outlets
from infranoise.workers.outlet.places import DNS_PORT, NODE

OPENINGS, CONNECTIONS, MIB = 20, 500, 256
GOALS = {"open_cpu_s": 0.02, "connection_cpu_s": 0.001, "stream_cpu_s": 0.001}
PIECE = bytes(1 << 20)


def own_cpu_s() -> float:
    """CPU-seconds of this process and of programs that it waited for."""
    both = (getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def cpu_s_of(pid: int) -> float:
    """CPU-seconds of another process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mib(pid: int) -> float:
    """Resident memory of another process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def sleeper() -> subprocess.Popen[bytes]:
    """A process in a network of its own."""
    words = ("unshare", "-n", "sh", "-c", "ip link set lo up; echo; exec sleep 600")
    made = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert made.stdout is not None
    made.stdout.readline()
    return made


def source() -> int:
    """A server on loopback: one byte for each connection, or as many MiB as its first byte says."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)

    def serve() -> None:
        while True:
            way, _ = listening.accept()
            with way:
                for _ in range(way.recv(1)[0]):
                    way.sendall(PIECE)
                way.sendall(b".")

    threading.Thread(target=serve, daemon=True).start()
    return int(listening.getsockname()[1])


def address() -> str:
    """What the name of the source stands for in this thread's network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.connect((str(NODE), DNS_PORT))
        asking.send(question.asking("site.test"))
        return str(question.address_in(asking.recv(512)))


def fetched(where: tuple[str, int], mib: int) -> None:
    """One connection, and all that it gives."""
    with socket.create_connection(where) as way:
        way.sendall(bytes([mib]))
        while way.recv(1 << 18):
            pass


def timed(call: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    since = time.perf_counter()
    call()
    return time.perf_counter() - since


def measure() -> dict[str, float]:
    """Every figure, by its name."""
    port, outlets, pods = source(), Outlets({"site.test": ("127.0.0.1",)}), [sleeper()]
    outlets.open("first", pods[0].pid, (f"site.test:{port}",), "")
    assert outlets.pid is not None
    pods += [sleeper() for _ in range(OPENINGS)]
    before, carried, since = own_cpu_s(), cpu_s_of(outlets.pid), time.perf_counter()
    for pod in pods[1:]:
        outlets.open(f"pod {pod.pid}", pod.pid, (f"site.test:{port}",), "")
    opening_s = (time.perf_counter() - since) / OPENINGS
    opening_cpu_s = (own_cpu_s() - before + cpu_s_of(outlets.pid) - carried) / OPENINGS
    pid = pods[0].pid
    there = (within(pid, address), port)
    figures = {"open_s": opening_s, "open_cpu_s": opening_cpu_s}
    for name, mib, times in (("connection", 0, CONNECTIONS), ("stream", 128, MIB // 128)):

        def work(where: tuple[str, int], mib: int = mib, times: int = times) -> None:
            for _ in range(times):
                fetched(where, mib)

        direct_s = timed(lambda: work(("127.0.0.1", port)))
        carried = cpu_s_of(outlets.pid)
        outlet_s = within(pid, lambda: timed(lambda: work(there)))
        figures[f"{name}_ratio"] = outlet_s / direct_s
        figures[f"{name}_cpu_s"] = (cpu_s_of(outlets.pid) - carried) / (times if not mib else MIB)
    figures["memory_mib"] = memory_mib(outlets.pid)
    outlets.close()
    for pod in pods:
        pod.kill()
        pod.wait()
    return figures


def main() -> None:
    """Measure, print, and say with the exit code whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    if why := why_no_outlets():
        sys.exit(why)
    figures = measure()
    print(f"an outlet for a pod       {figures['open_s'] * 1e3:8.1f} ms, "
          f"{figures['open_cpu_s'] * 1e3:.1f} ms CPU")  # fmt: skip
    print(f"a connection through it   {figures['connection_cpu_s'] * 1e3:8.3f} ms CPU, "
          f"{figures['connection_ratio']:.2f} times a direct one")  # fmt: skip
    print(f"a MiB through it          {figures['stream_cpu_s'] * 1e3:8.3f} ms CPU, "
          f"{figures['stream_ratio']:.2f} times a direct one")  # fmt: skip
    print(f"the process that carries  {figures['memory_mib']:8.1f} MiB")
    if asked.out:
        asked.out.write_text(json.dumps(figures))
    sys.exit(any(figures[name] > goal for name, goal in GOALS.items()))


if __name__ == "__main__":
    main()

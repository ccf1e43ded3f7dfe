import os
from pathlib import Path

import pytest

from infranoise.models.load import Load
from infranoise.workers.meters.load import read_load
from infranoise.workers.meters.procfs import Files

PRESSURE = "{} avg10=1.50 avg60=0.02 avg300=0.00 total=48167\n"


@pytest.fixture
def busy(tmp_path: Path) -> Files:
    proc = tmp_path / "proc"
    (proc / "pressure").mkdir(parents=True)
    (proc / "loadavg").write_text("3.25 2.00 1.00 4/300 12345\n")
    ticks = os.sysconf("SC_CLK_TCK")
    (proc / "stat").write_text(f"cpu  1 2 3 4 5 6 7 {9 * ticks} 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n")
    (proc / "meminfo").write_text(
        "MemAvailable: 1024 kB\nSwapTotal: 300 kB\nSwapCached: 0 kB\nSwapFree: 200 kB\n"
    )
    (proc / "vmstat").write_text("pgpgin 12\npswpin 3\npswpout 5\noom_kill 4\n")
    (proc / "pressure" / "cpu").write_text(PRESSURE.format("some"))
    (proc / "pressure" / "memory").write_text(PRESSURE.format("some") + PRESSURE.format("full"))
    return Files(tmp_path)


def test_a_busy_node_reads_as_it_is(busy: Files) -> None:
    assert read_load(busy) == Load(
        load1=3.25,
        psi_cpu_some10=1.5,
        psi_mem_some10=1.5,
        psi_mem_full10=1.5,
        steal_s=9.0,
        busy_s=19 / os.sysconf("SC_CLK_TCK"),
        swapped_pages=8,
        mem_available_bytes=1024 * 1024,
        swap_used_bytes=100 * 1024,
        system_oom_kills=4,
    )


def test_a_kernel_that_tells_nothing_gives_nothing(tmp_path: Path) -> None:
    assert read_load(Files(tmp_path)) == Load()


def test_this_node_has_a_load() -> None:
    here = read_load()
    assert here.load1 is not None
    assert here.mem_available_bytes

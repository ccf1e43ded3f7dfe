from pathlib import Path

from infranoise.workers.meters.clock import read_clock
from infranoise.workers.meters.procfs import Files


def test_this_kernel_tells_its_clock_without_being_changed() -> None:
    clock = read_clock()
    assert clock.synchronised in (True, False)
    assert clock.worst_error_s is not None
    assert clock.worst_error_s >= 0


def test_the_clock_source_is_the_kernels_word(tmp_path: Path) -> None:
    folder = tmp_path / "sys/devices/system/clocksource/clocksource0"
    folder.mkdir(parents=True)
    (folder / "current_clocksource").write_text("tsc\n")
    assert read_clock(Files(tmp_path)).source == "tsc"

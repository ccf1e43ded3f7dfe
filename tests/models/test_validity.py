"""Warnings: each by the reading that raises it, and none by what is not told."""

import pytest

from infranoise.models.conditions import Conditions, Usage
from infranoise.models.counters import Counters
from infranoise.models.limits import Effective, Limits
from infranoise.models.load import Load
from infranoise.models.node import NodeProfile
from infranoise.models.validity import WARNINGS, Seen, warnings_of

GIB = 1 << 30
STEADY: dict[str, object] = {"architecture": "x", "kernel": "6", "cpu_cores": 2, "cpu_threads": 4}


def seen(
    *,
    start: dict[str, float] | None = None,
    end: dict[str, float] | None = None,
    counters: dict[str, object] | None = None,
    profile: dict[str, object] | None = None,
    wall_s: float = 10.0,
    **conditions: object,
) -> Seen:
    values: dict[str, object] = {
        "node": "n",
        "node_profile": "p",
        "runtime": "process",
        "network": "none",
        "requested": Limits(),
        "slots": 4,
        "hour_utc": 1,
        "weekday": 1,
        "co_running_peak": 0,
        "load_start": Load.model_validate(start or {}),
        "load_end": Load.model_validate(end or {}),
    }
    return Seen(
        Conditions.model_validate(values | conditions),
        Usage(counters=Counters(source="x", **(counters or {}))),  # type: ignore[arg-type]
        wall_s,
        NodeProfile.model_validate(STEADY | (profile or {})),
    )


ONE_EACH = {
    "swap_used": seen(start={"swapped_pages": 5}, end={"swapped_pages": 6}),
    "system_oom": seen(
        start={"system_oom_kills": 5}, end={"system_oom_kills": 7}, counters={"oom_kills": 1}
    ),
    "cpu_hot": seen(start={"thermal_throttles": 0}, end={"thermal_throttles": 1}),
    "cpu_quota": seen(counters={"throttled_s": 0.2}),
    "frequency_scaling": seen(profile={"cpu_governor": "powersave"}),
    "turbo": seen(profile={"turbo": True}),
    "outside_load": seen(start={"busy_s": 0}, end={"busy_s": 9}, counters={"cpu_s": 4.0}),
    "cpu_steal": seen(start={"steal_s": 0}, end={"steal_s": 0.5}),
    "memory_overcommit": seen(profile={"memory_bytes": GIB}, ceilings_peak_bytes=GIB + 1),
    "shared_cores": seen(co_running_peak=2),
    "cpu_overcommit": seen(co_running_peak=2, profile={"cpu_threads": 2}),
    "memory_pressure": seen(load_peak=Load(psi_mem_some10=11.0)),
    "io_pressure": seen(end={"psi_io_full10": 11.0}),
    "clock_step": seen(clock_step_s=-3.0),
    "clock_offset": seen(clock_offset_s=-1.2, clock_error_s=0.1),
    "suspended": seen(suspended_s=5.0),
    "egress_slow": seen(effective=Effective(enforcement="x", differs=("egress: asked 10",))),
}
AT_EASE = {
    "nothing is told": Seen(seen().conditions, Usage(), 10.0),
    "its own OOM kill": seen(
        start={"system_oom_kills": 5}, end={"system_oom_kills": 6}, counters={"oom_kills": 1}
    ),
    "its own work": seen(start={"busy_s": 0}, end={"busy_s": 9}, counters={"cpu_s": 8.5}),
    "work of neighbours, which is theirs": seen(
        start={"busy_s": 0}, end={"busy_s": 30}, counters={"cpu_s": 1.0}, co_running_peak=1
    ),
    "a clock that may be right within its error": seen(clock_offset_s=2.0, clock_error_s=1.5),
    "the governor that keeps the frequency": seen(profile={"cpu_governor": "performance"}),
    "swap that is full but not touched": seen(
        start={"swap_used_bytes": 9, "swapped_pages": 7},
        end={"swap_used_bytes": 9, "swapped_pages": 7},
    ),
}


def test_every_warning_has_a_case() -> None:
    assert ONE_EACH.keys() == WARNINGS.keys()


@pytest.mark.parametrize("word", ONE_EACH)
def test_a_reading_raises_its_warning_and_no_other(word: str) -> None:
    assert warnings_of(ONE_EACH[word]) == (word,)


@pytest.mark.parametrize("case", AT_EASE)
def test_what_is_in_order_or_not_told_raises_none(case: str) -> None:
    assert warnings_of(AT_EASE[case]) == ()


def test_the_worse_of_two_loads_is_field_by_field_and_less_memory_is_worse() -> None:
    calm = Load(load1=1.0, mem_available_bytes=9, steal_s=1.0)
    busy = Load(load1=3.0, mem_available_bytes=4, system_oom_kills=2)
    assert (
        calm.worst(busy)
        == busy.worst(calm)
        == Load(load1=3.0, mem_available_bytes=4, steal_s=1.0, system_oom_kills=2)
    )

"""What a pod consumed, as far as its end lets it be known."""

from itertools import product

import pytest

from infranoise.models.counters import Counters
from infranoise.models.kube_evidence import KubeEvidence, WrapperReport
from infranoise.models.limits import Limits
from infranoise.workers.pods.kubernetes.counters import after_the_end, from_files
from infranoise.workers.pods.kubernetes.limits import effective, files

NUMBERS = ["", "x", "-1", "0 0", "max", "1e999", "9" * 19, "9" * 30, "9" * 5000]
PATHS = ["memory.events", "memory.peak", "memory.max", "cpu.stat", "cpu.max", "pids.max",
         "memory/memory.oom_control", "memory/memory.limit_in_bytes", "cpu/cpu.stat",
         "cpuacct/cpuacct.usage", "cpu/cpu.cfs_quota_us"]  # fmt: skip
KEYS = ["", "oom_kill ", "usage_usec ", "nr_throttled "]


@pytest.mark.parametrize("path", PATHS)
def test_whatever_a_pod_s_own_shell_prints_is_a_reading_or_none(path: str) -> None:
    pod = {"spec": {"containers": [{"resources": {}}]}}
    for key, number, version in product(KEYS, NUMBERS, ("", "memory.events")):
        second = f"== /sys/fs/cgroup/{version}\noom_kill 0\n" if version else ""
        inside = files(f"== /sys/fs/cgroup/{path}\n{key}{number}\n{second}")
        effective(pod, inside, Limits(memory_ceiling_bytes=1))
        read = from_files(inside, None).model_dump().values()
        assert all(0 <= one <= 1 << 53 for one in read if isinstance(one, int | float))


REPORT = WrapperReport(rc=143, oom_kills_before=1, oom_kills_after=3)
CASES: dict[str, tuple[KubeEvidence, int | None, int | None]] = {
    "its first process counted": (KubeEvidence(exit_code=143, report=REPORT), 0, 2),
    "a kill was told, and none counted before it": (KubeEvidence(oom_reason=True), 0, 1),
    "a kill was told, of several counted before it": (KubeEvidence(oom_reason=True), 4, 4),
    "nobody counted to the end, so that none is not known": (KubeEvidence(exit_code=137), 0, None),
    "nor what came after the last count": (KubeEvidence(exit_code=137), 2, 2),
    "it lives": (KubeEvidence(phase="Running"), 0, 0),
}


@pytest.mark.parametrize("case", CASES)
def test_kills_are_known_as_far_as_somebody_counted(case: str) -> None:
    seen, before, kills = CASES[case]
    found = after_the_end(seen, Counters(source="kubernetes", oom_kills=before))
    assert found is not None
    assert found.oom_kills == kills


def test_where_nothing_was_read_and_nothing_told_there_is_nothing() -> None:
    assert after_the_end(KubeEvidence(phase="Running"), None) is None


def test_an_eviction_over_its_own_storage_is_told() -> None:
    words = "Pod ephemeral local storage usage exceeds the total limit of containers 30Mi. "
    found = after_the_end(KubeEvidence(reason="Evicted", message=words), None)
    assert found is not None
    assert found.storage_exceeded

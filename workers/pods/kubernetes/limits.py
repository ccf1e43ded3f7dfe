"""Limits in force: what the API admitted, and what the pod sees of it from inside. Pure."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ....models.kube_quantity import quantity
from ....models.limits import Effective, Limits
from ...meters.cgroup import count, quota_v1, quota_v2
from ..process import group

Object = Mapping[str, Any]


NO_NUMBER = re.compile(r"\d{20}")


def surprises(asked: Object, admitted: Object) -> tuple[str, ...]:
    """Where the resources of an admitted container are not what was asked, in words.

    LimitRanges, webhooks and autoscalers change them silently.
    """
    found = []
    for kind in ("requests", "limits"):
        was, now = asked.get(kind) or {}, admitted.get(kind) or {}
        for name in sorted({*was, *now}):
            if _amount(was.get(name)) != _amount(now.get(name)):
                found.append(f"{name} {kind}: asked {was.get(name)}, admitted {now.get(name)}")
    return tuple(found)


def strangers(asked: Object, admitted: Object) -> tuple[str, ...]:
    """What stands in an admitted pod beside or instead of what was asked for, in words.

    Webhooks put containers into pods, which take of the node what no band counts; give them another
    runtime, which enforces otherwise; or start another first process, which counts no kills.
    """
    ours = {container["name"] for container in asked["spec"]["containers"]}
    found = [
        f"{kind[:-1]} {one['name']!r} was put into the pod"
        for kind in ("containers", "initContainers")
        for one in admitted["spec"].get(kind) or ()
        if one["name"] not in ours
    ]
    was, now = asked["spec"], admitted["spec"]
    for name in ("restartPolicy", "runtimeClassName"):
        if was.get(name) != now.get(name):
            found.append(f"{name}: asked {was.get(name)}, admitted {now.get(name)}")
    first, kept = was["containers"][0], now["containers"]
    mine: Object = next((one for one in kept if one["name"] == first["name"]), {})
    if any(first.get(name) != mine.get(name) for name in ("command", "args")):
        found.append("its first process is another")
    if admitted["spec"].get("hostNetwork"):
        found.append("the pod was put onto its node's own network")
    return tuple(found)


def _amount(text: str | None) -> Decimal | None:
    return None if text is None else quantity(text)


def files(text: str) -> dict[str, str]:
    """What `READ_FILES` printed, by path below the cgroup's mount; /proc/net/dev as it is.

    The shell that printed it is the pod's own: a number that no kernel writes makes a file unread.

    >>> files("== /sys/fs/cgroup/memory.peak\\n42\\n")
    {'memory.peak': '42\\n'}
    """
    found: dict[str, str] = {}
    for part in text.split("== /")[1:]:
        path, _, content = part.partition("\n")
        if NO_NUMBER.search(content):
            continue
        found[path.removeprefix("sys/fs/cgroup/")] = content
    return found


def user(inside: Mapping[str, str]) -> int | None:
    """The numeric user that commands run as; None where the pod could not tell."""
    rows = (line.split() for line in inside.get("proc/self/status", "").splitlines())
    found = next((row[1] for row in rows if row[:1] == ["Uid:"] and len(row) > 1), "")
    return count(found)


def effective(pod: Object, inside: Mapping[str, str], limits: Limits) -> Effective:
    """Limits in force: what the API admitted, as the pod sees it from inside.

    Args:
        pod: the running pod's object.
        inside: as `files` gives it.
        limits: as asked.
    """
    container = pod["spec"]["containers"][0]
    admitted = container.get("resources") or {}
    got = Effective(
        memory_floor_bytes=_bytes(admitted, "requests", "memory") or None,
        memory_ceiling_bytes=_bytes(admitted, "limits", "memory"),
        storage_ceiling_bytes=_bytes(admitted, "limits", "ephemeral-storage"),
        enforcement=f"kubernetes:cgroup-v{2 if 'memory.events' in inside else 1}",
        **(_seen_v2(inside) if "memory.events" in inside else _seen_v1(inside)),
    )
    return got.model_copy(update={"differs": differences(limits, got, inside)})


def differences(limits: Limits, got: Effective, inside: Mapping[str, str]) -> tuple[str, ...]:
    """Each limit that was asked for and is not in force, in words.

    Who dies at the ceiling and how many processes there may be is the kubelet's to say.
    """
    found = list(group.differences(limits, got))
    seen = count(inside.get("memory.max") or inside.get("memory/memory.limit_in_bytes") or "")
    asked = limits.memory_ceiling_bytes
    if asked is not None and seen is not None and abs(seen - asked) >= group.PAGE_BYTES:
        found.append(f"memory ceiling: asked {asked}, the pod sees {seen}")
    return tuple(found)


def _bytes(admitted: Object, kind: str, name: str) -> int | None:
    text = (admitted.get(kind) or {}).get(name)
    return None if text is None else int(quantity(text))


def _seen_v1(inside: Mapping[str, str]) -> dict[str, Any]:
    quota, period = inside.get("cpu/cpu.cfs_quota_us"), inside.get("cpu/cpu.cfs_period_us")
    both = count(inside.get("memory/memory.memsw.limit_in_bytes", ""))
    top = count(inside.get("memory/memory.limit_in_bytes", ""))
    return {
        "memory_and_swap_bytes": (both or top) if top and top < 2**62 else None,
        "cpu_shares": count(inside.get("cpu/cpu.shares", "")),
        "cpu_ceiling": quota_v1(quota, period) if quota and period else None,
        "cpuset": inside.get("cpuset/cpuset.cpus", "").strip() or None,
        "pids": count(inside.get("pids/pids.max", "")),
        "oom_scope": "process",
    }


def _seen_v2(inside: Mapping[str, str]) -> dict[str, Any]:
    weight, grouped = count(inside.get("cpu.weight", "")), inside.get("memory.oom.group", "")
    return {
        # The kubelet gives a pod no swap unless it is told to.
        "memory_and_swap_bytes": count(inside.get("memory.max", "")),
        "cpu_shares": group.shares_of(weight) if weight else None,
        "cpu_ceiling": _quota_v2(inside.get("cpu.max", "")),
        "cpuset": inside.get("cpuset.cpus.effective", "").strip() or None,
        "pids": count(inside.get("pids.max", "")),
        "oom_scope": "pod" if grouped.strip() == "1" else "process",
    }


def _quota_v2(text: str) -> float | None:
    try:
        return quota_v2(text)
    except (ValueError, ZeroDivisionError):  # nothing there, or nothing that a kernel writes
        return None

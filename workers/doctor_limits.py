"""Findings on what can be limited: memory, swap, CPU, processes, and by whom. Pure."""

from .doctor_check import Check
from .survey import DockerSeen, Survey

DELEGATE = (
    "run as root, or have the group handed to you: on systemd `systemctl edit user@.service` "
    "with Delegate=yes and log in again; in a container mount /sys/fs/cgroup writable"
)


def memory_ceiling(survey: Survey) -> Check:
    """Who can kill at a memory ceiling: a cgroup of ours, systemd, Docker, or nobody."""
    name = "memory ceiling"
    refusal = survey.controllers.get("memory", "the kernel has no memory controller")
    if not refusal:
        found = f"memory cgroups (version {survey.cgroup_version}) can be made here"
        return Check(name, "ok", found, "process pods have hard ceilings; kills are counted")
    if not survey.user_scope:
        found = f"no cgroup of our own ({refusal}), but systemd makes one per pod"
        return Check(
            name, "ok", found, "process pods have hard ceilings through systemd-run, started slower"
        )
    found = f"no memory cgroup: {refusal}; no systemd scope: {survey.user_scope}"
    if isinstance(survey.docker, DockerSeen) and survey.docker.memory_limit:
        meaning = "use --runtime docker; process pods would only be watched, and spikes missed"
        return Check(name, "warn", found, meaning, DELEGATE)
    meaning = "nothing enforces a ceiling: a polling watchdog misses spikes, bands mean little"
    return Check(name, "fail", found, meaning, f"{DELEGATE}; or install and start Docker")


def swap(survey: Survey) -> Check:
    """Whether a page above the ceiling is a kill or a slow run."""
    if not survey.swap_bytes:
        return Check("swap", "ok", "none", "a page above the ceiling is a kill, as a band means it")
    found = f"{survey.swap_bytes / 2**30:.1f} GiB"
    if survey.swap_accounting is False:
        return Check(
            "swap",
            "warn",
            f"{found}, which cgroups cannot limit",
            "pods swap above their ceiling instead of being killed: bands blur, runs slow down",
            "swapoff -a, or boot with swapaccount=1",
        )
    return Check(
        "swap", "ok", f"{found}, limited per cgroup", "pods get none of it unless a band says so"
    )


def cpu_ceiling(survey: Survey) -> Check:
    """Whether CPU floors, ceilings, seconds and throttling can be had."""
    lacking = _lacking(survey, "cpu", "cpuacct")
    if not lacking:
        return Check("cpu limits", "ok", "can be set and read", "CPU bands and throttling are real")
    return Check(
        "cpu limits",
        "warn",
        lacking,
        "process pods have no CPU floor or ceiling, or their CPU seconds are not counted",
        DELEGATE,
    )


def pids_ceiling(survey: Survey) -> Check:
    """Whether a fork bomb ends at its own pod."""
    lacking = _lacking(survey, "pids")
    if not lacking:
        return Check("process limit", "ok", "can be set", "a fork bomb stays in its pod")
    return Check(
        "process limit", "warn", lacking, "a fork bomb in a process pod may reach you", DELEGATE
    )


def _lacking(survey: Survey, *controllers: str) -> str:
    """What keeps controllers from use, in words; "" when they can be used."""
    if not survey.user_scope:
        return ""
    refusals = {c: survey.controllers[c] for c in controllers if survey.controllers.get(c)}
    return "; ".join(f"{controller}: {why}" for controller, why in refusals.items())


def namespaces(survey: Survey) -> Check:
    """Whether process pods can have a file tree, processes and a network of their own."""
    lacking = {kind: why for kind, why in survey.namespaces.items() if why}
    if not lacking:
        found = f"{', '.join(survey.namespaces)}: all can be made"
        return Check("namespaces", "ok", found, "process pods are walled off from this machine")
    return Check(
        "namespaces",
        "warn",
        "; ".join(f"no {kind} namespace: {why}" for kind, why in lacking.items()),
        "process pods see this machine's files, processes or network: run only tasks you trust",
        "sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000; on Ubuntu also "
        "kernel.apparmor_restrict_unprivileged_userns=0; in a container --security-opt "
        "seccomp=unconfined",
    )


def docker_engine(survey: Survey) -> Check:
    """Whether tasks that need an image can run, and with which limits."""
    engine = survey.docker
    if isinstance(engine, str):
        return Check(
            "docker",
            "warn",
            engine,
            "only tasks whose environment is plain files can run, such as bundled:headroom",
            "install Docker (Debian: apt install docker.io), start it, join the docker group",
        )
    found = (
        f"{engine.version}, cgroup version {engine.cgroup_version} by {engine.cgroup_driver}, "
        f"{engine.storage_driver} on {engine.backing_filesystem}"
    )
    limits = {
        "memory": engine.memory_limit,
        "swap": engine.swap_limit,
        "processes": engine.pids_limit,
    }
    missing = [resource for resource, can in limits.items() if not can]
    if missing:
        return Check(
            "docker",
            "warn",
            f"{found}; cannot limit {', '.join(missing)}",
            "ceilings on these are not enforced in containers",
            "boot with cgroup_enable=memory swapaccount=1; rootless Docker needs delegation",
        )
    return Check("docker", "ok", found, "any Harbor-format task can run, with hard ceilings")

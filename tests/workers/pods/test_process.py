"""What is special about process pods: the machine they stand on, and nothing left on it."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import NoReturn

import pytest

from infranoise.models.errors import (
    ImageBuildFailed,
    PodLost,
    Refused,
    StartFailed,
)
from infranoise.workers.pods.pod import PodOrder
from infranoise.workers.pods.process.enforcement import Enforcement
from infranoise.workers.pods.process.ground import Ground
from infranoise.workers.pods.process.pod import ProcessPod
from infranoise.workers.pods.process.pods import ProcessPods

pytestmark = pytest.mark.cgroup
MIB = 1 << 20
MakeOrder = Callable[..., PodOrder]
HOG = "b = b'x' * (100 << 20); import time; time.sleep(30)"


@pytest.fixture(scope="module")
def pods(
    tmp_path_factory: pytest.TempPathFactory, missing: Callable[[str], NoReturn]
) -> Iterator[ProcessPods]:
    made = ProcessPods(tmp_path_factory.mktemp("state"))
    if made.facts()["enforcement"] == "watchdog" or not made.facts()["namespaces"]:
        missing("a memory cgroup or a user namespace")
    yield made
    made.close()


@contextmanager
def running(pods: ProcessPods, order: PodOrder) -> Iterator[ProcessPod]:
    pods.prepare(order)
    with pods.pod(order) as pod:
        yield pod


def without_namespaces(pods: ProcessPods, forced: Enforcement | None = None) -> ProcessPods:
    ground = Ground.survey(pods.state, forced=forced, namespaces=False)
    return ProcessPods(pods.state, ground)


def cgroups_of(order: PodOrder) -> list[Path]:
    return [
        folder
        for mount in Path("/sys/fs/cgroup").iterdir()
        for folder in mount.rglob(f"infranoise-{order.attempt_id}-*")
    ]


def test_a_stopped_pod_leaves_no_folder_no_cgroup_and_no_process(
    pods: ProcessPods, make_order: MakeOrder
) -> None:
    order = make_order(memory_ceiling_bytes=64 * MIB)
    with running(pods, order) as pod:
        first = pod.exec(["readlink", "/proc/1/ns/pid"]).stdout.tail.strip()
        assert first == ""  # PID 1 may not be looked into
        assert cgroups_of(order)
        assert list((pods.state / "pods").iterdir())
        mark = f"INFRANOISE_POD={order.attempt_id}-".encode()
    assert cgroups_of(order) == []
    assert list((pods.state / "pods").iterdir()) == []
    assert not [process for process in processes() if mark in environment_of(process)]


def test_two_runs_of_one_experiment_have_pods_of_one_attempt_side_by_side(
    pods: ProcessPods, make_order: MakeOrder
) -> None:
    order = make_order(memory_ceiling_bytes=64 * MIB)
    with running(pods, order) as one, closing(ProcessPods(pods.state)) as others:
        with running(others, order) as other:
            assert other.exec(["sh", "-c", "echo other > /app/whose"]).exit_code == 0
            assert len({folder.name for folder in cgroups_of(order)}) == 2
        assert one.exec(["cat", "/app/whose"]).exit_code == 1
        assert len({folder.name for folder in cgroups_of(order)}) == 1


def processes() -> Iterator[Path]:
    return Path("/proc").glob("[0-9]*")


def environment_of(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


def test_a_tree_that_is_hard_to_remove_is_removed(pods: ProcessPods, make_order: MakeOrder) -> None:
    with running(pods, make_order()) as pod:
        deep = "import os\nfor _ in range(1500):\n os.mkdir('dddddddd'); os.chdir('dddddddd')"
        assert pod.exec(["python3", "-c", deep]).exit_code == 0
        assert pod.exec(["sh", "-c", "mkdir shut; touch shut/x; chmod 0 shut"]).exit_code == 0
        assert pod.counters().storage_bytes is not None
    assert list((pods.state / "pods").iterdir()) == []


def test_one_attempt_cannot_be_started_twice(pods: ProcessPods, make_order: MakeOrder) -> None:
    order = make_order()
    with running(pods, order) as pod:
        with pytest.raises(StartFailed):
            pods.pod(order).start()
        assert pod.exec(["true"]).exit_code == 0, "the first one is not touched"


def test_the_death_of_pid_1_is_a_lost_pod(pods: ProcessPods, make_order: MakeOrder) -> None:
    with running(pods, make_order()) as pod:
        assert pod._enclosure is not None
        os.kill(pod._enclosure.pid, signal.SIGKILL)
        with pytest.raises(PodLost, match="PID 1"):
            pod.exec(["sleep", "5"])
        assert pod.counters().oom_kills == 0


def test_pods_start_again_after_their_launcher_died(
    pods: ProcessPods, make_order: MakeOrder
) -> None:
    with running(pods, make_order()) as before:
        launcher = pods.ground.launcher._process
        assert launcher is not None
        launcher.kill()
        with running(pods, make_order()) as after:
            assert after.exec(["true"]).exit_code == 0
        assert before.exec(["true"]).exit_code == 0


WORKER = """
import sys, time
from infranoise.workers.pods.process.pods import ProcessPods
from infranoise.workers.pods.pod import PodOrder
from infranoise.models.limits import Limits
from pathlib import Path
state, environment, attempt, seconds = sys.argv[1:]
pods = ProcessPods(Path(state))
order = PodOrder(attempt_id=attempt, experiment="e", trial="t", environment=Path(environment),
    environment_hash="orphan", limits=Limits(), expires_at=time.time() + 3600)
pods.prepare(order)
pod = pods.pod(order)
pod.start()
pod.exec(["sh", "-c", f"setsid sleep {seconds} >/dev/null 2>&1 &"])
print(pod._enclosure.pid, flush=True)
pod.exec(["sleep", seconds])
"""


def test_everything_in_a_pod_dies_with_its_worker_before_anyone_reaps(
    pods: ProcessPods, make_order: MakeOrder, tmp_path: Path
) -> None:
    order = make_order()
    seconds = f"4{uuid.uuid4().int % 10**9:09d}"
    state, name = tmp_path / "state", f"orphan-{seconds}"
    argv = [sys.executable, "-c", WORKER, str(state), str(order.environment), name, seconds]
    worker = subprocess.Popen(argv, stdout=subprocess.PIPE)
    try:
        assert worker.stdout is not None
        first = os.pidfd_open(int(worker.stdout.readline()))
    finally:
        worker.kill()
        worker.communicate()
    with os.fdopen(first):
        deadline = time.monotonic() + 20
        while any(seconds.encode() in command_of(process) for process in processes()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert ProcessPods(state).reap(now=time.time()) == (name,)
    assert list((state / "pods").iterdir()) == []


def command_of(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_a_half_made_pod_is_swept_when_it_is_old(pods: ProcessPods) -> None:
    half = pods.state / "pods" / "half"
    half.mkdir(parents=True, exist_ok=True)
    pods.reap(now=time.time())
    assert half.exists()
    pods.reap(now=time.time() + 7200)
    assert not half.exists()


# --- apart from the machine ---


def test_commands_hold_few_capabilities_and_can_gain_none(
    pods: ProcessPods, make_order: MakeOrder
) -> None:
    with running(pods, make_order()) as pod:
        status = pod.exec(["cat", "/proc/self/status"]).stdout.tail
        rows = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert int(rows["CapEff"], 16) & 1 << 21 == 0, "no sys_admin"
        assert int(rows["CapBnd"], 16) == int(rows["CapEff"], 16)
        assert rows["NoNewPrivs"] == "1"
        for attempt in ("mount -o remount,rw /usr", "mount -t tmpfs x /mnt", "umount /proc"):
            assert pod.exec(["sh", "-c", attempt]).exit_code != 0
        write = "echo 1 > /proc/sys/kernel/panic || echo 1 > /sys/kernel/mm/ksm/run"
        assert pod.exec(["sh", "-c", write]).exit_code != 0


def test_the_machine_s_secrets_are_not_in_the_tree(
    pods: ProcessPods, make_order: MakeOrder
) -> None:
    with running(pods, make_order()) as pod:
        look = "ls -A /home /run /var/lib; cat /etc/shadow /root/.ssh/* 2>/dev/null; ls -A /tmp"
        assert "docker" not in pod.exec(["sh", "-c", look]).stdout.tail
        assert pod.exec(["test", "-e", "/var/run/docker.sock"]).exit_code != 0
        assert pod.exec(["ls", "-A", "/sys/fs/cgroup/memory"]).exit_code in (0, 2)
        escape = f"echo 1 > {cgroups_of(pod.order)[0]}/cgroup.procs"
        assert pod.exec(["sh", "-c", escape]).exit_code != 0


def test_a_pod_has_the_python_of_its_worker_and_usual_devices(
    pods: ProcessPods, make_order: MakeOrder
) -> None:
    with running(pods, make_order()) as pod:
        for name in ("python", "python3"):
            version = pod.exec([name, "-c", "import sys; print(sys.version)"]).stdout.tail
            assert version == f"{sys.version}\n"
        code = "import multiprocessing, ssl, sqlite3, zlib; multiprocessing.Lock(); print('ok')"
        assert pod.exec(["python3", "-c", code]).stdout.tail == "ok\n"
        use = "echo x > /dev/null && head -c 4 /dev/urandom | wc -c && echo y > /dev/shm/y"
        assert pod.exec(["sh", "-c", use]).stdout.tail.strip() == "4"


def test_a_command_leads_a_session_of_its_own(pods: ProcessPods, make_order: MakeOrder) -> None:
    with running(pods, make_order()) as pod:
        code = "import os; print(os.getpgrp() == os.getsid(0) == os.getpid())"
        assert pod.exec(["python3", "-c", code]).stdout.tail == "True\n"
        script = "trap 'echo told; trap - TERM; exit 5' TERM; kill -TERM 0; sleep 60"
        assert pod.exec(["sh", "-c", script]).exit_code == 5


def test_what_cannot_be_executed_is_the_command_s_own_fault(
    pods: ProcessPods, make_order: MakeOrder
) -> None:
    with running(pods, make_order()) as pod:
        result = pod.exec(["echo", "x" * 3_000_000])
        assert result.exit_code == 126
        assert "too long" in result.stderr.tail
        assert pod.exec(["-x"]).exit_code == 127
        assert pod.exec(["true"], cwd="/no/such/folder").exit_code not in (0, None)


def test_the_worker_s_umask_does_not_reach_a_pod(pods: ProcessPods, make_order: MakeOrder) -> None:
    before = os.umask(0o077)
    try:
        with running(pods, make_order(environment_hash="under a umask")) as pod:
            look = "umask; cat /app/deep/number.txt; stat -c %a / /app /app/deep /etc/passwd"
            result = pod.exec(["sh", "-c", look], user="nobody")
    finally:
        os.umask(before)
    assert result.stdout.tail.split() == ["0022", "42", "755", "755", "755", "644"]


def test_uploading_to_the_machine_s_own_folders_is_refused(
    pods: ProcessPods, make_order: MakeOrder, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    with running(pods, make_order()) as pod:
        with pytest.raises(PodLost, match="read-only"):
            pod.upload(tmp_path / "file", PurePosixPath("/usr/local/bin/file"))
        pod.upload(tmp_path / "file", PurePosixPath("/usrlocal"))


def test_a_user_that_a_pod_does_not_have_is_told(pods: ProcessPods, make_order: MakeOrder) -> None:
    with running(pods, make_order()) as pod, pytest.raises(PodLost, match="ghost"):
        pod.exec(["true"], user="ghost")


# --- lesser grounds ---


def test_without_namespaces_only_relocatable_tasks_run_and_find_their_root(
    pods: ProcessPods, make_order: MakeOrder, tmp_path: Path
) -> None:
    bare = without_namespaces(pods)
    assert "namespaces" in str(bare.refuse(make_order()))
    assert 'runtime = "docker"' in str(bare.refuse(make_order(relocatable=True, network="none")))
    order = make_order(relocatable=True, memory_ceiling_bytes=64 * MIB)
    with running(bare, order) as pod:
        assert pod.root
        result = pod.exec(["sh", "-c", 'pwd; echo "$INFRANOISE_ROOT"; cat deep/number.txt'])
        assert result.stdout.tail == f"{pod.root}/app\n{pod.root}\n42\n"
        assert pod.exec(["sh", "-c", 'cd "$HOME" && pwd']).stdout.tail == f"{pod.root}/root\n"
        version = pod.exec(["python3", "-c", "import sys; print(sys.version)"]).stdout.tail
        assert version == f"{sys.version}\n"
        (tmp_path / "file").write_text("given\n")
        pod.upload(tmp_path / "file", PurePosixPath("/tests/file"))
        assert pod.exec(["cat", "file"], cwd="/tests").stdout.tail == "given\n"
        assert pod.download(PurePosixPath("/tests/file"), tmp_path / "back")
        assert pod.exec(["python3", "-c", HOG]).exit_code == 137
        assert pod.counters().oom_kills == 1
        with pytest.raises(Refused, match="nobody"):
            pod.exec(["true"], user="nobody")
        left = pod.exec(["sh", "-c", "sleep 600 & sleep 600"], timeout_s=0.3)
        assert left.timed_out
        assert pod.quiesce() == 0


@pytest.mark.parametrize("namespaces", [True, False])
@pytest.mark.parametrize("scope", ["process", "pod"])
def test_a_watchdog_kills_what_stays_above_the_ceiling_and_says_that_it_was_it(
    pods: ProcessPods, make_order: MakeOrder, *, namespaces: bool, scope: str
) -> None:
    ground = Ground.survey(pods.state, forced="watchdog", namespaces=namespaces)
    watched = ProcessPods(pods.state, ground)
    order = make_order(relocatable=True, memory_ceiling_bytes=48 * MIB, oom_scope=scope)
    watched.prepare(order)
    pod = watched.pod(order)
    effective = pod.start()
    try:
        assert effective.enforcement == "watchdog"
        assert any(told.startswith("pids") for told in effective.differs)
        result = pod.exec(["sh", "-c", f'python3 -c "{HOG}"; echo "child: $?"'], timeout_s=25)
        counters = pod.counters()
    finally:
        pod.stop()
        watched.close()
    assert counters.source == "watchdog"
    assert counters.oom_kills == 1
    assert counters.anon_peak_bytes is not None
    assert counters.anon_peak_bytes > 48 * MIB
    expected = (0, "child: 137\n") if scope == "process" else (137, "")
    assert (result.exit_code, result.stdout.tail) == expected


def test_a_machine_without_the_programs_for_it_says_what_to_install(
    pods: ProcessPods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name == "setpriv" else f"/bin/{name}")
    ground = Ground.survey(pods.state)
    assert ground.unenclosed_because == "setpriv missing; install util-linux"
    assert ground.facts()["namespaces"] is False


def test_a_rung_that_does_not_carry_here_is_told(pods: ProcessPods) -> None:
    absent: Enforcement = "cgroup-v2" if pods.facts()["cgroup_version"] == 1 else "cgroup-v1"
    with pytest.raises(StartFailed, match=absent):
        Ground.survey(pods.state, forced=absent, namespaces=False)


SINGLE = """
import os, sys
from pathlib import Path
from infranoise.workers.pods.process.enclosure import id_map
from infranoise.workers.pods.process.ground import Ground
assert id_map(0, 0, Path("/proc/self/uid_map").read_text())[2] == 1
ground = Ground.survey(Path(sys.argv[1]), forced="watchdog")
print(ground.unenclosed_because)
from infranoise.workers.pods.process.pods import ProcessPods
from infranoise.workers.pods.pod import PodOrder
from infranoise.models.limits import Limits
pods = ProcessPods(Path(sys.argv[1]), ground)
order = PodOrder(attempt_id="single", experiment="e", trial="t", environment=Path(sys.argv[2]),
    environment_hash="single", limits=Limits(), expires_at=1e12, network="none")
pods.prepare(order)
with pods.pod(order) as pod:
    print(pod.exec(["sh", "-c", "id -u; pwd; touch /usr/x || touch here && ls here"]).stdout.tail)
pods.close()
"""


def test_an_ordinary_user_s_pods_are_enclosed_too(make_order: MakeOrder, tmp_path: Path) -> None:
    """A user namespace with one id is what an ordinary user has; root plays one here."""
    argv = ["unshare", "--user", "--map-root-user", sys.executable, "-c", SINGLE]
    argv += [str(tmp_path / "state"), str(make_order().environment)]
    told = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert told.stdout.split() == ["None", "0", "/app", "here"], told.stderr


# --- what is refused, and what cannot be made ---


def test_a_task_that_is_not_plain_files_is_refused_with_the_remedy(
    pods: ProcessPods, make_order: MakeOrder, tmp_path: Path
) -> None:
    order = make_order(environment=tmp_path, environment_hash="built")
    assert "has no Dockerfile" in str(pods.refuse(order))
    assert "is the image x:1" in str(pods.refuse(replace(order, image="x:1")))
    (tmp_path / "Dockerfile").write_text("FROM python:3.12-slim\nRUN apt-get update\n")
    assert "RUN apt-get update" in str(pods.refuse(order))
    assert 'runtime = "docker"' in str(pods.refuse(order))
    (tmp_path / "Dockerfile").write_text("FROM python:3.12-slim\nCOPY missing /x\n")
    assert pods.refuse(order) is None
    with pytest.raises(ImageBuildFailed, match="missing"):
        pods.prepare(order)


def test_a_pod_whose_task_was_never_prepared_cannot_be_had(
    pods: ProcessPods, make_order: MakeOrder
) -> None:
    with pytest.raises(ImageBuildFailed):
        pods.pod(make_order(environment_hash="never prepared"))

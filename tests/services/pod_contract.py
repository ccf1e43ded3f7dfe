"""What every runtime's pods must do. Each test runs on each runtime that is here."""

import contextlib
import os
import socket
import stat
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from resource import RUSAGE_SELF, getrusage

import pytest

from infranoise.models.errors import PodLost, Refused, Unschedulable
from infranoise.models.execution import ExecResult
from infranoise.models.limits import Limits
from infranoise.workers.pods.pod import Pod, PodOrder, Pods

MIB = 1 << 20
MakeOrder = Callable[..., PodOrder]
OpenPod = Callable[..., Pod]
HOG = "b = b'x' * ({mib} << 20)"  # a copy, so that every page is touched


def shell(pod: Pod, script: str, **more: object) -> ExecResult:
    return pod.exec(["sh", "-c", script], **({"timeout_s": 60} | more))  # type: ignore[arg-type]


def python(pod: Pod, code: str, **more: object) -> ExecResult:
    return pod.exec(["python3", "-c", code], **({"timeout_s": 60} | more))  # type: ignore[arg-type]


class Sleepers:
    """`sleep` with a length that nobody else uses, to be found among this machine's processes."""

    def __init__(self) -> None:
        self.seconds = f"3{uuid.uuid4().int % 10**9:09d}"

    def running(self) -> int:
        return sum(self._is_one(process) for process in Path("/proc").iterdir())

    def _is_one(self, process: Path) -> bool:
        try:
            return (process / "cmdline").read_bytes() == f"sleep\0{self.seconds}\0".encode()
        except OSError:
            return False


@pytest.fixture
def sleepers() -> Sleepers:
    return Sleepers()


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for what another process does, which sends us no event."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come about"
        time.sleep(0.01)


# --- exec ---


def test_a_command_gets_its_words_as_they_are(pod: Pod) -> None:
    words = ["a b", "$HOME", "*", "'", '"', "\\", "é", "--", "-n"]
    result = python(pod, "import sys; print(sys.argv[1:])")
    assert result.exit_code == 0
    result = pod.exec(["python3", "-c", "import sys; print(sys.argv[1:])", *words])
    assert result.stdout.tail == f"{words}\n"


def test_the_two_outputs_are_kept_apart_and_counted(pod: Pod) -> None:
    result = shell(pod, "echo out; echo error >&2; exit 3")
    assert (result.exit_code, result.timed_out) == (3, False)
    assert (result.stdout.tail, result.stdout.total_bytes) == ("out\n", 4)
    assert (result.stderr.tail, result.stderr.truncated) == ("error\n", False)


def test_a_command_starts_in_the_workdir_with_the_environment_of_its_image(pod: Pod) -> None:
    result = shell(pod, 'pwd; cat words.txt deep/number.txt; echo "$GREETING"')
    assert result.stdout.tail == "/app\nplain words\n42\nhello\n"


def test_an_order_may_name_another_workdir_and_more_environment(open_pod: OpenPod) -> None:
    pod = open_pod(workdir="/srv/elsewhere", env={"GREETING": "good day", "MORE": "1"})
    assert shell(pod, 'pwd; echo "$GREETING $MORE"').stdout.tail == "/srv/elsewhere\ngood day 1\n"


def test_exec_may_name_a_folder_an_environment_an_input_and_a_user(pod: Pod) -> None:
    result = shell(pod, "pwd; cat", cwd="/tmp", stdin=b"given\n")
    assert result.stdout.tail == "/tmp\ngiven\n"
    assert shell(pod, "echo $GREETING", env={"GREETING": "bye"}).stdout.tail == "bye\n"
    assert shell(pod, "id -u", user="nobody").stdout.tail == "65534\n"
    assert shell(pod, "id -u; id -g", user="123:45").stdout.tail == "123\n45\n"


def test_a_large_input_arrives_whole_and_one_that_nobody_reads_does_no_harm(pod: Pod) -> None:
    text = b"x" * (3 * MIB)
    assert shell(pod, "wc -c", stdin=text).stdout.tail.strip() == str(len(text))
    assert pod.exec(["true"], stdin=text).exit_code == 0


def test_nothing_of_the_worker_s_environment_reaches_a_command(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFRANOISE_BROKER_URL", "redis://:secret@localhost")
    assert "secret" not in shell(pod, "env").stdout.tail


@pytest.mark.parametrize(
    ("script", "code"),
    [("kill -9 $$", 137), ("kill -TERM $$", 143), ("exit 255", 255), ("no-such-command", 127)],
)
def test_exit_codes_read_as_a_shell_tells_them(pod: Pod, script: str, code: int) -> None:
    assert shell(pod, script).exit_code == code


def test_a_program_that_is_not_there_is_127(pod: Pod) -> None:
    assert pod.exec(["/no/such/program"]).exit_code == 127


def test_a_kill_by_hand_is_137_and_no_oom(pod: Pod) -> None:
    assert shell(pod, "kill -9 $$").exit_code == 137
    assert pod.counters().oom_kills == 0


def test_output_beyond_its_cap_keeps_the_tail_and_the_count(open_pod: OpenPod) -> None:
    pod = open_pod(output_cap_bytes=1000)
    result = shell(pod, "yes line | head -c 2000000; printf end; yes | head -c 10 >&2")
    assert result.stdout.tail.endswith("line\nend")
    assert (len(result.stdout.tail), result.stdout.total_bytes) == (1000, 2_000_003)
    assert result.stdout.truncated
    assert not result.stderr.truncated


def test_a_flood_of_output_takes_no_memory(open_pod: OpenPod) -> None:
    pod = open_pod(output_cap_bytes=MIB)
    before_kib = getrusage(RUSAGE_SELF).ru_maxrss
    flood = shell(pod, "head -c 100000000 /dev/zero; head -c 10000000 /dev/zero >&2")
    assert (flood.stdout.total_bytes, flood.stderr.total_bytes) == (100_000_000, 10_000_000)
    assert len(flood.stdout.tail) == MIB
    assert getrusage(RUSAGE_SELF).ru_maxrss - before_kib < 50 * 1024


def test_output_that_is_no_text_is_kept_readable(pod: Pod) -> None:
    result = shell(pod, r"printf 'a\377b\033[31m<b>'")
    assert result.stdout.tail == "a\N{REPLACEMENT CHARACTER}b\x1b[31m<b>"


def test_a_child_that_holds_the_output_open_does_not_hold_the_call(
    pod: Pod, sleepers: Sleepers
) -> None:
    result = shell(pod, f"sleep {sleepers.seconds} & echo done")
    assert (result.exit_code, result.stdout.tail) == (0, "done\n")
    assert sleepers.running() == 1


def test_exec_on_a_pod_that_is_not_there_says_so(
    pods: Pods, make_order: MakeOrder, open_pod: OpenPod
) -> None:
    order = make_order()
    pods.prepare(order)
    with pytest.raises(PodLost):
        pods.pod(order).exec(["true"])
    pod = open_pod()
    pod.stop()
    with pytest.raises(PodLost):
        pod.exec(["true"])


# --- time limits and what is left running ---


def test_at_the_timeout_every_process_dies_before_the_call_returns(
    pod: Pod, sleepers: Sleepers
) -> None:
    lines = (
        f"sleep {sleepers.seconds} &",
        f"setsid sleep {sleepers.seconds} &",
        f"(trap '' TERM HUP INT; nohup sleep {sleepers.seconds} >/dev/null 2>&1) &",
        "echo begun; wait",
    )
    result = shell(pod, "\n".join(lines), timeout_s=0.7)
    assert (result.exit_code, result.timed_out) == (None, True)
    assert result.stdout.tail == "begun\n"
    assert sleepers.running() == 0
    assert pod.exec(["true"]).exit_code == 0


def test_a_command_within_its_timeout_is_not_touched(pod: Pod) -> None:
    result = shell(pod, "sleep 0.1; echo ok", timeout_s=60)
    assert (result.exit_code, result.timed_out, result.stdout.tail) == (0, False, "ok\n")


def test_quiesce_kills_what_a_command_left_and_counts_it(pod: Pod, sleepers: Sleepers) -> None:
    shell(pod, f"for i in 1 2 3; do setsid sleep {sleepers.seconds} >/dev/null 2>&1 & done")
    until(lambda: sleepers.running() == 3, "three sleepers")
    assert pod.quiesce() == 3
    assert sleepers.running() == 0
    assert pod.quiesce() == 0
    assert shell(pod, "echo alive").stdout.tail == "alive\n"


def test_a_fork_bomb_is_held_by_the_pids_limit_and_killed(
    open_pod: OpenPod, sleepers: Sleepers
) -> None:
    pod = open_pod(pids=40)
    bomb = f"f() {{ sleep {sleepers.seconds} & f & f & }}; f 2>/dev/null; wait"
    result = shell(pod, bomb, timeout_s=1)
    assert result.exit_code != 0
    pod.quiesce()
    assert sleepers.running() == 0
    counters = pod.counters()
    assert counters.pids_peak is not None
    assert 20 < counters.pids_peak <= 40
    assert shell(pod, "echo alive").stdout.tail == "alive\n"


# --- memory ---


def test_what_outgrows_its_ceiling_is_killed_and_counted(open_pod: OpenPod) -> None:
    pod = open_pod(memory_ceiling_bytes=48 * MIB)
    assert python(pod, HOG.format(mib=100)).exit_code == 137
    counters = pod.counters()
    assert counters.oom_kills == 1
    assert counters.memory_peak_bytes is not None
    assert 47 * MIB <= counters.memory_peak_bytes <= 48 * MIB


def test_what_stays_below_its_ceiling_lives(open_pod: OpenPod) -> None:
    pod = open_pod(memory_ceiling_bytes=128 * MIB)
    assert python(pod, HOG.format(mib=60)).exit_code == 0
    assert pod.counters().oom_kills == 0


def test_a_pod_without_a_ceiling_is_not_killed(open_pod: OpenPod) -> None:
    pod = open_pod()
    assert python(pod, HOG.format(mib=200)).exit_code == 0
    assert pod.counters().oom_kills == 0


def test_a_child_is_killed_and_its_parent_survives(open_pod: OpenPod) -> None:
    pod = open_pod(memory_ceiling_bytes=48 * MIB, oom_scope="process")
    result = shell(pod, f'python3 -c "{HOG.format(mib=100)}"; echo "child: $?"')
    assert (result.exit_code, result.stdout.tail) == (0, "child: 137\n")
    assert pod.counters().oom_kills == 1
    assert shell(pod, "echo alive").stdout.tail == "alive\n"


def test_with_pod_scope_one_kill_ends_them_all(open_pod: OpenPod, sleepers: Sleepers) -> None:
    pod = open_pod(memory_ceiling_bytes=48 * MIB, oom_scope="pod")
    shell(pod, f"setsid sleep {sleepers.seconds} >/dev/null 2>&1 &")
    until(lambda: sleepers.running() == 1, "the sleeper")
    result = shell(pod, f'python3 -c "{HOG.format(mib=100)}"; sleep {sleepers.seconds}')
    assert result.exit_code == 137
    assert sleepers.running() == 0
    counters = pod.counters()
    assert counters.oom_kills is not None
    assert counters.oom_kills >= 1
    pod.quiesce()
    with pytest.raises(PodLost):
        pod.exec(["true"])


def test_with_pod_scope_files_can_still_be_fetched_after_the_end(
    open_pod: OpenPod, tmp_path: Path
) -> None:
    pod = open_pod(memory_ceiling_bytes=48 * MIB, oom_scope="pod")
    shell(pod, f'echo trace > log; python3 -c "{HOG.format(mib=100)}"')
    assert pod.download(PurePosixPath("/app/log"), tmp_path / "log")
    assert (tmp_path / "log").read_text() == "trace\n"


def test_counters_grow_from_phase_to_phase(open_pod: OpenPod) -> None:
    pod = open_pod(memory_ceiling_bytes=48 * MIB)
    begin = pod.counters()
    python(pod, HOG.format(mib=100))
    middle = pod.counters()
    python(pod, "sum(range(2_000_000))")
    end = pod.counters()
    assert [begin.oom_kills, middle.oom_kills, end.oom_kills] == [0, 1, 1]
    assert begin.cpu_s is not None
    assert middle.cpu_s is not None
    assert end.cpu_s is not None
    assert begin.cpu_s < middle.cpu_s < end.cpu_s


def test_anonymous_memory_is_told_apart_from_files_in_cache(open_pod: OpenPod) -> None:
    pod = open_pod(memory_ceiling_bytes=256 * MIB)
    python(pod, HOG.format(mib=30) + "; import time; time.sleep(1.2)")
    shell(pod, "head -c 120000000 /dev/zero > big; cat big > /dev/null")
    counters = pod.counters()
    assert counters.anon_peak_bytes is not None
    assert counters.memory_peak_bytes is not None
    assert 30 * MIB < counters.anon_peak_bytes < 60 * MIB
    assert counters.memory_peak_bytes > 100 * MIB


# --- limits ---


def test_limits_are_read_back_as_they_were_asked(pods: Pods, make_order: MakeOrder) -> None:
    order = make_order(
        memory_floor_bytes=64 * MIB,
        memory_ceiling_bytes=96 * MIB,
        cpu_floor=0.5,
        cpu_ceiling=1.5,
        storage_ceiling_bytes=64 * MIB,
        pids=77,
        oom_scope="pod",
    )
    pods.prepare(order)
    pod = pods.pod(order)
    try:
        effective = pod.start()
    finally:
        pod.stop()
    assert effective.differs == ()
    assert effective.memory_floor_bytes == 64 * MIB
    assert effective.memory_ceiling_bytes == effective.memory_and_swap_bytes == 96 * MIB
    assert effective.cpu_ceiling == pytest.approx(1.5)
    assert (effective.pids, effective.oom_scope) == (77, "pod")
    assert effective.storage_ceiling_bytes == 64 * MIB
    assert effective.enforcement


def test_a_ceiling_that_is_not_a_whole_page_is_no_difference(
    pods: Pods, make_order: MakeOrder
) -> None:
    order = make_order(memory_ceiling_bytes=64 * MIB + 1)
    pods.prepare(order)
    pod = pods.pod(order)
    try:
        assert pod.start().differs == ()
    finally:
        pod.stop()


def test_an_uncapped_pod_reads_back_no_ceiling(pods: Pods, make_order: MakeOrder) -> None:
    order = make_order()
    pods.prepare(order)
    pod = pods.pod(order)
    try:
        effective = pod.start()
    finally:
        pod.stop()
    assert (effective.memory_ceiling_bytes, effective.cpu_ceiling) == (None, None)
    assert effective.differs == ()


def test_a_floor_that_the_machine_has_not_got_cannot_be_scheduled(
    pods: Pods, make_order: MakeOrder
) -> None:
    order = make_order(memory_floor_bytes=1 << 50)
    pods.prepare(order)
    pod = pods.pod(order)
    with pytest.raises(Unschedulable):
        pod.start()
    pod.stop()


def test_being_throttled_is_counted(open_pod: OpenPod) -> None:
    pod = open_pod(cpu_ceiling=0.1)
    python(pod, "import time\nwhile time.process_time() < 0.06: pass")
    counters = pod.counters()
    assert counters.throttled_periods
    assert counters.throttled_s


# --- storage ---


def test_filling_the_disk_ends_at_the_storage_ceiling(
    open_pod: OpenPod, sleepers: Sleepers
) -> None:
    pod = open_pod(storage_ceiling_bytes=16 * MIB)
    fill = f"head -c {64 * MIB} /dev/zero > /var/tmp/fill; sleep {sleepers.seconds}"
    result = shell(pod, fill, timeout_s=30)
    assert (result.exit_code, result.timed_out) == (137, False)
    assert sleepers.running() == 0
    counters = pod.counters()
    assert counters.storage_exceeded
    assert counters.storage_bytes is not None
    assert counters.storage_bytes > 16 * MIB


def test_what_was_written_too_quickly_to_be_stopped_is_still_told(open_pod: OpenPod) -> None:
    pod = open_pod(storage_ceiling_bytes=8 * MIB)
    shell(pod, f"head -c {12 * MIB} /dev/zero > fill")
    assert pod.counters().storage_exceeded


def test_what_fits_below_the_storage_ceiling_does_not_exceed_it(open_pod: OpenPod) -> None:
    pod = open_pod(storage_ceiling_bytes=32 * MIB)
    assert shell(pod, f"head -c {8 * MIB} /dev/zero > some").exit_code == 0
    counters = pod.counters()
    assert counters.storage_exceeded is False
    assert counters.storage_bytes is not None
    assert 8 * MIB <= counters.storage_bytes < 10 * MIB


# --- files ---


def test_files_go_in_and_out_unchanged(pod: Pod, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "inner" / "a name with spaces, é.bin").write_bytes(bytes(range(256)) * 1000)
    (source / "run.sh").write_text("echo ran\n")
    (source / "run.sh").chmod(0o755)
    (source / "link").symlink_to("inner")
    pod.upload(source, PurePosixPath("/new/place"))
    assert pod.exec(["/bin/sh", "-c", "/new/place/run.sh"]).exit_code in (0, 126)
    assert shell(pod, "stat -c %a /new/place/run.sh").stdout.tail == "755\n"
    assert pod.download(PurePosixPath("/new/place"), tmp_path / "back")
    names = {path.relative_to(tmp_path / "back").as_posix() for path in walk(tmp_path / "back")}
    assert names == {"inner", "inner/a name with spaces, é.bin", "run.sh", "link"}
    back = tmp_path / "back" / "inner" / "a name with spaces, é.bin"
    assert back.read_bytes() == bytes(range(256)) * 1000
    assert (tmp_path / "back" / "link").readlink() == Path("inner")


def walk(folder: Path) -> Iterator[Path]:
    for parent, folders, files in folder.walk():
        yield from (parent / name for name in (*folders, *files))


def test_one_file_goes_in_under_its_new_name_and_over_an_old_one(pod: Pod, tmp_path: Path) -> None:
    for text in ("first\n", "second\n"):
        (tmp_path / "source.txt").write_text(text)
        pod.upload(tmp_path / "source.txt", PurePosixPath("/some/where/target.txt"))
        assert shell(pod, "cat /some/where/target.txt").stdout.tail == text
    assert shell(pod, "stat -c %u:%g /some/where/target.txt").stdout.tail == "0:0\n"
    assert pod.download(PurePosixPath("/some/where/target.txt"), tmp_path / "back.txt")
    assert (tmp_path / "back.txt").read_text() == "second\n"


def test_upload_leaves_alone_what_was_there_already(pod: Pod, tmp_path: Path) -> None:
    (tmp_path / "fresh").mkdir()
    (tmp_path / "fresh" / "new.txt").write_text("new\n")
    pod.upload(tmp_path / "fresh", PurePosixPath("/app"))
    assert shell(pod, "cat words.txt new.txt").stdout.tail == "plain words\nnew\n"
    pod.upload(tmp_path / "fresh", PurePosixPath("/tmp"))
    assert shell(pod, "stat -c %a /tmp").stdout.tail == "1777\n"


def test_a_link_that_is_uploaded_is_not_followed(pod: Pod, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "out").symlink_to(tmp_path / "secret")
    pod.upload(tmp_path / "source", PurePosixPath("/new"))
    assert shell(pod, "readlink /new/out").stdout.tail == f"{tmp_path}/secret\n"
    assert shell(pod, "cat /new/out").exit_code != 0


def test_downloading_what_is_not_there_is_false(pod: Pod, tmp_path: Path) -> None:
    assert not pod.download(PurePosixPath("/no/such/file"), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_hostile_tree_is_downloaded_without_harm(pod: Pod, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    lines = (
        "mkdir -p trap/sub/deep && cd trap && echo good > good.txt",
        f"ln -s {tmp_path}/secret absolute && ln -s ../../../../../../../etc/passwd climbing",
        "ln -s good.txt fine && ln -s .. up",
        "ln -s ../.. sub/deep/top && ln -s sub/deep/top/.. out",
        "ln -s circle circle && mkfifo fifo",
        "touch -- -rf '*' \"$(printf 'new\\nline')\" \"$(printf 'bad\\377byte')\"",
        "chmod 777 sub; chmod 4755 good.txt",
    )
    assert shell(pod, "\n".join(lines)).exit_code == 0
    assert pod.download(PurePosixPath("/app/trap"), tmp_path / "back")
    kept = {path.relative_to(tmp_path / "back").as_posix() for path in walk(tmp_path / "back")}
    assert {"good.txt", "fine", "sub", "sub/deep", "-rf", "*"} <= kept
    assert not kept & {"absolute", "climbing", "up", "out", "fifo"}
    for path in walk(tmp_path / "back"):
        assert Path(os.path.realpath(path)).is_relative_to(tmp_path / "back")
        assert stat.S_IFMT(path.lstat().st_mode) in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)
        assert not path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID)


@pytest.mark.parametrize("place", ["/app/leak", "/app/folder/secret"])
def test_a_link_in_the_pod_does_not_give_away_this_machine_s_files(
    pod: Pod, tmp_path: Path, place: str
) -> None:
    (tmp_path / "secret").write_text("secret of this machine")
    shell(pod, f"ln -sfn {tmp_path}/secret leak; ln -sfn {tmp_path} folder")
    assert not pod.download(PurePosixPath(place), tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_a_link_in_the_pod_does_not_lead_an_upload_to_this_machine_s_files(
    pod: Pod, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("as it was")
    (tmp_path / "file").write_text("planted")
    shell(pod, f"ln -sfn {tmp_path}/outside folder; ln -sfn {tmp_path}/outside/kept target")
    pod.upload(tmp_path / "file", PurePosixPath("/app/target"))
    with contextlib.suppress(PodLost):  # a runtime may also refuse
        pod.upload(tmp_path / "file", PurePosixPath("/app/folder/kept"))
    assert (tmp_path / "outside" / "kept").read_text() == "as it was"
    assert sorted(path.name for path in (tmp_path / "outside").iterdir()) == ["kept"]


def test_a_download_writes_no_more_than_the_storage_ceiling(
    open_pod: OpenPod, tmp_path: Path
) -> None:
    pod = open_pod(storage_ceiling_bytes=4 * MIB)
    shell(pod, "mkdir d && truncate -s 100M d/sparse && echo small > d/a_small")
    pod.download(PurePosixPath("/app/d"), tmp_path / "back")
    assert (tmp_path / "back" / "a_small").read_text() == "small\n"
    written = sum(path.lstat().st_size for path in walk(tmp_path / "back"))
    assert written <= 4 * MIB


# --- apart from the machine, and from each other ---


def test_a_pod_cannot_write_this_machine_s_files(pod: Pod, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("as it was")
    tmp_path.chmod(0o777)
    (tmp_path / "file").chmod(0o666)
    shell(pod, f"echo planted > {tmp_path}/file; echo planted > /usr/bin/planted-by-a-test")
    assert (tmp_path / "file").read_text() == "as it was"
    assert not Path("/usr/bin/planted-by-a-test").exists()


def test_a_pod_sees_and_signals_no_process_but_its_own(pod: Pod, sleepers: Sleepers) -> None:
    with outsider(sleepers) as stranger:
        shell(pod, f"kill -9 {stranger.pid}")
        listing = shell(pod, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout.tail
        assert sleepers.seconds not in listing
        assert stranger.poll() is None


@contextlib.contextmanager
def outsider(sleepers: Sleepers) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", sleepers.seconds])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_what_kills_everything_it_can_leaves_a_pod_that_still_works(open_pod: OpenPod) -> None:
    pod = open_pod()
    shell(pod, "kill -9 -1; kill -9 1")
    assert shell(pod, "echo alive").stdout.tail == "alive\n"


def test_two_pods_do_not_see_each_other_s_files(open_pod: OpenPod) -> None:
    one, other = open_pod(), open_pod()
    shell(one, "echo mine > /tmp/mine; echo changed > words.txt")
    assert shell(other, "ls /tmp; cat words.txt").stdout.tail == "plain words\n"


def test_without_network_there_is_no_way_out_but_loopback_works(open_pod: OpenPod) -> None:
    pod = open_pod(network="none")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
        assert python(pod, reach).exit_code != 0
    interfaces = shell(pod, "tail -n +3 /proc/net/dev | cut -d: -f1").stdout.tail.split()
    assert "eth0" not in interfaces
    own = "import socket; s = socket.create_server(('127.0.0.1', 0))\n"
    own += "c = socket.create_connection(s.getsockname(), 5); c.send(b'x'); print('met')"
    assert python(pod, own).stdout.tail == "met\n"
    counters = pod.counters()
    assert counters.rx_bytes in (0, None)
    assert counters.tx_bytes in (0, None)


# --- life, death, and what is left ---


def test_many_pods_at_once_and_one_preparation(pods: Pods, make_order: MakeOrder) -> None:
    def live(number: int) -> str:
        order = make_order(memory_ceiling_bytes=64 * MIB)
        pods.prepare(order)
        with pods.pod(order) as pod:
            return shell(pod, f"echo {number}").stdout.tail

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(live, range(6))) == [f"{number}\n" for number in range(6)]


def test_pods_of_one_environment_have_one_content_id(
    pods: Pods, make_order: MakeOrder, open_pod: OpenPod
) -> None:
    assert pods.prepare(make_order()) == pods.prepare(make_order()) == open_pod().image_id


def test_stop_may_be_called_twice_and_before_start(
    pods: Pods, make_order: MakeOrder, open_pod: OpenPod
) -> None:
    order = make_order()
    pods.prepare(order)
    pods.pod(order).stop()
    pod = open_pod()
    pod.stop()
    pod.stop()


def test_an_error_in_the_middle_leaves_no_process(
    pods: Pods, make_order: MakeOrder, sleepers: Sleepers
) -> None:
    order = make_order()
    pods.prepare(order)

    def fail() -> None:
        with pods.pod(order) as pod:
            shell(pod, f"setsid sleep {sleepers.seconds} >/dev/null 2>&1 &")
            until(lambda: sleepers.running() == 1, "the sleeper")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert sleepers.running() == 0


def test_stop_ends_a_command_that_runs_in_another_thread(
    open_pod: OpenPod, sleepers: Sleepers
) -> None:
    pod = open_pod()
    ends: list[object] = []

    def work() -> None:
        try:
            ends.append(shell(pod, f"sleep {sleepers.seconds}").exit_code)
        except PodLost as loss:
            ends.append(loss)

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: sleepers.running() == 1, "the sleeper")
    pod.stop()
    thread.join(20)
    assert not thread.is_alive()
    assert sleepers.running() == 0
    assert ends[0] == 137 or isinstance(ends[0], PodLost)


def test_reap_takes_what_has_expired_and_spares_what_is_alive(
    pods: Pods, open_pod: OpenPod, sleepers: Sleepers
) -> None:
    now = time.time()
    pod = open_pod(attempt_id=f"reap-{sleepers.seconds}", expires_at=now + 20)
    shell(pod, f"setsid sleep {sleepers.seconds} >/dev/null 2>&1 &")
    until(lambda: sleepers.running() == 1, "the sleeper")
    name = f"reap-{sleepers.seconds}"
    assert name not in pods.reap(now=now)
    assert name not in pods.reap(now=now + 25, alive=[name])
    assert sleepers.running() == 1
    assert name in pods.reap(now=now + 25)
    assert sleepers.running() == 0
    assert name not in pods.reap(now=now + 25)


ORPHAN = """
import sys, time
from pathlib import Path
from infranoise.models.limits import Limits
from infranoise.workers.pods.pod import PodOrder
{make}
order = PodOrder(attempt_id={attempt!r}, experiment="contract", trial="trial",
    environment=Path({environment!r}), environment_hash={hash!r}, limits=Limits(),
    expires_at=time.time() + 3600)
pods.prepare(order)
pod = pods.pod(order)
pod.start()
pod.exec(["sh", "-c", "setsid sleep {seconds} >/dev/null 2>&1 &"])
print("up", flush=True)
time.sleep(600)
"""
MAKE = {
    "process": "from infranoise.workers.pods.process.pods import ProcessPods\n"
    "pods = ProcessPods(Path({state!r}))",
    "docker": "from infranoise.workers.pods.docker.pods import DockerPods\npods = DockerPods()",
    "kubernetes": "from infranoise.workers.pods.kubernetes.pods import KubernetesPods\n"
    "from infranoise.workers.pods.kubernetes.words import Shape\n"
    "shape = Shape(namespace='trials', image_prefix='infranoise/env')\n"
    "pods = KubernetesPods(shape, kubeconfig={state!r})",
}


def test_what_a_killed_worker_left_is_reaped(
    pods: Pods, make_order: MakeOrder, sleepers: Sleepers, tmp_path: Path
) -> None:
    order = make_order()
    state = str(getattr(pods, "state", getattr(pods, "kubeconfig", "")))
    script = ORPHAN.format(
        make=MAKE[pods.name].format(state=state),
        attempt=order.attempt_id,
        environment=str(order.environment),
        hash=order.environment_hash,
        seconds=sleepers.seconds,
    )
    worker = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"up\n"
        assert order.attempt_id not in pods.reap(now=time.time())
    finally:
        worker.kill()
        worker.communicate()
    assert order.attempt_id in pods.reap(now=time.time())
    assert sleepers.running() == 0
    assert order.attempt_id not in pods.reap(now=time.time())


# --- what a runtime is, and what it refuses ---


def test_several_containers_are_refused_with_a_remedy(
    pods: Pods, make_order: MakeOrder, tmp_path: Path
) -> None:
    assert pods.refuse(make_order()) is None
    (tmp_path / "Dockerfile").write_text("FROM python:3.12-slim\n")
    (tmp_path / "docker-compose.yaml").write_text("services: {}\n")
    refused = make_order(environment=tmp_path, environment_hash="composed")
    assert "docker-compose.yaml" in str(pods.refuse(refused))
    with pytest.raises(Refused):
        pods.prepare(refused)


def test_facts_are_plain_values_that_name_the_runtime(pods: Pods) -> None:
    facts = pods.facts()
    assert facts["runtime"] == pods.name
    assert all(isinstance(value, str | int | float | bool | None) for value in facts.values())


def test_limits_default_to_a_bound_on_processes() -> None:
    assert Limits().pids < 32_768

"""Specification against hostile input: one clear fault with file and place, nothing half taken."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infranoise.importers import eval_archive, json_stream, table_lines
from infranoise.importers.bounded import folders
from infranoise.models.errors import SourceFault
from infranoise.models.source import Kind

from .conftest import (
    Took,
    harbor_job,
    harbor_result,
    inspect_archive,
    inspect_head,
    inspect_sample,
    swe_report,
    tb_run,
    tb_trial,
    write,
)

Take = Callable[..., Took]
Make = Callable[[Path], object]


def harbor(text: str | bytes) -> Make:
    """A job whose second trial's result is this text."""

    def make(root: Path) -> None:
        harbor_job(root / "job", harbor_result("good"), harbor_result("bad"))
        raw = text if isinstance(text, bytes) else text.encode()
        (root / "job" / "bad__abc1234" / "result.json").write_bytes(raw)

    return make


def harbor_with(**more: Any) -> Make:
    return harbor(json.dumps(harbor_result("bad") | more))


def table(text: bytes, suffix: str = ".csv") -> Make:
    def make(root: Path) -> None:
        (root / f"bad{suffix}").write_bytes(text)

    return make


def inspect_with(*samples: Any) -> Make:
    """A log with these samples after a good one, beside a good log."""

    def make(root: Path) -> None:
        inspect_archive(root / "good.eval", [inspect_sample("good")])
        inspect_archive(root / "bad.eval", [inspect_sample("first"), *samples])

    return make


def damaged(at: float) -> Make:
    """A log with some bytes overwritten."""

    def make(root: Path) -> None:
        inspect_archive(root / "good.eval", [inspect_sample("good")])
        path = inspect_archive(root / "bad.eval", [inspect_sample(f"s{i}") for i in range(50)])
        raw = bytearray(path.read_bytes())
        place = int(at * len(raw))
        raw[place : place + 8] = b"\xff" * 8
        path.write_bytes(bytes(raw))

    return make


def cut_archive(root: Path) -> None:
    inspect_archive(root / "good.eval", [inspect_sample("good")])
    path = inspect_archive(root / "bad.eval", [inspect_sample("s")])
    path.write_bytes(path.read_bytes()[:-200])


def cut_document(root: Path) -> None:
    inspect_archive(root / "good.eval", [inspect_sample("good")])
    head = inspect_head(2) | {"samples": [inspect_sample("first"), inspect_sample("second")]}
    write(root / "bad.json", json.dumps(head)[:-60])


def bomb(root: Path) -> None:
    """70 KB that unfold to 70 MB of blanks before the first sample."""
    inspect_archive(root / "good.eval", [inspect_sample("good")])
    with zipfile.ZipFile(root / "bad.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(inspect_head()))
        with archive.open("summaries.json", "w") as member:
            member.write(b"[")
            for _ in range(70):
                member.write(b" " * 1024 * 1024)


def nested_archive(root: Path) -> None:
    inspect_archive(root / "good.eval", [inspect_sample("good")])
    inspect_archive(root / "bad.eval", [], **{"summaries.json": b"[" * 100_000})


def many_values(root: Path) -> None:
    """A megabyte of text that would be a hundred megabytes of lists."""
    inspect_archive(root / "good.eval", [inspect_sample("good")])
    inspect_archive(root / "bad.eval", [], **{"header.json": b'{"a": [' + b"[]," * 2_500_000})


def endless_directory(root: Path) -> None:
    """An archive whose end promises a list of members of four gigabytes."""
    inspect_archive(root / "good.eval", [inspect_sample("good")])
    path = inspect_archive(root / "bad.eval", [inspect_sample("s")])
    raw = bytearray(path.read_bytes())
    raw[-22 + 12 : -22 + 16] = (0xFFFF_FFF0).to_bytes(4, "little")
    path.write_bytes(bytes(raw))


def climbing_members(root: Path) -> None:
    """Names of members that would leave the folder if anybody unpacked them."""
    inspect_archive(root / "good.eval", [inspect_sample("good")])
    inspect_archive(root / "bad.eval", [inspect_sample("../../etc/passwd")],
                    **{"../../evil.json": {}})  # fmt: skip


def twice_in_a_run(root: Path) -> None:
    tb_run(root / "run", tb_trial("good"), tb_trial("bad", 1), tb_trial("bad", 1, resolved=False))


# A tree with something wrong -> its kind, and what the one fault says. Of the file at fault nothing
# may go in; "good" lies in a file of its own.
WRONG: dict[str, tuple[Kind, Make, str]] = {
    "truncated JSON": ("harbor", harbor('{"id": "x", "task_name":'), "line 1, column 2"),
    "an empty file": ("harbor", harbor(""), "ends in the middle"),
    "a list for an object": ("harbor", harbor("[1]"), "holds a JSON array where an object belongs"),
    "nested too deeply": ("harbor", harbor("[" * 100_000), "nested too deeply"),
    "UTF-16": ("harbor", harbor('{"task_name": "bad"}'.encode("utf-16")), "byte 0: is not UTF-8"),
    "Latin-1": ("harbor", harbor('{"task_name": "é"}'.encode("latin-1")), "byte 15: is not UTF-8"),
    "a reward of NaN": (
        "harbor", harbor_with(verifier_result={"rewards": {"reward": float("nan")}}),
        "rewards.reward: a reward of nan is no finite number"),
    "a reward of Infinity": (
        "harbor", harbor_with(verifier_result={"rewards": {"reward": float("inf")}}),
        "a reward of inf is no finite number"),
    "a reward beyond the most": (
        "harbor", harbor_with(verifier_result={"rewards": {"reward": 7}}), "--max-reward"),
    "a reward that is no number": (
        "harbor", harbor_with(verifier_result={"rewards": {"reward": [1]}}), "a reward of [1]"),
    "a task that climbs out": (
        "harbor", harbor_with(task_name="../../etc/passwd"), "climbs out of its folder"),
    "a task with control characters": (
        "harbor", harbor_with(task_name="a\x1b[2Jb"), "holds control characters"),
    "an endless name": ("harbor", harbor_with(task_name="a" * 10_000), "1 to 300 characters"),
    "no name": ("harbor", harbor_with(task_name=None), "task_name: a name belongs here"),
    "a time that is none": ("harbor", harbor_with(started_at="noon"), "started_at: 'noon' is no"),
    "a text for an object": ("harbor", harbor_with(config="x"), "config: an object belongs here"),
    "a score that is no grade": (
        "inspect", inspect_with(inspect_sample("bad", "maybe")),
        "sample bad, epoch 1, scores.includes: a score of 'maybe' is no grade"),
    "a score of Infinity": (
        "inspect", inspect_with(inspect_sample("bad", float("inf"))), "no finite number"),
    "a sample that is none": ("inspect", inspect_with(7), "summaries.json: an object belongs"),
    "a sample that climbs out": ("inspect", climbing_members, "climbs out of its folder"),
    "an archive cut off": ("inspect", cut_archive, "is no whole .eval archive"),
    "an archive that is none": (
        "inspect", lambda root: (inspect_archive(root / "good.eval", [inspect_sample("good")]),
                                 (root / "bad.eval").write_text("no zip")),
        "is no whole .eval archive"),
    "an archive with a damaged member": ("inspect", damaged(0.4), "is damaged"),
    "an archive nested too deeply": ("inspect", nested_archive, "nested too deeply"),
    "a bomb": ("inspect", bomb, "a bomb, not a log"),
    "a bomb of values": ("inspect", many_values, "header.json, character 7: holds more than"),
    "a bomb of members": ("inspect", endless_directory, "lists its members in 4,294,967,280"),
    "a number without an end": (
        "harbor", harbor('{"task_name": ' + "9" * 5000 + "}"), "a number of thousands of digits"),
    "a sample with a number without an end": (
        "inspect",
        lambda root: (inspect_archive(root / "good.eval", [inspect_sample("good")]),
                      inspect_archive(root / "bad.eval", [], **{
                          "summaries.json": b'[{"total_time": ' + b"9" * 5000 + b"}]"})),
        "summaries.json, character 2: holds a number of thousands of digits"),
    "metadata that are none": (
        "terminal-bench",
        lambda root: tb_run(root / "bad", tb_trial("good"), task_ids={"a": 1}),
        "run_metadata.json: task_ids: a list belongs here"),
    "a document cut off": ("inspect", cut_document, "ends in the middle"),
    "one trial with two outcomes": ("terminal-bench", twice_in_a_run, ""),
    "an outcome that is none": (
        "terminal-bench",
        lambda root: (tb_run(root / "a", tb_trial("good")),
                      tb_run(root / "b", tb_trial("bad", resolved="yes"))),  # type: ignore[arg-type]
        "results[0].is_resolved: 'yes' is neither true nor false"),
    "a report without its lists": (
        "swe-bench", lambda root: (swe_report(root / "m.good.json", resolved_ids=["good"],
                                              unresolved_ids=[]),
                                   swe_report(root / "m.bad.json", resolved_ids={"a": 1})),
        "resolved_ids: a list belongs here, not a object"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_broken_file_is_one_fault_and_leaves_nothing_behind(
    take: Take, tmp_path: Path, case: str
) -> None:
    kind, make, words = WRONG[case]
    make(tmp_path / "tree")
    took = take(kind, tmp_path / "tree")
    names = {line.task.split("/")[-1] for line in took.attempts}
    if words:
        assert names == {"good"}
        (fault,) = took.faults
        assert words in fault
        assert "bad" in fault.split(": ")[0] or "/b/" in fault
    else:
        assert len(took.brought.adopted.conflicts) == 1


ROWS: dict[str, tuple[str, bytes, str]] = {
    "a short row": (".csv", b"task,passed\na,1\nb\n", "line 3: has 1 values"),
    "a reward of NaN": (".csv", b"task,passed\na,1\nb,nan\n", "line 3, passed: a reward of nan"),
    "a reward of infinity": (".csv", b"task,passed\nb,inf\n", "line 2, passed: a reward of inf"),
    "an outcome that is none": (".csv", b"task,passed\nb,perhaps\n", "neither a truth value nor"),
    "an open quote": (".csv", b'task,passed\n"a,1\n', "is no CSV"),
    "no heading": (".csv", b"", "a heading with column names belongs here"),
    "no name": (".csv", b"task,passed\n,1\n", "line 2, task: a name belongs here"),
    "a Latin-1 name": (".csv", b"task,passed\n\xe9,1\n", "line 2, byte 0: is not UTF-8"),
    "a broken line": (
        ".jsonl",
        b'{"task":"a","passed":1}\n{"task":\n',
        "line 2, character 9: ends in",
    ),
    "a line that is no object": (".jsonl", b"[1]\n", "line 1: an object belongs here"),
    "a line without an end": (".jsonl", b'{"task": "' + b"a" * 3000 + b'"}\n', "is longer than"),
    "a field without an end": (".csv", b"task,passed\n" + b"a" * 3000 + b",1\n", "is longer than"),
    "a row without an end": (
        ".csv",
        b"task,passed\n" + b'"\n",' * 600,
        "is longer than",
    ),
    "a number without an end": (
        ".jsonl",
        b'{"task": "a", "passed": ' + b"9" * 1900 + b"}\n",
        "is no outcome",
    ),
    "no Parquet": (".parquet", b"PAR1 but not really PAR1", "is no whole Parquet file"),
}


@pytest.mark.parametrize("case", ROWS)
def test_a_broken_table_is_one_fault_with_its_line(
    take: Take, tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_lines, "LONGEST_LINE", 2000)  # instead of a file of a gigabyte
    suffix, text, words = ROWS[case]
    (tmp_path / f"bad{suffix}").write_bytes(text)
    took = take("table", tmp_path / f"bad{suffix}", columns="task=task,passed=passed")
    assert took.attempts == []
    (fault,) = took.faults
    assert words in fault
    assert f"bad{suffix}" in fault


def test_a_value_without_an_end_is_refused_before_it_is_held(
    take: Take, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "MOST_ITEM", 600_000)
    log = inspect_archive(tmp_path / "a.eval", [inspect_sample("s", metadata="x" * 2_000_000)])
    monkeypatch.setattr(eval_archive, "BOMB_FLOOR", 10_000_000)
    took = take("inspect", log)
    assert "holds one value of more than 600,000 characters" in took.faults[0]


ENDLESS_BYTES = 300 * 1024 * 1024  # as good as endless, and quicker than a gigabyte
WEIGH = """
import resource, sys
from pathlib import Path
from infranoise.importers.bring import bring
from infranoise.importers.kinds import importer
from infranoise.importers.modes import Modes
from infranoise.importers.reading import Choices
from infranoise.importers.table_columns import TableColumns
columns = TableColumns.parse("task=task,passed=passed")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for kind, path in (pair.split("=") for pair in sys.argv[1:]):
    got = bring(importer(kind, columns), [Path(path)], Choices(Modes(()), columns=columns), None)
    print(got.trials, *got.faults)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_an_endless_line_is_refused_in_little_memory(tmp_path: Path) -> None:
    """Files of one endless line each: holes, so that no disk is filled."""
    harbor_job(tmp_path / "job", harbor_result("bad"))
    swe_report(tmp_path / "swe" / "m.good.json")
    endless = {
        "table": tmp_path / "line.csv",
        "harbor": tmp_path / "job" / "bad__abc1234" / "result.json",
        "swe-bench": tmp_path / "swe" / "m.bad.json",
        "terminal-bench": tmp_path / "runs" / "results.json",
    }
    (tmp_path / "runs").mkdir()
    for path in endless.values():
        path.write_bytes(b'task,passed\na,1\n{"')
        os.truncate(path, ENDLESS_BYTES)
    roots = {"harbor": "job", "swe-bench": "swe", "terminal-bench": "runs"}
    words = [f"{kind}={tmp_path / roots.get(kind, 'line.csv')}" for kind in endless]
    told = subprocess.run(
        [sys.executable, "-c", WEIGH, *words], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for path, line in zip(endless.values(), told, strict=False):
        assert str(path) in line
    assert int(told[-1]) < 100  # MiB


def test_half_a_character_is_replaced_and_the_rest_goes_in(take: Take, tmp_path: Path) -> None:
    """A text cut in the middle of a surrogate pair: legal JSON, and no text."""
    broken = ("OddError", "the agent said \ud83d")
    harbor_job(tmp_path / "job", harbor_result("a", reward=None, exception=broken))
    took = take("harbor", tmp_path / "job")
    (line,) = took.attempts
    assert line.record is not None
    assert "the agent said \N{REPLACEMENT CHARACTER}" in line.record.evidence.reward_fault


def test_a_folder_that_cannot_be_listed_is_a_fault(tmp_path: Path) -> None:
    faults: list[SourceFault] = []
    assert folders(tmp_path / "gone", faults) == []
    assert "gone: cannot be listed: No such file" in str(faults[0])


def test_a_pipe_for_a_file_is_a_fault_and_nobody_waits(take: Take, tmp_path: Path) -> None:
    tb_run(tmp_path / "runs" / "good", tb_trial("good"))
    (tmp_path / "runs" / "bad").mkdir()
    os.mkfifo(tmp_path / "runs" / "bad" / "results.json")
    took = take("terminal-bench", tmp_path / "runs")
    assert set(took.outcomes) == {"good"}
    assert took.faults == [f"{tmp_path}/runs/bad/results.json: is no ordinary file"]


def test_a_link_to_a_file_is_read_as_caches_of_downloads_need(take: Take, tmp_path: Path) -> None:
    inspect_archive(tmp_path / "blobs" / "c0ffee", [inspect_sample("a")])
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "snapshot" / "log.eval").symlink_to(tmp_path / "blobs" / "c0ffee")
    assert set(take("inspect", tmp_path / "snapshot").outcomes) == {"toy/a"}


def test_links_to_folders_are_not_followed(take: Take, tmp_path: Path) -> None:
    harbor_job(tmp_path / "elsewhere" / "job", harbor_result("outside"))
    harbor_job(tmp_path / "jobs" / "job", harbor_result("inside"))
    (tmp_path / "jobs" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "jobs" / "job" / "loop").symlink_to(tmp_path / "jobs")
    assert take("harbor", tmp_path / "jobs").outcomes == {"inside": ("passed", "")}

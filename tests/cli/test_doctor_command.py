import json
from pathlib import Path

import pytest

from infranoise.cli import doctor as command
from infranoise.workers import doctor as findings
from infranoise.workers.doctor_check import Check

OK = Check("swap", "ok", "none", "a page above the ceiling is a kill")
FAIL = Check("memory ceiling", "fail", "no [group]", "nothing enforces a ceiling", "run as root")


@pytest.mark.parametrize(("found", "code"), [((OK,), 0), ((OK, FAIL), 1)])
def test_the_exit_code_says_whether_anything_enforces_a_ceiling(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    found: tuple[Check, ...],
    code: int,
) -> None:
    monkeypatch.setattr(findings, "checks", lambda *_: found)
    assert command.doctor(as_json=False) == code
    shown = capsys.readouterr().out
    assert all(check.name in shown and check.found in shown for check in found)
    assert ("run as root" in shown) == (code == 1)


def test_json_has_every_field_of_every_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("INFRANOISE_STATE", str(tmp_path))
    assert command.doctor(as_json=True) in (0, 1)
    printed = json.loads(capsys.readouterr().out)
    assert {tuple(check) for check in printed} == {("name", "status", "found", "meaning", "remedy")}

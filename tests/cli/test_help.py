"""`--help`: what its author wrote is what a reader sees."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from infranoise.cli.main import app


def commands(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        words = (*before, name)
        if hasattr(command, "commands"):
            yield from commands(command, words)
        else:
            yield words, command


ALL = dict(commands(get_command(app)))


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_what_is_written_is_shown(words: tuple[str, ...]) -> None:
    command = ALL[words]
    written = " ".join(
        [command.help or "", *(getattr(p, "help", "") or "" for p in command.params)]
    )
    brackets = re.findall(r"\[[^\]]*\]+", written.replace("\\[", "["))
    examples = [line.strip() for line in (command.help or "").split("\b")[-1].splitlines()]
    ended = CliRunner().invoke(app, [*words, "--help"], env={"TERMINAL_WIDTH": "80"})
    assert ended.exit_code == 0
    shown = ended.output.replace("│", "")
    assert [piece for piece in brackets if squashed(piece) not in squashed(shown)] == []
    lines = [line.strip() for line in shown.splitlines()]
    assert [line for line in examples if line not in lines] == []


def squashed(text: str) -> str:
    return "".join(text.split())

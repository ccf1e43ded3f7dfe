"""Which Dockerfiles are plain files, what they come to, and how the others are refused."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.models.errors import Refused
from infranoise.workers.pods.dockerfile_text import expand, instructions
from infranoise.workers.pods.process.plain_files import Copy, read

BASE = "FROM python:3.12-slim\n"

REFUSED = {
    "RUN": (BASE + "RUN pip install x\n", "RUN pip install x"),
    "RUN after others": (BASE + "WORKDIR /app\nCOPY a /a\nrun true", "run true"),
    "stages": (BASE + "FROM debian AS two\n", "FROM debian AS two"),
    "COPY --from": (BASE + "COPY --from=registry.example/x /uv /bin/\n", "--from"),
    "COPY --parents": (BASE + "COPY --parents a b /c\n", "--parents"),
    "COPY --chown": (BASE + "COPY --chown=app a /b\n", "--chown"),
    "COPY --chmod in words": (BASE + "COPY --chmod=u+x a /b\n", "octal"),
    "ADD of an address": (BASE + "ADD https://example.org/x /x\n", "https://example.org/x"),
    "ADD of a repository": (BASE + "ADD git@example.org:x/y.git /x\n", "git@example.org"),
    "ADD of an archive": (BASE + "ADD data.tar.gz /x\n", "data.tar.gz"),
    "a here-document": (BASE + "COPY <<EOF /x\nhello\nEOF\n", "here-document"),
    "another language": ("FROM node:22\n", "node:22"),
    "a private image": ("FROM registry.example/org/bench:1\n", "registry.example/org/bench:1"),
    "scratch": ("FROM scratch\n", "scratch"),
    "USER": (BASE + "USER app\n", "USER app"),
    "VOLUME": (BASE + "VOLUME /data\n", "VOLUME"),
    "ONBUILD": (BASE + "ONBUILD COPY . /app\n", "ONBUILD"),
    "no FROM": ("WORKDIR /app\n", "no FROM"),
    "nothing": ("", "no FROM"),
    "a typing error": (BASE + "WORKIDR /app\n", "WORKIDR"),
    "an open quote": (BASE + 'ENV A="b\n', "quotation"),
    "bad JSON": (BASE + 'COPY ["a", /b]\n', "COPY ["),
    "COPY of nothing": (BASE + "COPY a\n", "no source and target"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_needs_a_builder_is_refused_with_its_line_and_the_remedy(case: str) -> None:
    text, told = REFUSED[case]
    with pytest.raises(Refused) as refusal:
        read(text)
    assert told in str(refusal.value)
    assert 'runtime = "docker"' in str(refusal.value)


@pytest.mark.parametrize(
    "image",
    [
        "python",
        "python:3.12-slim",
        "docker.io/library/python:3.13",
        "ubuntu:24.04",
        "debian@sha256:0123",
        "localhost:5000/debian:bookworm",
        "--platform=linux/amd64 buildpack-deps:jammy AS base",
    ],
)
def test_from_may_name_any_plain_linux(image: str) -> None:
    assert read(f"FROM {image}\n").copies == ()


def copies(line: str, before: str = "") -> Copy:
    return read(f"{BASE}{before}{line}\n").copies[0]


COPIES = {
    "COPY a.txt /b.txt": Copy(("a.txt",), PurePosixPath("/b.txt"), False),
    "COPY a.txt /folder/": Copy(("a.txt",), PurePosixPath("/folder"), True),
    "COPY a b c /folder": Copy(("a", "b", "c"), PurePosixPath("/folder"), True),
    "COPY . .": Copy((".",), PurePosixPath("/"), True),
    'COPY ["a b", "/c d/"]': Copy(("a b",), PurePosixPath("/c d"), True),
    "COPY --chmod=755 --link a /b": Copy(("a",), PurePosixPath("/b"), False, 0o755),
    "COPY --chown=root:root a /b": Copy(("a",), PurePosixPath("/b"), False),
    "copy ./a /b": Copy(("a",), PurePosixPath("/b"), False),
    "COPY ../../etc/passwd /x": Copy(("etc/passwd",), PurePosixPath("/x"), False),
    "COPY /a ../../x": Copy(("a",), PurePosixPath("/x"), False),
    "ADD files/ /app/": Copy(("files",), PurePosixPath("/app"), True),
    "COPY *.py /app/": Copy(("*.py",), PurePosixPath("/app"), True),
}


@pytest.mark.parametrize("line", sorted(COPIES))
def test_copy_is_read_in_all_its_forms(line: str) -> None:
    assert copies(line) == COPIES[line]


def test_a_relative_target_lies_below_the_workdir_of_that_line() -> None:
    recipe = read(BASE + "WORKDIR /a\nWORKDIR b/../c\nCOPY x y\nWORKDIR /d\nCOPY x .\n")
    assert [step.target.as_posix() for step in recipe.copies] == ["/a/c/y", "/d"]
    assert recipe.workdir.as_posix() == "/d"
    assert [folder.as_posix() for folder in recipe.folders] == ["/a", "/a/c", "/d"]


def test_variables_come_from_arg_env_and_the_image_s_path() -> None:
    text = (
        "ARG TAG=3.12\nFROM python:${TAG}\nARG WHERE=/srv\nENV HOME_OF=$WHERE/x A=1\n"
        'ENV B="$A b" PATH=/own/bin:$PATH KEPT=\\$A\nENV legacy all the rest\n'
        """ENV SINGLE='$A "b"' DOUBLE="it's \\$A $A"\n"""
        "WORKDIR ${HOME_OF:-/no}\nCOPY a ${UNKNOWN:-/b}/\n"
    )
    recipe = read(text, "/usr/bin")
    assert recipe.workdir.as_posix() == "/srv/x"
    assert recipe.copies[0].target.as_posix() == "/b"
    assert dict(recipe.env) == {
        "HOME_OF": "/srv/x",
        "A": "1",
        "B": "1 b",
        "PATH": "/own/bin:/usr/bin",
        "KEPT": "$A",
        "SINGLE": '$A "b"',
        "DOUBLE": "it's $A 1",
        "legacy": "all the rest",
    }


def test_what_says_nothing_about_files_is_passed_over() -> None:
    text = BASE + 'LABEL a=b\nEXPOSE 80\nCMD ["x"]\nENTRYPOINT x\nHEALTHCHECK NONE\nUSER root\n'
    recipe = read(text)
    assert (recipe.copies, recipe.folders, dict(recipe.env)) == ((), (), {})


def test_continued_lines_comments_and_crlf_are_read() -> None:
    text = "# syntax=x\r\nFROM \\\r\n  # which\r\n\r\n  python:3\r\nCOPY a \\\r\n  /b"
    assert list(instructions(text)) == ["FROM python:3", "COPY a /b"]


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        recipe = read(BASE + text)
    except Refused:
        return
    assert all(step.target.is_absolute() for step in recipe.copies)
    assert all(".." not in PurePosixPath(s).parts for step in recipe.copies for s in step.sources)


@given(st.dictionaries(st.sampled_from("ABC"), st.text("xy$", max_size=3)), st.text("AB{}:-+$\\"))
def test_expansion_ends_and_leaves_text_without_dollars_alone(
    values: dict[str, str], text: str
) -> None:
    expand(text, values)
    plain = text.replace("$", "")
    assert expand(plain, values) == plain

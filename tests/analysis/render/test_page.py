"""The page: self-contained, readable without JavaScript, and deaf to hostile names and outputs."""

import base64
import hashlib
import json
import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from sqlalchemy import Engine

from infranoise.analysis.findings import findings
from infranoise.analysis.read_ledger import Study, read_study
from infranoise.analysis.render.library import library
from infranoise.analysis.render.page import page
from infranoise.analysis.run_facts import known, run_facts
from infranoise.analysis.study_cells import study_cells
from infranoise.models.errors import InfranoiseError
from infranoise.models.evidence import Evidence, Fault
from infranoise.models.trial import CellKey

type MakeLedger = Callable[..., Engine]

HOSTILE = "suite/<img src=x onerror=alert(1)>"
EVIL_ENTRY = '</script><script>alert("2")</script>\x1b[31m\u202egnp.exe'


class Page(HTMLParser):
    """Elements with their attributes, the texts of scripts, styles and visible text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self.styles: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.elements.append((tag, found))
        if tag == "script":
            self.scripts.append((found, ""))
        self._open = [*self._open[-1:], tag] if tag in ("script", "style") else self._open

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        inside = self._open[-1] if self._open else ""
        if inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif inside == "style":
            self.styles.append(data)
        else:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def hostile(cell: CellKey, sample: int) -> Evidence:
    if cell.band == "1x":
        return Evidence(fault=Fault(cause="start_failed", message="<b>\x1b]0;owned\x07</b>"))
    return Evidence(phases=(), reward=None, reward_fault="</pre><script>3</script>")


def html_of(study: Study) -> str:
    run = run_facts(study)
    return page(findings(*study_cells(study), known(run)), run)


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    """Pages that several tests look at, drawn once."""
    return {}


@pytest.fixture
def plain(make_ledger: MakeLedger, drawn: dict[str, str]) -> str:
    if "plain" not in drawn:
        drawn["plain"] = html_of(read_study(make_ledger()))
    return drawn["plain"]


@pytest.fixture
def evil(make_ledger: MakeLedger, drawn: dict[str, str]) -> str:
    if "evil" not in drawn:
        entries = [{"agent": "command", "command": ["true"], "name": EVIL_ENTRY}]
        ledger = make_ledger(hostile, tasks=(HOSTILE, "suite/b"), entries=entries)
        drawn["evil"] = html_of(read_study(ledger))
    return drawn["evil"]


def test_nothing_on_the_page_asks_the_network_for_anything(plain: str) -> None:
    found = Page(plain)
    loading = [
        (tag, name, value)
        for tag, attributes in found.elements
        for name, value in attributes.items()
        if name in ("src", "srcset", "href", "xlink:href", "data", "action", "poster", "background")
        and not value.startswith("#")
    ]
    assert loading == []
    assert not found.all("link")
    assert not re.search(r"url\(|@import", " ".join(found.styles))


def test_the_page_forbids_requests_and_every_script_but_its_own(plain: str) -> None:
    found = Page(plain)
    policy = next(m["content"] for m in found.all("meta") if "http-equiv" in m)
    assert "default-src 'none'" in policy
    running = [text for attributes, text in found.scripts if "type" not in attributes]
    assert len(running) == 1
    digest = base64.b64encode(hashlib.sha256(running[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "unsafe-eval" not in policy


def test_hostile_names_make_no_element_and_no_script(plain: str, evil: str) -> None:
    found = Page(evil)
    assert not found.all("img")
    assert {a.get("type", "code") for a, _ in found.scripts} == {"code", "application/json"}
    assert len([a for a, _ in found.scripts if "type" not in a]) == 1
    assert not [name for _, a in found.elements for name in a if name.startswith("on")]
    assert {tag for tag, _ in found.elements} <= {tag for tag, _ in Page(plain).elements}


def test_hostile_names_are_shown_as_they_are(evil: str) -> None:
    text = Page(evil).text
    assert HOSTILE in text
    assert '</script><script>alert("2")</script>␛[31m<U+202E>gnp.exe' in text


def test_no_control_character_reaches_the_page(evil: str) -> None:
    outside = evil[: evil.rindex("<script>")]  # the chart library may hold what it likes
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", outside)


def test_charts_are_there_without_javascript_and_their_data_for_it(plain: str) -> None:
    found = Page(plain)
    figures = len(found.all("figure"))
    assert figures >= 5
    assert len(found.all("svg")) == figures
    specs = [json.loads(text) for a, text in found.scripts if a.get("type") == "application/json"]
    assert len(specs) == figures
    assert all(rows for spec in specs for rows in spec["datasets"].values())


def test_tables_have_captions_and_scopes(plain: str) -> None:
    found = Page(plain)
    tables = len(found.all("table"))
    assert tables >= 6
    assert len(found.all("caption")) == tables
    assert {th["scope"] for th in found.all("th")} == {"col", "row"}


def test_the_chapters_come_in_the_order_in_which_a_reader_asks(plain: str) -> None:
    anchors = [a["id"] for a in Page(plain).all("section")]
    asked = ["bands", "causes", "tasks", "rescued", "conditions", "configuration", "versions"]
    assert [a for a in anchors if a in asked] == asked


def test_the_page_opens_with_the_two_sentences(plain: str) -> None:
    text = " ".join(Page(plain).text.split())
    assert text.index("Infrastructure, not the policy, ended 4 of 12") < text.index("From 1x to")
    assert text.index("From 1x to uncapped") < text.index("Score and infra errors by band")


def test_a_run_without_an_outcome_has_a_page(make_ledger: MakeLedger) -> None:
    text = Page(html_of(read_study(make_ledger(stop_after=0)))).text
    assert "None of the 36 planned trials has an outcome yet." in text


def test_without_the_chart_library_the_error_says_what_to_install(
    make_ledger: MakeLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    library.cache_clear()
    with pytest.raises(InfranoiseError, match=r"install infranoise\[home\]"):
        html_of(read_study(make_ledger()))

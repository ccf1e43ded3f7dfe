"""Flower shows the fleet's attempts in our words, changes nothing, and links back to our trials."""

import base64
import json
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
from own_fleet import Fleet, Process, until

USER = "team:secret"


@dataclass(frozen=True)
class Flower:
    """A running Flower and an experiment that it has seen."""

    fleet: Fleet
    port: int
    experiment: str

    @property
    def url(self) -> str:
        return f"http://{USER}@127.0.0.1:{self.port}"

    def get(self, path: str, *, user: str = USER, data: bytes | None = None) -> Any:
        return json.loads(read(self.port, path, user=user, data=data) or "null")

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the tasks page."""
        order = "order[0][column]=0&columns[0][data]=name&order[0][dir]=asc"
        path = f"/tasks/datatable?draw=1&start=0&length=100&search[value]=&{order}"
        rows: list[dict[str, Any]] = self.get(path)["data"]
        return rows


def read(port: int, path: str, *, user: str = USER, data: bytes | None = None) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=data)
    request.add_header("Authorization", "Basic " + base64.b64encode(user.encode()).decode())
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(answer.read().decode())


def knows(port: int, worker: str) -> bool:
    try:
        return worker in json.loads(read(port, "/api/workers?refresh=1"))
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


@pytest.fixture(scope="module")
def flower(fleet: Fleet) -> Flower:
    """Flower beside one scheduler and one worker, after an experiment."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = fleet.environ | {"INFRANOISE_FLOWER_AUTH": USER}
    words = ("flower", "--port", str(port))
    fleet.workers["flower"] = Process(words, environ, fleet.folder / "flower.log")
    fleet.worker("n1")
    fleet.scheduler()
    fleet.await_up("n1")
    until(lambda: knows(port, "n1@infranoise"), "Flower knows n1", fleet.workers["flower"])
    name = fleet.submit(fleet.experiment(samples=2))
    until(lambda: fleet.done(name), "every trial has an outcome")
    seen = Flower(fleet, port, name)
    until(lambda: len(succeeded(seen)) == 4, "Flower has seen every attempt end")
    return seen


def succeeded(flower: Flower) -> dict[str, dict[str, Any]]:
    tasks: dict[str, dict[str, Any]] = flower.get("/api/tasks")
    return {id_: task for id_, task in tasks.items() if task["state"] == "SUCCESS"}


def test_each_attempt_bears_its_task_entry_band_and_sample(flower: Flower) -> None:
    told = {id_: task["kwargs"] for id_, task in succeeded(flower).items()}
    assert told == {
        line.id: str(
            {
                "task": f"tasks/{flower.experiment}",
                "entry": "oracle",
                "band": line.band,
                "sample": line.sample,
            }
        )
        for line in flower.fleet.attempts(flower.experiment)
    }


def test_the_message_itself_is_not_shown(flower: Flower) -> None:
    for task in succeeded(flower).values():
        assert task["args"] == "(…)"
        assert task["worker"] == "n1@infranoise"


def test_the_page_says_it_in_words_and_how_to_see_the_trial(flower: Flower) -> None:
    for row in flower.rows():
        trial, _, number = row["uuid"].partition(".")
        assert row["kwargs"] == f"tasks/{flower.experiment} by oracle"
        assert row["args"].startswith("band ")
        assert row["args"].endswith(f"attempt {number}: infranoise trial show {trial}")
        assert row["result"] == "reward 1"


def test_flower_changes_nothing(flower: Flower) -> None:
    with pytest.raises(urllib.error.HTTPError, match="403"):
        flower.get("/api/worker/shutdown/n1@infranoise", data=b"")


def test_a_stranger_sees_nothing(flower: Flower) -> None:
    with pytest.raises(urllib.error.HTTPError, match="401"):
        flower.get("/api/tasks", user="team:guess")


def test_status_and_trials_say_where_flower_is(flower: Flower) -> None:
    address = f"http://127.0.0.1:{flower.port}"
    line = flower.fleet.attempts(flower.experiment)[0]
    assert f"Flower: {address}" in flower.fleet.run("status", "--flower", address)
    shown = flower.fleet.run("trial", "show", line.id, "--flower", address)
    assert f"{address}/task/{line.id}" in shown
    assert line.id in read(flower.port, f"/task/{line.id}")


def test_a_browser_shows_the_fleet(
    flower: Flower, tmp_path: Path, missing: Callable[[str], NoReturn]
) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        missing("Chromium")
    picture = tmp_path / "tasks.png"
    seen = subprocess.run(
        [
            browser,
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *("--virtual-time-budget=5000", "--window-size=1500,900", "--dump-dom"),
            *(f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={picture}"),
            f"{flower.url}/tasks",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    for line in flower.fleet.attempts(flower.experiment):
        assert line.id in seen.stdout
        assert f"band {line.band}, sample {line.sample}" in seen.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")

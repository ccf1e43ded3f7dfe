"""The commands of a fleet: what they ask for, refuse, and say; no service is needed here."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from infranoise.cli.asked_experiment import asked_experiment
from infranoise.cli.fleet_text import fleet_text
from infranoise.cli.fleet_view import Fleet
from infranoise.cli.flower import command, variables
from infranoise.cli.flower_config import format_task
from infranoise.cli.logs import kept
from infranoise.cli.main import app
from infranoise.cli.scheduler_service import say_json, say_plainly
from infranoise.cli.secret_files import from_files
from infranoise.cli.status import fleet_json
from infranoise.cli.submit import decided, place_for
from infranoise.cli.worker import Asked
from infranoise.models.errors import BrokerError, DesignError
from infranoise.models.lease.capacity import Capacity
from infranoise.scheduler.feasibility import Offer
from infranoise.scheduler.hello import Hello
from infranoise.scheduler.node_state import NodeState

COMMANDS = (
    *("scheduler", "worker", "flower", "submit", "status", "watch", "pause", "resume", "cancel"),
    *("logs", "nodes", "nodes show", "nodes drain", "nodes up", "nodes forget", "trial show"),
)
NEEDS = {  # a command, and the options without which it cannot do anything
    "scheduler": ("--store", "--broker"),
    "worker": ("--broker",),
    "submit x.toml": ("--store",),
    "status": ("--store",),
    "pause x": ("--store",),
    "nodes": ("--broker",),
    "nodes show x": ("--broker",),
}


def run(words: str, **environ: str) -> tuple[int, str]:
    quiet = {"INFRANOISE_STORE": "", "INFRANOISE_BROKER_URL": "", "TERMINAL_WIDTH": "200"}
    ended = CliRunner().invoke(app, words.split(), env=quiet | environ)
    return ended.exit_code, ended.output


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_shows_an_example(words: str) -> None:
    code, said = run(f"{words} --help")
    assert code == 0
    assert f"infranoise {words.split()[0]}" in said


@pytest.mark.parametrize("words", NEEDS)
def test_what_is_missing_is_named_with_its_variable(words: str) -> None:
    code, said = run(words)
    assert code == 2
    assert any(option in said for option in NEEDS[words])
    assert "INFRANOISE_" in run(f"{words.split()[0]} --help")[1]


def test_defaults_in_help_are_not_taken_for_markup() -> None:
    said = " ".join(run("worker --help")[1].split())
    assert "[default: the host's name]" in said
    assert "overrides [pods] runtime" in " ".join(run("submit --help")[1].split())


@pytest.mark.parametrize("broker", ["redis://:secret@127.0.0.1:1/0", "nonsense"])
@pytest.mark.parametrize("words", ["nodes", "nodes show n1", "nodes drain n1"])
def test_a_queue_server_that_does_not_answer_is_named_with_the_remedy(
    words: str, broker: str
) -> None:
    ended = CliRunner().invoke(app, words.split(), env={"INFRANOISE_BROKER_URL": broker})
    assert isinstance(ended.exception, BrokerError)
    assert broker.rpartition("@")[2] in str(ended.exception)
    assert "correct --broker (INFRANOISE_BROKER_URL" in str(ended.exception)
    assert "secret" not in str(ended.exception)


def test_a_bundled_experiment_needs_no_file() -> None:
    experiment, _ = asked_experiment(Path("bundled:headroom"))
    assert (experiment.name, experiment.tasks) == ("headroom", ("bundled:headroom",))
    with pytest.raises(DesignError, match="bundled experiments are bundled:headroom"):
        asked_experiment(Path("bundled:nothing"))


def test_a_bundled_experiment_is_fitted_to_a_cluster_which_cannot_take_a_network_away() -> None:
    networks = [asked_experiment(Path("bundled:headroom"), runtime)[0].pods.network
                for runtime in (None, "docker", "kubernetes")]  # fmt: skip
    assert networks == ["none", "none", "public"]


@pytest.mark.parametrize(
    ("offered", "kind"),
    [(["docker kubernetes", "docker"], "docker"), (["kubernetes", "kubernetes"], "kubernetes"),
     (["process", "kubernetes"], "process")],
)  # fmt: skip
def test_where_no_kind_of_pods_is_named_it_is_one_that_every_node_offers(
    offered: list[str], kind: str
) -> None:
    nodes = [Offer(name, Capacity(1, 1), frozenset(name.split())) for name in offered]
    assert decided(None, "auto", nodes) == kind
    assert decided("process", "auto", nodes) == "process"


def test_a_ledger_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    ended = CliRunner().invoke(app, ["status", "--store", str(tmp_path / "no.sqlite")])
    assert isinstance(ended.exception, DesignError)
    assert "there is no such ledger" in str(ended.exception)
    assert not list(tmp_path.iterdir())


class TestSecretFiles:
    def test_a_variable_comes_from_the_file_that_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "broker").write_text("redis://:secret@home:6379/0\n")
        told = from_files({"INFRANOISE_BROKER_URL_FILE": str(tmp_path / "broker")})
        assert told == {"INFRANOISE_BROKER_URL": "redis://:secret@home:6379/0"}

    def test_a_variable_that_is_set_wins(self, tmp_path: Path) -> None:
        environ = {"INFRANOISE_STORE": "here", "INFRANOISE_STORE_FILE": str(tmp_path / "none")}
        assert from_files(environ) == {}

    def test_a_file_that_cannot_be_read_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(DesignError, match=r"INFRANOISE_STORE_FILE=.*none: cannot be read"):
            from_files({"INFRANOISE_STORE_FILE": str(tmp_path / "none")})


class TestFlower:
    def test_it_is_not_opened_to_a_network_without_a_password(self) -> None:
        words = ["flower", "--broker", "redis://127.0.0.1:1/0", "--address", "0.0.0.0"]
        ended = CliRunner().invoke(app, words)
        assert isinstance(ended.exception, DesignError)
        assert "give --auth" in str(ended.exception)

    def test_no_secret_stands_on_its_command_line(self) -> None:
        assert "--read_only=True" in command("127.0.0.1", 5555)
        assert variables("redis://:secret@h", "u:p") == {
            "CELERY_BROKER_URL": "redis://:secret@h",
            "FLOWER_BASIC_AUTH": "u:p",
        }

    def test_an_attempt_is_told_in_words(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("INFRANOISE_DASHBOARD_URL", "https://noise.example/")
        kwargs = str({"task": "tb/x", "entry": "a@m", "band": "3x", "sample": 2})
        task = format_task(
            SimpleNamespace(uuid="ab12.3", kwargs=kwargs, args="(…)", result="'reward 1'")
        )
        assert task.kwargs == "tb/x by a@m"
        assert task.args == ("band 3x, sample 2, attempt 3: https://noise.example/trials/ab12")
        assert task.result == "reward 1"

    @pytest.mark.parametrize("kwargs", [None, "", "{'task': 'cut of", "[1]", "{'other': 1}"])
    def test_what_is_none_of_ours_stays_as_it_is(self, kwargs: str | None) -> None:
        task = SimpleNamespace(uuid="x", kwargs=kwargs, args="()", result=None)
        assert format_task(task).args == "()"


class TestWorker:
    def test_what_was_asked_becomes_its_variables(self) -> None:
        asked = Asked("redis://h", "n1", 2, None, "4G", ("docker",), None, Path("/s"), 0.0)
        assert asked.variables() == {
            "INFRANOISE_BROKER_URL": "redis://h",
            "INFRANOISE_NODE": "n1",
            "INFRANOISE_SLOTS": "2",
            "INFRANOISE_MEMORY": "4G",
            "INFRANOISE_RUNTIMES": "docker",
            "INFRANOISE_STATE": "/s",
            "INFRANOISE_GRACE": "0.0",
        }

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ("--runtime podman", "choose one of"),
            ("--log-level LOUD", "choose one of DEBUG"),
            ("--node a/b", "a node's id is made of"),
        ],
    )
    def test_what_cannot_be_is_refused(self, words: str, said: str) -> None:
        ended = CliRunner().invoke(app, f"worker --broker redis://127.0.0.1:1 {words}".split())
        assert isinstance(ended.exception, DesignError)
        assert said in str(ended.exception)


class TestBlobs:
    def test_tasks_lie_beside_a_file_that_is_the_store(self, tmp_path: Path) -> None:
        assert place_for(None, str(tmp_path / "l.sqlite")) == str(tmp_path / "blobs")

    def test_beside_a_database_nothing_lies(self) -> None:
        with pytest.raises(DesignError, match="name a place that every node reaches"):
            place_for(None, "postgresql://home/infranoise")

    @pytest.mark.parametrize(
        ("asked", "place"), [("s3://b/x", "s3://b/x"), ("/mnt/../mnt/b", "/mnt/b")]
    )
    def test_a_place_means_the_same_on_every_machine(self, asked: str, place: str) -> None:
        assert place_for(asked, "any") == place


def test_a_node_that_is_left_out_is_told_with_its_why_and_the_others_beside_it() -> None:
    room = Capacity(1000, 1 << 30, 2)
    read = NodeState("n1", "up", room, room, 0.1, Hello())
    newer = NodeState("n2", "up", room, room, 0.1, Hello(version="9.9", unread="profile.qubits: ?"))
    said = fleet_text(Fleet((read, newer), "leader")).plain
    assert "1 up, 1 unreadable" in said
    assert "n2 is left out: its worker is infranoise 9.9" in said
    assert "profile.qubits" in said
    told = fleet_json(Fleet((read, newer), "leader"))["nodes"]
    assert [(one["condition"], bool(one["because"])) for one in told] == [  # type: ignore[attr-defined]
        ("up", False),
        ("unreadable", True),
    ]


def test_logs_that_were_not_kept_come_from_the_record(make_record) -> None:  # type: ignore[no-untyped-def]
    record = make_record("t")
    logs = record.logs.model_copy(
        update={"agent": record.logs.agent.model_copy(update={"tail": "end", "total_bytes": 9})}
    )
    told = kept(record.model_copy(update={"logs": logs}), None, None)
    assert told == {"agent (the last of 9 bytes)": b"end"}


def test_a_scheduler_logs_in_lines_for_people_or_for_machines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say_plainly("node", node="n1", state="up", why="")
    say_json("node", node="n1", state="up")
    plain, document = capsys.readouterr().out.splitlines()
    assert plain.endswith("Z node  node=n1  state=up")
    assert json.loads(document).items() >= {"event": "node", "node": "n1", "state": "up"}.items()

"""What may stand in a task.toml, field by field."""

from pathlib import Path
from typing import Any

import pytest

from infranoise.models.errors import TaskFileError
from infranoise.models.spec import Spec
from infranoise.models.task import Artifact, Healthcheck, Step
from infranoise.models.task_declared import declared, doubts, unresolved
from infranoise.models.task_file import parse_task_toml

FILE = Path("suite/task/task.toml")

DECLARED: dict[str, tuple[str, str, Any]] = {
    "nothing at all": ("", "spec", Spec()),
    "whole cpus": ("[environment]\ncpus = 2", "spec", Spec(cpus=2)),
    "part of a cpu": ("[environment]\ncpus = 0.5", "spec", Spec(cpus=0.5)),
    "memory": ("[environment]\nmemory_mb = 2048", "spec", Spec(memory_mib=2048)),
    "legacy memory": ('[environment]\nmemory = "2G"', "spec", Spec(memory_mib=2048)),
    "legacy memory, lower case": ('[environment]\nmemory = "1.5g"', "spec", Spec(memory_mib=1536)),
    "memory said twice alike": (
        '[environment]\nmemory = "2G"\nmemory_mb = 2048',
        "spec",
        Spec(memory_mib=2048),
    ),
    "storage": ("[environment]\nstorage_mb = 10240", "spec", Spec(storage_mib=10240)),
    "legacy storage": ('[environment]\nstorage = "10G"', "spec", Spec(storage_mib=10240)),
    "whole seconds": ("[agent]\ntimeout_sec = 900", "spec", Spec(agent_timeout_s=900)),
    "seconds with a part": ("[agent]\ntimeout_sec = 900.5", "spec", Spec(agent_timeout_s=900.5)),
    "verifier clock": ("[verifier]\ntimeout_sec = 60", "spec", Spec(verifier_timeout_s=60)),
    "build clock": ("[environment]\nbuild_timeout_sec = 9.0", "spec", Spec(build_timeout_s=9)),
    "gpus": ("[environment]\ngpus = 1", "gpus", 1),
    "gpu types": ('[environment]\ngpu_types = ["H100"]', "gpu_types", ("H100",)),
    "version": ('version = "1.0"', "schema_version", "1.0"),
    "version as a number": ("version = 1.0", "schema_version", "1.0"),
    "schema version": ('schema_version = "0.0"', "schema_version", "0.0"),
    "both markers": ('version = "1.0"\nschema_version = "1.4"', "schema_version", "1.4"),
    "no marker": ("", "schema_version", None),
    "public by default": ("", "network_mode", "public"),
    "legacy internet": ("[environment]\nallow_internet = true", "network_mode", "public"),
    "legacy no internet": ("[environment]\nallow_internet = false", "network_mode", "no-network"),
    "the newer key wins": (
        '[environment]\nallow_internet = false\nnetwork_mode = "public"',
        "network_mode",
        "public",
    ),
    "allowlist": (
        '[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["a.example", "*.b.example"]',
        "allowed_hosts",
        ("a.example", "*.b.example"),
    ),
    "image": ('[environment]\ndocker_image = "org/it:1"', "image", "org/it:1"),
    "workdir": ('[environment]\nworkdir = "/app"', "workdir", "/app"),
    "os in any case": ('[environment]\nos = "Windows"', "os", "windows"),
    "skills": ('[environment]\nskills_dir = "/skills"', "skills_dir", "/skills"),
    "no MCP servers": ("[environment]\nmcp_servers = []", "mcp_servers", ()),
    "an MCP server": (
        '[[environment.mcp_servers]]\nname = "m"\nurl = "http://m"',
        "mcp_servers",
        ({"name": "m", "url": "http://m"},),
    ),
    "healthcheck": (
        '[environment.healthcheck]\ncommand = "true"\nretries = 9',
        "healthcheck",
        Healthcheck(command="true", retries=9),
    ),
    "env with a number": ("[environment.env]\nPORT = 80", "env", {"PORT": "80"}),
    "env with a truth": ("[environment.env]\nON = true", "env", {"ON": "true"}),
    "verifier env": ('[verifier.env]\nA = "${B}"', "verifier_env", {"A": "${B}"}),
    "solution env": ('[solution.env]\nA = "${B:-c}"', "solution_env", {"A": "${B:-c}"}),
    "user by name": ('[agent]\nuser = "agent"', "agent_user", "agent"),
    "user by number": ("[verifier]\nuser = 1000", "verifier_user", "1000"),
    "shared verifier": ('[verifier]\nenvironment_mode = "shared"', "separate_verifier", False),
    "separate verifier": ('[verifier]\nenvironment_mode = "separate"', "separate_verifier", True),
    "a verifier's environment": ("[verifier.environment]\ncpus = 1", "separate_verifier", True),
    "a step's separate verifier": (
        '[[steps]]\nname = "a"\n[steps.verifier]\nenvironment_mode = "separate"',
        "separate_verifier",
        True,
    ),
    "artifacts": (
        'artifacts = ["/app/x", { source = "/y", destination = "z" }]',
        "artifacts",
        (Artifact(source="/app/x"), Artifact(source="/y", destination="z")),
    ),
    "steps": (
        '[[steps]]\nname = "one"\nmin_reward = 0.5\n[steps.agent]\ntimeout_sec = 5\n'
        '[[steps]]\nname = "two"\nmin_reward = { safety = 1 }\n[steps.verifier]\ntimeout_sec = 6',
        "steps",
        (
            Step(name="one", agent_timeout_s=5, min_reward={"reward": 0.5}),
            Step(name="two", verifier_timeout_s=6, min_reward={"safety": 1.0}),
        ),
    ),
    "reward of steps": ('[[steps]]\nname = "one"', "step_reward", "mean"),
    "final reward": (
        'multi_step_reward_strategy = "final"\n[[steps]]\nname = "one"',
        "step_reward",
        "final",
    ),
    "tags as a text": ('[metadata]\ntags = "a, b"', "metadata", {"tags": "a, b"}),
    "line ends of Windows": ("[environment]\r\ncpus = 4\r\n", "spec", Spec(cpus=4)),
}


@pytest.mark.parametrize(("text", "field", "value"), DECLARED.values(), ids=DECLARED)
def test_a_field_or_legacy_form_is_read(text: str, field: str, value: object) -> None:
    fields = declared(parse_task_toml(text, FILE))
    assert (fields["spec"].gpus if field == "gpus" else fields[field]) == value


FAULTS = {
    "no TOML": ("cpus = = 1", "", "not TOML"),
    "a bare number as size": ('[environment]\nmemory = "2048"', "environment", "suffix G, M or K"),
    "sizes that differ": (
        '[environment]\nmemory = "2G"\nmemory_mb = 4096',
        "environment",
        "memory = '2G' (2048 MiB) and memory_mb = 4096 differ; keep memory_mb alone",
    ),
    "a size that is no text": ("[environment]\nmemory = 2", "environment.memory", "found 2"),
    "a word for a number": ('[environment]\ncpus = "two"', "environment.cpus", "found 'two'"),
    "no cpu": ("[environment]\ncpus = 0", "environment.cpus", "greater than 0, found 0"),
    "endless": ("[agent]\ntimeout_sec = inf", "agent.timeout_sec", "finite number, found inf"),
    "a table that is none": ("agent = 3", "agent", "found 3"),
    "another network": (
        '[environment]\nnetwork_mode = "open"',
        "environment.network_mode",
        "'public', 'no-network' or 'allowlist', found 'open'",
    ),
    "hosts without a list to be on": (
        '[environment]\nallowed_hosts = ["a.b"]',
        "environment",
        'allowed_hosts needs network_mode = "allowlist"',
    ),
    "a shared verifier elsewhere": (
        '[verifier]\nenvironment_mode = "shared"\n[verifier.environment]\ncpus = 1',
        "verifier",
        "exclude",
    ),
    "a step that leaves its folder": ('[[steps]]\nname = ".."', "steps.0.name", "cannot be"),
    "steps of one name": (
        '[[steps]]\nname = "a"\n[[steps]]\nname = "a"',
        "",
        "steps need names of their own",
    ),
    "a healthcheck without a command": (
        "[environment.healthcheck]\nretries = 1",
        "environment.healthcheck.command",
        "Field required",
    ),
    "two faults": ("[environment]\ncpus = 0\nmemory_mb = 0", "environment.cpus", "(and 1 more)"),
}


@pytest.mark.parametrize(("text", "key", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_fault_names_the_file_the_key_and_what_was_expected(
    text: str, key: str, expected: str
) -> None:
    with pytest.raises(TaskFileError) as caught:
        parse_task_toml(text, FILE)
    assert caught.value.path == FILE
    assert caught.value.key == key
    assert expected in caught.value.expected


DOUBTS = {
    "an unknown key": ("[agent]\nreasoning = 1", "agent.reasoning is not a key that is known"),
    "a near miss": ("[agent]\ntimeout_secs = 1", "did you mean timeout_sec?"),
    "an unknown table": ("[reward]\nx = 1", "reward is not a key"),
    "deep down": ('[[steps]]\nname = "a"\n[steps.agent]\nx = 1', "steps.agent.x is not a key"),
    "a newer schema": ('schema_version = "1.5"', "schema version 1.5 is newer than 1.4"),
    "a strange schema": ('version = "one"', "schema version one is newer"),
    "a phase's network": ('[agent]\nnetwork_mode = "no-network"', "one network holds for a pod"),
}


@pytest.mark.parametrize(("text", "warning"), DOUBTS.values(), ids=DOUBTS)
def test_what_has_no_effect_is_kept_and_said(text: str, warning: str) -> None:
    (line,) = doubts(parse_task_toml(text, FILE))
    assert warning in line


@pytest.mark.parametrize("version", ["0.0", "1.0", "1.1", "1.3", "1.4"])
def test_known_versions_are_no_matter_for_doubt(version: str) -> None:
    assert list(doubts(parse_task_toml(f'version = "{version}"', FILE))) == []


def test_variables_that_nothing_fills_are_a_fact_and_no_error() -> None:
    text = (
        '[environment.env]\nA = "${KEY}"\nB = "${HOME_OF:-x}"\n[verifier.env]\nC = "${TOKEN}"\n'
        '[solution.env]\nD = "${KEY}"\n[[steps]]\nname = "s"\n[steps.verifier.env]\nE = "${STEP}"'
    )
    toml = parse_task_toml(text, FILE)
    assert unresolved(toml, {}) == ("KEY", "TOKEN", "STEP")
    assert unresolved(toml, {"KEY": "k", "STEP": ""}) == ("TOKEN",)

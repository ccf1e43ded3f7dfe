"""deploy/kubernetes: valid by the API's published schemas, least in rights, no secret in it."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes.client import models
from pydantic import BaseModel

from infranoise.workers.pods.kubernetes.rights import RIGHTS

ROOT = Path(__file__).parents[2]
HERE = ROOT / "deploy" / "kubernetes"
Object = dict[str, Any]
SECRETS = {"queue_password", "database_password", "broker_url", "store", "flower_auth"}


def listed(folder: Path) -> Iterator[tuple[str, Object]]:
    """Every object of a kustomization, by its file's name."""
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    for name in kustomization["resources"]:
        for document in yaml.safe_load_all((folder / name).read_text()):
            yield name, document


OBJECTS = [*listed(HERE), *listed(HERE / "kubelet-settings")]


def called(found: tuple[str, Object]) -> str:
    name, one = found
    return f"{name}:{one['kind']}/{one['metadata']['name']}"


@pytest.mark.parametrize("found", OBJECTS, ids=called)
def test_every_object_is_valid_by_the_published_schema_of_its_kind(
    found: tuple[str, Object],
) -> None:
    # The official client's models are made from the API's OpenAPI document; they refuse what it
    # does not know.
    _, one = found
    schema: type[BaseModel] = getattr(models, f"V1{one['kind']}")
    assert schema.model_validate(one)
    assert one["apiVersion"].endswith("v1")


def test_a_misspelt_field_would_be_found() -> None:
    _, deployment = next(found for found in OBJECTS if found[1]["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    broken = deployment | {"spec": deployment["spec"] | {"template": {"spec": pod | {"conta": 1}}}}
    with pytest.raises(ValueError, match="conta"):
        models.V1Deployment.model_validate(broken)


def test_every_file_is_listed_and_every_kustomization_says_only_what_kustomize_knows() -> None:
    known = {"apiVersion", "kind", "resources", "labels"}
    for folder in (HERE, HERE / "kubelet-settings"):
        kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
        assert set(kustomization) <= known
        files = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
        assert set(kustomization["resources"]) == files


KUSTOMIZE = next(
    (argv for argv in (["kustomize", "build"], ["kubectl", "kustomize"]) if shutil.which(argv[0])),
    None,
)
OVERLAY = re.compile(r"```yaml\n(# overlay/kustomization.yaml\n.*?)```", re.DOTALL)


def built(folder: Path) -> list[Object]:
    """What kustomize makes of a folder; skips where there is none: Debian packages too old a one,
    so that it cannot be asked for."""
    if KUSTOMIZE is None:
        pytest.skip("neither kustomize nor kubectl is here: what it would build is read, not built")
    done = subprocess.run([*KUSTOMIZE, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def unlabelled(one: Object) -> str:
    """An object without the label that the kustomization adds, as text."""
    metadata = dict(one["metadata"])
    labels = {
        k: v for k, v in metadata.pop("labels", {}).items() if k != "app.kubernetes.io/part-of"
    }
    return json.dumps(one | {"metadata": metadata | {"labels": labels}}, sort_keys=True)


def test_what_kustomize_builds_is_what_these_tests_read() -> None:
    found = built(HERE)
    assert all(one["metadata"]["labels"]["app.kubernetes.io/part-of"] for one in found)
    assert {unlabelled(one) for one in found} == {unlabelled(one) for _, one in listed(HERE)}


def test_the_overlay_of_the_documentation_builds_and_does_what_it_says(tmp_path: Path) -> None:
    told = OVERLAY.search((ROOT / "docs" / "kubernetes.md").read_text())
    assert told is not None
    here = os.path.relpath(HERE, tmp_path)
    (tmp_path / "kustomization.yaml").write_text(told[1].replace("../deploy/kubernetes", here))
    found = built(tmp_path)
    for one in found:
        assert getattr(models, f"V1{one['kind']}").model_validate(one)
    kinds = {one["kind"]: one for one in found if one["metadata"]["name"] == "worker"}
    worker = kinds["StatefulSet"]["spec"]
    assert worker["replicas"] == 4
    (container,) = worker["template"]["spec"]["containers"]
    assert container["image"] == "registry.example/infranoise/worker-kubernetes:0.1.0"
    assert "infranoise-kubelet-settings" in {one["metadata"]["name"] for one in found}


def granted(folder: Path) -> set[tuple[str, str, bool]]:
    """(resource, verb, of the whole cluster) that the roles of a kustomization grant."""
    return {
        (resource, verb, one["kind"] == "ClusterRole")
        for _, one in listed(folder)
        if one["kind"] in ("Role", "ClusterRole")
        for rule in one["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_a_worker_is_granted_what_it_needs_and_nothing_else() -> None:
    everything = {(right.resource, right.verb, right.cluster) for right in RIGHTS}
    proxy = {right for right in everything if right[0] == "nodes/proxy"}
    assert granted(HERE) == everything - proxy
    assert granted(HERE / "kubelet-settings") == proxy


def test_no_role_names_secrets_or_stars_and_trials_have_none() -> None:
    for _, one in OBJECTS:
        assert not {"secrets", "*"} & set(words_of(one.get("rules", ())))
        for subject in one.get("subjects", ()):
            assert (subject["name"], subject["namespace"]) == ("worker", "infranoise")


def words_of(rules: Any) -> Iterator[str]:
    for rule in rules:
        yield from (*rule["resources"], *rule["verbs"], *rule["apiGroups"])


PODS = [
    (name, one["spec"]["template"]["spec"])
    for name, one in OBJECTS
    if one["kind"] in ("Deployment", "StatefulSet")
]


@pytest.mark.parametrize(("name", "pod"), PODS, ids=[name for name, _ in PODS])
def test_a_service_cannot_rise_writes_only_where_it_must_and_is_bounded(
    name: str, pod: Object
) -> None:
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["enableServiceLinks"] is False
    assert pod.get("automountServiceAccountToken") is False or name == "worker.yaml"
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"]["memory"]
    assert {"livenessProbe", "readinessProbe"} & set(container)


@pytest.mark.parametrize(("name", "pod"), PODS, ids=[name for name, _ in PODS])
def test_passwords_are_files_of_one_secret_and_each_service_has_its_own_alone(
    name: str, pod: Object
) -> None:
    (volume,) = (one["secret"] for one in pod["volumes"] if "secret" in one)
    assert volume["secretName"] == "infranoise"
    assert {item["key"] for item in volume["items"]} <= SECRETS
    if name == "worker.yaml":
        assert [item["key"] for item in volume["items"]] == ["broker_url"]
    told = str(pod["containers"][0].get("env", ""))
    assert not re.search(r"redis://|postgresql://|PASSWORD", told)


def test_every_variable_that_is_set_is_read_somewhere() -> None:
    code = "".join(
        path.read_text()
        for room in ("cli", "workers", "scheduler")
        for path in (ROOT / room).rglob("*.py")
    )
    for _, pod in PODS:
        for variable in pod["containers"][0].get("env", ()):
            name = variable["name"].removeprefix("INFRANOISE_").removesuffix("_FILE")
            assert name in code or name.startswith("QUEUE_"), variable["name"]


def test_every_image_is_one_that_this_repository_builds() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    images = {pod["containers"][0]["image"] for _, pod in PODS}
    names = ("home", "queue", "database", "worker-kubernetes")
    assert images == {f"infranoise/{name}:{version}" for name in names}
    assert "worker-kubernetes:" + version in (HERE / "Dockerfile").read_text()
    for name in names[:3]:
        assert (ROOT / "deploy" / f"Dockerfile.{name}").is_file()


def test_every_password_that_is_mounted_is_one_that_is_made() -> None:
    made = set(re.findall(r"\bkeep (\w+)", (ROOT / "deploy" / "secrets.sh").read_text()))
    assert made >= SECRETS

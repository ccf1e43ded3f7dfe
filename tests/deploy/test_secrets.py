"""Secrets are made once, by chance, as files; nothing that is shipped holds a password."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMES = {
    *("queue_password", "database_password", "broker_url", "store", "flower_auth"),
    *("pip_conf", "apt_conf"),
}


def make(folder: Path) -> dict[str, str]:
    subprocess.run([ROOT / "deploy/secrets.sh", folder], check=True, capture_output=True)
    return {file.name: file.read_text() for file in folder.iterdir()}


def test_each_file_is_made_and_only_its_owner_enters_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    assert make(folder).keys() == NAMES
    assert folder.stat().st_mode & 0o777 == 0o700


def test_addresses_hold_the_passwords(tmp_path: Path) -> None:
    made = make(tmp_path / "secrets")
    assert made["broker_url"] == f"redis://:{made['queue_password']}@queue:6379/0"
    assert f":{made['database_password']}@database:5432/" in made["store"]
    assert len(made["queue_password"]) == 48


def test_what_is_there_stays_and_what_was_deleted_is_made_anew(tmp_path: Path) -> None:
    before = make(tmp_path / "secrets")
    (tmp_path / "secrets" / "flower_auth").unlink()
    after = make(tmp_path / "secrets")
    assert after["flower_auth"] != before["flower_auth"]
    assert after | {"flower_auth": ""} == before | {"flower_auth": ""}


def test_every_secret_of_the_compose_file_is_made(tmp_path: Path) -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    wanted = set(re.findall(r"deploy/secrets}/(\w+)", text))
    assert wanted == NAMES & make(tmp_path / "secrets").keys()


def test_every_image_is_pinned() -> None:
    files = [*ROOT.glob("deploy/Dockerfile.*"), ROOT / "docker-compose.yml"]
    named = [
        name for file in files for name in re.findall(r"(?:image: |_IMAGE=)(\S+)", file.read_text())
    ]
    assert len(named) == 8
    assert not [n for n in named if ":" not in n or n.endswith(":latest")]
    made = (ROOT / "deploy/base-image.sh").read_text()
    bases = {name for name in named if not name.startswith("infranoise/")}
    assert all(base in made for base in bases)

"""`infranoise gateway` as a process: it says where it listens, and goes when it is told to."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from asking import ask, post
from model_provider import KEY, Provider, Turn
from own_gateway import SECRET, OwnGateway, claims

from infranoise.models.api_token import Seal
from infranoise.scheduler.broker import embedded

FILE = """
[providers.maker]
dialect = "anthropic"
base_url = "{url}"
key = "env:MAKER_KEY"
"""


def command(folder: Path, url: str, broker: str, *more: str) -> list[str]:
    (folder / "p.toml").write_text(FILE.format(url=url))
    told = ("--broker", broker, "--listen", "127.0.0.1:0", "--json", *more)
    return [sys.executable, "-m", "infranoise", "gateway", str(folder / "p.toml"), *told]


@pytest.fixture
def broker() -> Iterator[str]:
    with embedded() as address:
        yield address


def test_it_serves_until_it_is_told_to_go(maker: Provider, broker: str, tmp_path: Path) -> None:
    maker.plays(Turn("words"))
    environ = os.environ | {"INFRANOISE_GATEWAY_SECRET": SECRET, "MAKER_KEY": KEY}
    kept = tmp_path / "kept"
    words = command(tmp_path, maker.url, broker, "--record-content", str(kept))
    with (
        subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, text=True) as process,
        redis.Redis.from_url(broker, decode_responses=True) as client,
    ):
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert told["providers"] == ["maker"]
        gateway = OwnGateway(told["listening"][0], Seal(SECRET), client)
        assert post(gateway.url, "/infranoise/health", "", b"").json == {"under_way": 0}
        assert ask(gateway, gateway.token()).status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    (line,) = (kept / "t.1.jsonl").read_text().splitlines()
    assert "words" in json.loads(line)["answered"]
    assert KEY not in line
    assert "inr1." not in line


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"MAKER_KEY": KEY}, "INFRANOISE_GATEWAY_SECRET"),
        ({"INFRANOISE_GATEWAY_SECRET": SECRET}, "providers.maker: MAKER_KEY is not set"),
    ],
)
def test_what_it_lacks_is_told_in_one_line(
    environ: dict[str, str], says: str, broker: str, tmp_path: Path
) -> None:
    words = command(tmp_path, "http://127.0.0.1:9", broker)
    ended = subprocess.run(words, env=os.environ | environ, capture_output=True, text=True)
    assert ended.returncode == 2
    assert says in ended.stderr
    assert KEY not in ended.stderr


def test_a_token_survives_its_seal() -> None:
    seal = Seal(SECRET)
    assert seal.read(seal.mint(claims()), 0.0).attempt == "t.1"
    with pytest.raises(ValueError, match="characters or more"):
        Seal("short")

"""What a worker fetches leaves the server at once: its lease is what protects it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from kombu import Connection, Queue

from infranoise.models.message import node_queue
from infranoise.scheduler.broker import embedded
from infranoise.scheduler.envelope import probe_envelope
from infranoise.scheduler.leases import Leases
from infranoise.workers.transport import transport

QUEUE = node_queue("n")


@pytest.fixture
def server() -> Iterator[str]:
    with embedded() as address:
        yield address


def test_nothing_is_noted_of_a_message_and_nothing_put_back_when_the_connection_ends(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    home, fetched = Leases(server), []
    home.push([("n", probe_envelope("n", "me", beside=False))])
    home.close()
    with redis.Redis.from_url(server, decode_responses=True) as client:
        with Connection(server, transport=transport()) as connection:
            queue = Queue(QUEUE, routing_key=QUEUE)
            with connection.Consumer(queue, callbacks=[lambda _, got: fetched.append(got)]):
                connection.drain_events(timeout=5)
            assert not [key for key in client.scan_iter("unacked*")]
        assert [message.headers["id"] for message in fetched] == ["me"]
        assert not client.llen(QUEUE)
    assert not list(tmp_path.iterdir())

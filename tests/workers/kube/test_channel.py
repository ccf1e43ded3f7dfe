"""The exec connection: kept alive, fed in pieces, and tried again only while nothing has begun."""

import asyncio
from contextlib import closing
from typing import Any

import pytest
from aiohttp import web
from kube_api import FakeApi

from infranoise.workers.pods.kubernetes import channel, exec
from infranoise.workers.pods.kubernetes.api import Api, ApiRefused
from infranoise.workers.pods.kubernetes.channel import Channel

PATH = "/api/v1/namespaces/trials/pods/p"
SUCCESS = b'\x03{"status":"Success"}'
MIB = 1 << 20


class Frames:
    """What arrives in a pod; says so after so many bytes, and ends."""

    def __init__(self, fake: FakeApi, enough: int) -> None:
        container = {"name": "main", "image": "x:1"}
        spec = {"containers": [container], "nodeName": "n"}
        fake.store.create("pods", "trials", {"metadata": {"name": "p"}, "spec": spec})
        fake.execute, self._enough = self._take, enough
        self.frames: list[bytes] = []

    async def _take(self, pod: Any, argv: list[str], socket: web.WebSocketResponse) -> None:
        while sum(len(frame) - 1 for frame in self.frames) < self._enough:
            self.frames.append(await asyncio.wait_for(socket.receive_bytes(), 10))
        await socket.send_bytes(SUCCESS)


def ends_well(connection: Channel) -> bool:
    with closing(connection):
        told = [piece for piece in connection.pieces(lambda: 0.01) if piece is not None]
    return [piece.channel for piece in told] == [channel.ERROR]


def test_a_silent_command_s_connection_carries_traffic(
    fake: FakeApi, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "KEEP_ALIVE_S", 0.02)
    heard = Frames(fake, 2 * len(channel.TERMINAL_SIZE) - 2)
    assert ends_well(Channel(api, PATH, "main", ["sleep"]))
    assert heard.frames == [channel.TERMINAL_SIZE] * 2


def test_input_goes_in_pieces_that_every_server_takes_and_arrives_whole(
    fake: FakeApi, api: Api
) -> None:
    heard = Frames(fake, 3 * MIB)
    connection = Channel(api, PATH, "main", ["cat"])
    connection.send(bytes(3 * MIB))
    assert ends_well(connection)
    assert {frame[0] for frame in heard.frames} == {channel.STDIN}
    assert max(map(len, heard.frames)) <= MIB + 1
    assert sum(len(frame) - 1 for frame in heard.frames) == 3 * MIB


def test_a_handshake_is_tried_again_in_a_storm_and_not_against_a_refusal(
    fake: FakeApi, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exec, "HANDSHAKE_PAUSE_S", 0.001)
    Frames(fake, 0)
    fake.storm.extend([(503, None), (500, None)])
    assert ends_well(exec.open_channel(api, exec.Place(PATH), ["true"]))
    asked = len(fake.requests)
    fake.allowed = {("pods/exec", "get")}
    with pytest.raises(ApiRefused, match="cannot create"):
        exec.open_channel(api, exec.Place(PATH), ["true"])
    assert len(fake.requests) == asked + 1

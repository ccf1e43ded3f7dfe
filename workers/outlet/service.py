"""The process that carries what pods send out and get back; one for each worker that needs it.

It is handed sockets that were made at the near ends of pods' links, so that it needs no right of
its own: it runs as nobody. It ends with its worker, and with it every way out. Orders and answers
are JSON on a socket of packets, its standard input; see `outlets.py` for the other end.
"""

import asyncio
import json
import os
import resource
import socket
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ...models.allow import AllowList
from ...models.egress_seen import EgressSeen
from .looking_up import LookUp
from .places import Door
from .room import Room

ORDER_BYTES, MOST_SOCKETS = 256 * 1024, 64
NOBODY = 65534
LOOK_UPS = 16  # names that are looked up at one time


class Service:
    """Every room of one worker, by the id of its attempt."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._rooms: dict[str, Room] = {}
        self._look_up = LookUp({})
        self._over = asyncio.Event()

    async def serve(self) -> None:
        """Obey until the worker has gone."""
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(LOOK_UPS))
        loop.add_reader(self._control, self._obey)
        await self._over.wait()
        loop.remove_reader(self._control)
        for room in self._rooms.values():
            room.close()

    def _obey(self) -> None:
        try:
            order, handles, _, _ = socket.recv_fds(self._control, ORDER_BYTES, MOST_SOCKETS)
        except BlockingIOError:
            return
        except OSError:
            order, handles = b"", []
        if not order:
            self._over.set()
            return
        sockets = [socket.socket(fileno=handle) for handle in handles]
        try:
            answer = self._done(json.loads(order), sockets)
        except (OSError, ValueError, KeyError) as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        self._control.setblocking(True)
        self._control.send(json.dumps(answer).encode())
        self._control.setblocking(False)

    def _done(self, order: Mapping[str, Any], sockets: list[socket.socket]) -> dict[str, Any]:
        match order["do"]:
            case "names":
                self._look_up = LookUp({k: tuple(v) for k, v in order["fixed"].items()})
            case "open":
                self._open(order, sockets)
            case "begin":
                self._rooms[order["id"]].begin()
            case "report":
                return _told(self._rooms[order["id"]].seen())
            case "close":
                room = self._rooms.pop(order["id"])
                told = _told(room.seen())
                room.close()
                return told
        return {}

    def _open(self, order: Mapping[str, Any], sockets: list[socket.socket]) -> None:
        for one in sockets:
            one.setblocking(False)
        door = Door(**order["door"]) if order["door"] else None
        dns, heard, refusing, *listeners = sockets
        allow = AllowList.of(order["allow"])
        room = Room(allow, door, self._look_up, dns, heard, refusing, listeners)
        self._rooms[order["id"]] = room


def _told(seen: EgressSeen) -> dict[str, Any]:
    return {"seen": seen.model_dump(mode="json")}


def _give_up_rights() -> None:
    """Be nobody from here on, where we are root: what pods send is read by no one else."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def main() -> None:
    """Serve the worker at our standard input."""
    control = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    control.setblocking(False)
    "".encode("idna")  # what is imported late must be imported now: nobody may read it later
    _give_up_rights()
    asyncio.run(Service(control).serve())


if __name__ == "__main__":
    main()

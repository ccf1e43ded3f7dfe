"""A kubelet's double that runs pods' containers through the local Docker engine.

Ceilings are real, and so are the kernel's kills: what is played is the API's side of them alone.
`forgets_oom`: the runtime's race, in which a kill is told as a plain `Error`.
"""

import asyncio
import json
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import docker as engine
from aiohttp import WSMsgType, web
from docker.errors import APIError, ImageNotFound, NotFound
from kube_api import FakeApi
from kube_store import Change, Object, now

from infranoise.models.kube_quantity import quantity
from infranoise.workers.pods.process.group import cpu_quota_us, cpu_shares

SOCKET = "/var/run/docker.sock"
POD_PIDS_LIMIT = 4096
LABEL = "infranoise-test-kubelet"
HOUSEKEEPING_S = 0.2
PIECE = 256 * 1024


class DockerKubelet:
    """One node, which takes every pod that fits it.

    Args:
        network: of its containers, in Docker's words; a bridge takes longer to set up than none.
    """

    def __init__(self, api: FakeApi, node: Object, network: str = "none") -> None:
        self.api, self.store, self.id = api, api.store, uuid.uuid4().hex
        self.node = node["metadata"]["name"]
        self._allocatable = node["status"]["allocatable"]
        self._docker = engine.APIClient(version="auto", timeout=120)
        self._containers: dict[str, str] = {}
        self._ending: set[str] = set()
        self._folder = tempfile.TemporaryDirectory(prefix="kubelet-")
        self._threads: list[threading.Thread] = []
        self.forgets_oom, self._network = False, network
        self.walls = self.shapes = False
        self._addresses: dict[str, str] = {}
        self.store.create("nodes", "", node)
        self.store.heard.append(self._hear)
        self.api.execute = self._execute

    def containers(self) -> list[str]:
        """What of this node's containers is left in the engine, running or not."""
        found = self._docker.containers(all=True, filters={"label": f"{LABEL}={self.id}"})
        return [container["Id"] for container in found]

    def close(self) -> None:
        """Remove every container."""
        for container in list(self._containers.values()):
            with suppress(APIError):
                self._docker.remove_container(container, force=True, v=True)
        for thread in self._threads:
            thread.join(20)
        self._folder.cleanup()
        self._docker.close()

    def _hear(self, change: Change) -> None:
        if change.resource == "networkpolicies" and change.type == "ADDED" and self.walls:
            self._go(self._wall, change.object)
            return
        if change.resource == "pods" and change.type == "ADDED":
            self._go(self._live, change.object)
        leaves = "deletionTimestamp" in change.object["metadata"]
        uid = change.object["metadata"]["uid"]
        ends = change.resource == "pods" and change.type == "MODIFIED" and leaves
        if ends and uid not in self._ending:  # told under the store's lock, one after the other
            self._ending.add(uid)
            self._go(self._end, change.object, uid)

    def _go(self, work: Callable[..., None], *words: Any) -> None:
        thread = threading.Thread(target=work, args=words, daemon=True, name="kubelet")
        self._threads.append(thread)
        thread.start()

    # --- a pod's life ---

    def _live(self, pod: Object) -> None:
        place, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        container = pod["spec"]["containers"][0]
        if not self._fits(container):
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                         "message": "0/1 nodes are available: 1 Insufficient memory."}  # fmt: skip
            self.store.status(place, name, {"conditions": [condition]})
            return
        with suppress(KeyError, Exception):
            self.store.bind(place, name, self.node)
        self._tell(pod, {"waiting": {"reason": "ContainerCreating"}})
        try:
            made = self._make(pod, container)
        except ImageNotFound:
            words = f"failed to resolve reference {container['image']!r}: not found"
            self._tell(pod, {"waiting": {"reason": "ErrImagePull", "message": words}})
            self._tell(pod, {"waiting": {"reason": "ImagePullBackOff", "message": words}})
            return
        self._containers[pod["metadata"]["uid"]] = made
        try:
            self._docker.start(made)
        except APIError as error:
            ended = {"exitCode": 128, "reason": "StartError", "message": str(error.explanation)}
            self._tell(pod, {"terminated": ended}, "Failed")
            return
        networks = self._docker.inspect_container(made)["NetworkSettings"]["Networks"]
        self._addresses[made] = next(iter(networks.values()), {}).get("IPAddress", "")
        self._tell(pod, {"running": {"startedAt": now()}}, "Running")
        self._go(self._keep_house, pod, made)
        self._docker.wait(made)
        self._ended(pod, made)

    def _wall(self, policy: Object) -> None:
        """What a plugin that enforces policies does: here, to pods that are cut off altogether."""
        wanted = policy["spec"]["podSelector"]["matchLabels"].items()
        for pod in self.store.all_of("pods"):
            if wanted <= pod["metadata"]["labels"].items():
                made = self._containers[pod["metadata"]["uid"]]
                self._docker.disconnect_container_from_network(made, "bridge")

    def _fits(self, container: Object) -> bool:
        asked = container["resources"].get("requests") or {}
        return all(quantity(v) <= quantity(self._allocatable[k]) for k, v in asked.items())

    def _make(self, pod: Object, container: Object) -> str:
        log = self._log(pod)
        log.touch()
        log.chmod(0o666)
        host = {"NetworkMode": self._network, "Binds": [f"{log}:/dev/termination-log"],
                "PidsLimit": POD_PIDS_LIMIT, **_enforced(container["resources"])}  # fmt: skip
        body = {
            "Image": container["image"],
            "Entrypoint": container["command"],
            "Cmd": container.get("args", []),
            "Env": [f"{one['name']}={one['value']}" for one in container.get("env", ())],
            "Labels": {LABEL: self.id},
            "HostConfig": host,
        }
        if "workingDir" in container:
            body["WorkingDir"] = container["workingDir"]
        return str(self._docker.create_container_from_config(body)["Id"])

    def _log(self, pod: Object) -> Path:
        return Path(self._folder.name) / pod["metadata"]["uid"]

    def _ended(self, pod: Object, made: str) -> None:
        try:
            state = self._docker.inspect_container(made)["State"]
        except NotFound:
            return
        killed = state["OOMKilled"] and not self.forgets_oom
        code = state["ExitCode"]
        told = {
            "exitCode": code,
            "reason": "OOMKilled" if killed else "Completed" if code == 0 else "Error",
            "startedAt": now(),
            "finishedAt": now(),
        }
        if message := self._log(pod).read_text(errors="replace")[:4096]:
            told["message"] = message
        self._tell(pod, {"terminated": told}, "Succeeded" if code == 0 else "Failed")

    def _keep_house(self, pod: Object, made: str) -> None:
        limits = pod["spec"]["containers"][0]["resources"].get("limits") or {}
        if "ephemeral-storage" not in limits:
            return
        top = limits["ephemeral-storage"]
        while True:
            try:
                found = self._docker.inspect_container(made)
            except APIError:
                return
            if not found["State"]["Running"]:
                return
            if _allocated_bytes(Path(found["GraphDriver"]["Data"]["UpperDir"])) > quantity(top):
                words = "Pod ephemeral local storage usage exceeds the total limit of "
                words += f"containers {top}. "
                place, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
                self.store.status(
                    place, name, {"phase": "Failed", "reason": "Evicted", "message": words}
                )
                with suppress(APIError):
                    self._docker.kill(made)
                return
            time.sleep(HOUSEKEEPING_S)

    def _end(self, pod: Object, uid: str) -> None:
        """Someone deleted the pod: TERM, a grace, KILL; then its object goes."""
        metadata = pod["metadata"]
        made = self._containers.get(uid)
        if made is not None:
            with suppress(APIError):
                self._docker.stop(made, timeout=metadata["deletionGracePeriodSeconds"])
            self._ended(pod, made)
            with suppress(APIError):
                self._docker.remove_container(made, force=True, v=True)
            self._containers.pop(uid, None)
        with suppress(Exception):  # it may be gone already
            self.store.delete("pods", metadata["namespace"], metadata["name"], grace_s=0, uid=uid)

    def _tell(self, pod: Object, state: Object, phase: str | None = None) -> None:
        container = pod["spec"]["containers"][0]
        one = {
            "name": container["name"],
            "state": state,
            "lastState": {},
            "restartCount": 0,
            "resources": container["resources"],
            "imageID": container["image"],
        }
        status: Object = {"containerStatuses": [one]}
        made = self._containers.get(pod["metadata"]["uid"], "")
        if address := self._addresses.get(made):
            status["podIP"] = address
        place, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        if phase:
            status["phase"] = phase
        self.store.status(place, name, status)

    # --- exec ---

    async def _execute(self, pod: Object, argv: list[str], channel: web.WebSocketResponse) -> None:
        made = self._containers.get(pod["metadata"]["uid"])
        try:
            if made is None:
                raise NotFound("no such container")  # type: ignore[no-untyped-call]
            running = await asyncio.to_thread(
                self._docker.exec_create, made, argv, stdin=True, stdout=True, stderr=True
            )
        except APIError as error:
            await _failed(channel, str(error))
            return
        reader, writer = await asyncio.open_unix_connection(SOCKET)
        try:
            await _upgrade(reader, writer, running["Id"])
            stdin = asyncio.create_task(_pump_in(channel, writer))
            await _pump_out(reader, channel)
            code = await self._code(running["Id"])
            stdin.cancel()
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            await _failed(channel, str(error))
            return
        finally:
            writer.close()
        with suppress(ConnectionError):
            await channel.send_bytes(b"\x03" + json.dumps(_status(code)).encode())

    async def _code(self, running: str) -> int | None:
        for _ in range(500):
            try:
                told = await asyncio.to_thread(self._docker.exec_inspect, running)
            except APIError:
                return None
            if not told["Running"]:
                return int(told["ExitCode"])
            await asyncio.sleep(0.01)
        return None


async def _upgrade(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, running: str
) -> None:
    body = b'{"Detach":false,"Tty":false}'
    writer.write(
        f"POST /exec/{quote(running)}/start HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\n"
        f"Upgrade: tcp\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        "".encode()
        + body
    )
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 101 " not in head.split(b"\r\n")[0]:
        raise ConnectionError(head.decode())


async def _pump_in(channel: web.WebSocketResponse, writer: asyncio.StreamWriter) -> None:
    async for message in channel:
        if message.type == WSMsgType.BINARY and message.data[:1] == b"\x00":
            writer.write(message.data[1:])
            with suppress(ConnectionError):
                await writer.drain()
    writer.close()  # the client has gone


async def _pump_out(reader: asyncio.StreamReader, channel: web.WebSocketResponse) -> None:
    while True:
        try:
            head = await reader.readexactly(8)
            left = int.from_bytes(head[4:], "big")
            while left:
                piece = await reader.read(min(left, PIECE))
                if not piece:
                    return
                left -= len(piece)
                await channel.send_bytes(head[:1] + piece)
        except (asyncio.IncompleteReadError, ConnectionError):
            return


def _allocated_bytes(layer: Path) -> int:
    """Disk that a container's own layer takes; holes in files take none."""
    total = 0
    for folder, _, names in layer.walk():
        for name in names:
            with suppress(OSError):  # it went meanwhile
                total += (folder / name).lstat().st_blocks * 512
    return total


def _status(code: int | None) -> Object:
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    if code is None:
        return {"metadata": {}, "status": "Failure", "reason": "InternalError", "code": 500,
                "message": "Internal error occurred: no running task found"}  # fmt: skip
    words = f"command terminated with non-zero exit code: command terminated with exit code {code}"
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return {"metadata": {}, "status": "Failure", "message": words, "reason": "NonZeroExitCode",
            "details": {"causes": causes}}  # fmt: skip


async def _failed(channel: web.WebSocketResponse, words: str) -> None:
    with suppress(ConnectionError):
        told = _status(None) | {"message": f"Internal error occurred: {words}"}
        await channel.send_bytes(b"\x03" + json.dumps(told).encode())


def _enforced(resources: Object) -> Object:
    """Requests and limits as a container runtime sets them."""
    asked, top = resources.get("requests") or {}, resources.get("limits") or {}
    host: Object = {}
    if "memory" in top:
        host |= {"Memory": int(quantity(top["memory"])), "MemorySwap": int(quantity(top["memory"]))}
    if "cpu" in asked:
        host["CpuShares"] = cpu_shares(float(quantity(asked["cpu"])))
    if "cpu" in top:
        host |= {"CpuQuota": cpu_quota_us(float(quantity(top["cpu"]))), "CpuPeriod": 100_000}
    return host

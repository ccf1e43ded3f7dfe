"""A fake Kubernetes API server over real HTTP on the loopback, for the unmodified client.

Faults are planted through `FakeApi`: storms, silences, cut and expired watches, doubled and
reordered events, restarts, tokens that run out.
"""

import asyncio
import base64
import contextlib
import json
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from typing import Any

from aiohttp import WSMsgType, web
from kube_store import KINDS, Change, Denied, Object, Store

Exec = Callable[[Object, list[str], web.WebSocketResponse], Awaitable[None]]
Right = tuple[str, str]  # a resource, with its subresource, and a verb
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
DELETE_FROM = "$deleteFromPrimitiveList/"
PATH = re.compile(
    r"/(?:api/v1|apis/networking.k8s.io/v1)(?:/namespaces/(?P<ns>[^/]+))?/(?P<resource>[a-z]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>\w+)(?P<rest>/.*)?)?)?"
)
REQUIREMENT = re.compile(r"(!?[\w./-]+)(?:(==|=|!=)([\w.-]*))?")
FIELDS = {"metadata.name", "metadata.namespace", "status.phase", "spec.nodeName",
          "involvedObject.uid", "involvedObject.name", "involvedObject.kind"}  # fmt: skip


class FakeApi:
    """One server. `with fake.running():` serves it; the address stays the same over restarts."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or Store()
        self.execute: Exec | None = None
        self.token: str | None = None
        self.bookmark_s = 1.0
        self.clock_ahead_s = 0.0
        self.doubling = self.reordering = False
        self._spoilt = 0
        self.quota_full, self.loses_answers = False, 0
        self.storm: deque[tuple[int, int | None]] = deque()
        self.requests: list[tuple[str, str]] = []
        self.configz: Object | None = None
        self.used: set[Right] = set()
        self.allowed: set[Right] | None = None
        self._silent = False
        self._watches: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()
        self._news = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._port = 0
        self.store.heard.append(self._tell)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def kubeconfig(self) -> Object:
        """What a client needs to come here."""
        user = {"token": self.token} if self.token else {}
        context = {"cluster": "fake", "user": "me"}
        return {
            "apiVersion": "v1", "kind": "Config", "current-context": "fake",
            "clusters": [{"name": "fake", "cluster": {"server": self.url}}],
            "users": [{"name": "me", "user": user}],
            "contexts": [{"name": "fake", "context": context}],
        }  # fmt: skip

    @contextmanager
    def running(self) -> Iterator["FakeApi"]:
        thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="fake api")
        thread.start()
        self._call(self._up())
        try:
            yield self
        finally:
            self._call(self._down())
            self._call(_rest())
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    # --- faults ---

    def restart(self) -> None:
        """Cut every connection, and serve again at the same address."""
        self._call(self._down())
        self._call(self._up())

    def expire_watches(self) -> None:
        """Forget the log and end watches, so that they come back too old."""
        self.store.compact()
        self._call(self._cut())

    def spoil_watches(self) -> None:
        """End watches, and serve none from before now, without saying that it is too old."""
        self._spoilt = self.store.version
        self._call(self._cut())

    def fall_silent(self, silent: bool = True) -> None:
        """Watches stay open and say nothing: a half-open connection, as it looks from here."""

        async def fall() -> None:  # between two looks of a watch, never within one
            self._silent = silent

        self._call(fall())

    def wait_for_watch(self, number: int = 1, timeout_s: float = 10.0) -> None:
        """Wait until so many watches are open."""
        until = time.monotonic() + timeout_s
        while len(self._watches) < number:
            assert time.monotonic() < until, "no watch was opened"
            time.sleep(0.005)

    # --- serving ---

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _up(self) -> None:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        self._port = listener.getsockname()[1]
        await web.SockSite(self._runner, listener).start()

    async def _down(self) -> None:
        await self._cut()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _cut(self) -> None:
        cut = list(self._watches)
        for task in cut:
            task.cancel()
        while self._watches.intersection(cut):  # clients that come back are not waited for
            await asyncio.sleep(0)

    def _tell(self, change: Change) -> None:
        with contextlib.suppress(RuntimeError):  # the server is no more
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.method, request.path_qs))
        try:
            if self.storm:
                return _stormy(*self.storm.popleft())
            if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
                raise Denied(401, "Unauthorized", "Unauthorized")
            if request.path == "/version":
                return self._json({"major": "1", "minor": "36", "gitVersion": "v1.36.2"})
            if request.path == REVIEW:
                return self._json(self._review(await request.json()), 201)
            place = PATH.fullmatch(request.path)
            if place is None or place["resource"] not in KINDS:
                raise Denied(404, "NotFound", "the server could not find the requested resource")
            self._authorise(request, place.groupdict())
            return await self._of(request, **place.groupdict())
        except Denied as denied:
            return self._json(denied.body, denied.body["code"])

    async def _of(
        self,
        request: web.Request,
        ns: str | None,
        resource: str,
        name: str | None,
        sub: str | None,
        rest: str | None,
    ) -> web.StreamResponse:
        place = ns or ""
        if sub == "proxy":
            return self._proxy(name or "", rest or "")
        if sub == "exec":
            return await self._exec(request, place, name or "")
        body = json.loads(await request.read() or b"{}")
        if request.method == "POST" and name is None:
            if self.quota_full:
                words = (
                    f'{resource} "{body["metadata"].get("name")}" is forbidden: exceeded quota: q'
                )
                raise Denied(403, "Forbidden", words)
            dry = "dryRun" in request.query
            strict = request.query.get("fieldValidation") == "Strict"
            made = self.store.create(resource, place, body, strict=strict, dry=dry)
            if self.loses_answers and resource == "pods":
                self.loses_answers -= 1
                raise Denied(504, "Timeout", "the answer was lost")
            return self._json(made, 201)
        if name is None:
            return await self._many(request, resource, ns, body)
        if sub == "log":
            pod = self.store.get(resource, place, name)
            return web.Response(status=200 if pod["spec"].get("nodeName") else 204)
        if sub == "eviction":
            return self._json(self._evict(place, name), 201)
        if request.method == "PATCH":
            if request.content_type == STRATEGIC_PATCH:
                body = self._plain(resource, place, name, body)
            return self._json(self.store.patch(resource, place, name, body, sub=sub or ""))
        if request.method == "PUT":
            return self._json(self.store.put(resource, place, name, body))
        if request.method == "DELETE":
            uid = (body.get("preconditions") or {}).get("uid", "")
            grace_s = body.get("gracePeriodSeconds")
            return self._json(self.store.delete(resource, place, name, grace_s=grace_s, uid=uid))
        return self._json(self.store.get(resource, place, name))

    def _authorise(self, request: web.Request, place: dict[str, str | None]) -> None:
        """What a request takes is written down, and refused where it is not allowed."""
        what = place["resource"] or ""
        if place["sub"] and place["sub"] != "status":
            what = f"{what}/{place['sub']}"
        watching = request.query.get("watch") in ("1", "true")
        reads = "get" if place["name"] else "watch" if watching else "list"
        verbs = {"GET": reads, "POST": "create", "PUT": "update", "PATCH": "patch",
                 "DELETE": "delete" if place["name"] else "deletecollection"}  # fmt: skip
        wanted = {(what, verbs[request.method])}
        if place["sub"] == "exec":  # a handshake is a GET, and asks for both
            wanted.add((what, "create"))
        self.used |= wanted
        for resource, verb in sorted(wanted):
            if self.allowed is not None and (resource, verb) not in self.allowed:
                words = (
                    f'{resource} is forbidden: User "worker" cannot {verb} resource "{resource}"'
                )
                raise Denied(403, "Forbidden", words)

    def _plain(self, resource: str, place: str, name: str, patch: Object) -> Object:
        """A strategic merge patch as a plain one, of the directives that are known here."""
        metadata = dict(patch["metadata"])
        if (away := metadata.pop(f"{DELETE_FROM}finalizers", None)) is not None:
            had = self.store.get(resource, place, name)["metadata"].get("finalizers", ())
            metadata["finalizers"] = [one for one in had if one not in away] or None
        return patch | {"metadata": metadata}

    def _review(self, body: Object) -> Object:
        asked = body["spec"]["resourceAttributes"]
        what = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
        allowed = self.allowed is None or (what, asked["verb"]) in self.allowed
        return body | {"status": {"allowed": allowed}}

    def _proxy(self, node: str, path: str) -> web.Response:
        """A kubelet behind the API server: it tells its configuration, or is not there."""
        self.store.get("nodes", "", node)
        if path != "/configz" or self.configz is None:
            raise Denied(404, "NotFound", "the server could not find the requested resource")
        return self._json({"kubeletconfig": self.configz})

    def _evict(self, namespace: str, name: str) -> Object:
        pod = self.store.get("pods", namespace, name)
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        told = [*pod["status"].get("conditions", ()), condition | {"lastTransitionTime": _now()}]
        self.store.status(namespace, name, {"conditions": told})
        self.store.delete("pods", namespace, name)
        return {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}

    async def _many(
        self, request: web.Request, resource: str, ns: str | None, body: Object
    ) -> web.StreamResponse:
        fits = _selecting(request.query)
        if request.query.get("watch") in ("1", "true"):
            return await self._watch(request, resource, ns, fits)
        if request.query.get("resourceVersion", "0").isdigit() is False:
            raise Denied(400, "BadRequest", "invalid resource version: "
                         f"resourceVersion: Invalid value: \"{request.query['resourceVersion']}\": "
                         f"strconv.ParseUint: parsing \"{request.query['resourceVersion']}\": "
                         "invalid syntax")  # fmt: skip
        exact = request.query.get("resourceVersionMatch") == "Exact"
        if exact and int(request.query["resourceVersion"]) <= self.store.oldest:
            raise Denied(410, "Expired", "The resourceVersion for the provided list is too old.")
        found = [one for one in self.store.all_of(resource, ns) if fits(one)]
        listed = self._page(resource, found, request.query)
        if request.method == "DELETE":
            for one in found:
                self.store.delete(resource, ns or "", one["metadata"]["name"])
        return self._json(listed)

    def _page(self, resource: str, found: list[Object], query: Any) -> Object:
        start = json.loads(base64.b64decode(query["continue"])) if "continue" in query else 0
        limit = int(query.get("limit", 0)) or len(found)
        metadata: Object = {"resourceVersion": str(self.store.version)}
        left = len(found) - start - limit
        if left > 0:
            token = base64.b64encode(json.dumps(start + limit).encode()).decode()
            metadata |= {"continue": token, "remainingItemCount": left}
        items = [
            {k: v for k, v in one.items() if k not in ("kind", "apiVersion")}
            for one in found[start : start + limit]
        ]
        kind = f"{KINDS[resource]}List"
        return {"kind": kind, "apiVersion": "v1", "metadata": metadata, "items": items}

    async def _watch(
        self, request: web.Request, resource: str, ns: str | None, fits: Callable[[Object], bool]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        task = asyncio.current_task()
        assert task is not None
        self._watches.add(task)
        try:
            await self._feed(request, response, resource, ns, fits)
            await response.write_eof()
        except (ConnectionError, asyncio.CancelledError):
            if request.transport is not None:
                request.transport.abort()
        finally:
            self._watches.discard(task)
        return response

    async def _feed(
        self, request: web.Request, response: web.StreamResponse, resource: str, ns: str | None,
        fits: Callable[[Object], bool],
    ) -> None:  # fmt: skip
        at = int(request.query.get("resourceVersion", "0") or 0)
        ends = time.monotonic() + float(request.query.get("timeoutSeconds", "300"))
        marks = time.monotonic() + self.bookmark_s
        if 0 < at < self.store.oldest:
            words = f"too old resource version: {at} ({self.store.oldest})"
            await _send(response, "ERROR", Denied(410, "Expired", words).body)
            return
        if 0 < at <= self._spoilt:
            await _send(response, "ERROR", Denied(500, "InternalError", "no leader").body)
            return
        while (now := time.monotonic()) < ends or self._silent:
            news = self._news  # what comes from now on is heard of
            changes = [] if self._silent else self.store.since(at)
            mine = [one for one in changes if one.resource == resource and fits(one.object)
                    and ns in (None, one.object["metadata"].get("namespace"))]  # fmt: skip
            for change in self._as_they_go(mine):
                await _send(response, change.type, change.object)
            at = changes[-1].version if changes else at
            if "allowWatchBookmarks" in request.query and now >= marks and not self._silent:
                mark = {"kind": KINDS[resource], "apiVersion": "v1",
                        "metadata": {"resourceVersion": str(at)}}  # fmt: skip
                await _send(response, "BOOKMARK", mark)
                marks = now + self.bookmark_s
            if self._silent or not self.store.since(at):
                wait_s = max(0.01, min(ends, marks) - now)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), wait_s)

    def _as_they_go(self, changes: list[Change]) -> list[Change]:
        if self.reordering:
            changes = changes[::-1]
        return [one for one in changes for _ in range(2)] if self.doubling else changes

    async def _exec(self, request: web.Request, ns: str, name: str) -> web.StreamResponse:
        pod = self.store.get("pods", ns, name)
        if not pod["spec"].get("nodeName"):
            raise Denied(400, "BadRequest", f"pod {name} does not have a host assigned")
        if "Upgrade" not in request.headers.get("Connection", ""):
            raise Denied(400, "BadRequest", "Upgrade request required")
        protocols = ("v5.channel.k8s.io", "v4.channel.k8s.io")
        channel = web.WebSocketResponse(protocols=protocols, max_msg_size=1 << 26, compress=False)
        await channel.prepare(request)
        assert self.execute is not None
        await self.execute(pod, request.query.getall("command"), channel)
        await channel.close()
        return channel

    def _json(self, body: Object, status: int = 200) -> web.Response:
        date = formatdate(time.time() + self.clock_ahead_s, usegmt=True)
        return web.json_response(body, status=status, headers={"Date": date})


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


async def _rest() -> None:
    """Let what is still under way in this loop come to its end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _stormy(status: int, retry_after_s: int | None) -> web.Response:
    body = Denied(status, "TooManyRequests" if status == 429 else "InternalError", "a storm").body
    headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
    return web.json_response(body, status=status, headers=headers)


async def _send(response: web.StreamResponse, kind: str, found: Object) -> None:
    await response.write(json.dumps({"type": kind, "object": found}).encode() + b"\n")


def _selecting(query: Any) -> Callable[[Object], bool]:
    labels = [_requirement(part) for part in query.get("labelSelector", "").split(",") if part]
    fields = [part.partition("=") for part in query.get("fieldSelector", "").split(",") if part]
    for field, _, _ in fields:
        if field not in FIELDS:
            raise Denied(400, "BadRequest", f"field label not supported: {field}")

    def fits(found: Object) -> bool:
        has = found["metadata"].get("labels") or {}
        return all(_met(has, *one) for one in labels) and all(
            str(_dig(found, field)) == wanted for field, _, wanted in fields
        )

    return fits


def _requirement(part: str) -> tuple[str, str, str]:
    found = REQUIREMENT.fullmatch(part)
    if found is None:
        words = "unable to parse requirement: found '=', expected: identifier"
        raise Denied(400, "BadRequest", words)
    return found[1], found[2] or "", found[3] or ""


def _met(has: Object, key: str, operator: str, wanted: str) -> bool:
    if key.startswith("!"):
        return key[1:] not in has
    if not operator:
        return key in has
    return (has.get(key) == wanted) is (operator != "!=")


def _dig(found: Any, field: str) -> Any:
    for part in field.split("."):
        found = (found or {}).get(part)
    return found


__all__ = ["FakeApi", "WSMsgType"]

"""A cluster's API in raw JSON, over the official client's connections.

The client supplies configuration, TLS, proxies and fresh tokens; its model classes are not used,
because decoding a list of a thousand pods into them costs six times what `json.loads` costs.
Every write of ours is safe to send twice: names are given, deletions name a uid.
"""

import json
import os
import random
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3
import websocket
from kubernetes import client, config
from kubernetes.stream import ws_client

from ....models.errors import Refused

CONNECT_S, READ_S = 10.0, 30.0
PATIENCE_S = 60.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0
UNAUTHORISED, GONE, TOO_MANY = 401, 410, 429
Json = dict[str, Any]


class ApiTrouble(Exception):
    """The API was asked and did not do it."""


class ApiAway(ApiTrouble):
    """No answer came; whether it was done is unknown."""


class ApiRefused(ApiTrouble):
    """It answered that it will not. Facts: the status and the reason's word."""

    def __init__(self, status: int, reason: str, message: str, retry_after_s: float = 0.0) -> None:
        self.status, self.reason, self.retry_after_s = status, reason, retry_after_s
        super().__init__(f"{status} {reason}: {message}")

    @property
    def passing(self) -> bool:
        """It may be done later: the server is busy, or not well."""
        return self.status == TOO_MANY or self.status >= 500


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `query` in the API's own words."""

    method: str
    path: str
    query: Mapping[str, str | int] | None = None
    body: Json | None = None
    content_type: str = "application/json"


class Api:
    """One cluster. Safe to use from many threads.

    Args:
        patience_s: how long a storm of 429 and 5xx, or an absence, is sat out.
    """

    def __init__(
        self, configuration: client.Configuration, *, patience_s: float = PATIENCE_S
    ) -> None:
        self._configuration, self._patience_s = configuration, patience_s
        self._pool = client.ApiClient(configuration).rest_client.pool_manager
        self._auth_lock = threading.Lock()
        self.skew_s: float | None = None

    @property
    def host(self) -> str:
        """The API's address."""
        return str(self._configuration.host)

    def ask(self, ask: Ask, *, patience_s: float | None = None) -> Json:
        """Ask until it is answered, sitting out storms for `patience_s` (None: as is ours).

        Raises:
            ApiRefused: for good, or still at the end of the patience.
            ApiAway: no answer until then.
        """
        patience_s = self._patience_s if patience_s is None else patience_s
        until, pause_s = time.monotonic() + patience_s, FIRST_PAUSE_S
        while True:
            try:
                return self._once(ask)
            except ApiTrouble as trouble:
                asked_s = trouble.retry_after_s if isinstance(trouble, ApiRefused) else 0.0
                final = isinstance(trouble, ApiRefused) and not trouble.passing
                # Jitter, so that a thousand pods do not come back in one moment.
                wait_s = max(asked_s, pause_s * random.uniform(0.5, 1.0))
                if final or time.monotonic() + wait_s > until:
                    raise
                time.sleep(wait_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    @contextmanager
    def stream(self, ask: Ask, *, read_s: float) -> Iterator[Iterator[Json]]:
        """A watch: decoded events, one a line, until the server ends it.

        A silence of `read_s` is a dead connection, since a half-open one never ends by itself.

        Raises:
            ApiTrouble
        """
        with self._open(ask, read_s) as response:
            try:
                yield _lines(response)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                raise ApiAway(f"{ask.path}: {error}") from error

    def socket(self, path: str, query: list[tuple[str, str]]) -> websocket.WebSocket:
        """A WebSocket of the exec kind, connected.

        Raises:
            ApiRefused: the handshake's status; ApiAway: no connection.
        """
        try:
            return self._shake_hands(path, query)
        except ApiRefused as refusal:
            if refusal.status != UNAUTHORISED:
                raise
        return self._shake_hands(path, query)  # as in `_once`: the token may have run out

    def _shake_hands(self, path: str, query: list[tuple[str, str]]) -> websocket.WebSocket:
        url = f"{self._configuration.host}{path}?{urlencode(query)}"
        url = url.replace("http", "ws", 1)
        websocket.setdefaulttimeout(READ_S)  # the client offers no other way to bound a handshake
        try:
            made = ws_client.create_websocket(  # type: ignore[no-untyped-call]
                self._configuration, url, self._headers()
            )
        except websocket.WebSocketBadStatusException as error:
            body = _decoded(error.resp_body or b"")
            words = body.get("message", str(error))
            raise ApiRefused(error.status_code, body.get("reason", ""), words) from error
        except (websocket.WebSocketException, OSError) as error:
            raise ApiAway(f"{path}: {error}") from error
        assert isinstance(made, websocket.WebSocket)
        return made

    def close(self) -> None:
        """Close idle connections."""
        self._pool.clear()

    def _once(self, ask: Ask) -> Json:
        try:
            with self._open(ask, READ_S) as response:
                return _decoded(response.data)
        except ApiRefused as refusal:
            if refusal.status != UNAUTHORISED:
                raise
        # The token may have run out on the way: its hook gives a fresh one, once.
        with self._open(ask, READ_S) as response:
            return _decoded(response.data)

    @contextmanager
    def _open(self, ask: Ask, read_s: float) -> Iterator[urllib3.BaseHTTPResponse]:
        url = f"{self._configuration.host}{ask.path}"
        if ask.query:
            url = f"{url}?{urlencode(ask.query)}"
        body = None if ask.body is None else json.dumps(ask.body).encode()
        try:
            response = self._pool.request(
                ask.method,
                url,
                body=body,
                headers=self._headers() | {"Content-Type": ask.content_type},
                timeout=urllib3.Timeout(connect=CONNECT_S, read=read_s),
                retries=False,
                preload_content=False,
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiAway(f"{ask.method} {ask.path}: {error}") from error
        self._compare_clocks(response.headers.get("Date"))
        whole = False
        try:
            if response.status >= 400:
                raise _refusal(response)
            yield response
            whole = True
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiAway(f"{ask.method} {ask.path}: {error}") from error
        finally:
            # Only a connection that was read to its end can serve again.
            response.release_conn() if whole else response.close()

    def _compare_clocks(self, date: str | None) -> None:
        """How far the cluster's clock is ahead of ours, to a second."""
        if date:
            with suppress(ValueError, TypeError):
                self.skew_s = parsedate_to_datetime(date).timestamp() - time.time()

    def _headers(self) -> dict[str, str]:
        with self._auth_lock:  # the hook that refreshes a token is not safe from many threads
            settings: dict[str, Any] = dict(self._configuration.auth_settings())
        words = {one["key"]: one["value"] for one in settings.values() if one["value"]}
        return {"Accept": "application/json", "User-Agent": "infranoise"} | words


def connect(kubeconfig: str | None = None, context: str | None = None) -> Api:
    """The cluster of a kubeconfig, or the one that this program runs in.

    Raises:
        Refused: neither is here, or it cannot be read.
    """
    found = client.Configuration()
    try:
        if kubeconfig is None and _inside_a_cluster():
            config.load_incluster_config(found)  # type: ignore[no-untyped-call]
        else:
            config.load_kube_config(  # type: ignore[no-untyped-call]
                kubeconfig, context, client_configuration=found
            )
    except Exception as error:  # whatever a malformed file makes the client raise
        where = f" by {kubeconfig}" if kubeconfig else ""
        raise Refused(
            f"no Kubernetes cluster{where}: {error}; {_remedy(kubeconfig, context)}"
        ) from error
    return Api(found)


def _remedy(kubeconfig: str | None, context: str | None) -> str:
    if kubeconfig is None:
        return "set KUBECONFIG, or run the worker in a pod with a service account"
    if not any(Path(part).is_file() for part in kubeconfig.split(os.pathsep)):
        return "KUBECONFIG names no file that is there"
    names: list[str] = []
    if context is not None:
        with suppress(Exception):
            contexts, _ = config.list_kube_config_contexts(kubeconfig)  # type: ignore[no-untyped-call]
            names = [one["name"] for one in contexts]
    if names and context not in names:
        return f"set INFRANOISE_KUBERNETES_CONTEXT to a context that it has: {', '.join(names)}"
    return "mend the file, or set KUBECONFIG to another"


def _inside_a_cluster() -> bool:
    try:
        config.load_incluster_config(client.Configuration())  # type: ignore[no-untyped-call]
    except config.ConfigException:
        return False
    return True


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[Json]:
    held = b""
    for piece in response.stream(None):
        *whole, held = (held + piece).split(b"\n")
        yield from (json.loads(line) for line in whole if line)


def _decoded(text: bytes) -> Json:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _refusal(response: urllib3.BaseHTTPResponse) -> ApiRefused:
    body = _decoded(response.data)
    after = response.headers.get("Retry-After", "")
    return ApiRefused(
        int(body.get("code") or response.status),
        str(body.get("reason") or ""),
        str(body.get("message") or response.reason),
        float(after) if after.isdecimal() else 0.0,
    )

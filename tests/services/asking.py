"""Requests to a gateway as an SDK sends them, without an SDK's retries."""

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from own_gateway import OwnGateway


@dataclass(frozen=True, slots=True)
class Got:
    """An answer as it came. `whole`: it ended as HTTP says that it must."""

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool = True

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def post(url: str, path: str, token: str, body: object, **headers: str) -> Got:
    """Send one request as an SDK would, without an SDK's retries."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=20)
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"x-api-key": token, "content-type": "application/json", **headers}
    try:
        connection.request("POST" if text else "GET", path, text or None, sent)
        answer = connection.getresponse()
        told = {name.lower(): value for name, value in answer.getheaders()}
        try:
            return Got(answer.status, told, answer.read())
        except (http.client.IncompleteRead, ConnectionError) as error:
            partial = getattr(error, "partial", b"")
            return Got(answer.status, told, partial, whole=False)
    finally:
        connection.close()


def ask(gateway: OwnGateway, token: str, *, stream: bool = False, **more: object) -> Got:
    """One call in Anthropic's dialect."""
    body = {"model": "m", "max_tokens": 9, "messages": [], "stream": stream} | more
    return post(gateway.url, "/v1/messages", token, body)


def chat(gateway: OwnGateway, token: str, *, stream: bool = False, **more: object) -> Got:
    """One call in OpenAI's dialect."""
    body = {"model": "m", "messages": [], "stream": stream} | more
    headers = {"authorization": f"Bearer {token}"}
    return post(gateway.url, "/v1/chat/completions", "", body, **headers)

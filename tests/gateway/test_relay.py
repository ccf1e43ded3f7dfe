"""The relay: what comes back is what the provider said, and every call is told of as it was."""

import json
import threading
from collections.abc import Callable

import pytest
from asking import Got, ask, chat, post
from model_provider import KEY, Provider, Turn
from own_gateway import OwnGateway

from infranoise.models.api_call import ApiCall
from infranoise.models.lease import keys
from infranoise.models.provider import Tokens

PRICE = {"input": 3.0, "output": 15.0}
OPEN = {"provider": "open", "dialect": "openai"}
ASKING: dict[str, tuple[Callable[..., Got], dict[str, object]]] = {
    "anthropic": (ask, {}),
    "openai": (chat, OPEN),
}
WAYS = [(dialect, stream) for dialect in ASKING for stream in (False, True)]


def one(gateway: OwnGateway) -> ApiCall:
    """The only call, as soon as it is written down."""
    gateway.client.xread({keys.CALLS: "0"}, block=5000)
    (call,) = gateway.calls()
    return call


@pytest.mark.parametrize(("dialect", "stream"), WAYS)
def test_an_answer_passes_whole_and_its_call_is_told(
    gateway: OwnGateway, maker: Provider, dialect: str, stream: bool
) -> None:
    asking, of = ASKING[dialect]
    got = asking(gateway, gateway.token(price=PRICE, **of), stream=stream)
    assert (got.status, got.whole) == (200, True)
    assert b"done" in got.body
    assert maker.requests[0]["model"] == "m-2026"
    call = one(gateway)
    assert (call.ending, call.status, call.streamed) == ("complete", 200, stream)
    assert call.request_id == "req_1"
    assert call.tokens == Tokens(input=10, output=5)
    assert call.cost_usd == pytest.approx((10 * 3 + 5 * 15) / 1e6)
    assert call.first_byte_s is not None
    assert 0 < call.first_byte_s <= call.total_s
    assert not call.failed


def test_tokens_of_a_stream_are_asked_for_and_taken_out_again(
    gateway: OwnGateway, maker: Provider
) -> None:
    unasked = chat(gateway, gateway.token(**OPEN), stream=True)
    assert maker.requests[0]["stream_options"] == {"include_usage": True}
    assert b"usage" not in unasked.body
    assert unasked.body.endswith(b"data: [DONE]\n\n")
    asked = chat(
        gateway, gateway.token(**OPEN), stream=True, stream_options={"include_usage": True}
    )
    assert b"usage" in asked.body
    assert unasked.body == b"".join(
        event + b"\n\n" for event in asked.body.split(b"\n\n") if event and b"usage" not in event
    )


FAULTS = {
    "429": (Turn(status=429, headers={"retry-after": "7"}), "complete", 429),
    "529": (Turn(status=529), "complete", 529),
    "500": (Turn(status=500), "complete", 500),
    "cut stream": (Turn(cut_after=2), "cut", 200),
    "malformed": (Turn(malformed=True, cut_after=None), "malformed", 200),
}


@pytest.mark.parametrize(("dialect", "stream"), WAYS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_passes_as_it_is_and_is_told(
    gateway: OwnGateway, maker: Provider, name: str, dialect: str, stream: bool
) -> None:
    turn, ending, status = FAULTS[name]
    maker.plays(turn)
    asking, of = ASKING[dialect]
    got = asking(gateway, gateway.token(**of), stream=stream)
    call = one(gateway)
    if name == "malformed" and stream:  # an event that tells nothing we look for passes unread
        assert call.ending in ("malformed", "complete")
        return
    assert (call.ending, call.status, got.status) == (ending, status, status)
    assert call.failed
    assert got.whole == (name != "cut stream")
    assert len(maker.requests) == 1  # never tried again
    assert call.retry_after_s == (7.0 if name == "429" else None)


def test_nothing_of_the_key_comes_back(gateway: OwnGateway, maker: Provider) -> None:
    maker.plays(Turn(status=500))
    got = ask(gateway, gateway.token())
    assert KEY.encode() not in got.body
    assert b"[provider key]" in got.body
    wrong = ask(gateway, gateway.token(provider="wrong"))
    assert wrong.status == 401
    assert b"sk-wrong" not in wrong.body
    assert wrong.json["error"]["message"].endswith("the provider refused the gateway's key")


def test_a_slow_first_byte_is_measured_apart_from_the_rest(
    gateway: OwnGateway, maker: Provider
) -> None:
    maker.plays(Turn(first_byte_s=0.2, chunk_s=0.02))
    ask(gateway, gateway.token(), stream=True)
    call = one(gateway)
    assert call.first_byte_s is not None
    assert call.first_byte_s >= 0.2
    assert call.total_s > call.first_byte_s


@pytest.mark.parametrize(
    ("provider", "turn", "ending", "status"),
    [("curt", Turn(hang=True), "silent", 504), ("away", Turn(), "unreachable", 502)],
)
def test_a_provider_that_gives_no_answer(
    gateway: OwnGateway, maker: Provider, provider: str, turn: Turn, ending: str, status: int
) -> None:
    maker.plays(turn)
    got = ask(gateway, gateway.token(provider=provider))
    assert (got.status, got.json["type"]) == (status, "error")
    assert (one(gateway).ending, one(gateway).failed) == (ending, True)


def test_a_client_that_leaves_is_no_fault_of_the_api(gateway: OwnGateway, maker: Provider) -> None:
    maker.plays(Turn(hang=True))
    token = gateway.token()
    with pytest.raises(TimeoutError):
        leave_after(gateway, token, 0.2)
    assert (one(gateway).ending, one(gateway).failed) == ("client_left", False)


def leave_after(gateway: OwnGateway, token: str, seconds: float) -> None:
    import urllib.request

    body = json.dumps({"model": "m", "messages": []}).encode()
    request = urllib.request.Request(f"{gateway.url}/v1/messages", body, {"x-api-key": token})
    urllib.request.urlopen(request, timeout=seconds)


def test_a_call_is_cut_when_its_attempt_ends(gateway: OwnGateway, maker: Provider) -> None:
    maker.plays(Turn(hang=True))
    token = gateway.token()
    got: list[object] = []

    def call() -> None:
        try:
            got.append(ask(gateway, token))
        except OSError as error:
            got.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while not maker.requests:
        thread.join(0.01)
    gateway.end("t.1")
    thread.join(10)
    assert isinstance(got[0], ConnectionError)
    assert (one(gateway).ending, one(gateway).failed) == ("ended", False)


def test_retries_that_the_client_tells_of_are_written_down(gateway: OwnGateway) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": []}
    post(gateway.url, "/v1/messages", gateway.token(), body, **{"x-stainless-retry-count": "2"})
    assert one(gateway).retry == 2


def test_what_identifies_the_agent_stays_here(gateway: OwnGateway, maker: Provider) -> None:
    token = gateway.token()
    body = {"model": "m", "max_tokens": 9, "messages": []}
    headers = {"authorization": f"Bearer {token}", "cookie": "a=b", "x-forwarded-for": "10.0.0.1"}
    post(gateway.url, "/v1/messages", token, body, **headers, **{"anthropic-beta": "kept"})
    (seen,) = maker.headers
    assert seen["x-api-key"] == KEY
    assert seen["anthropic-beta"] == "kept"
    assert not {"authorization", "cookie", "x-forwarded-for"} & seen.keys()
    assert token not in str(seen)


def test_any_other_api_is_served_when_it_names_the_model(gateway: OwnGateway) -> None:
    of = {"provider": "any", "dialect": "other"}
    body = {"model": "m", "max_tokens": 9, "messages": []}
    got = post(gateway.url, "/messages", gateway.token(**of), body)
    assert got.status == 200
    assert one(gateway).tokens == Tokens(input=10, output=5)
    assert post(gateway.url, "/messages", gateway.token(**of), {"x": 1}).status == 403
    assert post(gateway.url, "/models/m-2026/x", gateway.token(**of), {"x": 1}).status != 403


def test_an_attempt_may_ask_what_it_has_used(gateway: OwnGateway, maker: Provider) -> None:
    maker.plays(Turn(), Turn(status=529), Turn())
    token = gateway.token(price=PRICE, allowance={"calls": 3})
    for _ in range(4):
        ask(gateway, token)
    used = post(gateway.url, "/infranoise/api", token, b"").json
    assert (used["calls"], used["failed"], used["server_errors"]) == (3, 1, 1)
    assert used["refused"] == {"calls": 1}
    assert used["tokens"] == {"input": 20, "output": 10, "cache_read": 0, "cache_write": 0}
    assert used["wait_s"] > 0
    assert used["last_failed"] is False

"""Tokens at the gateway: what is forged, expired, foreign or replayed buys nothing."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from asking import ask, chat, post
from model_provider import Provider, Turn
from own_gateway import OwnGateway, claims

from infranoise.models.api_token import Seal

type Of = dict[str, Any]


def forged(gateway: OwnGateway, of: Of) -> str:
    mine, other = gateway.token(**of), gateway.seal.mint(claims("other"))
    return mine.rpartition(".")[0] + "." + other.rpartition(".")[2]


def of_an_ended_attempt(gateway: OwnGateway, of: Of) -> str:
    token = gateway.token(**of)
    gateway.end("t.1")
    return token


def of_an_earlier_lease(gateway: OwnGateway, of: Of) -> str:
    token = gateway.token(fence=1, **of)
    gateway.lease("t.1", fence=2)
    return token


def of_one_that_waits(gateway: OwnGateway, of: Of) -> str:
    gateway.lease("t.1", started=False)
    return gateway.token(**of)


BAD: dict[str, Callable[[OwnGateway, Of], str]] = {
    "missing": lambda gateway, of: "",
    "malformed": lambda gateway, of: "sk-ant-whatever",
    "foreign": lambda gateway, of: Seal("the secret of another home").mint(claims()),
    "forged": forged,
    "expired": lambda gateway, of: gateway.token(expires_at=time.time() - 1, **of),
    "over": of_an_ended_attempt,
    "replayed": of_an_earlier_lease,
    "not_begun": of_one_that_waits,
}


@pytest.mark.parametrize("why", BAD)
def test_a_bad_token_reaches_no_provider(gateway: OwnGateway, maker: Provider, why: str) -> None:
    got = ask(gateway, BAD[why](gateway, {}))
    assert got.status == 401
    assert got.headers["x-infranoise-refused"] == why
    assert got.headers["x-should-retry"] == "false"
    assert got.json["type"] == "error"
    assert got.json["error"]["type"] == "authentication_error"
    gateway.client.flushall()
    other = chat(gateway, BAD[why](gateway, {"provider": "open", "dialect": "openai"}))
    assert (other.status, other.json["error"]["code"]) == (401, "invalid_api_key")
    assert not maker.requests
    assert not gateway.calls()


def test_a_token_is_good_for_its_model_alone(gateway: OwnGateway, maker: Provider) -> None:
    got = ask(gateway, gateway.token(), model="another")
    assert (got.status, got.headers["x-infranoise-refused"]) == (403, "model")
    assert "'another'" in got.json["error"]["message"]
    assert not maker.requests


def test_a_token_is_good_for_the_paths_of_its_api_alone(gateway: OwnGateway) -> None:
    got = post(gateway.url, "/v1/files", gateway.token(), {"model": "m"})
    assert (got.status, got.headers["x-infranoise-refused"]) == (404, "path")


def test_a_body_that_is_no_json_goes_no_further(gateway: OwnGateway, maker: Provider) -> None:
    got = post(gateway.url, "/v1/messages", gateway.token(), b"{")
    assert (got.status, got.json["error"]["type"]) == (400, "invalid_request_error")
    assert not maker.requests


ALLOWANCES = {
    "calls": ({"calls": 2}, 2),
    "tokens": ({"tokens": 20}, 2),
    "usd": ({"usd": 0.0002}, 2),
}


@pytest.mark.parametrize("what", ALLOWANCES)
def test_an_allowance_that_is_used_up_stops_the_calls(
    gateway: OwnGateway, maker: Provider, what: str
) -> None:
    allowance, served = ALLOWANCES[what]
    token = gateway.token(allowance=allowance, price={"input": 3.0, "output": 15.0})
    got = [ask(gateway, token) for _ in range(4)]
    assert [one.status for one in got] == [200] * served + [402] * (4 - served)
    assert len(maker.requests) == served
    assert got[-1].headers["x-infranoise-refused"] == what


def test_what_the_provider_does_not_tell_is_held_against_the_allowance(
    gateway: OwnGateway, maker: Provider
) -> None:
    maker.plays(Turn(tokens=None))
    token = gateway.token(allowance={"tokens": 30})
    statuses = [ask(gateway, token).status for _ in range(4)]
    assert statuses[-1] == 402
    (first, *_) = gateway.calls()
    assert first.tokens is None
    assert first.cost_usd is None
    assert first.charged.total > 0


def test_attempts_do_not_draw_on_each_other(gateway: OwnGateway) -> None:
    one, two = (gateway.token(name, allowance={"calls": 1}) for name in ("a.1", "b.1"))
    assert [ask(gateway, token).status for token in (one, one, two, two)] == [200, 402, 200, 402]

"""A scripted provider, the gateway before it, and a queue server of their own."""

from collections.abc import Iterator

import pytest
from model_provider import KEY, Provider, Turn, model_provider
from own_gateway import OwnGateway, own_gateway

from infranoise.models.provider import Provider as Declared
from infranoise.scheduler.broker import embedded


@pytest.fixture(scope="module")
def maker() -> Iterator[Provider]:
    with model_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def running(maker: Provider) -> Iterator[OwnGateway]:
    providers = {
        "maker": Declared(dialect="anthropic", base_url=maker.url, key="env:MAKER_KEY"),
        "open": Declared(dialect="openai", base_url=f"{maker.url}/v1", key="env:MAKER_KEY"),
        "curt": Declared(
            dialect="anthropic", base_url=maker.url, key="env:MAKER_KEY", silence_s=0.2
        ),
        "wrong": Declared(dialect="anthropic", base_url=maker.url, key="env:WRONG_KEY"),
        "away": Declared(dialect="anthropic", base_url="http://127.0.0.1:9"),
        "any": Declared(
            dialect="other", base_url=f"{maker.url}/v1", key="env:MAKER_KEY", key_header="x-api-key"
        ),
    }
    environ = {"MAKER_KEY": KEY, "WRONG_KEY": "sk-wrong-000"}
    with embedded() as broker, own_gateway(broker, providers, environ) as gateway:
        yield gateway


@pytest.fixture
def gateway(running: OwnGateway, maker: Provider) -> OwnGateway:
    """The gateway, with nothing remembered of other tests."""
    running.client.flushall()
    maker.plays(Turn())
    maker.requests.clear()
    maker.headers.clear()
    return running

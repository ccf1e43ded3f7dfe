"""A gateway of our own for one run on this machine: the keys are its alone."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine

from ..models.api_token import Seal
from ..models.errors import GatewayError
from ..models.experiment import Experiment
from ..models.ledger.api_calls import take_calls
from ..scheduler.collect import Collector
from ..scheduler.passes import Gateway
from .gateway import require_extra

STOP_WITHIN_S = 20.0
LOOPBACK = "127.0.0.1"


def key_variables(experiment: Experiment) -> frozenset[str]:
    """The environment variables that hold the keys of an experiment's providers."""
    named = (one.key.partition(":") for one in experiment.providers.values())
    return frozenset(place for kind, _, place in named if kind == "env")


@contextmanager
def own_gateway(
    experiment: Experiment, broker: str, engine: Engine, log: Path, content: Path | None = None
) -> Iterator[Gateway | None]:
    """A gateway while inside, where the experiment has models; else None.

    It listens on loopback, and where Docker has a bridge, on the bridge as well. What it still
    has to tell when it ends goes into the ledger.

    Raises:
        DesignError: a key is not where its provider says, or an extra is missing.
        GatewayError: it does not start.
    """
    if not experiment.models:
        yield None
        return
    require_extra()
    check_keys(experiment, os.environ)
    secret, hosts = secrets.token_hex(32), hosts_for(experiment)
    told = {
        "secret": secret,
        "broker": broker,
        "hosts": hosts,
        "providers": {k: p.model_dump() for k, p in experiment.providers.items()},
        "content": None if content is None else str(content),
    }
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "infranoise.gateway.own_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            start_new_session=True,
        )
    with process:
        try:
            yield Gateway(f"http://{LOOPBACK}:{_port(process, told, log)}", Seal(secret))
        finally:
            _stop(process)
            _take_the_last(broker, engine)


def in_pods(gateway: Gateway | None, experiment: Experiment) -> str:
    """The gateway's address as pods of a run here see it; "" where it is the same."""
    hosts = hosts_for(experiment)
    if gateway is None or len(hosts) == 1:
        return ""
    return gateway.url.replace(LOOPBACK, hosts[1])


def hosts_for(experiment: Experiment) -> tuple[str, ...]:
    """Where a gateway of our own listens: loopback, and where containers look for this machine
    themselves (under "gateway" their outlet does)."""
    reached_otherwise = experiment.pods.network in ("none", "gateway")
    if experiment.pods.runtime != "docker" or reached_otherwise:
        return (LOOPBACK,)
    from ..workers.survey import docker_bridge_address

    bridge = docker_bridge_address()
    return (LOOPBACK, bridge) if bridge else (LOOPBACK,)


def check_keys(experiment: Experiment, environ: Mapping[str, str]) -> None:
    """See that every key can be had, before anything is started.

    Raises:
        DesignError: names the provider and the place; never a key.
    """
    from ..gateway.upstream import upstreams

    upstreams(experiment.providers, environ)


def _port(process: "subprocess.Popen[bytes]", told: Mapping[str, object], log: Path) -> int:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(told).encode() + b"\n")
    process.stdin.flush()
    said = process.stdout.readline().strip()
    if not said.isdigit():
        words = log.read_text(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
        raise GatewayError(f"the gateway did not start: {words[0]}")
    return int(said)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()


def _take_the_last(broker: str, engine: Engine) -> None:
    collector = Collector(broker)
    try:
        entries = collector.take_calls()
        take_calls(engine, [call for _, call in entries if call is not None])
        collector.done_with_calls([id_ for id_, _ in entries])
    finally:
        collector.close()

"""`gateway`: a process between agents and the APIs of their models."""

import importlib.util
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..models.api_token import Seal
from ..models.errors import DesignError
from ..models.provider import Provider
from ..models.providers_file import load_providers

SECRET = "INFRANOISE_GATEWAY_SECRET"


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asked of a gateway."""

    file: Path
    broker: str
    listen: tuple[str, ...]
    content: Path | None
    as_json: bool


def gateway(asked: Asked) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code.

    Raises:
        DesignError: the file, an address or the secret is not what it should be.
        BrokerError, GatewayError: the queue server does not answer, or an address is taken.
    """
    hosts, port = places(asked.listen)
    seal = seal_of(os.environ)
    return serve_these(load_providers(asked.file), hosts, port, seal, asked)


def serve_these(
    providers: Mapping[str, Provider], hosts: tuple[str, ...], port: int, seal: Seal, asked: Asked
) -> int:
    """Serve these providers."""
    require_extra()
    from ..gateway.content import Content
    from ..gateway.serve import Duty, Place, addresses, serve
    from ..gateway.upstream import upstreams

    content = Content(asked.content).keep if asked.content else None
    keyed = upstreams(providers, os.environ)
    duty = Duty(Place(hosts, port), seal, asked.broker, keyed, content)

    def ready(port: int) -> None:
        told = {"listening": addresses(hosts, port), "providers": sorted(providers)}
        said = json.dumps(told) if asked.as_json else f"serving {', '.join(sorted(providers))} on "
        print(said if asked.as_json else said + ", ".join(addresses(hosts, port)), flush=True)

    serve(duty, ready)
    return 0


def require_extra() -> None:
    """See that what a gateway needs is installed.

    Raises:
        DesignError
    """
    needed = ("aiohappyeyeballs", "httptools", "uvloop")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise DesignError(
            f"the gateway needs {', '.join(missing)}: install infranoise[gateway] "
            f"({sys.executable} -m pip install 'infranoise[gateway]')"
        )


def seal_of(environ: Mapping[str, str]) -> Seal:
    """What a fleet's tokens are signed and checked with.

    Raises:
        DesignError: no secret is set, or it is too short.
    """
    secret = environ.get(SECRET, "")
    try:
        return Seal(secret)
    except ValueError as error:
        raise DesignError(
            f"{SECRET}: {error}; set the same one for `scheduler` and `gateway`, or name its file "
            f"in {SECRET}_FILE; workers need none"
        ) from error


def places(listen: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    """Hosts and the port that they share.

    Raises:
        DesignError: an address is not HOST:PORT, or ports differ.

    >>> places(("127.0.0.1:8484", "172.17.0.1:8484"))
    (('127.0.0.1', '172.17.0.1'), 8484)
    """
    found = []
    for address in listen:
        host, colon, port = address.rpartition(":")
        if not colon or not host or not port.isdecimal() or int(port) > 65535:
            raise DesignError(f"--listen {address}: give HOST:PORT, such as 127.0.0.1:8484")
        found.append((host.strip("[]"), int(port)))
    ports = {port for _, port in found}
    if len(ports) != 1:
        raise DesignError(f"--listen {' '.join(listen)}: give every host the same port")
    return tuple(host for host, _ in found), ports.pop()

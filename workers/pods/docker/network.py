"""The engine's networks that containers of ours join, and this node's address on each."""

import threading

from docker.errors import APIError, NotFound

from ....models.errors import StartFailed
from ....models.link import Network
from ...network.peer import Peer
from .engine import ENGINE_ERRORS, Engine, explain

BRIDGE, INTERNAL = "bridge", "infranoise-internal"
NAMES: dict[Network, str] = {
    "none": "none",
    "public": BRIDGE,
    "internal": INTERNAL,
    "gateway": "none",  # its link is made by us: see `ways.py`
}
HTTP_CONFLICT = 409


class Networks:
    """The networks of one engine. The internal one is made when first asked for, and stays:
    a bridge without a way out, on which containers do not see each other."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._gateways: dict[str, str] = {}
        self.peer = Peer()

    def gateway(self, network: Network) -> str:
        """This machine's address on a network, as containers see it.

        Raises:
            StartFailed: the engine does not tell, or cannot make the network.
        """
        name = NAMES[network]
        with self._lock:
            if name not in self._gateways:
                try:
                    self._gateways[name] = self._found(name)
                except ENGINE_ERRORS as error:
                    raise StartFailed(f"no network {name}: {explain(error)}") from error
            return self._gateways[name]

    def _found(self, name: str) -> str:
        client = self._engine.client()
        try:
            told = client.inspect_network(name)
        except NotFound:
            self._make(name)
            told = client.inspect_network(name)
        rows = [row for row in told["IPAM"]["Config"] or [] if "." in row.get("Subnet", "")]
        for row in rows:
            if row.get("Gateway"):
                return str(row["Gateway"])
        raise StartFailed(
            f"the engine's network {name} has no IPv4 gateway, so containers on it cannot reach "
            "this node"
        )

    def _make(self, name: str) -> None:
        try:
            self._engine.client().create_network(
                name,
                driver="bridge",
                internal=True,
                check_duplicate=True,
                options={"com.docker.network.bridge.enable_icc": "false"},
                labels={"dev.infranoise.network": "internal"},
            )
        except APIError as error:
            if error.status_code != HTTP_CONFLICT:  # another worker was first
                raise

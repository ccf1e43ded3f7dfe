"""What a node says of itself when it says hello, read once however often it is looked at."""

import json
from collections.abc import Mapping
from functools import lru_cache

from pydantic import BaseModel, ConfigDict, Field, Json, ValidationError

from ..models.lease.keys import DIALECT
from ..models.node import NodeProfile
from ..models.probe import Probe

NODES = 4_096  # hellos that are remembered


class Asked(BaseModel):
    """The answer to the wish for a probe: whose, and why there is none ("" where there is)."""

    model_config = ConfigDict(frozen=True)

    id: str = ""
    why: str = ""


class Hello(BaseModel):
    """A node's hello; what a newer release says beside this is passed over.

    `dialect` is how its worker keeps leases. `runtimes` tells of every kind of pod why it is not
    offered ("" where it is), `links` why pods of a kind cannot have a link, by its name; a link
    that is not named can be had. None: not told. `unread` is why it cannot be read; then the rest
    is as far as it is known.
    """

    model_config = ConfigDict(frozen=True)

    version: str = "-"
    host: str | None = None
    pid: int | None = None
    dialect: int = DIALECT
    runtimes: Mapping[str, str] | None = None
    links: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
    profile: Json[NodeProfile] | None = None
    probe: Probe | None = None
    asked: Asked = Asked()
    unread: str = ""


@lru_cache(maxsize=NODES)
def read_hello(text: str) -> Hello:
    """The hello in a JSON text; one that cannot be read says why."""
    try:
        return Hello.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "its hello"
        return Hello(version=_version(text), unread=f"{where}: {first['msg']}")


def _version(text: str) -> str:
    try:
        told = json.loads(text)
    except ValueError:
        return "-"
    return str(told.get("version", "-")) if isinstance(told, dict) else "-"

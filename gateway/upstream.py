"""Providers as this gateway serves them: with their keys, which go no further."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..models.errors import DesignError
from ..models.provider import Provider
from .exchange import Exchange
from .lines import Origin, origin_of
from .request import NOT_PASSED_ON, Asked

REDACTED = b"[provider key]"


@dataclass(frozen=True, slots=True)
class Upstream:
    """A provider and its key."""

    name: str
    provider: Provider
    key: str = field(repr=False, default="")

    @property
    def origin(self) -> Origin:
        """Where it listens."""
        return origin_of(self.provider.base_url)[0]

    def request(self, exchange: Exchange, asked: Asked) -> bytes:
        """A client's request as it goes up, with the key in it."""
        origin, prefix = origin_of(self.provider.base_url)
        query = f"?{exchange.query}" if exchange.query else ""
        passed = {k: v for k, v in exchange.headers.items() if k not in NOT_PASSED_ON}
        lines = [f"{exchange.method} {prefix}{asked.path}{query} HTTP/1.1"]
        lines.append(f"host: {origin.authority}")
        lines += [f"{name}: {value}" for name, value in self.headers(passed).items()]
        lines.append(f"content-length: {len(asked.body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + asked.body

    def headers(self, passed: Mapping[str, str]) -> dict[str, str]:
        """A request's headers on their way up: the provider's own and the key put in.

        Compression is not asked for: what passes by is to be read.
        """
        own = {name.lower(): text for name, text in self.provider.headers.items()}
        made = {**passed, **own, "accept-encoding": "identity"}
        if self.key:
            name = self.provider.header
            made[name] = f"Bearer {self.key}" if name == "authorization" else self.key
        return made

    def redacted(self, body: bytes) -> bytes:
        """A body without the key, should the provider repeat it."""
        return body.replace(self.key.encode(), REDACTED) if self.key else body


def upstreams(providers: Mapping[str, Provider], environ: Mapping[str, str]) -> dict[str, Upstream]:
    """Providers with their keys, read from the environment or from files.

    Raises:
        DesignError: a key is not where the provider says; names the place, never a key.
    """
    return {name: Upstream(name, one, _key(name, one, environ)) for name, one in providers.items()}


def _key(name: str, provider: Provider, environ: Mapping[str, str]) -> str:
    kind, _, place = provider.key.partition(":")
    if kind == "env":
        key = environ.get(place, "").strip()
        if not key:
            raise DesignError(
                f"providers.{name}: {place} is not set; export the key there, or name its file "
                'with key = "file:/path"'
            )
    elif kind == "file":
        try:
            key = Path(place).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise DesignError(f"providers.{name}: its key cannot be read: {error}") from error
    else:
        return ""
    if not key or not key.isascii() or not key.isprintable():
        raise DesignError(f"providers.{name}: {provider.key} does not hold one line of text")
    return key

"""Providers as this gateway serves them: with their keys, which go no further."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..models.errors import DesignError
from ..models.provider import Provider

REDACTED = b"[provider key]"


@dataclass(frozen=True, slots=True)
class Upstream:
    """A provider and its key."""

    name: str
    provider: Provider
    key: str = field(repr=False, default="")

    def headers(self, passed: Mapping[str, str]) -> dict[str, str]:
        """A request's headers on their way up: the provider's own and the key put in.

        Compression is not asked for: what passes by is to be read.
        """
        made = {**passed, **self.provider.headers, "accept-encoding": "identity"}
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

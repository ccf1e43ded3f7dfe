"""A provider of models: where its API is, how its key is found, and what a model of it costs."""

from typing import Annotated, Literal

from pydantic import Field

from .value import Value

Dialect = Literal["anthropic", "openai", "other"]
KEY_HEADERS: dict[Dialect, str] = {
    "anthropic": "x-api-key",
    "openai": "authorization",
    "other": "authorization",
}
MILLION = 1_000_000
Usd = Annotated[float, Field(ge=0)]


class Provider(Value):
    """One upstream API. Keys are named here and never written.

    `key` is `env:NAME` or `file:/path`; "" sends none. `key_header` is the header that carries it
    ("" for the dialect's own; `authorization` sends `Bearer <key>`). `max_in_flight` bounds the
    trials of this provider that run at once in all; `silence_s` is how long the API may say
    nothing before the gateway gives a call up.
    """

    dialect: Dialect
    base_url: Annotated[str, Field(pattern=r"^https?://[^\s/?#@]+[^\s?#]*$")]
    key: Annotated[str, Field(pattern=r"^$|^env:\w+$|^file:.+$")] = ""
    key_header: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    max_in_flight: Annotated[int, Field(ge=1)] | None = None
    silence_s: Annotated[float, Field(gt=0)] = 600.0

    @property
    def header(self) -> str:
        """The header that carries the key, in lower case."""
        return (self.key_header or KEY_HEADERS[self.dialect]).lower()


class Price(Value):
    """US dollars for a million tokens; what is not told costs what plain input costs."""

    input: Usd
    output: Usd
    cache_read: Usd | None = None
    cache_write: Usd | None = None


class Tokens(Value):
    """Tokens of one call, or of many. `input` leaves out what caches served or took in."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.input + self.output + self.cache_read + self.cache_write

    def cost_usd(self, price: Price) -> float:
        """What they cost.

        >>> Tokens(input=1_000_000, output=100_000).cost_usd(Price(input=3, output=15))
        4.5
        """
        read = price.input if price.cache_read is None else price.cache_read
        write = price.input if price.cache_write is None else price.cache_write
        parts = (
            self.input * price.input,
            self.output * price.output,
            self.cache_read * read,
            self.cache_write * write,
        )
        return sum(parts) / MILLION


class Served(Value):
    """A model as an experiment names it: who serves it, under which name, for how much.

    `upstream` is the provider's own name for it ("": the same). `expected` is what one trial takes
    of it, for the estimate of `plan`.
    """

    provider: str
    upstream: str = ""
    price: Price | None = None
    expected: Tokens | None = None


class Allowance(Value):
    """What one attempt may take of the API; None: no limit."""

    calls: Annotated[int, Field(ge=1)] | None = None
    tokens: Annotated[int, Field(ge=1)] | None = None
    usd: Annotated[float, Field(gt=0)] | None = None

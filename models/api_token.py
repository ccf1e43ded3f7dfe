"""The token with which an attempt calls the gateway: signed claims, good for one lease.

    inr1.<issuer>.<claims>.<signature>

It names the attempt and the fence of its lease, one model of one provider, and an allowance. The
signature makes it unforgeable; that its attempt still holds the lease is asked of the queue's
server with every call, so that it dies with its attempt.
"""

import base64
import binascii
import hashlib
import hmac
from typing import Literal

from pydantic import ValidationError

from .errors import InfranoiseError
from .provider import Allowance, Dialect, Price
from .value import Value

FORM = "inr1"
SHORTEST_SECRET = 16
Why = Literal["missing", "malformed", "foreign", "forged", "expired"]


class Claims(Value):
    """What a token grants. `expires_at` is Unix seconds; a lease that ends earlier ends it."""

    experiment: str
    attempt: str
    fence: int
    provider: str
    dialect: Dialect
    model: str
    upstream: str
    price: Price | None = None
    allowance: Allowance = Allowance()
    expires_at: float


class TokenRefused(InfranoiseError):
    """A token that grants nothing; `why` is the kind, the text is fit for the agent's log."""

    def __init__(self, why: Why, text: str) -> None:
        self.why = why
        super().__init__(text)


class Seal:
    """Signs and reads tokens with one secret, shared by the scheduler and the gateway alone.

    Raises:
        ValueError: the secret is too short to protect anything.
    """

    def __init__(self, secret: str) -> None:
        if len(secret) < SHORTEST_SECRET:
            raise ValueError(f"a gateway secret needs {SHORTEST_SECRET} characters or more")
        self._key = hashlib.sha256(f"infranoise gateway\0{secret}".encode()).digest()
        self.issuer = hashlib.sha256(self._key).hexdigest()[:12]

    def mint(self, claims: Claims) -> str:
        """The token of these claims."""
        body = f"{FORM}.{self.issuer}.{_packed(claims.model_dump_json().encode())}"
        return f"{body}.{_packed(self._sign(body))}"

    def read(self, token: str, now: float) -> Claims:
        """The claims of a token.

        Args:
            now: Unix seconds.
        Raises:
            TokenRefused: not a token, another issuer's, altered, or past its time.
        """
        if not token:
            raise TokenRefused("missing", "no token: send the attempt's token as the API key")
        parts = token.split(".")
        if len(parts) != 4 or parts[0] != FORM:
            raise TokenRefused("malformed", "this is no token of an infranoise gateway")
        if parts[1] != self.issuer:
            raise TokenRefused("foreign", "this token was issued for another gateway")
        body, _, signature = token.rpartition(".")
        if not hmac.compare_digest(signature, _packed(self._sign(body))):
            raise TokenRefused("forged", "this token's signature is wrong")
        claims = _claims(parts[2])
        if now >= claims.expires_at:
            raise TokenRefused("expired", "this token's time is over")
        return claims

    def _sign(self, body: str) -> bytes:
        return hmac.digest(self._key, body.encode(), "sha256")


def _claims(packed: str) -> Claims:
    try:
        padded = packed + "=" * (-len(packed) % 4)
        return Claims.model_validate_json(base64.urlsafe_b64decode(padded))
    except (ValidationError, binascii.Error) as error:  # signed by us, by another release
        raise TokenRefused(
            "malformed", "this token was made by another release of infranoise"
        ) from error


def _packed(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")

"""What the gateway itself refuses, in the shape in which each API tells of errors: pure."""

import json
from typing import NamedTuple

from ..models.provider import Dialect

WHY_HEADER = "x-infranoise-refused"
HEADERS = {"content-type": "application/json", "x-should-retry": "false"}
"""Both SDKs heed `x-should-retry`: what is refused once is refused again."""


class Kind(NamedTuple):
    """A kind of refusal: its status and the word that each API has for it."""

    status: int
    anthropic: str
    openai: str
    text: str


UNAUTHORISED = (401, "authentication_error", "invalid_api_key")
OVERDRAWN = (402, "billing_error", "insufficient_quota")
KINDS = {
    "missing": Kind(*UNAUTHORISED, "no token"),
    "malformed": Kind(*UNAUTHORISED, "not a token"),
    "foreign": Kind(*UNAUTHORISED, "another gateway's token"),
    "forged": Kind(*UNAUTHORISED, "a forged token"),
    "expired": Kind(*UNAUTHORISED, "an expired token"),
    "over": Kind(*UNAUTHORISED, "the attempt of this token has ended"),
    "replayed": Kind(*UNAUTHORISED, "this token belongs to an earlier lease of its attempt"),
    "not_begun": Kind(*UNAUTHORISED, "the attempt of this token has not begun"),
    "provider": Kind(403, "permission_error", "provider_not_served", "no such provider here"),
    "model": Kind(403, "permission_error", "model_not_allowed", "another model than the token's"),
    "path": Kind(404, "not_found_error", "path_not_allowed", "the gateway does not serve this"),
    "body": Kind(400, "invalid_request_error", "invalid_body", "the body is not a JSON object"),
    "calls": Kind(*OVERDRAWN, "the attempt has made all the calls that it may"),
    "tokens": Kind(*OVERDRAWN, "the attempt has used all the tokens that it may"),
    "usd": Kind(*OVERDRAWN, "the attempt has spent all the money that it may"),
    "books": Kind(503, "api_error", "gateway_unavailable", "the gateway cannot check tokens now"),
}


class Refusal(Exception):
    """A request that goes no further. `why` is a key of `KINDS`; `text` says more than its own."""

    def __init__(self, why: str, text: str = "") -> None:
        self.why, self.text = why, text
        super().__init__(text or why)

    @property
    def kind(self) -> Kind:
        """What kind it is."""
        return KINDS[self.why]

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer. Only where we are at fault may the client try again."""
        retry = "true" if self.kind.status >= 500 else "false"
        return HEADERS | {WHY_HEADER: self.why, "x-should-retry": retry}

    def body(self, dialect: Dialect) -> bytes:
        """The answer, as the client's own library expects it."""
        kind = self.kind
        words = f"infranoise gateway: {self.text or kind.text}"
        if dialect == "anthropic":
            error = {"type": "error", "error": {"type": kind.anthropic, "message": words}}
            return json.dumps(error).encode()
        told = {
            "message": words,
            "type": "invalid_request_error" if kind.status < 500 else "server_error",
            "param": None,
            "code": kind.openai,
        }
        return json.dumps({"error": told}).encode()


def upstream_error(dialect: Dialect, words: str) -> bytes:
    """The body of an answer where the upstream gave none of its own."""
    text = f"infranoise gateway: {words}"
    if dialect == "anthropic":
        error = {"type": "error", "error": {"type": "api_error", "message": text}}
        return json.dumps(error).encode()
    told = {"message": text, "type": "server_error", "param": None, "code": "upstream"}
    return json.dumps({"error": told}).encode()

"""One call on its way: what is known of it so far, and what is written down at its end."""

import asyncio
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..models.api_call import ApiCall, Ending
from ..models.api_token import Claims
from ..models.provider import Tokens
from .answer import Document, Stream
from .request import Asked

BYTES_PER_TOKEN = 4  # where the upstream does not tell, for the allowance alone
REQUEST_IDS = ("request-id", "x-request-id", "x-goog-request-id", "x-amzn-requestid")


@dataclass(slots=True, eq=False)
class Passage:
    """A call under way. `ending` is filled in by whoever ends it."""

    claims: Claims
    asked: Asked
    retry: int
    task: "asyncio.Task[object] | None"
    at: float = field(default_factory=time.time)
    since: float = field(default_factory=time.perf_counter)
    ending: Ending | None = None
    detail: str = ""
    status: int | None = None
    request_id: str = ""
    retry_after_s: float | None = None
    first_byte_s: float | None = None
    received_bytes: int = 0
    answer: Stream | Document | None = None
    settles: bool = False

    @property
    def age_s(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self.since

    @property
    def lease(self) -> tuple[str, int]:
        """The lease under which it is made."""
        return self.claims.attempt, self.claims.fence

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        """The upstream's answer has begun: what its headers tell."""
        self.status = status
        self.request_id = next((headers[n] for n in REQUEST_IDS if n in headers), "")[:200]
        self.retry_after_s = _seconds(headers.get("retry-after", ""))
        if headers.get("content-encoding", "identity") != "identity":
            self.answer = Document(is_json=False)
        elif headers.get("content-type", "").startswith("text/event-stream"):
            self.answer = Stream(take_out_usage=self.asked.usage_asked)
        else:
            is_json = "json" in headers.get("content-type", "")
            self.answer = Document(is_json=is_json)

    def refused(self, body: bytes) -> None:
        """The answer was an error, whole."""
        self.first_byte_s, self.received_bytes = self.age_s, len(body)
        if self.answer is not None:
            self.answer.feed(body)
        self.ending, self.detail = "complete", ""

    def closed(self) -> bytes:
        """The answer came to its end; returns what was still kept back."""
        assert self.answer is not None, "a body comes after its headers"
        rest = self.answer.close()
        self.ending, self.detail = self._ending(self.answer)
        return rest

    def told(self) -> ApiCall:
        """The call as it is written down."""
        tokens = self.answer.tokens if self.answer else None
        price = self.claims.price
        return ApiCall(
            id=uuid.uuid4().hex,
            experiment=self.claims.experiment,
            attempt=self.claims.attempt,
            provider=self.claims.provider,
            model=self.claims.model,
            route=self.asked.path[:100],
            at=self.at,
            ending=self.ending or "cut",
            status=self.status,
            first_byte_s=self.first_byte_s,
            total_s=self.age_s,
            request_id=self.request_id,
            retry=self.retry,
            retry_after_s=self.retry_after_s,
            streamed=self.asked.streamed,
            sent_bytes=len(self.asked.body),
            received_bytes=self.received_bytes,
            tokens=tokens,
            charged=tokens or self._guess(),
            cost_usd=tokens.cost_usd(price) if tokens and price else None,
            detail=self.detail[:300],
        )

    def _ending(self, answer: Stream | Document) -> tuple[Ending, str]:
        if isinstance(answer, Document):
            broken = answer.malformed and self.status is not None and self.status < 400
            return ("malformed", "the answer is not JSON") if broken else ("complete", "")
        if answer.fault:
            malformed = answer.fault.endswith("not JSON")
            return ("malformed" if malformed else "cut"), answer.fault
        if not answer.whole and self.claims.dialect != "other":
            return "cut", "the stream ended before its last event"
        return "complete", ""

    def _guess(self) -> Tokens:
        """What a call is held to have used where nobody told: nothing where it was not served."""
        if self.status is None or self.status >= 400:
            return Tokens()
        return Tokens(
            input=len(self.asked.body) // BYTES_PER_TOKEN,
            output=self.received_bytes // BYTES_PER_TOKEN,
        )


def _seconds(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        return None  # a date, or nothing

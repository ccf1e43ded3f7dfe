"""Takes attempt records off the stream, in batches."""

from typing import cast

import redis
from pydantic import ValidationError

from ..models.api_call import ApiCall
from ..models.errors import BrokerError, WireError
from ..models.lease.keys import CALLS, RECORDS
from ..models.message import RECORD_FIELD, AttemptRecord

BATCH = 500
CALLS_AT_ONCE = 2_000

type Fields = dict[bytes, bytes]


class Collector:
    """Reads the stream of records. A record leaves the stream only after `done`."""

    def __init__(self, broker: str) -> None:
        self._redis: redis.Redis = redis.Redis.from_url(
            broker, socket_timeout=15, health_check_interval=10
        )

    def take(self, wait_s: float) -> list[tuple[bytes, AttemptRecord | WireError]]:
        """Up to `BATCH` records with their stream ids; waits at most `wait_s` for the first.

        A record that this release cannot read comes as its error.

        Raises:
            BrokerError: the server went away.
        """
        try:
            found = self._redis.xread({RECORDS: "0"}, count=BATCH, block=max(1, int(wait_s * 1000)))
        except redis.RedisError as error:
            raise BrokerError(f"the queue server went away: {error}") from error
        entries = found[0][1] if isinstance(found, list) and found else []
        return [(id_, _decoded(fields)) for id_, fields in entries]

    def done(self, ids: list[bytes]) -> None:
        """Forget records that are in the ledger."""
        if ids:
            self._redis.xdel(RECORDS, *ids)

    def take_calls(self) -> list[tuple[bytes, ApiCall | None]]:
        """Up to `CALLS_AT_ONCE` calls of models' APIs with their stream ids, those that are there.

        One that this release cannot read comes as None.

        Raises:
            BrokerError: the server went away.
        """
        try:
            found = self._redis.xrange(CALLS, count=CALLS_AT_ONCE)
        except redis.RedisError as error:
            raise BrokerError(f"the queue server went away: {error}") from error
        return [(id_, _call(fields)) for id_, fields in cast(list[tuple[bytes, Fields]], found)]

    def done_with_calls(self, ids: list[bytes]) -> None:
        """Forget calls that are in the ledger."""
        if ids:
            self._redis.xdel(CALLS, *ids)

    def close(self) -> None:
        """Give the connections back."""
        self._redis.close()


def _call(fields: Fields) -> ApiCall | None:
    try:
        return ApiCall.model_validate_json(fields.get(b"call", b""))
    except ValidationError:
        return None


def _decoded(fields: dict[bytes, bytes]) -> AttemptRecord | WireError:
    try:
        return AttemptRecord.decode(fields.get(RECORD_FIELD.encode(), b""))
    except WireError as error:
        return error

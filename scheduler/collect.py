"""Takes attempt records off the stream, in batches."""

import redis

from ..models.errors import BrokerError, WireError
from ..models.lease.keys import RECORDS
from ..models.message import RECORD_FIELD, AttemptRecord

BATCH = 500


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

    def close(self) -> None:
        """Give the connections back."""
        self._redis.close()


def _decoded(fields: dict[bytes, bytes]) -> AttemptRecord | WireError:
    try:
        return AttemptRecord.decode(fields.get(RECORD_FIELD.encode(), b""))
    except WireError as error:
        return error

"""The way of messages to a worker: Celery's own over Redis, without what it keeps of each message.

Celery notes on the server what it fetched, and takes the note away when the message is
acknowledged: as much work as all else that it does for a message, and for nothing here. What is
lost with its worker is owed again when its lease runs out, long before the note would bring it
back; for the same reason nothing is put back, or written to a file, when a connection ends.
"""

from kombu.transport import TRANSPORT_ALIASES, redis

NAME = "redis-leased"  # stands before the server's address in Celery's log


class Channel(redis.Channel):
    """Fetches without a note."""

    ack_emulation = False
    do_restore = False


class Transport(redis.Transport):
    """A connection of such channels."""

    Channel = Channel


def transport() -> str:
    """The name under which Celery finds it."""
    TRANSPORT_ALIASES[NAME] = f"{Transport.__module__}:{Transport.__name__}"
    return NAME

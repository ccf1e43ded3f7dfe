"""The Celery app of home: sends attempts by name to a node's queue."""

from collections.abc import Iterable

from celery import Celery
from kombu import Producer
from kombu.exceptions import OperationalError

from ..models.errors import BrokerError
from ..models.message import PROBE_NODE, RUN_ATTEMPT, AttemptMessage, node_queue

BATCH = 500  # messages that go to the server together


class Enqueuer:
    """Sends attempt messages. One object for one broker."""

    def __init__(self, broker: str) -> None:
        self._app = Celery("infranoise.home", broker=broker)
        self._app.conf.update(
            task_ignore_result=True,
            task_serializer="json",
            accept_content=["json"],
            task_default_queue="infranoise.unrouted",  # nobody consumes it: each is addressed
            broker_pool_limit=2,
            broker_transport_options={"socket_timeout": 15, "socket_connect_timeout": 5},
        )

    def send(self, going: Iterable[tuple[str, AttemptMessage]]) -> None:
        """Put messages on the queues of their nodes. The Celery task id is the attempt's id.

        The keyword arguments beside the message are for those who watch the queue in Flower; the
        message itself is not shown there.

        Raises:
            BrokerError: the queue server went away; what was not sent is never started.
        """
        try:
            with (
                self._app.producer_pool.acquire(block=True) as producer,
                producer.batch(BATCH),  # type: ignore[attr-defined] # its stubs are of older kombu
            ):
                for node, message in going:
                    self._send(producer, node, message)
        except OperationalError as error:
            raise BrokerError(f"the queue server went away: {error}") from error

    def ask_probe(self, node: str, asked: str, *, beside: bool) -> None:
        """Ask a node to probe its speed; it tells the result in its hello, under the id `asked`.

        Raises:
            BrokerError: the queue server went away.
        """
        try:
            self._app.send_task(
                PROBE_NODE, kwargs={"asked": asked, "beside": beside}, queue=node_queue(node)
            )
        except OperationalError as error:
            raise BrokerError(f"the queue server went away: {error}") from error

    def _send(self, producer: Producer, node: str, message: AttemptMessage) -> None:
        cell = message.key.cell
        self._app.send_task(
            RUN_ATTEMPT,
            args=(message.encode(),),
            kwargs={
                "task": cell.task,
                "entry": cell.entry,
                "band": cell.band,
                "sample": message.key.sample,
                **({"replay_in": message.replay_in} if message.replay_in else {}),
            },
            argsrepr="(…)",
            task_id=message.attempt_id,
            queue=node_queue(node),
            producer=producer,
        )

    def close(self) -> None:
        """Give the connections back."""
        self._app.close()

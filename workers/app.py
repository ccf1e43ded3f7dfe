"""The Celery app of a node: acknowledges early, fetches only into a free thread, its own queue.

The message is a wake-up call; what protects a trial is the lease and the ledger. How many attempts
run at once is the leases' to say, so that there are more threads than slots: an attempt's record
goes home, and the next message comes, before Celery counts its thread as free; a worker without a
spare one would look for that message up to a second later.

Late acknowledgement would run trials twice after a lost connection, and ends the worker of Celery
5.7 when Redis goes away (celery/celery#10490 and the notes in docs).
"""

import os

from celery import Celery

from ..models.message import node_queue
from .settings import WorkerSettings, worker_settings
from .transport import transport

THREADS_A_SLOT = 2


def make_app(settings: WorkerSettings) -> Celery:
    """A Celery app that consumes this node's queue."""
    app = Celery("infranoise.workers", broker=settings.broker, include=["infranoise.workers.tasks"])
    app.conf.update(
        task_acks_late=False,
        worker_disable_prefetch=True,
        worker_prefetch_multiplier=1,
        task_reject_on_worker_lost=False,
        task_ignore_result=True,
        result_backend=None,
        task_serializer="json",
        accept_content=["json"],
        task_default_queue=node_queue(settings.node),
        task_send_sent_event=False,
        worker_send_task_events=settings.events,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_pool="threads",
        worker_concurrency=THREADS_A_SLOT * settings.slots,
        worker_redirect_stdouts=False,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport=transport(),
        broker_pool_limit=2,
        broker_transport_options={
            "health_check_interval": 10,
            "socket_timeout": 15,
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
        },
    )
    return app


settings = worker_settings(os.environ)
app = make_app(settings)

"""The peer of `fleet_noop.py`: plain Celery, and one SQLModel row and commit for each task.

celery --app plain_celery worker …      # INFRANOISE_PEER_BROKER, INFRANOISE_PEER_STORE
python benchmarks/plain_celery.py COUNT  # send so many

INFRANOISE_PEER_LEAN=1: no note is kept of what was fetched.
"""

import os
import sys
from typing import Any

from celery import Celery
from sqlmodel import Field, Session, SQLModel, create_engine

app = Celery("plain", broker=os.environ.get("INFRANOISE_PEER_BROKER"))
app.conf.update(task_ignore_result=True, worker_prefetch_multiplier=1)
if os.environ.get("INFRANOISE_PEER_LEAN"):
    app.conf.broker_transport_options = {"ack_emulation": False}
engine = create_engine(os.environ.get("INFRANOISE_PEER_STORE", "sqlite://"), pool_size=64)


class PlainResult(SQLModel, table=True):
    """A result as one would first think of it."""

    id: str = Field(primary_key=True)
    task: str
    band: str
    sample: int
    reward: float
    record: str


@app.task(name="plain.attempt")  # type: ignore[untyped-decorator]
def attempt(id_: str, order: str, record: str, **shown: Any) -> None:
    """Write down how the attempt ended; it did nothing."""
    with Session(engine) as session:
        session.add(PlainResult(id=id_, reward=1.0, record=record, **shown))
        session.commit()


def main() -> None:
    """Make the table and send the tasks, each with an order and a record as large as ours."""
    count, order_bytes, record_bytes = map(int, sys.argv[1:])
    SQLModel.metadata.create_all(engine)
    order, record = "o" * order_bytes, "r" * record_bytes
    for sample in range(count):
        shown = {"task": "suite/task-00", "band": "1x", "sample": sample}
        attempt.apply_async((f"plain-{sample}", order, record), shown)


if __name__ == "__main__":
    main()

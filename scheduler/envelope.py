"""What lies on a node's queue: a Celery message (protocol 2) as kombu's Redis transport reads it.

Written here at once and not by a Celery app of home, which takes twenty times as long for a message
and could not push it in the same step that checks the lead. Pure.
"""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence

from ..models.message import PROBE_NODE, RUN_ATTEMPT, AttemptMessage, node_queue

ORIGIN = "infranoise scheduler"
_ALONE = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}


def attempt_envelope(node: str, message: AttemptMessage) -> str:
    """An attempt on its way to a node. The Celery task id is the attempt's id.

    The keyword arguments beside the message are for those who watch the queue in Flower; the
    message itself is not shown there.
    """
    cell = message.key.cell
    shown: dict[str, object] = {
        "task": cell.task,
        "entry": cell.entry,
        "band": cell.band,
        "sample": message.key.sample,
    }
    if message.replay_in:
        shown["replay_in"] = message.replay_in
    return _envelope(node, RUN_ATTEMPT, message.attempt_id, [message.encode()], shown, "(…)")


def probe_envelope(node: str, asked: str, *, beside: bool) -> str:
    """The wish that a node probes its speed; it tells the result in its hello, under `asked`."""
    return _envelope(node, PROBE_NODE, asked, [], {"asked": asked, "beside": beside}, "()")


def _envelope(
    node: str,
    task: str,
    id_: str,
    args: Sequence[object],
    shown: Mapping[str, object],
    args_shown: str,
) -> str:
    body = json.dumps((args, shown, _ALONE)).encode()
    return json.dumps(
        {
            "body": b64encode(body).decode(),
            "content-encoding": "utf-8",
            "content-type": "application/json",
            "headers": {
                "lang": "py",
                "task": task,
                "id": id_,
                "shadow": None,
                "eta": None,
                "expires": None,
                "group": None,
                "group_index": None,
                "retries": 0,
                "timelimit": [None, None],
                "root_id": id_,
                "parent_id": None,
                "argsrepr": args_shown,
                "kwargsrepr": repr(shown),
                "origin": ORIGIN,
                "ignore_result": True,
                "replaced_task_nesting": 0,
                "stamped_headers": None,
                "stamps": {},
            },
            "properties": {
                "correlation_id": id_,
                "reply_to": "",
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": node_queue(node)},
                "priority": 0,
                "body_encoding": "base64",
                "delivery_tag": id_,
            },
        }
    )

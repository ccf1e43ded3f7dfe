"""The faults, one function a kind: each breaks something, waits, and lets it heal.

A fault returns words for what it did; `Missed` where there was nothing to break at that moment.
"""

from collections.abc import Callable
from random import Random

from .fault_links import (
    double_message,
    drop_message,
    hold_link,
    replay_message,
    reset_links,
)
from .fault_processes import (
    freeze_pod,
    freeze_scheduler,
    freeze_worker,
    kill_container,
    kill_pod,
    kill_scheduler,
    kill_worker,
)
from .fault_servers import (
    cut_ledger,
    end_queue,
    fill_node_disk,
    fill_queue_disk,
    freeze_queue,
    jump_clock,
    jump_queue_clock,
    kill_queue,
    restart_ledger,
)
from .stage import Stage

Fault = Callable[[Stage, Random], str]

KINDS: dict[str, Fault] = {
    "worker killed": kill_worker,
    "worker frozen": freeze_worker,
    "scheduler killed": kill_scheduler,
    "scheduler frozen": freeze_scheduler,
    "pod killed": kill_pod,
    "pod frozen": freeze_pod,
    "container killed": kill_container,
    "queue server ended": end_queue,
    "queue server killed": kill_queue,
    "queue server frozen": freeze_queue,
    "ledger restarted": restart_ledger,
    "ledger connections cut": cut_ledger,
    "connections reset": reset_links,
    "link silent": hold_link,
    "message dropped": drop_message,
    "message doubled": double_message,
    "message replayed": replay_message,
    "node's disk full": fill_node_disk,
    "queue's disk full": fill_queue_disk,
    "clock jumped": jump_clock,
    "queue's clock jumped": jump_queue_clock,
}

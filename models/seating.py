"""Where in a cluster pods may go and beside whom, and how bands are dealt over its nodes: pure.

Bands of one task side by side are dealt over the nodes like cards: the nodes are shuffled anew for
every block (a task x entry x sample), each band gets the next one. So a better node falls on all
bands alike, whatever the cluster's own scheduler prefers.
"""

import re
from collections.abc import Sequence
from random import Random
from typing import Annotated, Literal

from pydantic import Field, field_validator

from .value import Value

TOLERATION = re.compile(
    r"(?P<key>[\w./-]+)(=(?P<value>[\w.-]*))?(:(?P<effect>NoSchedule|PreferNoSchedule|NoExecute))?"
)


class ClusterPods(Value):
    """What an experiment asks of the cluster that its pods run in: `[pods.kubernetes]`.

    `node_selector`: labels that a node must bear. `tolerations`: taints that do not keep pods off,
    as "key", "key=value" or either with ":NoSchedule". `spread`: "random" deals the bands of a
    block over the nodes, a preference that a full node may overrule; "cluster" leaves it to the
    cluster. `isolate`: "band" keeps pods of different bands off one node, and deals whole nodes
    anew in every wave. `pods_per_node` is the most of our pods that one node may hold at once.
    `qos` "constant" keeps every band Burstable, so that the ceiling alone moves; "natural" makes a
    strict band Guaranteed. `run_as_user` None: the image's own user. `evidence_finalizer` holds a
    pod's object back until its evidence has been read. `schedule_timeout_s`: how long a pod may
    wait for room (a quota, a node, an autoscaler's new one); on no clock of the trial.
    """

    node_selector: dict[str, str] = Field(default_factory=dict)
    tolerations: tuple[str, ...] = ()
    spread: Literal["random", "cluster"] = "random"
    isolate: Literal["none", "band"] = "none"
    pods_per_node: Annotated[int, Field(ge=1, le=512)] | None = None
    runtime_class: str = ""
    priority_class: str = ""
    qos: Literal["constant", "natural"] = "constant"
    run_as_user: Annotated[int, Field(ge=0)] | None = None
    evidence_finalizer: bool = False
    schedule_timeout_s: Annotated[float, Field(gt=0)] = 600.0

    @field_validator("tolerations")
    @classmethod
    def _are_taints(cls, found: tuple[str, ...]) -> tuple[str, ...]:
        for text in found:
            if not TOLERATION.fullmatch(text):
                raise ValueError(
                    f"{text!r} names no taint; write key, key=value or key=value:NoSchedule"
                )
        return found


class Seat(Value):
    """One attempt's place among those of its experiment.

    `shuffle` seeds the order of nodes: one text for a block, or for a wave where bands are
    isolated. `turn` is the band's number among `of` bands.
    """

    asked: ClusterPods = ClusterPods()
    band: str = ""
    shuffle: str = ""
    turn: Annotated[int, Field(ge=0)] = 0
    of: Annotated[int, Field(ge=1)] = 1


def dealt(nodes: Sequence[str], seat: Seat) -> tuple[str, ...]:
    """The nodes that a seat should have: one, or a band's share of all; none where none is known.

    >>> block = [Seat(shuffle="t|lean|3", turn=turn, of=3) for turn in range(3)]
    >>> sorted(dealt(["a", "b", "c"], seat) for seat in block)
    [('a',), ('b',), ('c',)]
    """
    if not nodes or seat.asked.spread == "cluster":
        return ()
    order = Random(f"nodes\x00{seat.shuffle}").sample(sorted(nodes), len(nodes))
    if seat.asked.isolate == "band" and len(order) >= seat.of:
        return tuple(sorted(order[seat.turn % seat.of :: seat.of]))
    return (order[seat.turn % len(order)],)

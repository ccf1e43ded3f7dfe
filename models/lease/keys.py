"""The Redis keys of a fleet. Everything here may be lost: the ledger is the truth.

| key | kind | meaning |
|---|---|---|
| `infranoise:node:<id>` | hash | a node's incarnation, state, totals and what is free of them |
| `infranoise:beats` | sorted set | node -> when it was last heard of, in ms of the server's clock |
| `infranoise:lease:<attempt>` | hash | node, incarnation, fence, floors, whether it has started |
| `infranoise:expiry` | sorted set | attempt -> when its lease ends, in ms of the server's clock |
| `infranoise:held:<node>` | set | attempts that a node holds |
| `infranoise:fence` | counter | the next fencing token |
| `infranoise:leader` | hash | token and fence of the scheduler that leads; ends by itself |
| `infranoise:reaper` | hash | the last sign that the server is heard; until when no lease ends |
| `infranoise:records` | stream | attempt records on their way home |
| `infranoise:cancel` | set | attempts that are to be stopped where they run |
| `infranoise:spent:<attempt>:<fence>` | hash | calls, tokens, micro-dollars, refusals |
| `infranoise:api:<attempt>:<fence>` | list | an attempt's calls of its model, as they ended |
| `infranoise:calls` | stream | all calls on their way home |

Times are taken from the server (`TIME`), so that clocks of nodes do not matter.
"""

DIALECT = 1  # of these keys and the scripts: raise it where an older worker could not keep a lease
PREFIX = "infranoise"
BEATS = f"{PREFIX}:beats"
EXPIRY = f"{PREFIX}:expiry"
FENCE = f"{PREFIX}:fence"
LEADER = f"{PREFIX}:leader"
RECORDS = f"{PREFIX}:records"
CANCEL = f"{PREFIX}:cancel"
CALLS = f"{PREFIX}:calls"


def node_key(node: str) -> str:
    """The hash of a node."""
    return f"{PREFIX}:node:{node}"


def lease_key(attempt: str) -> str:
    """The hash of an attempt's lease."""
    return f"{PREFIX}:lease:{attempt}"


def held_key(node: str) -> str:
    """The attempts that a node holds."""
    return f"{PREFIX}:held:{node}"


def spent_key(attempt: str, fence: int) -> str:
    """What an attempt has taken of the model API under one lease."""
    return f"{PREFIX}:spent:{attempt}:{fence}"


def calls_key(attempt: str, fence: int) -> str:
    """The calls of an attempt under one lease, in the order in which they ended."""
    return f"{PREFIX}:api:{attempt}:{fence}"

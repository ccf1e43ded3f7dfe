"""`pause`, `resume`, `cancel`: what the scheduler is to do with an experiment."""

import json

from ..models.errors import LedgerError
from ..models.ledger.live import standings
from ..models.ledger.states import State, set_state
from .fleet_view import open_ledger

WORDS: dict[State, str] = {
    "paused": "nothing more of it is sent; what is under way ends by itself",
    "active": "what is owed is sent again",
    "cancelled": "what is under way is stopped within seconds and counts for nothing; the outcomes "
    "that came home are kept",
}


def steer(store: str, name: str, state: State, *, as_json: bool) -> int:
    """Set an experiment's state; the scheduler follows within seconds.

    Raises:
        LedgerError: there is none of that name, or it is done.
    """
    engine = open_ledger(store)
    for one in standings(engine, name):
        if one.word == "done":
            raise LedgerError(f"{name} is done: every trial has an outcome")
    set_state(engine, name, state)
    if as_json:
        print(json.dumps({"experiment": name, "state": state}))
    else:
        print(f"{name} is {state}: {WORDS[state]}")
    return 0

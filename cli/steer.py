"""`pause`, `resume`, `cancel`: what the scheduler is to do with an experiment."""

import json

from ..models.errors import DesignError
from ..models.ledger.states import State, set_state
from .fleet_view import open_ledger, standing_of

WORDS: dict[State, str] = {
    "paused": "nothing more of it is sent; what is under way ends by itself",
    "active": "what is owed is sent again",
    "cancelled": "what is under way is stopped within seconds and counts for nothing; the outcomes "
    "that came home are kept",
}


def steer(store: str, name: str, state: State, *, as_json: bool) -> int:
    """Set an experiment's state; the scheduler follows within seconds.

    Raises:
        DesignError: there is none of that name, or it is done.
    """
    engine = open_ledger(store)
    if standing_of(engine, name).word == "done":
        raise DesignError(f"{name} is done: every trial has an outcome")
    set_state(engine, name, state)
    if as_json:
        print(json.dumps({"experiment": name, "state": state}))
    else:
        print(f"{name} is {state}: {WORDS[state]}")
    return 0

"""Conditions and clocks of which a source tells nothing."""

from ..models.conditions import UNRECORDED, Clocks, Conditions

NO_CLOCKS = Clocks(
    received_at=None,
    prepare_s=None,
    start_s=None,
    setup_s=None,
    agent_s=None,
    verifier_s=None,
    stop_s=None,
    ended_at=None,
)

NO_CONDITIONS = Conditions(
    node=UNRECORDED,
    node_profile=None,
    runtime=UNRECORDED,
    network=UNRECORDED,
    requested=None,
    slots=None,
    hour_utc=None,
    weekday=None,
)

"""The tables behind the rows, for statements in bulk."""

from sqlalchemy import Table

from .rows import Row

_OF = Row.metadata.tables

EXPERIMENT: Table = _OF["experiment"]
TASK: Table = _OF["task"]
ENTRY: Table = _OF["entry"]
BAND: Table = _OF["band"]
WAVE: Table = _OF["wave"]
CELL: Table = _OF["cell"]
TRIAL: Table = _OF["trial"]
ATTEMPT: Table = _OF["attempt"]
NODE: Table = _OF["node"]
NODE_PROFILE: Table = _OF["node_profile"]
NODE_PROBE: Table = _OF["node_probe"]
SOURCE: Table = _OF["source"]
EVENT: Table = _OF["event"]
KILL_REPLAY: Table = _OF["kill_replay"]
LEADER: Table = _OF["leader"]
API_CALL: Table = _OF["api_call"]

"""The tables: one SQLModel row per noun. Times are Unix seconds; documents are JSON texts.

What stands here is what the last migration leaves: a change here comes with a new revision in
`migrations/versions`.
"""

from typing import ClassVar

from sqlalchemy import BigInteger, Index, MetaData, UniqueConstraint, text
from sqlmodel import Field, SQLModel

NAMES = {  # a constraint without a name cannot be migrated
    "ix": "%(table_name)s_%(column_0_N_name)s_index",
    "uq": "%(table_name)s_%(column_0_N_name)s_unique",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
    "pk": "%(table_name)s_pkey",
}
UNDER_WAY = text("state = 'placed'")
WITHOUT_OUTCOME = text("accepted IS NULL")
IS_REPLAY = text("replay_of IS NOT NULL")


class Row(SQLModel):
    """The ground of every table of the ledger."""

    metadata: ClassVar[MetaData] = MetaData(naming_convention=NAMES)


class ExperimentRow(Row, table=True):
    """An experiment as it was resolved; `fingerprint` tells whether a file still means the same.

    `state` is `active`, `paused` or `cancelled`: whether a fleet's scheduler works on it. `blobs`
    is where the folders of its tasks lie packed for the nodes of a fleet; "": they are on this
    machine.
    """

    __tablename__ = "experiment"

    name: str = Field(primary_key=True)
    created_at: float
    fingerprint: str
    document: str
    tasks_left_out: str = "[]"
    state: str = Field(default="active", index=True)
    weight: float = 1.0
    blobs: str = ""
    version: str


class TaskRow(Row, table=True):
    """A task of an experiment, with the whole `Task` as it was loaded."""

    __tablename__ = "task"
    __table_args__ = (UniqueConstraint("experiment", "name"),)

    id: int | None = Field(default=None, primary_key=True)
    experiment: str = Field(foreign_key="experiment.name")
    name: str
    content_hash: str
    document: str


class EntryRow(Row, table=True):
    """An agent x model of an experiment."""

    __tablename__ = "entry"
    __table_args__ = (UniqueConstraint("experiment", "name"),)

    id: int | None = Field(default=None, primary_key=True)
    experiment: str = Field(foreign_key="experiment.name")
    name: str
    agent: str
    model: str
    document: str


class BandRow(Row, table=True):
    """A band of an experiment; `place` is its order in reports."""

    __tablename__ = "band"
    __table_args__ = (UniqueConstraint("experiment", "name"),)

    id: int | None = Field(default=None, primary_key=True)
    experiment: str = Field(foreign_key="experiment.name")
    name: str
    place: int
    document: str


class WaveRow(Row, table=True):
    """A wave and the levels that were set for the whole of it."""

    __tablename__ = "wave"
    __table_args__ = (UniqueConstraint("experiment", "number"),)

    id: int | None = Field(default=None, primary_key=True)
    experiment: str = Field(foreign_key="experiment.name")
    number: int
    levels: str


class CellRow(Row, table=True):
    """Counts of one cell, kept up on ingest so that analysis does not scan trials.

    `n` counts trials with an outcome, infra errors among them; `collateral` counts the infra
    errors that killed a child only. `reward_sum` and `reward_sumsq` take an infra error as 0.
    """

    __tablename__ = "cell"
    __table_args__ = (UniqueConstraint("experiment", "key"),)

    id: int | None = Field(default=None, primary_key=True)
    experiment: str = Field(foreign_key="experiment.name")
    key: str
    task: str
    entry: str
    band: str
    levels: str = "[]"
    planned: int = 0
    n: int = 0
    passed: int = 0
    infra_errors: int = 0
    collateral: int = 0
    reward_sum: float = 0.0
    reward_sumsq: float = 0.0


class TrialRow(Row, table=True):
    """One trial; `accepted` is the attempt whose outcome counts, None while it is owed."""

    __tablename__ = "trial"
    __table_args__ = (
        Index(
            "trial_owed",
            "experiment",
            "position",
            sqlite_where=WITHOUT_OUTCOME,
            postgresql_where=WITHOUT_OUTCOME,
        ),
    )

    id: str = Field(primary_key=True)
    experiment: str = Field(foreign_key="experiment.name")
    cell: int = Field(foreign_key="cell.id", index=True)
    sample: int
    wave: int
    position: int
    accepted: str | None = None


class AttemptRow(Row, table=True):
    """One execution of a trial on a node. Append-only: a retry is another row.

    `state` is `placed` until its record arrives, then `ended`; `record` is the whole
    `AttemptRecord`, from which the outcome columns can be judged again. `placed_at` is None for
    an attempt that others ran. A kill replay names the attempt that was killed (`replay_of`) and
    the ceiling at which it runs again (`replay_in`); its outcome is never its trial's.
    """

    __tablename__ = "attempt"
    __table_args__ = (
        UniqueConstraint("trial", "number"),
        Index(
            "attempt_under_way",
            "experiment",
            sqlite_where=UNDER_WAY,
            postgresql_where=UNDER_WAY,
        ),
        Index("attempt_replays", "experiment", sqlite_where=IS_REPLAY, postgresql_where=IS_REPLAY),
    )

    id: str = Field(primary_key=True)
    experiment: str = Field(foreign_key="experiment.name", index=True)
    trial: str = Field(foreign_key="trial.id")
    number: int
    node: str
    state: str = "placed"
    placed_at: float | None = None
    ended_at: float | None = None
    verdict: str | None = None
    cause: str | None = None
    oom: str | None = None
    reward: float | None = None
    rule: str | None = None
    detail: str | None = None
    rules_version: int | None = None
    record: str | None = None
    replay_of: str | None = None
    replay_in: str | None = None


class NodeRow(Row, table=True):
    """A node and the profile that it had last."""

    __tablename__ = "node"

    id: str = Field(primary_key=True)
    profile: str | None = Field(default=None, foreign_key="node_profile.hash")
    seen_at: float


class NodeProfileRow(Row, table=True):
    """What a node's hardware and software were, stored once per change."""

    __tablename__ = "node_profile"

    hash: str = Field(primary_key=True)
    first_seen_at: float
    document: str


class NodeProbeRow(Row, table=True):
    """A node's speed at one time: a `models.probe.Probe`. `at` is by the node's own clock."""

    __tablename__ = "node_probe"

    node: str = Field(primary_key=True, foreign_key="node.id")
    at: float = Field(primary_key=True)
    document: str


class SourceRow(Row, table=True):
    """A tree of results that others produced, as it was imported into an experiment.

    `document` is a `models.source.Source`: what the source says of itself, how it was read, and
    what it does not record. The same tree imported again replaces its row.
    """

    __tablename__ = "source"
    __table_args__ = (UniqueConstraint("experiment", "kind", "path"),)

    id: int | None = Field(default=None, primary_key=True)
    experiment: str = Field(foreign_key="experiment.name")
    kind: str
    path: str
    content_hash: str
    imported_at: float
    document: str


class EventRow(Row, table=True):
    """Something that happened to the run itself: started, interrupted, a record refused."""

    __tablename__ = "event"

    id: int | None = Field(default=None, primary_key=True)
    experiment: str = Field(index=True)
    at: float
    kind: str
    subject: str = ""
    document: str = "{}"


class KillReplayRow(Row, table=True):
    """A ceiling at which an experiment's killed trials are to run again.

    `state` is `open` while some of its kills may still have no replay, then `done`.
    """

    __tablename__ = "kill_replay"
    __table_args__ = (UniqueConstraint("experiment", "ceiling"),)

    id: int | None = Field(default=None, primary_key=True)
    experiment: str = Field(foreign_key="experiment.name")
    ceiling: str
    asked_at: float
    state: str = "open"


class ApiCallRow(Row, table=True):
    """One call of a model's API; `document` is the whole `ApiCall`.

    `tokens` are all of the call's; None where its provider did not tell.
    """

    __tablename__ = "api_call"

    id: str = Field(primary_key=True)
    experiment: str = Field(foreign_key="experiment.name", index=True)
    attempt: str = Field(foreign_key="attempt.id", index=True)
    provider: str
    model: str
    at: float
    ending: str
    status: int | None = None
    first_byte_s: float | None = None
    total_s: float
    request_id: str
    tokens: int | None = None
    cost_usd: float | None = None
    document: str


class LeaderRow(Row, table=True):
    """The highest fence that a leading scheduler ever had: one row, its `id` 1."""

    __tablename__ = "leader"

    id: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    fence: int = Field(sa_type=BigInteger)

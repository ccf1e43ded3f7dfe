"""The tables of the first release."""

from functools import partial

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

text = partial(sa.Column, type_=sa.String(), nullable=False)
integer = partial(sa.Column, type_=sa.Integer(), nullable=False)
real = partial(sa.Column, type_=sa.Float(), nullable=False)


def upgrade() -> None:
    """Make them."""
    _experiments()
    _trials()
    _surroundings()


def _experiments() -> None:
    """What is to be run."""
    op.create_table(
        "experiment",
        text("name"),
        real("created_at"),
        text("fingerprint"),
        text("document"),
        text("tasks_left_out"),
        text("state"),
        real("weight"),
        text("blobs"),
        text("version"),
        sa.PrimaryKeyConstraint("name", name="experiment_pkey"),
    )
    op.create_index("experiment_state_index", "experiment", ["state"])
    op.create_table(
        "task",
        integer("id"),
        text("experiment"),
        text("name"),
        text("content_hash"),
        text("document"),
        sa.ForeignKeyConstraint(["experiment"], ["experiment.name"], name="task_experiment_fkey"),
        sa.PrimaryKeyConstraint("id", name="task_pkey"),
        sa.UniqueConstraint("experiment", "name", name="task_experiment_name_unique"),
    )
    op.create_table(
        "entry",
        integer("id"),
        text("experiment"),
        text("name"),
        text("agent"),
        text("model"),
        text("document"),
        sa.ForeignKeyConstraint(["experiment"], ["experiment.name"], name="entry_experiment_fkey"),
        sa.PrimaryKeyConstraint("id", name="entry_pkey"),
        sa.UniqueConstraint("experiment", "name", name="entry_experiment_name_unique"),
    )
    op.create_table(
        "band",
        integer("id"),
        text("experiment"),
        text("name"),
        integer("place"),
        text("document"),
        sa.ForeignKeyConstraint(["experiment"], ["experiment.name"], name="band_experiment_fkey"),
        sa.PrimaryKeyConstraint("id", name="band_pkey"),
        sa.UniqueConstraint("experiment", "name", name="band_experiment_name_unique"),
    )
    op.create_table(
        "wave",
        integer("id"),
        text("experiment"),
        integer("number"),
        text("levels"),
        sa.ForeignKeyConstraint(["experiment"], ["experiment.name"], name="wave_experiment_fkey"),
        sa.PrimaryKeyConstraint("id", name="wave_pkey"),
        sa.UniqueConstraint("experiment", "number", name="wave_experiment_number_unique"),
    )
    op.create_table(
        "cell",
        integer("id"),
        text("experiment"),
        text("key"),
        text("task"),
        text("entry"),
        text("band"),
        text("levels"),
        integer("planned"),
        integer("n"),
        integer("passed"),
        integer("infra_errors"),
        integer("collateral"),
        real("reward_sum"),
        real("reward_sumsq"),
        sa.ForeignKeyConstraint(["experiment"], ["experiment.name"], name="cell_experiment_fkey"),
        sa.PrimaryKeyConstraint("id", name="cell_pkey"),
        sa.UniqueConstraint("experiment", "key", name="cell_experiment_key_unique"),
    )
    op.create_table(
        "source",
        integer("id"),
        text("experiment"),
        text("kind"),
        text("path"),
        text("content_hash"),
        real("imported_at"),
        text("document"),
        sa.ForeignKeyConstraint(["experiment"], ["experiment.name"], name="source_experiment_fkey"),
        sa.PrimaryKeyConstraint("id", name="source_pkey"),
        sa.UniqueConstraint(
            "experiment", "kind", "path", name="source_experiment_kind_path_unique"
        ),
    )


def _trials() -> None:
    """What became of it."""
    op.create_table(
        "trial",
        text("id"),
        text("experiment"),
        integer("cell"),
        integer("sample"),
        integer("wave"),
        integer("position"),
        text("accepted", nullable=True),
        sa.ForeignKeyConstraint(["cell"], ["cell.id"], name="trial_cell_fkey"),
        sa.ForeignKeyConstraint(["experiment"], ["experiment.name"], name="trial_experiment_fkey"),
        sa.PrimaryKeyConstraint("id", name="trial_pkey"),
    )
    op.create_index("trial_cell_index", "trial", ["cell"])
    op.create_index(
        "trial_owed",
        "trial",
        ["experiment", "position"],
        sqlite_where=sa.text("accepted IS NULL"),
        postgresql_where=sa.text("accepted IS NULL"),
    )
    op.create_table(
        "attempt",
        text("id"),
        text("experiment"),
        text("trial"),
        integer("number"),
        text("node"),
        text("state"),
        real("placed_at", nullable=True),
        real("ended_at", nullable=True),
        text("verdict", nullable=True),
        text("cause", nullable=True),
        text("oom", nullable=True),
        real("reward", nullable=True),
        text("rule", nullable=True),
        text("detail", nullable=True),
        integer("rules_version", nullable=True),
        text("record", nullable=True),
        sa.ForeignKeyConstraint(
            ["experiment"], ["experiment.name"], name="attempt_experiment_fkey"
        ),
        sa.ForeignKeyConstraint(["trial"], ["trial.id"], name="attempt_trial_fkey"),
        sa.PrimaryKeyConstraint("id", name="attempt_pkey"),
        sa.UniqueConstraint("trial", "number", name="attempt_trial_number_unique"),
    )
    op.create_index("attempt_experiment_index", "attempt", ["experiment"])
    op.create_index(
        "attempt_under_way",
        "attempt",
        ["experiment"],
        sqlite_where=sa.text("state = 'placed'"),
        postgresql_where=sa.text("state = 'placed'"),
    )


def _surroundings() -> None:
    """Where it ran, who led, what happened."""
    op.create_table(
        "node_profile",
        text("hash"),
        real("first_seen_at"),
        text("document"),
        sa.PrimaryKeyConstraint("hash", name="node_profile_pkey"),
    )
    op.create_table(
        "node",
        text("id"),
        text("profile", nullable=True),
        real("seen_at"),
        sa.ForeignKeyConstraint(["profile"], ["node_profile.hash"], name="node_profile_fkey"),
        sa.PrimaryKeyConstraint("id", name="node_pkey"),
    )
    op.create_table(
        "leader",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="leader_pkey"),
    )
    op.create_table(
        "event",
        integer("id"),
        text("experiment"),
        real("at"),
        text("kind"),
        text("subject"),
        text("document"),
        sa.PrimaryKeyConstraint("id", name="event_pkey"),
    )
    op.create_index("event_experiment_index", "event", ["experiment"])

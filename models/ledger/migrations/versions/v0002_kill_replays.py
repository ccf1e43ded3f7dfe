"""Kill replays: attempts that run a killed trial again, and the ceilings that were asked for."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Two columns, an index and a table."""
    op.add_column("attempt", sa.Column("replay_of", sa.String(), nullable=True))
    op.add_column("attempt", sa.Column("replay_in", sa.String(), nullable=True))
    op.create_index(
        "attempt_replays",
        "attempt",
        ["experiment"],
        sqlite_where=sa.text("replay_of IS NOT NULL"),
        postgresql_where=sa.text("replay_of IS NOT NULL"),
    )
    op.create_table(
        "kill_replay",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("experiment", sa.String(), nullable=False),
        sa.Column("ceiling", sa.String(), nullable=False),
        sa.Column("asked_at", sa.Float(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["experiment"], ["experiment.name"], name="kill_replay_experiment_fkey"
        ),
        sa.PrimaryKeyConstraint("id", name="kill_replay_pkey"),
        sa.UniqueConstraint("experiment", "ceiling", name="kill_replay_experiment_ceiling_unique"),
    )

"""Calls of models' APIs, as the gateway tells them."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """One table and its index."""
    op.create_table(
        "api_call",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("experiment", sa.String(), nullable=False),
        sa.Column("attempt", sa.String(), nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("ending", sa.String(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("first_byte_s", sa.Float(), nullable=True),
        sa.Column("total_s", sa.Float(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=True),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("document", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["experiment"], ["experiment.name"], name="api_call_experiment_fkey"
        ),
        sa.ForeignKeyConstraint(["attempt"], ["attempt.id"], name="api_call_attempt_fkey"),
        sa.PrimaryKeyConstraint("id", name="api_call_pkey"),
    )
    op.create_index("api_call_attempt_index", "api_call", ["attempt"])
    op.create_index("api_call_experiment_index", "api_call", ["experiment"])

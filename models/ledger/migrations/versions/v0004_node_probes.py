"""Probes of nodes' speed."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """One table."""
    op.create_table(
        "node_probe",
        sa.Column("node", sa.String(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("document", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["node"], ["node.id"], name="node_probe_node_fkey"),
        sa.PrimaryKeyConstraint("node", "at", name="node_probe_pkey"),
    )

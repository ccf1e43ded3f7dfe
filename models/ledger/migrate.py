"""Migrations: from an older release's tables to this one's, with alembic."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy.engine import Connection

from ..errors import LedgerError
from .rows import Row


def migrate(connection: Connection, found: str | None, revisions: Path) -> None:
    """Run every revision after `found` (None: all of them), in the transaction under way.

    Raises:
        LedgerError: `found` is none of ours; or a row points nowhere after it.
    """
    config = Config(attributes={"connection": connection, "metadata": Row.metadata})
    config.set_main_option("script_location", str(revisions).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    known = [step.revision for step in ScriptDirectory.from_config(config).walk_revisions()]
    if found is not None and found not in known:
        raise LedgerError(
            f"its tables are of a newer release (revision {found}; this one knows up to "
            f"{known[0]}); install that release here too, or choose another store"
        )
    command.upgrade(config, "head")
    if connection.dialect.name == "sqlite":
        lost = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if lost is not None:
            raise LedgerError(f"the migration would leave rows of {lost[0]} pointing nowhere")

"""Migrations of the ledger's tables; `alembic revision --rev-id NUMBER -m "words"` begins one."""

"""The ledger: SQLModel tables, one per noun, and their migrations."""

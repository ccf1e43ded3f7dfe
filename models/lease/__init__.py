"""Leases: who holds which attempt, told to Redis in scripts that do one thing at once."""

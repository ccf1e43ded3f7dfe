"""Meters: what a pod consumed and what surrounded it."""

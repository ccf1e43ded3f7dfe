"""Revisions, one file each, in the order of their numbers; what was released never changes."""

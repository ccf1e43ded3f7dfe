"""A fleet that is broken on purpose, again and again, and what must hold of it afterwards."""

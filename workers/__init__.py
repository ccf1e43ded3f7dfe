"""A node: takes attempts off its queue and runs them in pods."""

"""Numbers: pure statistics on cell counts, and their rendering."""

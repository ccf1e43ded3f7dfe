"""Bundled benchmarks: original Harbor-format tasks, and policies (not models) that attempt them."""

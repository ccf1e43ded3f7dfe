"""Bundled benchmarks: original Harbor-format tasks and policies."""

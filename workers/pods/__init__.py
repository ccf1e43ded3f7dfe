"""Pods: the sandbox of one attempt, per runtime."""

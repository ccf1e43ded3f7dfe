"""Agents: what runs in the pod and tries to solve the task."""

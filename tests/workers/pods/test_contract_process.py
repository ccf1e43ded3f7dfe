"""The contract of pods, held against process pods: a file a runtime."""

from pod_contract import *  # noqa: F403

RUNTIMES = ("process",)

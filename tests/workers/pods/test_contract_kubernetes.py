"""The contract of pods, held against pods of a cluster: a file a runtime."""

from pod_contract import *  # noqa: F403

RUNTIMES = ("kubernetes",)

"""The contract of pods, held against containers: a file a runtime."""

from pod_contract import *  # noqa: F403

RUNTIMES = ("docker",)

"""The built-in tables of modes, per kind of source.

Raise `VERSION` with every change that gives a mode another meaning: every import keeps the version
it was read with.

Sources: Harbor 0.24 and 0.25, `harbor.models.trial.error_policy`; Terminal-Bench 0.2,
`terminal_bench.agents.failure_mode`; Inspect 0.3.285, `inspect_ai.log` (limits, errors as texts);
SWE-bench 4, the report of `swebench.harness.reporting`.
"""

import re
from collections.abc import Mapping

from ..models.source import Kind
from .modes import Rule, Word

VERSION = 1


def _rules(means: Word, *modes: str, message: str | None = None) -> tuple[Rule, ...]:
    pattern = re.compile(message, re.IGNORECASE) if message else None
    return tuple(Rule(mode, means, pattern) for mode in modes)


# Texts in which infrastructure names itself, whatever the type of the exception.
TELLTALES: tuple[Rule, ...] = (
    *_rules("oom_killed", "*", message=r"\bOOM[- ]?Killed\b|oom-kill|out of memory|OutOfMemory"),
    *_rules("disk_full", "*", message=r"No space left on device|disk quota exceeded|ENOSPC"),
    *_rules("evicted", "*", message=r"\bevicted\b|\beviction\b"),
    *_rules("preempted", "*", message=r"\bpreempt(ed|ion)\b"),
    *_rules("unschedulable", "*",
            message=r"unschedulable|Insufficient (cpu|memory)|FailedScheduling"),
    *_rules(
        "image_pull", "*",
        message=r"ErrImagePull|ImagePullBackOff|pull access denied|manifest unknown|toomanyrequests"
        r"|pull rate limit",
    ),
    *_rules("image_build", "*", message=r"failed to solve|docker compose build|failed to build"),
    *_rules(
        "model_api", "*",
        message=r"RateLimit|OverloadedError|overloaded_error|ServiceUnavailable|InternalServerError"
        r"|APIConnectionError|APITimeoutError|APIStatusError|insufficient_quota|AuthenticationError",
    ),
    *_rules(
        "network", "*",
        message=r"Name or service not known|NameResolution|Temporary failure in name resolution"
        r"|Connection (refused|reset|aborted)|ConnectionError|Network is unreachable|ConnectTimeout"
        r"|No route to host|SSLError",
    ),
    *_rules(
        "start_failed", "*",
        message=r"Error response from daemon|Cannot connect to the Docker daemon|docker compose"
        r"|all predefined address pools|PodStartup|CreateContainer",
    ),
)  # fmt: skip

HARBOR: tuple[Rule, ...] = (
    *_rules("cancelled", "CancelledError", "KeyboardInterrupt"),
    *_rules("unknown", "AgentTimeoutError:early"),
    *_rules("agent_timeout", "AgentTimeoutError"),
    *_rules(
        "graded",
        "ContextWindowExceededError", "OutputTokenExceededError", "ContextLengthExceededError",
        "OutputLengthExceededError", "AgentSafetyRefusalError", "ContentPolicyViolationError",
    ),
    *_rules(
        "verifier_error",
        "VerifierTimeoutError", "RewardFileNotFoundError", "RewardFileEmptyError",
        "VerifierOutputParseError", "AddTestsDirError", "DownloadVerifierDirError",
    ),
    *_rules("oom_killed", "SandboxLikelyOutOfMemoryError", "MemoryLimitExceededError"),
    *_rules("image_build", "SandboxBuildFailedError", "EnvironmentBuildTimeoutError"),
    *_rules("node_lost", "GKEPodNotFoundError"),
    *_rules("network", "GKEExecStreamClosedError", "SSHAccessError", "NetworkConnectionError"),
    *_rules(
        "model_api",
        "ApiError", "Api*Error", "UnknownApiError", "RateLimitError", "InternalServerError",
        "ServiceUnavailableError", "APIConnectionError", "APIError", "Timeout", "BadRequestError",
        "UnprocessableEntityError", "UnsupportedParamsError", "APIResponseValidationError",
        "BudgetExceededError", "AgentAuthenticationError", "ModelNotFoundError",
        "AuthenticationError", "PermissionDeniedError", "NotFoundError",
    ),
    *_rules(
        "harness",
        "ServiceOperationsUnsupportedError", "VercelScopeError", "DspyImportError",
        "MissingExtraError", "RegradeError", "RuntimeRequestError",
    ),
    *TELLTALES,
    *_rules("start_failed", "EnvironmentStartTimeoutError", "HealthcheckError",
            "AgentSetupTimeoutError"),
    *_rules("agent_error", "NonZeroAgentExitCodeError"),
)  # fmt: skip

TERMINAL_BENCH: tuple[Rule, ...] = (
    *_rules("graded", "unset", "none", "context_length_exceeded", "output_length_exceeded"),
    *_rules("agent_timeout", "agent_timeout"),
    *_rules("verifier_error", "test_timeout", "parse_error"),
    *_rules("start_failed", "agent_installation_failed"),
    *_rules("agent_error", "unknown_agent_error", "fatal_llm_parse_error"),
    *_rules("unknown", "unknown"),
)

INSPECT: tuple[Rule, ...] = (
    *_rules("agent_timeout", "limit:time", "limit:working"),
    *_rules("graded", "limit:*"),
    *_rules("cancelled", "cancelled"),
    *_rules("verifier_error", "unscored"),
    *TELLTALES,
)

SWE_BENCH: tuple[Rule, ...] = (
    *_rules("graded", "resolved", "unresolved"),
    *_rules("no_answer", "empty_patch"),
    *_rules("verifier_error", "error"),
    *_rules("unknown", "incomplete"),
)

# A table's own words are ours already, or the user's rules say what they mean.
TABLE: tuple[Rule, ...] = (
    *(rule for word in ("wrong", "agent_timeout", "agent_error", "no_answer", "oom_killed",
                        "evicted", "preempted", "node_lost", "image_pull", "image_build",
                        "unschedulable", "start_failed", "disk_full", "network", "model_api",
                        "verifier_error", "deadline", "harness", "unknown", "cancelled")
      for rule in _rules(word, word)),
    *_rules("unknown", "infra_error"),
    *_rules("graded", "none", "passed", "failed", "graded"),
)  # fmt: skip

BUILT_IN: Mapping[Kind, tuple[Rule, ...]] = {
    "harbor": HARBOR,
    "terminal-bench": TERMINAL_BENCH,
    "inspect": INSPECT,
    "swe-bench": SWE_BENCH,
    "table": TABLE,
}

"""What an experiment's providers, models and money must be to each other: pure."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .experiment import Experiment


def faults(experiment: "Experiment") -> Iterator[str]:
    """Everything about them that cannot be run, each with its remedy."""
    for name, served in experiment.models.items():
        if served.provider not in experiment.providers:
            known = ", ".join(experiment.providers) or "none"
            yield (
                f"models.{name}: no provider {served.provider!r}; add "
                f"[providers.{served.provider}], or use one of: {known}"
            )
    for entry in experiment.entries:
        if entry.agent == "shell" and entry.model not in experiment.models:
            yield (
                f'entries: {entry.name}: agent "shell" needs a model of [models]; add '
                f'[models."{entry.model}"] with its provider'
            )
        its = experiment.served(entry)
        provider = experiment.providers.get(its.provider) if its else None
        if entry.agent == "shell" and provider and provider.dialect == "other":
            yield (
                f'entries: {entry.name}: agent "shell" speaks the dialects anthropic and openai '
                f"alone; set providers.{its.provider if its else ''}.dialect"
            )
    yield from _money(experiment)
    yield from _caps(experiment)


def _money(experiment: "Experiment") -> Iterator[str]:
    asked = [
        key
        for key, value in (
            ("limits.usd", experiment.limits.usd),
            ("run.budget_usd", experiment.run.budget_usd),
        )
        if value is not None
    ]
    used = {entry.model for entry in experiment.entries} & set(experiment.models)
    bare = sorted(name for name in used if experiment.models[name].price is None)
    for key in asked:
        if bare:
            yield f"{key} needs prices; add price = {{ input = …, output = … }} to models.{bare[0]}"
        elif not used:
            yield f"{key} binds nothing: no entry has a model of [models]"


def _caps(experiment: "Experiment") -> Iterator[str]:
    """A provider's cap must not decide how many trials run beside each other on a node."""
    level = max(experiment.factors.concurrency, default=0)
    for name, provider in experiment.providers.items():
        cap = provider.max_in_flight
        if cap is not None and cap < level:
            yield (
                f"providers.{name}: max_in_flight = {cap} would hold nodes below the concurrency "
                f"{level} that is to be measured; raise it, or lower factors.concurrency"
            )

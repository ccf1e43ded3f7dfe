"""What a study says of its models' API. Pure."""

import polars as pl

from ..models.card import ApiCard
from .read_ledger import Study

LATENCIES = ("first_byte_p50_s", "first_byte_p95_s", "total_p50_s", "total_p95_s")


def model_api(study: Study) -> ApiCard | None:
    """The API of the models; None where no attempt went through the gateway."""
    told = study.attempts.filter(pl.col("api_failed").is_not_null())
    if told.is_empty():
        return None
    limits = study.experiment.limits
    sums = told.select(
        calls=pl.col("api_calls").sum(),
        **{name: pl.col(f"api_{name}").sum()
           for name in ("failed", "rate_limited", "server_errors", "cut")},
        agent_s=pl.col("agent_s").sum(),
        wait_s=pl.col("api_wait_s").sum(),
        cost_usd=pl.when(pl.col("cost_usd").count() > 0).then(pl.col("cost_usd").sum()),
        **{name: pl.col(f"api_{name}").median() for name in LATENCIES},
    ).row(0, named=True)  # fmt: skip
    agent_s, wait_s = sums.pop("agent_s"), sums.pop("wait_s")
    return ApiCard(
        api_wait=limits.api_wait,
        longest_api_wait_s=limits.longest_api_wait_s if limits.api_wait == "excluded" else None,
        wait_share=wait_s / agent_s if agent_s else None,
        **sums,
    )

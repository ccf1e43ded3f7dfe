"""Passes to the gateway: the token that one attempt is sent out with. Pure."""

from dataclasses import dataclass

from ..models.api_access import ApiAccess
from ..models.api_token import Claims, Seal
from ..models.experiment import Experiment
from ..models.message import AttemptMessage


@dataclass(frozen=True, slots=True)
class Gateway:
    """The gateway as home knows it: its address, and what tokens are signed with."""

    url: str
    seal: Seal


def with_pass(
    message: AttemptMessage, experiment: Experiment, gateway: Gateway | None
) -> AttemptMessage:
    """The message with a token for its model, where its entry has one and there is a gateway.

    The token is good until the attempt's deadline at the latest, and under this lease alone.
    """
    served = experiment.served(message.entry)
    if served is None or gateway is None:
        return message
    limits, model = experiment.limits, message.entry.model
    dialect = experiment.providers[served.provider].dialect
    claims = Claims(
        experiment=experiment.name,
        attempt=message.attempt_id,
        fence=message.fence,
        provider=served.provider,
        dialect=dialect,
        model=model,
        upstream=served.upstream or model,
        price=served.price,
        allowance=limits.allowance,
        expires_at=message.deadline_at,
    )
    access = ApiAccess(
        url=gateway.url,
        token=gateway.seal.mint(claims),
        dialect=dialect,
        model=model,
        api_wait=limits.api_wait,
        longest_api_wait_s=limits.longest_api_wait_s,
    )
    return message.model_copy(update={"api": access})

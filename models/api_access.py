"""How one attempt reaches its model, and how waiting for it is held against its time."""

from typing import Annotated, Literal

from pydantic import Field

from .provider import Allowance, Dialect
from .value import Value

ApiWait = Literal["counts", "excluded"]


class TrialLimits(Allowance):
    """What binds a trial beside its task's time limit.

    `api_wait`: "counts" holds the time limit against all of the agent's time; "excluded" against
    what is left of it without waiting for the model's API, of which `longest_api_wait_s` are left
    out at most.
    """

    api_wait: ApiWait = "counts"
    longest_api_wait_s: Annotated[float, Field(gt=0)] = 3600.0

    @property
    def allowance(self) -> Allowance:
        """What an attempt may take of the API."""
        return Allowance(calls=self.calls, tokens=self.tokens, usd=self.usd)


class ApiAccess(Value):
    """The gateway as an attempt finds it: where it is, and the token that stands for the key.

    `url` has no path; a dialect's own is in `base_url`. `model` is the name to ask for.
    """

    url: str
    token: str = Field(repr=False)
    dialect: Dialect
    model: str
    api_wait: ApiWait = "counts"
    longest_api_wait_s: float = 3600.0

    @property
    def base_url(self) -> str:
        """What a library of this dialect takes as the API's address."""
        return f"{self.url}/v1" if self.dialect == "openai" else self.url

    def env(self, url: str = "") -> dict[str, str]:
        """What libraries and agents in a pod read to find the gateway.

        Args:
            url: the gateway's address as pods see it; "" where it is the same.
        """
        seen = self.model_copy(update={"url": url}) if url else self
        told = {"INFRANOISE_GATEWAY_URL": seen.url, "INFRANOISE_GATEWAY_TOKEN": seen.token}
        if self.dialect == "anthropic":
            return told | {"ANTHROPIC_BASE_URL": seen.base_url, "ANTHROPIC_API_KEY": seen.token}
        if self.dialect == "openai":
            return told | {"OPENAI_BASE_URL": seen.base_url, "OPENAI_API_KEY": seen.token}
        return told

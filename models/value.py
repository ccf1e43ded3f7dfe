"""The ground of every noun that crosses the wire or comes from a file."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value: checked once at birth, equal by content, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

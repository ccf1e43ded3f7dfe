"""What a task's author declared that it needs."""

from typing import Annotated

from pydantic import Field

from .value import Value

MIB = 1024 * 1024


class Spec(Value):
    """A task's declared resources and clocks. None: the author declared nothing.

    A band is a multiple of these numbers, so an undeclared one cannot be scaled; experiments may
    give a `default_spec` for such tasks.
    """

    cpus: Annotated[float, Field(gt=0)] | None = None
    memory_mib: Annotated[float, Field(gt=0)] | None = None
    storage_mib: Annotated[float, Field(gt=0)] | None = None
    gpus: int = 0
    agent_timeout_s: Annotated[float, Field(gt=0)] | None = None
    verifier_timeout_s: Annotated[float, Field(gt=0)] = 600.0
    build_timeout_s: Annotated[float, Field(gt=0)] = 600.0

    def or_default(self, default: "Spec | None") -> "Spec":
        """This spec, its undeclared resources taken from `default`."""
        if default is None:
            return self
        return self.model_copy(
            update={
                name: getattr(default, name)
                for name in ("cpus", "memory_mib", "storage_mib")
                if getattr(self, name) is None
            }
        )

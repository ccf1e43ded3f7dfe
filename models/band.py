"""A band: how a task's spec becomes a floor and a ceiling, per resource."""

import re
from typing import Annotated, Literal

from pydantic import Field, model_validator

from .errors import DesignError
from .limits import Limits, OomScope
from .spec import MIB, Spec
from .value import Value

Multiple = Annotated[float, Field(gt=0)]
Ceiling = Multiple | Literal["uncapped"]
SHORTHAND = re.compile(r"(?P<times>\d+(\.\d+)?)x\Z")


class Share(Value):
    """One resource's floor and ceiling as multiples of the spec.

    A floor of None guarantees nothing; a ceiling of "uncapped" is no limit at all.
    """

    floor: Multiple | None = 1.0
    ceiling: Ceiling = 1.0

    @model_validator(mode="after")
    def _floor_lies_below_ceiling(self) -> "Share":
        if self.floor is not None and self.ceiling != "uncapped" and self.floor > self.ceiling:
            raise ValueError(
                f"ceiling {self.ceiling} is below floor {self.floor}; "
                "raise the ceiling or lower the floor"
            )
        return self

    @property
    def limit(self) -> float:
        """The ceiling as a number: infinity where there is none."""
        return float("inf") if self.ceiling == "uncapped" else self.ceiling

    def of(self, amount: float) -> tuple[float | None, float | None]:
        """(floor, ceiling) of a declared amount, in its unit; None where there is none."""
        floor = None if self.floor is None else self.floor * amount
        return floor, None if self.ceiling == "uncapped" else self.ceiling * amount


class Band(Value):
    """A named enforcement of floors and ceilings.

    By default the memory ceiling alone moves: CPU and storage are only scheduled by their floor,
    so that a band differs from its neighbour in one thing. `swap` is swap beyond the memory
    ceiling, as a multiple of the memory spec (0: none). A band that is not `stated` names a
    configuration of imported results whose floors and ceilings nobody recorded: its numbers mean
    nothing.
    """

    name: Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9][\w.+-]*$")]
    memory: Share = Share()
    cpu: Share = Share(ceiling="uncapped")
    storage: Share = Share(floor=None, ceiling="uncapped")
    oom_scope: OomScope = "process"
    swap: Annotated[float, Field(ge=0)] = 0.0
    stated: bool = True

    @classmethod
    def shorthand(cls, text: str) -> "Band":
        """The band of "3x" (floor 1, ceiling 3) or "uncapped" (floor 1, no ceiling) of memory.

        Raises:
            DesignError: the text is neither, or a ceiling below 1x.

        >>> Band.shorthand("3x").memory
        Share(floor=1.0, ceiling=3.0)
        """
        if text == "uncapped":
            return cls(name=text, memory=Share(ceiling="uncapped"))
        match = SHORTHAND.match(text)
        if not match or float(match["times"]) < 1:
            raise DesignError(
                f"bands: {text!r} is no band; write a multiple of at least one such as '1x' or "
                "'1.5x', 'uncapped', or a [[bands]] table with memory = {floor=, ceiling=}"
            )
        return cls(name=text, memory=Share(ceiling=float(match["times"])))

    @property
    def headroom(self) -> float | None:
        """Memory ceiling over memory floor; None if uncapped or without a floor."""
        if self.memory.ceiling == "uncapped" or self.memory.floor is None:
            return None
        return self.memory.ceiling / self.memory.floor

    def limits(self, spec: Spec) -> Limits:
        """Floors and ceilings of a task under this band.

        Raises:
            DesignError: the band scales a resource that the task does not declare.
        """
        memory_floor, memory_ceiling = self._scaled("memory", self.memory, spec.memory_mib)
        cpu_floor, cpu_ceiling = self._scaled("cpu", self.cpu, spec.cpus)
        storage_floor, storage_ceiling = self._scaled("storage", self.storage, spec.storage_mib)
        return Limits(
            memory_floor_bytes=_mib(memory_floor),
            memory_ceiling_bytes=_mib(memory_ceiling),
            cpu_floor=cpu_floor,
            cpu_ceiling=cpu_ceiling,
            storage_floor_bytes=_mib(storage_floor),
            storage_ceiling_bytes=_mib(storage_ceiling),
            swap_bytes=round(self.swap * (spec.memory_mib or 0) * MIB),
            oom_scope=self.oom_scope,
        )

    def _scaled(
        self, resource: str, share: Share, declared: float | None
    ) -> tuple[float | None, float | None]:
        if declared is not None:
            return share.of(declared)
        if share.ceiling == "uncapped":
            return None, None
        raise DesignError(
            f"band {self.name}: its {resource} ceiling is a multiple of the task's spec, but the "
            f"task declares no {resource}; give [pods] default_spec, or make {resource} uncapped"
        )


def _mib(amount: float | None) -> int | None:
    return None if amount is None else round(amount * MIB)

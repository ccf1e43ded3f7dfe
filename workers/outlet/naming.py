"""What a pod's questions for names are answered with."""

from dataclasses import dataclass, field

from ...models.allow import AllowList, plain
from . import question
from .looking_up import LookUp, Unresolved
from .names import Names
from .places import PROBE_NAME, Door
from .tally import Tally

NO_SUCH = ("forbidden", "no such name")


@dataclass(slots=True)
class Naming:
    """The names that one pod may ask for. Nobody else is asked about any other."""

    allow: AllowList
    door: Door | None
    look_up: LookUp
    tally: Tally
    names: Names = field(default_factory=Names)

    def is_door(self, name: str, port: int | None = None) -> bool:
        """Whether a name, at a port or at any, is the gateway's."""
        door = self.door
        return door is not None and door.named and name == door.host and port in (None, door.port)

    async def answer(self, message: bytes) -> bytes:
        """The answer to a message; nothing to one that is no question."""
        try:
            asked = question.read(message)
        except question.Malformed:
            self.tally.unnamed("", "malformed")
            return b""
        name = plain(asked.name)
        if not self._may_ask(name):
            again = asked.type != question.AAAA
            self.tally.unnamed(name or asked.name, "forbidden", again=again)
            return question.answered(asked, code=question.NO_SUCH_NAME)
        if asked.type != question.A:
            return question.answered(asked)
        return await self._named(asked, name)

    def _may_ask(self, name: str) -> bool:
        return bool(name) and (name == PROBE_NAME or self.is_door(name) or self.allow.name(name))

    async def _named(self, asked: question.Question, name: str) -> bytes:
        try:
            if name != PROBE_NAME and not self.is_door(name):
                await self.look_up.addresses(name)
        except Unresolved as failed:
            self.tally.unnamed(name, failed.fault)
            unknown = failed.fault in NO_SUCH
            code = question.NO_SUCH_NAME if unknown else question.SERVER_FAILURE
            return question.answered(asked, code=code)
        self.tally.named(name)
        address = self.names.address(name)
        if address is None:
            return question.answered(asked, code=question.SERVER_FAILURE)
        return question.answered(asked, address)

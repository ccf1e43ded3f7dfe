"""Questions and answers of the DNS, as far as a pod needs them. Pure. Source: RFC 1035, 4.1.

One question a message, and one answer of our own making: an A record, or none.
"""

import struct
from dataclasses import dataclass
from ipaddress import IPv4Address

HEADER = struct.Struct("!6H")
A, AAAA, INTERNET = 1, 28, 1
NO_ERROR, FORMAT_ERROR, SERVER_FAILURE, NO_SUCH_NAME, NOT_IMPLEMENTED = range(5)
IS_ANSWER, OPCODE, RECURSION_ASKED, RECURSION_HAD = 0x8000, 0x7800, 0x0100, 0x0080
LONGEST_LABEL = 63
TTL_S = 60


class Malformed(ValueError):
    """No question that could be answered; nothing is, since nobody knows who would read it."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question: its id, its bytes as they are to be repeated, its name as text, its type."""

    id: int
    flags: int
    raw: bytes
    name: str
    type: int


def read(message: bytes) -> Question:
    """The question in a message.

    Raises:
        Malformed: it is none, or not one of the kind that is answered.
    """
    if len(message) < HEADER.size:
        raise Malformed("too short")
    id_, flags, questions, answers, _, _ = HEADER.unpack_from(message)
    if flags & (IS_ANSWER | OPCODE) or questions != 1 or answers:
        raise Malformed("no single question")
    labels, place = [], HEADER.size
    while True:
        length = message[place] if place < len(message) else LONGEST_LABEL + 1
        if length > LONGEST_LABEL:  # a pointer, in a question, points nowhere
            raise Malformed("a name that does not end")
        place += 1 + length
        if not length:
            break
        labels.append(message[place - length : place])
    if place + 4 > len(message):
        raise Malformed("no type")
    name = b".".join(labels).decode("ascii", errors="backslashreplace")
    kind, _ = struct.unpack_from("!HH", message, place)
    return Question(id_, flags, message[HEADER.size : place + 4], name, kind)


def answered(asked: Question, address: IPv4Address | None = None, code: int = NO_ERROR) -> bytes:
    """The answer to a question: an address, no such record (None), or an error."""
    flags = IS_ANSWER | RECURSION_HAD | asked.flags & RECURSION_ASKED | code
    head = HEADER.pack(asked.id, flags, 1, 0 if address is None else 1, 0, 0)
    if address is None:
        return head + asked.raw
    # The name is the question's, at offset 12 (section 4.1.4).
    record = struct.pack("!HHHIH", 0xC000 | HEADER.size, A, INTERNET, TTL_S, 4)
    return head + asked.raw + record + address.packed


def asking(name: str, id_: int = 1) -> bytes:
    """A question for the address of a name."""
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    head = HEADER.pack(id_, RECURSION_ASKED, 1, 0, 0, 0)
    return head + labels + b"\0" + struct.pack("!HH", A, INTERNET)


def address_in(answer: bytes) -> IPv4Address | None:
    """The address in an answer of `answered`; None where it has none."""
    answers = HEADER.unpack_from(answer)[3]
    return IPv4Address(answer[-4:]) if answers else None

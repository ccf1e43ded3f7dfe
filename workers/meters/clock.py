"""What the kernel knows of its own clock, read without asking anyone."""

import ctypes
from dataclasses import dataclass

from .procfs import Files

TIME_ERROR = 5
STA_UNSYNC = 0x0040


@dataclass(frozen=True, slots=True)
class Clock:
    """The state of the system clock.

    `synchronised`: something has disciplined it lately; None: the kernel does not say.
    `worst_error_s` is the kernel's bound of its offset, grown since the last discipline.
    """

    synchronised: bool | None
    worst_error_s: float | None
    source: str | None


class _Timex(ctypes.Structure):
    """The head of `struct timex` of adjtimex(2); the rest is padding that the kernel may fill."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 256),
    )


def read_clock(files: Files | None = None) -> Clock:
    """The clock's state by adjtimex(2) with no mode set, which only reads."""
    source = (files or Files()).text(
        "sys/devices/system/clocksource/clocksource0/current_clocksource"
    )
    state = _Timex()
    answer = ctypes.CDLL(None).adjtimex(ctypes.byref(state))
    if answer < 0:
        return Clock(None, None, source)
    synchronised = answer != TIME_ERROR and not state.status & STA_UNSYNC
    return Clock(synchronised, state.maxerror / 1e6, source)

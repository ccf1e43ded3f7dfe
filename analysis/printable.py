"""Text from outside, fit to be seen: what would steer a terminal or a page is written out."""

import re

STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""The text with control characters, and marks that reorder or hide text, written out.

    Line ends and tabs stay; C0 controls become their pictures, the rest a code such as <U+202E>.

    >>> print(printable("\x1b[31mred\x1b[0m and \u202ereversed"))
    ␛[31mred␛[0m and <U+202E>reversed
    """
    return STEERING.sub(_shown, text)


def one_line(text: str, longest: int = 0) -> str:
    """Printable, with white space collapsed; cut at `longest` characters if that is above 0."""
    flat = " ".join(printable(text).split())
    return flat if not longest or len(flat) <= longest else flat[: longest - 1] + "…"


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"

"""Numbers and lists in plain English, the same in the terminal and on the page."""

from collections.abc import Sequence

MINUS = "\N{MINUS SIGN}"
SMALL = (
    *("no", "one", "two", "three", "four", "five", "six", "seven"),
    *("eight", "nine", "ten", "eleven", "twelve"),
)


def percent(fraction: float, digits: int = 1) -> str:
    """A fraction as a percentage.

    >>> percent(0.0213)
    '2.1 %'
    """
    return f"{_plain(100 * fraction, digits)} %"


def percents(lo: float, hi: float, digits: int = 1) -> str:
    """An interval of fractions as percentages.

    >>> percents(0.0137, 0.0331)
    '1.4 to 3.3 %'
    """
    return f"{_plain(100 * lo, digits)} to {_plain(100 * hi, digits)} %"


def points(fraction: float, digits: int = 1, *, signed: bool = True) -> str:
    """A difference of fractions in points, with its sign unless told otherwise.

    >>> points(-0.0449) == MINUS + "4.5", points(0.0449)
    (True, '+4.5')
    """
    text = _plain(100 * abs(fraction), digits)
    if not signed or not text.strip("0."):
        return text
    return (MINUS if fraction < 0 else "+") + text


def p_value(p: float) -> str:
    """A p-value as one writes it: three decimals, or that it is below a thousandth.

    >>> p_value(0.0000641), p_value(0.4)
    ('p < 0.001', 'p = 0.400')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def number(count: int) -> str:
    """A count in words up to twelve, then in digits with thousands set apart.

    >>> number(3), number(12345)
    ('three', '12,345')
    """
    return SMALL[count] if 0 < count < len(SMALL) else f"{count:,}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count in digits with its noun.

    >>> counted(1, "trial"), counted(2, "policy", "policies"), counted(1200, "trial")
    ('1 trial', '2 policies', '1,200 trials')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def listed(items: Sequence[str], joint: str = "and") -> str:
    """Items as a sentence has them.

    >>> listed(["lean", "heavy", "mixed"])
    'lean, heavy and mixed'
    """
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {joint} {items[-1]}"


def size(amount_bytes: float) -> str:
    """A size with a binary unit and three digits or so.

    >>> size(44040192), size(0)
    ('42.0 MiB', '0 B')
    """
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(amount_bytes) < 1024 or unit == "TiB":
            return f"{amount_bytes:.0f} B" if unit == "B" else f"{amount_bytes:.1f} {unit}"
        amount_bytes /= 1024
    raise AssertionError("unreachable")


def duration(seconds: float) -> str:
    """A duration, to two units at most.

    >>> duration(0.042), duration(83), duration(7320)
    ('42 ms', '1 min 23 s', '2 h 2 min')
    """
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _plain(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    # A tiny negative number must not read as a negative zero.
    text = text.removeprefix("-") if not text.strip("-0.") else text
    return text.replace("-", MINUS)

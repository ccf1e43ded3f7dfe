"""Which values of variables and options are nobody's business: pure.

A value is hidden for its name or for its look. Names are read word by word, so that `max_tokens`,
`token_limit = 4096` and `keyboard` are everybody's, and `HF_TOKEN`, `apiKey` and `DB_PASSWORD` are
not; what looks like a key of a known maker is hidden whatever it is called.
"""

import re
from collections.abc import Iterable, Mapping

HIDDEN = "(hidden)"
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
SECRET = frozenset(
    {
        *("secret", "secrets", "password", "passwords", "passwd", "passphrase", "pwd", "pass"),
        *("credential", "credentials", "auth", "authorization", "cookie", "bearer"),
    }
)
"""What bears one of these words is hidden, but for yes and no."""
KEYS = frozenset({"key", "keys", "apikey", "apikeys", "token", "tokens", "authtoken"})
"""What bears one of these is hidden where it is text: a number counts tokens."""
LOOKS = re.compile(
    r"""
      \b(?:sk|pk|rk)-[\w-]{8,}                # model providers
    | \bgh[opsur]_\w{16,} | \bgithub_pat_\w+  # code hosts
    | \bhf_\w{8,} | \bxox[abp]-[\w-]+ | \bglpat-[\w-]+ | \bAKIA[A-Z0-9]{12,} | \bAIza[\w-]{20,}
    | \binr1\.[\w-]+                          # a token of our own gateway
    | \beyJ[\w-]+\.[\w-]+\.[\w-]*             # a signed web token
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY
    | \bBearer\s+\S{8,}
    | ://[^/\s:@]+:[^/\s@]+@                  # a password in a URL
    """,
    re.VERBOSE,
)


def is_secret(name: str, value: object) -> bool:
    """Whether a value must not be shown.

    >>> [is_secret("max_tokens", 8192), is_secret("MAX_TOKENS", "8192"), is_secret("HF_TOKEN", "x")]
    [False, False, True]
    """
    if isinstance(value, bool) or value is None or value == "":
        return False
    words = {word.lower() for word in WORD.findall(name)}
    if words & SECRET:
        return True
    text = value if isinstance(value, str) else ""
    return bool(words & KEYS and text and not _counts(text)) or bool(LOOKS.search(text))


def without_secrets[T](values: Mapping[str, T]) -> dict[str, T | str]:
    """The values by name, those that are secret hidden."""
    return {name: HIDDEN if is_secret(name, value) else value for name, value in values.items()}


def words_without_secrets(words: Iterable[str]) -> tuple[str, ...]:
    """A command line's words, those that look like keys hidden."""
    return tuple(HIDDEN if LOOKS.search(word) else word for word in words)


def _counts(text: str) -> bool:
    """A number of tokens, not a token of digits."""
    return text.isdecimal() and len(text) < 10

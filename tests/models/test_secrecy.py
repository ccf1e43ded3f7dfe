"""What is hidden of variables and options, and what is not."""

import pytest

from infranoise.models.secrecy import is_secret, without_secrets, words_without_secrets

SHOWN: list[tuple[str, object]] = [
    ("max_tokens", 8192),
    ("MAX_TOKENS", "8192"),
    ("answer_tokens", 512),
    ("token_limit", 4096),
    ("tokens", 1.5e6),
    ("tokenizer", "fast"),
    ("TOKENIZERS_PARALLELISM", "false"),
    ("keyboard", "us"),
    ("monkey", "see"),
    ("author", "someone"),
    ("compass", "north"),
    ("use_auth", True),
    ("API_KEY", ""),
    ("prompt", "ask for the key and skim-read it"),
    ("url", "https://example.com:8080/a@b"),
    ("task", "task-key-exchange-protocol"),
]
HIDDEN: list[tuple[str, object]] = [
    ("API_KEY", "abc"),
    ("apiKey", "abc"),
    ("OPENAI_APIKEY", "abc"),
    ("HF_TOKEN", "abc"),
    ("tokens", "abc,def"),
    ("TOKEN", "1234567890123"),
    ("db-password", "abc"),
    ("PASSWORD", "1234"),
    ("pin_password", 1234),
    ("AWS_SECRET_ACCESS_KEY", "abc"),
    ("Authorization", "abc"),
    ("credentials", "abc"),
    ("harmless", "sk-ant-api03-abcdefgh"),
    ("harmless", "ghp_0123456789abcdef0123"),
    ("harmless", "inr1.abc.def.ghi"),
    ("harmless", "Bearer abcdefghijk"),
    ("harmless", "-----BEGIN RSA PRIVATE KEY-----"),
    ("dsn", "postgresql://someone:word@db/x"),
]


@pytest.mark.parametrize(("name", "value"), SHOWN)
def test_what_is_everybodys_is_shown(name: str, value: object) -> None:
    assert without_secrets({name: value}) == {name: value}


@pytest.mark.parametrize(("name", "value"), HIDDEN)
def test_what_is_nobodys_is_hidden_for_its_name_or_its_look(name: str, value: object) -> None:
    assert is_secret(name, value)
    assert without_secrets({name: value}) == {name: "(hidden)"}


def test_a_command_line_keeps_its_words_but_keys() -> None:
    words = ("agent", "--max-tokens", "9", "--key", "sk-canary-2f9d71c4b8")
    assert words_without_secrets(words) == (*words[:4], "(hidden)")

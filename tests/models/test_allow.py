"""What an allow-list lets, and how it is written."""

from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.models.allow import AllowList, allowed, plain
from infranoise.models.errors import DesignError
from infranoise.models.experiment_file import parse_experiment

LIST = AllowList.of(
    ("site.test", "*.below.test:8443", "Data.Test.:5432", "192.0.2.0/24", "198.51.100.7:25")
)
NAMES = {
    ("site.test", 443): True,
    ("site.test", 80): True,
    ("site.test", 8080): False,
    ("site.test", None): True,
    ("www.site.test", 443): False,
    ("evilsite.test", 443): False,
    ("site.test.evil.test", 443): False,
    ("a.below.test", 8443): True,
    ("a.b.below.test", 8443): True,
    ("below.test", 8443): False,
    ("a.below.test", 443): False,
    ("data.test", 5432): True,
    ("", 443): False,
}
WRONG = {
    "https://site.test": "without https://",
    "site.test/path": "is no host",
    "*": "allows everything",
    "*.": "allows everything",
    "a.*.test": "is no host",
    "site..test": "is no host",
    "site.test:http": "from 1 to 65535",
    "site.test:0": "from 1 to 65535",
    "site.test:70000": "from 1 to 65535",
    "localhost": "the pod itself",
    "db.localhost": "the pod itself",
    "127.0.0.1": "the pod's own loopback",
    "0.0.0.0/0": "holds 0.0.0.0/8",
    "169.254.169.254": "credentials",
    "198.18.0.0/24": "the link of pods",
    "192.0.2.1/24": "has host bits set",
    "192.0.2.300": "192.0.2.300",
    "2001:db8::1": "IPv4 alone",
    "[2001:db8::1]:443": "IPv4 alone",
    "": "is no host",
    "münchen.test": "is no host",
}


@pytest.mark.parametrize(("name", "port"), NAMES)
def test_a_name_is_allowed_at_its_ports_alone(name: str, port: int | None) -> None:
    assert LIST.name(name, port) is NAMES[name, port]


@pytest.mark.parametrize(
    ("address", "port", "may"),
    [
        ("192.0.2.200", 443, True),
        ("192.0.2.200", 22, False),
        ("192.0.3.1", 443, False),
        ("198.51.100.7", 25, True),
        ("198.51.100.7", None, True),
        ("198.51.100.8", 25, False),
    ],
)
def test_an_address_is_allowed_as_such(address: str, port: int | None, may: bool) -> None:
    assert LIST.address(IPv4Address(address), port) is may


def test_a_list_knows_its_ports_and_networks() -> None:
    assert LIST.ports == (25, 80, 443, 5432, 8443)
    assert [str(network) for network in LIST.networks] == ["192.0.2.0/24", "198.51.100.7/32"]


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_be_meant_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match=r".") as refusal:
        allowed(text)
    assert WRONG[text] in str(refusal.value)


def test_a_list_that_nobody_could_watch_over_is_refused() -> None:
    with pytest.raises(ValueError, match="33 different ports; at most"):
        AllowList.of(f"site.test:{port}" for port in range(1, 34))


@given(st.text(max_size=300))
def test_a_plain_name_stays_as_it_is_and_has_nothing_but_a_name_s_letters(text: str) -> None:
    name = plain(text)
    assert plain(name) == name
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789-_.")
    assert ".." not in name


@pytest.mark.parametrize(
    ("pods", "words"),
    [
        ('network = "public"\nallow = ["site.test"]', 'set network = "gateway"'),
        ('network = "gateway"\nallow = ["*"]', 'that is network = "public"'),
        ('network = "gatway"', "gateway"),
        ('network = "gateway"\nallowed = ["site.test"]', "did you mean 'allow'"),
    ],
)
def test_a_file_says_what_is_wrong_with_its_network(pods: str, words: str) -> None:
    with pytest.raises(DesignError) as refusal:
        parse_experiment(f'tasks = ["any"]\n[pods]\n{pods}\n', where="x.toml", default_name="x")
    assert words in str(refusal.value)

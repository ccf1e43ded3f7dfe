import pytest

from infranoise.models.env_template import expanded

ENVIRON = {"SET": "value", "EMPTY": ""}
CASES = {
    "a literal stays": ({"A": "plain"}, {"A": "plain"}, ()),
    "a set variable fills in": ({"A": "${SET}"}, {"A": "value"}, ()),
    "a set variable beats its default": ({"A": "${SET:-other}"}, {"A": "value"}, ()),
    "an empty variable is set": ({"A": "${EMPTY:-other}"}, {"A": ""}, ()),
    "a default stands in": ({"A": "${UNSET:-other}"}, {"A": "other"}, ()),
    "a default may be empty": ({"A": "${UNSET:-}"}, {"A": ""}, ()),
    "a default may hold anything": ({"A": "${UNSET:-http://h:1/{x}}"}, {"A": "http://h:1/{x}"}, ()),
    "nothing fills it": ({"A": "${UNSET}"}, {}, ("UNSET",)),
    "named once": ({"A": "${UNSET}", "B": "${UNSET}"}, {}, ("UNSET",)),
    "a template inside a longer text is literal": ({"A": "n=${SET}"}, {"A": "n=${SET}"}, ()),
    "a bare dollar is literal": ({"A": "$SET"}, {"A": "$SET"}, ()),
}


@pytest.mark.parametrize(("table", "filled", "unresolved"), CASES.values(), ids=CASES)
def test_templates(
    table: dict[str, str], filled: dict[str, str], unresolved: tuple[str, ...]
) -> None:
    assert expanded(table, ENVIRON) == (filled, unresolved)

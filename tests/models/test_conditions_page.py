"""The page on conditions tells every warning there is, and none that is not."""

import re
from pathlib import Path

from infranoise.models.validity import WARNINGS

PAGE = Path(__file__).parents[2] / "docs" / "conditions.md"


def test_every_warning_stands_on_the_page_once() -> None:
    chapter = PAGE.read_text(encoding="utf-8").partition("\n## Warnings")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", chapter, re.MULTILINE) == list(WARNINGS)

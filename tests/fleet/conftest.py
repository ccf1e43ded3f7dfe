"""A fleet of one's own for each file of tests."""

from collections.abc import Iterator

import pytest
from own_fleet import Fleet

from infranoise.scheduler.broker import embedded


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """An empty fleet."""
    with embedded() as broker:
        made = Fleet(tmp_path_factory.mktemp("fleet"), broker)
        try:
            yield made
        finally:
            made.end()

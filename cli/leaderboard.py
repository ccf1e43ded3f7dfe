"""`leaderboard`: tie groups instead of ranks."""

import json
from collections.abc import Sequence

from rich.console import Console

from ..analysis.json_values import json_value
from ..analysis.leaderboard import leaderboard
from ..analysis.render.leaderboard_text import leaderboard_text
from ..models.errors import DesignError
from .noise import distinct_sources, noise_of
from .sides import sides_of

FORMAT = "infranoise.leaderboard/1"


def show_leaderboard(sources: Sequence[str], *, noise_from: str | None, as_json: bool) -> int:
    """Print the leaderboard of all entries of these results; returns the exit code.

    Raises:
        DesignError: results are named twice, or have fewer than two entries together.
    """
    if twice := [source for source in sources if sources.count(source) > 1]:
        raise DesignError(f"{twice[0]}: is named twice; its trials would count twice")
    read = sides_of(sources)
    noise = noise_of(noise_from, [study for _, study in read])
    found = leaderboard([side for side, _ in read], noise=noise)
    imported = distinct_sources(side for side, _ in read)
    if as_json:
        plain = json_value(found)
        assert isinstance(plain, dict)
        lacks = json_value([{"path": s.path, "unrecorded": s.unrecorded} for s in imported])
        print(json.dumps({"format": FORMAT, "unrecorded": lacks, **plain}, indent=1))
    else:
        Console().print(leaderboard_text(found, imported))
    return 0

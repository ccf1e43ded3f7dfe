"""What each bundled task gives for right, wrong, missing and unreadable answers."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ANSWERS = {
    "ledger-roll": "balances.json",
    "crate-unpack": "shelves.txt",
    "prime-gap": "gap.txt",
    "twin-strands": "length.txt",
    "order-join": "regions.txt",
    "shelf-order": "shelf.tsv",
    "twin-blobs": "twins.txt",
    "river-graph": "hops.txt",
    "mosaic": "mosaic.txt",
    "hot-clients": "clients.txt",
    "second-wind": "visitors.txt",
    "stern-judge": "numbered.txt",
    "fine-print": "total.txt",
}
FRACTIONAL = {
    *("ledger-roll", "crate-unpack", "order-join", "twin-blobs", "mosaic", "hot-clients"),
    *("second-wind", "stern-judge"),
}
UNREADABLE = {
    "binary": b"\xff\xfe\x00",
    "empty": b"",
    "words": b"no idea, sorry\n",
    "far too long": b"1 1\n" * 6_000_000,
    "deeply nested": b"[" * 50_000,
}


def other_last_digit(answer: str) -> str:
    """The answer with its last digit changed: the smallest mistake."""
    return re.sub(r"\d(?=\D*\Z)", lambda digit: str((int(digit[0]) + 1) % 10), answer)


@pytest.mark.parametrize("place", ANSWERS, indirect=True)
def test_the_solution_scores_1_and_one_wrong_digit_costs_all_or_a_share(place: Any) -> None:
    assert place.solve() == 0
    assert place.reward() == 1.0
    answer = place.root / "app" / ANSWERS[place.task.name]
    answer.write_text(other_last_digit(answer.read_text()))
    reward = place.reward()
    assert 0 < reward < 1 if place.task.name in FRACTIONAL else reward == 0


@pytest.mark.parametrize("place", [*ANSWERS, "prompt-start"], indirect=True)
def test_no_answer_scores_0(place: Any) -> None:
    assert place.reward() == 0.0


@pytest.mark.parametrize("place", ["ledger-roll", "river-graph"], indirect=True)
@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_scores_0_and_is_no_fault_of_the_verifier(
    place: Any, content: bytes
) -> None:
    (place.root / "app" / ANSWERS[place.task.name]).write_bytes(content)
    assert place.reward() == 0.0


@pytest.mark.parametrize("place", ["prime-gap"], indirect=True)
def test_an_answer_that_is_no_plain_file_scores_0(place: Any) -> None:
    (place.root / "app" / "gap.txt").symlink_to("/dev/zero")
    assert place.reward() == 0.0


@pytest.mark.parametrize("place", ["prime-gap"], indirect=True)
@pytest.mark.parametrize(
    "pair", ["2 3", "3 2", "1357201 1357333", "4 8", "2010733 9999991", "2 2500009"]
)
def test_a_pair_of_primes_that_is_not_the_widest_scores_0(place: Any, pair: str) -> None:
    """1357201 begins the widest gap below 2,010,733, where a wider one begins (OEIS A002386)."""
    (place.root / "app" / "gap.txt").write_text(pair)
    assert place.reward() == 0.0


@pytest.mark.parametrize("place", ["prime-gap"], indirect=True)
def test_the_published_gap_scores_1(place: Any) -> None:
    """The widest gap below 4,652,353 has 148 numbers and begins at 2,010,733 (OEIS A002386)."""
    (place.root / "app" / "gap.txt").write_text("2010733 2010881")
    assert place.reward() == 1.0


@pytest.mark.parametrize("place", ["crate-unpack"], indirect=True)
def test_inputs_that_were_changed_score_0(place: Any) -> None:
    crates = place.root / "app" / "crates.tsv.gz"
    crates.write_bytes(crates.read_bytes()[:50_000])
    (place.root / "app" / "shelves.txt").write_text("S001 0\n")
    assert place.reward() == 0.0


@pytest.mark.parametrize("program", ["till.py", "heavy_till.py"])
def test_both_tills_know_the_takings(
    program: str, bundled_tasks: dict[str, Path], tmp_path: Path
) -> None:
    """Without the clock: that they are in time is a matter of the CPU band."""
    (tmp_path / "sales.tsv").write_text("A1\t3\t250\nA2\t1\t5\n")
    script = bundled_tasks["prompt-start"] / "policies" / program
    done = subprocess.run(
        [sys.executable, script, tmp_path / "sales.tsv"], capture_output=True, check=True
    )
    assert done.stdout.split() == [b"755"]

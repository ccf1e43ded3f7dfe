"""The two opening sentences: right numbers, right grammar, nothing claimed that is not shown."""

from collections.abc import Sequence

import pytest

from infranoise.analysis.bands import bands
from infranoise.analysis.cells import Cells
from infranoise.analysis.opening import opening
from infranoise.analysis.story import Story
from infranoise.analysis.words import MINUS

TASKS = 20


def told(
    counts: dict[str, tuple[int, int, int]],
    entries: Sequence[str] = ("gpt",),
    policies: Sequence[str] = (),
    planned: int | None = None,
    oom_killed: dict[str, int] | None = None,
) -> tuple[str, str]:
    """Sentences on bands of (n, passed, infra errors), spread over tasks as evenly as they go."""
    order = list(counts)
    rows = [
        (f"t{k}", band, _part(n, k), _part(passed, k), _part(infra, TASKS - 1 - k))
        for band, (n, passed, infra) in counts.items()
        for k in range(TASKS)
    ]
    cells = Cells.of_counts(
        {"task": [r[0] for r in rows], "band": [r[1] for r in rows], "entry": ["e"] * len(rows)},
        n=[r[2] for r in rows],
        passed=[r[3] for r in rows],
        infra=[r[4] for r in rows],
        levels={"band": order},
    )
    return opening(Story(bands(cells), order[0], entries, policies, planned, oom_killed))


def _part(total: int, k: int) -> int:
    return total // TASKS + (k < total % TASKS)


ERRORS = {
    "two bands are compared with their Wilson intervals": (
        {"1x": (200, 80, 20), "3x": (200, 90, 4)},
        {},
        "Infrastructure, not the agent, ended 20 of 200 trials (10.0 %, 95 % interval 6.6 to "
        "14.9 %) in 1x and 4 of 200 trials (2.0 %, 95 % interval 0.8 to 5.0 %) in 3x.",
    ),
    "none is a word": (
        {"1x": (200, 80, 20), "uncapped": (200, 90, 0)},
        {"oom_killed": {"1x": 20, "uncapped": 0}},
        "Infrastructure, not the agent, ended 20 of 200 trials (10.0 %, 95 % interval 6.6 to "
        "14.9 %) in 1x and none of 200 trials (0.0 %, 95 % interval 0.0 to 1.9 %) in uncapped; "
        "all 20 such errors were out-of-memory kills.",
    ),
    "kills are counted over all bands": (
        {"1x": (20, 8, 9), "2x": (20, 8, 2), "3x": (20, 9, 0)},
        {"oom_killed": {"1x": 9, "2x": 1, "3x": 0}},
        "Infrastructure, not the agent, ended 9 of 20 trials (45.0 %, 95 % interval 25.8 to "
        "65.8 %) in 1x and none of 20 trials (0.0 %, 95 % interval 0.0 to 16.1 %) in 3x; over all "
        "three bands, 10 of the 11 such errors were out-of-memory kills.",
    ),
    "a policy is not an agent": (
        {"1x": (20, 8, 1), "3x": (20, 9, 0)},
        {"entries": ["lean"], "policies": ["lean"], "oom_killed": {"1x": 0, "3x": 0}},
        "Infrastructure, not the policy, ended 1 of 20 trials (5.0 %, 95 % interval 0.9 to 23.6 %)"
        " in 1x and none of 20 trials (0.0 %, 95 % interval 0.0 to 16.1 %) in 3x; it was no "
        "out-of-memory kill.",
    ),
    "no infra error at all": (
        {"1x": (100, 40, 0), "2x": (100, 40, 0), "3x": (100, 40, 0)},
        {},
        "None of the 300 trials ended in an infrastructure error, in any of the three bands.",
    ),
    "no infra error in the only band": (
        {"1x": (100, 40, 0)},
        {},
        "None of the 100 trials ended in an infrastructure error, in 1x, the only band run "
        "(0.0 %, 95 % interval 0.0 to 3.7 %).",
    ),
    "nothing but infra errors": (
        {"1x": (100, 0, 100), "3x": (100, 0, 100)},
        {"oom_killed": {"1x": 100, "3x": 99}},
        "All 200 trials ended in an infrastructure error, in either band; 199 of the 200 such "
        "errors were out-of-memory kills.",
    ),
    "one band": (
        {"1x": (100, 40, 1)},
        {"oom_killed": {"1x": 1}},
        "Infrastructure, not the agent, ended 1 of 100 trials (1.0 %, 95 % interval 0.2 to 5.4 %) "
        "in 1x, the only band run; it was an out-of-memory kill.",
    ),
    "not finished": (
        {"1x": (20, 8, 1), "3x": (20, 9, 0)},
        {"planned": 400},
        "So far, with 40 of 400 trials ended, infrastructure, not the agent, ended 1 of 20 trials "
        "(5.0 %, 95 % interval 0.9 to 23.6 %) in 1x and none of 20 trials (0.0 %, 95 % interval "
        "0.0 to 16.1 %) in 3x.",
    ),
    "nothing finished": (
        {"1x": (0, 0, 0), "3x": (0, 0, 0)},
        {"planned": 360},
        "None of the 360 planned trials has an outcome yet.",
    ),
    "one planned": (
        {"1x": (0, 0, 0)},
        {"planned": 1},
        "The one planned trial has no outcome yet.",
    ),
    "nothing planned": ({"1x": (0, 0, 0)}, {}, "There are no trials."),
}


@pytest.mark.parametrize(("counts", "more", "expected"), ERRORS.values(), ids=list(ERRORS))
def test_the_sentence_on_infra_errors(counts: dict, more: dict, expected: str) -> None:  # type: ignore[type-arg]
    assert told(counts, **more)[0] == expected


SCORES = {
    "a lift with both intervals": (
        {"1x": (200, 80, 20), "3x": (200, 110, 4)},
        {},
        "From 1x to 3x the score of gpt rose by 15.0 points, from 40.0 % to 55.0 % (95 % interval "
        "+4.8 to +25.2 on the same tasks and +12.6 to +17.4 on new tasks).",
    ),
    "a fall": (
        {"1x": (200, 110, 0), "3x": (200, 80, 0)},
        {"entries": ["a", "b"]},
        "From 1x to 3x the score of the two entries a and b fell by 15.0 points, from 55.0 % to "
        f"40.0 % (95 % interval {MINUS}25.2 to {MINUS}4.8 on the same tasks and {MINUS}17.4 to "
        f"{MINUS}12.6 on new tasks).",
    ),
    "a lift that is not shown is not called equal": (
        {"1x": (200, 80, 20), "3x": (200, 84, 4)},
        {},
        "From 1x to 3x the score of gpt moved by +2.0 points, from 40.0 % to 42.0 %, which these "
        f"trials do not tell from no change (95 % interval {MINUS}8.1 to +12.1 on the same tasks "
        "and +0.1 to +3.9 on new tasks); equality is shown only within 10.5 points.",
    ),
    "policies are scripts, not models": (
        {"1x": (200, 80, 20), "3x": (200, 110, 4)},
        {"entries": ["lean", "heavy", "gpt"], "policies": ["lean", "heavy"]},
        "From 1x to 3x the score of the three entries lean, heavy and gpt (lean and heavy are "
        "policies, not models) rose by 15.0 points, from 40.0 % to 55.0 % (95 % interval +4.8 to "
        "+25.2 on the same tasks and +12.6 to +17.4 on new tasks).",
    ),
    "nothing but infra errors": (
        {"1x": (100, 0, 100), "3x": (100, 0, 100)},
        {},
        "So there is no score: counted as failures these trials make 0.0 %, left out they leave "
        "nothing, and the bounds are 0.0 to 100.0 %.",
    ),
    "one band": (
        {"1x": (100, 40, 20)},
        {"entries": ["lean"], "policies": ["lean"]},
        "The score of the policy lean (a script, no model) in 1x is 40.0 % with infrastructure "
        "errors as failures, 50.0 % without them, and between 40.0 % and 60.0 % whatever they hid; "
        "one band tells nothing of what headroom is worth.",
    ),
    "one band without infra errors": (
        {"1x": (100, 40, 0)},
        {},
        "The score of gpt in 1x is 40.0 %; one band tells nothing of what headroom is worth.",
    ),
    "nothing finished": (
        {"1x": (0, 0, 0), "3x": (0, 0, 0)},
        {"planned": 360},
        "No score can be told before a trial ends.",
    ),
    "only the wide band has outcomes": (
        {"1x": (0, 0, 0), "3x": (100, 40, 0)},
        {"planned": 360},
        "The score of gpt in 3x is 40.0 %; one band tells nothing of what headroom is worth.",
    ),
}


@pytest.mark.parametrize(("counts", "more", "expected"), SCORES.values(), ids=list(SCORES))
def test_the_sentence_on_the_score(counts: dict, more: dict, expected: str) -> None:  # type: ignore[type-arg]
    assert told(counts, **more)[1] == expected


def test_no_movement_is_told_with_the_margin_that_is_shown() -> None:
    _, score = told({"1x": (20_000, 8_000, 20), "3x": (20_000, 8_000, 4)})
    assert score.startswith("From 1x to 3x the score of gpt did not move from 40.0 % (95 %")
    assert score.endswith("; it is shown to be equal within 3.0 points.")


def test_repeats_that_all_end_alike_are_said_to_give_no_interval_on_the_same_tasks() -> None:
    cells = Cells.of_counts(
        {"task": ["a", "b"] * 2, "band": ["1x"] * 2 + ["3x"] * 2, "entry": ["e"] * 4},
        n=[2] * 4,
        passed=[0, 2, 2, 2],
    )
    _, score = opening(Story(bands(cells), "1x", ["e"]))
    assert "rose by 50.0 points" in score
    assert "on new tasks; on the same tasks every repeat ended alike)" in score


def test_bands_that_share_no_task_are_not_compared() -> None:
    cells = Cells.of_counts(
        {"task": ["a", "b"], "band": ["1x", "3x"], "entry": ["e"] * 2}, n=[9, 9], passed=[3, 6]
    )
    _, score = opening(Story(bands(cells), "1x", ["e"]))
    assert score.endswith("no task and entry was run in both, so the two cannot be compared.")


@pytest.mark.parametrize("counts", [c for c, _, _ in (*ERRORS.values(), *SCORES.values())])
def test_nothing_is_ever_called_noise(counts: dict[str, tuple[int, int, int]]) -> None:
    assert "noise" not in " ".join(told(counts))

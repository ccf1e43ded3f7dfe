"""Tie groups: what a leaderboard can say instead of ranks."""

from collections.abc import Iterable, Sequence


def tie_groups(
    ranked: Sequence[str], apart: Iterable[tuple[str, str]]
) -> tuple[tuple[str, ...], ...]:
    """Largest sets of entries of which no two are told apart, best first.

    An entry can be in several groups: a tied with b and b with c does not tie a with c.

    Args:
        ranked: entries, best first.
        apart: pairs that are told apart, in either order.
    Source: insert-and-absorb, Piepho (2004), J Comput Graph Stat 13:456-466.

    >>> tie_groups(["a", "b", "c"], [("a", "c")])
    (('a', 'b'), ('b', 'c'))
    """
    groups = [frozenset(ranked)]
    for first, second in apart:
        split = [g for g in groups if first in g and second in g]
        halves = [g - {one} for g in split for one in (first, second)]
        groups = _largest([g for g in groups if g not in split] + halves)
    place = {entry: k for k, entry in enumerate(ranked)}
    listed = (tuple(sorted(group, key=place.__getitem__)) for group in groups if group)
    return tuple(sorted(listed, key=lambda group: [place[entry] for entry in group]))


def _largest(groups: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    distinct = list(dict.fromkeys(groups))
    return [g for g in distinct if not any(g < other for other in distinct)]

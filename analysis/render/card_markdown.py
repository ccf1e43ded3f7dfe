"""The infra card as Markdown, to be published beside a score."""

from collections.abc import Iterable, Iterator, Sequence

from ...models.card import ApiCard, BandCard, Card, NodeCard, ShareCard, SpreadCard
from ..card_check import lacks
from ..printable import one_line
from ..words import counted, duration, percent, percents, size

UNSTATED = "*unstated*"


def card_markdown(card: Card) -> str:
    """The card as a document; what nobody recorded says so."""
    return "\n".join(_lines(card)) + "\n"


def _lines(card: Card) -> Iterator[str]:
    yield f"# Infra card: {_text(card.experiment)}"
    yield ""
    yield (
        f"{counted(card.trials_ended, 'trial')} of {card.trials_planned:,} planned have an "
        f"outcome, from {counted(card.attempts, 'attempt')}; "
        f"{counted(len(card.tasks), 'task')}, {counted(len(card.entries), 'entry', 'entries')}, "
        f"{_or(card.samples, '{:,} samples each')}."
    )
    for source in card.sources:
        yield ""
        yield (
            f"**Imported** from {_text(source.kind)} ({_text(source.harness)}), content "
            f"`{source.content_hash[:16]}`, read by version {source.modes_version} of the rules"
            f"{' and rules of its reader' if source.overrides else ''}."
        )
    yield from _resources(card.bands)
    yield from _table("Configuration", ("what", "value"), _configuration(card))
    yield from _table("Nodes", ("machine", "nodes", "trials"), map(_node, card.nodes))
    yield from _table(
        "Infra errors",
        ("band", "trials", "infra errors", "rate", "95 %", "without killed children", "causes"),
        (
            (
                row.band, f"{row.trials:,}", f"{row.infra_errors:,}", percent(row.rate),
                percents(*row.interval), percent(row.rate_without_collateral),
                ", ".join(f"{cause} {n}" for cause, n in row.causes.items()) or "none",
            )
            for row in card.infra_errors
        ),
    )  # fmt: skip
    yield from _table(
        "Clocks",
        ("part", "attempts", "median", "90 %", "longest"),
        (
            (
                row.part.removesuffix("_s"), f"{row.n:,}", duration(row.median_s),
                duration(row.p90_s), duration(row.longest_s),
            )
            for row in card.clocks
        ),
    )  # fmt: skip
    yield from _unstated(card)


def _resources(bands: Sequence[BandCard]) -> Iterator[str]:
    yield from _table(
        "Resources, as multiples of each task's spec",
        ("band", "memory", "cpu", "storage", "OOM scope", "swap"),
        (
            (
                band.name, _share(band.memory), _share(band.cpu), _share(band.storage),
                _or(band.oom_scope), _or(band.swap, "{:g}x"),
            )
            for band in bands
        ),
    )  # fmt: skip


def _configuration(card: Card) -> Iterator[tuple[str, str]]:
    yield "entries", _list(entry.name for entry in card.entries)
    yield "enforcement", _list(card.enforcement)
    unmet = _list(card.limits_not_in_force) if card.limits_not_in_force else "none"
    yield "limits not in force", UNSTATED if card.sources else unmet
    yield "runtime", _list(card.runtime)
    yield "trials at once, declared", _list(card.concurrency)
    yield "other trials at the peak, in force", _spread(card.concurrency_in_force)
    yield "egress", _list(card.egress)
    yield "received, sent", f"{_bytes(card.received_bytes)}, {_bytes(card.sent_bytes)}"
    yield "time limit, times each task's own", _list(card.time_limits)
    yield "agent's time limit", _list(card.agent_time_limits)
    yield from _model_api(card.model_api)
    yield "attempts per trial, at most", _or(card.attempts_per_trial_at_most)
    yield "left out", _list(card.excluded) if card.excluded else "nothing"
    yield "dates", _or(card.dates)
    yield "harness", _list(card.harness)
    yield "agent versions", _list(card.agent_versions)
    yield "rules of outcomes", f"version {card.outcome_rules}, infranoise {card.infranoise}"
    yield "seed", _or(card.seed)
    yield "fingerprint", _or(card.fingerprint)


def _model_api(api: ApiCard | None) -> Iterator[tuple[str, str]]:
    if api is None:
        return
    counts = "takes the agent's time"
    if api.api_wait == "excluded":
        counts = f"is left out of the agent's time, up to {api.longest_api_wait_s:g} s"
    yield "waiting for the model's API", counts
    yield "model API, first byte", f"p50 {_s(api.first_byte_p50_s)}, p95 {_s(api.first_byte_p95_s)}"
    yield "model API, whole answer", f"p50 {_s(api.total_p50_s)}, p95 {_s(api.total_p95_s)}"
    yield (
        "model API, calls",
        f"{api.calls:,}; {api.failed:,} failed, {api.rate_limited:,} with 429, "
        f"{api.server_errors:,} with 5xx, {api.cut:,} cut",
    )
    if api.wait_share is not None:
        yield "share of agents' time that was waiting", percent(api.wait_share)
    if api.cost_usd is not None:
        yield "model API, cost", f"{api.cost_usd:.2f} USD"


def _s(seconds: float | None) -> str:
    return UNSTATED if seconds is None else f"{seconds:.2f} s"


def _unstated(card: Card) -> Iterator[str]:
    yield ""
    yield "## Unstated"
    yield ""
    found = lacks(card)
    if not found:
        yield "Nothing."
    for lack in found:
        yield f"- **{_text(lack.what)}**: {_text(lack.why)}"


def _node(kind: NodeCard) -> tuple[str, str, str]:
    profile = kind.profile
    if profile is None:
        return UNSTATED, f"{kind.nodes:,}", f"{kind.trials:,}"
    told = (
        profile.cpu_model,
        profile.cpu_threads and f"{profile.cpu_threads} threads",
        profile.memory_bytes and size(profile.memory_bytes),
        f"kernel {profile.kernel}",
        profile.cgroup_version and f"cgroup v{profile.cgroup_version}",
        profile.virtualisation,
        *(f"{name} {version}" for name, version in profile.runtimes.items()),
    )
    return ", ".join(str(part) for part in told if part), f"{kind.nodes:,}", f"{kind.trials:,}"


def _table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    made = [tuple(map(_text, row)) for row in rows]
    if not made:
        yield UNSTATED
        return
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    yield from (f"| {' | '.join(row)} |" for row in made)


def _text(text: str) -> str:
    """Text from outside on one line, without meaning in Markdown's tables or HTML."""
    flat = one_line(text)
    return flat.replace("|", "\\|").replace("<", "&lt;")


def _or(value: object, form: str = "{}") -> str:
    return UNSTATED if value is None else form.format(value)


def _list(values: Iterable[str]) -> str:
    return "; ".join(values) or UNSTATED


def _spread(spread: SpreadCard | None) -> str:
    if spread is None:
        return UNSTATED
    return f"{spread.low:g} to {spread.high:g}, median {spread.median:g}"


def _bytes(amount: int | None) -> str:
    return UNSTATED if amount is None else size(amount)


def _share(share: ShareCard | None) -> str:
    if share is None:
        return UNSTATED
    floor = "none" if share.floor is None else f"{share.floor:g}x"
    top = share.ceiling if share.ceiling == "uncapped" else f"{share.ceiling:g}x"
    return f"{floor} to {top}"

"""The chapters on the run: nodes and conditions, clocks, configuration, versions."""

import json
from collections.abc import Iterator

from ..clocks import Cost
from ..run_facts import RunFacts
from ..surroundings import Node, Reading
from ..words import counted, duration, listed, percent, percents, size
from .chapter import ABSENT, Cell, Chapter, Table, table

MOST_DEVIATIONS = 30


def conditions_chapter(run: RunFacts) -> Chapter:
    """Nodes, enforcement, limits that were not in force, load, neighbours."""
    return Chapter(
        anchor="conditions",
        title="Nodes and conditions",
        lead=_conditions_lead(run),
        tables=tuple(_conditions_tables(run)),
    )


def clocks_chapter(run: RunFacts) -> Chapter:
    """How long the parts of an attempt took, and what the run cost."""
    return Chapter(
        anchor="clocks",
        title="Clocks and cost",
        lead=_cost_lead(run.cost),
        tables=(
            table(
                "Durations of the parts of an attempt; a time limit binds the agent's alone",
                ("part", "attempts", "median", "90th percentile", "longest", "total"),
                [
                    (
                        clock.part.removesuffix("_s"),
                        f"{clock.n:,}",
                        duration(clock.median_s),
                        duration(clock.p90_s),
                        duration(clock.longest_s),
                        duration(clock.total_s),
                    )
                    for clock in run.clocks
                ],
            ),
        )
        if run.clocks
        else (),
    )


def configuration_chapter(run: RunFacts) -> Chapter:
    """The experiment as it was resolved, every default written out, and what was left out."""
    document = json.dumps(run.experiment.model_dump(mode="json"), indent=2, ensure_ascii=False)
    left_out = [f"Left out: {reason}" for reason in run.left_out]
    return Chapter(
        anchor="configuration",
        title="Exact configuration",
        lead=(
            f"{run.ended:,} of {counted(run.planned, 'planned trial')} have an outcome, from "
            f"{counted(run.attempts, 'attempt')}; seed {run.experiment.seed}, at most "
            f"{counted(run.experiment.run.max_attempts, 'attempt')} per trial."
        ),
        notes=tuple(left_out),
        listing=document,
    )


def versions_chapter(run: RunFacts) -> Chapter:
    """By what the numbers were made."""
    versions = run.versions
    rows = [
        ("infranoise (this page)", versions.infranoise),
        ("workers", listed(versions.workers) or ABSENT),
        ("rules of the outcome table", f"version {versions.rules}"),
        ("experiment fingerprint", versions.fingerprint),
        ("different images", f"{versions.images:,}"),
    ]
    happened = [(kind, f"{count:,}") for kind, count in run.happened.items()]
    tables = [
        table("Versions", ("what", "value"), rows, words=(1,)),
        table(
            "Contents of the tasks",
            ("task", "content hash"),
            [(Cell(name, "name"), digest) for name, digest in versions.tasks.items()],
            words=(1,),
            folded=True,
        ),
    ]
    if happened:
        tables.append(table("What happened to the run", ("event", "times"), happened))
    return Chapter(
        anchor="versions",
        title="Versions and hashes",
        lead=(
            "The outcome of every attempt is a pure function of its stored evidence, under version "
            f"{versions.rules} of the rules."
        ),
        tables=tuple(tables),
    )


def _conditions_lead(run: RunFacts) -> str:
    if not run.nodes:
        return "No attempt has come home from a node yet."
    hows = [s.level for s in run.settings if s.setting == "enforcement"]
    kinds = len(run.deviations)
    differs = (
        f"{counted(kinds, 'kind')} of requested limit {'was' if kinds == 1 else 'were'} not in "
        "force as asked"
        if kinds
        else "every requested limit was in force"
    )
    how = f"with ceilings enforced by {listed(hows)}" if hows else "with unknown enforcement"
    said = counted(len(run.warned), "kind")
    doubts = f"; {said} of validity warning" if run.warned else ""
    return f"The attempts ran on {counted(len(run.nodes), 'node')}, {how}; {differs}{doubts}."


def _conditions_tables(run: RunFacts) -> Iterator[Table]:
    if not run.nodes:
        return
    yield table(
        "Nodes, with 95 % Wilson intervals of their infra error rate",
        ("node", "trials", "infra errors", "rate", "95 % interval", "hardware and software"),
        [_node_line(node) for node in run.nodes],
        words=(5,),
    )
    yield table(
        "What the attempts ran under",
        ("setting", "level", "attempts", "infra errors"),
        [
            (
                row.setting.replace("_", " "),
                row.level,
                f"{row.attempts:,}",
                f"{row.infra_errors:,}",
            )
            for row in run.settings
        ],
        words=(1,),
    )
    if run.deviations:
        shown = run.deviations[:MOST_DEVIATIONS]
        more = f"; first {len(shown)} of {len(run.deviations)}" if len(shown) < len(
            run.deviations
        ) else ""  # fmt: skip
        yield table(
            f"Requested limits that were not in force{more}",
            ("limit", "attempts", "bands"),
            [(row.what, f"{row.attempts:,}", listed(row.bands)) for row in shown],
            words=(2,),
        )
    if run.warned:
        yield table(
            "Validity warnings: something besides the assigned factors took part; the attempts "
            "count all the same",
            ("warning", "what it says", "attempts", "infra errors"),
            [
                (
                    row.warning.replace("_", " "),
                    row.meaning,
                    f"{row.attempts:,} of {row.judged:,}",
                    f"{row.infra_errors:,}",
                )
                for row in run.warned
            ],
            words=(1,),
        )
    if run.hosts:
        yield table(
            "Hosts that pods reached, or tried to, where their way out was watched over",
            ("host", "how", "attempts", "infra errors"),
            [
                (row.host, row.how, f"{row.attempts:,} of {row.watched:,}", f"{row.infra_errors:,}")
                for row in run.hosts
            ],
            words=(1,),
        )
    if run.readings:
        yield table(
            "Readings of every attempt: load and neighbours (start, worst between, end), egress, "
            "clock, speed of the node",
            ("reading", "attempts", "lowest", "median", "highest"),
            [_reading_line(reading) for reading in run.readings],
        )


def _node_line(node: Node) -> tuple[Cell | str, ...]:
    return (
        Cell(node.node, "name"),
        f"{node.n:,}",
        f"{node.infra_errors:,}",
        percent(node.infra_rate.est),
        percents(node.infra_rate.lo, node.infra_rate.hi),
        _profile(node),
    )


def _profile(node: Node) -> str:
    profile = node.profile
    if profile is None:
        return "unknown"
    parts = [
        profile.cpu_model,
        counted(profile.cpu_threads, "thread") if profile.cpu_threads else None,
        size(profile.memory_bytes) if profile.memory_bytes else None,
        f"swap {size(profile.swap_bytes)}" if profile.swap_bytes is not None else None,
        f"kernel {profile.kernel}",
        f"cgroup v{profile.cgroup_version}" if profile.cgroup_version else None,
        profile.system,
        *(f"{name} {version}" for name, version in profile.runtimes.items()),
    ]
    several = len(node.profiles) > 1
    note = f" (last of {len(node.profiles)} profiles)" if several else ""
    return ", ".join(part for part in parts if part) + note


def _reading_line(reading: Reading) -> tuple[str, ...]:
    name = reading.reading.replace("_", " ").replace("psi", "pressure").replace("some10", "some, %")
    return (name, f"{reading.n:,}", *(f"{x:.2f}".rstrip("0").rstrip(".") for x in (
        reading.low, reading.median, reading.high)))  # fmt: skip


def _cost_lead(cost: Cost) -> str:
    if cost.elapsed_s is None:
        return "No attempt has come home yet."
    parts = [f"{counted(cost.attempts, 'attempt')} took {duration(cost.elapsed_s)} of wall time"]
    if cost.pod_cpu_s is not None:
        parts.append(f"{duration(cost.pod_cpu_s)} of CPU in pods")
    if cost.overhead_cpu_s is not None:
        each = cost.overhead_cpu_s / cost.attempts
        parts.append(f"{each:.3f} CPU-seconds of infranoise each")
    if cost.api_calls:
        paid = "" if cost.api_usd is None else f" for {cost.api_usd:.2f} USD"
        parts.append(f"{counted(cost.api_calls, 'call')} of the models' API{paid}")
    return f"{listed(parts)}."

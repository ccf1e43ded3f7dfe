"""The chapter on an A/A run: does the instrument see a difference where there is none?"""

from ..aa import AaResult, ArmTest
from ..words import counted, percent, points
from .bands_tables import p_text
from .chapter import ABSENT, Cell, Chapter, table


def arms_chapter(found: AaResult) -> Chapter:
    """Whether two identical arms look alike, and every test between them."""
    first, second = found.arms
    return Chapter(
        anchor="aa",
        title="Does the instrument pass?",
        lead=found.sentence,
        tables=(
            table(
                f"Tests between {first} and {second}, which differ in name alone",
                ("what", "difference, points", "p", "Holm p", "alarm"),
                [_line(test) for test in found.tests],
                words=(4,),
            ),
        ),
        notes=tuple(_notes(found)),
    )


def _line(test: ArmTest) -> tuple[Cell | str, ...]:
    alarm = Cell("yes", "bad") if test.alarm else Cell("false alarm" if test.false_alarm else "no")
    return (
        test.what,
        ABSENT if test.est is None else points(test.est),
        p_text(test.p),
        p_text(test.p_holm),
        alarm,
    )


def _notes(found: AaResult) -> list[str]:
    notes = [
        f"False alarms: {percent(found.false_alarm_rate, 0)} of the tests, of which 5 % are "
        "expected in a sound instrument; tests without any spread to judge by count as silent."
    ]
    if found.shocks is not None:
        shocks = found.shocks
        notes.append(
            f"Scores of {counted(shocks.runs, 'wave')} vary {shocks.overdispersion:.2f} times as "
            f"much as sampling explains (chi-square {shocks.chi2:.1f} on {shocks.df} degrees)."
        )
    return notes

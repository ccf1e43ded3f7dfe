"""What a reader must know before believing a number; printed beside it."""

from enum import StrEnum


class Flag(StrEnum):
    """Each says why a number is missing, or how far it carries."""

    ALIASED = "aliased"
    """Its levels cannot be told apart from other factors' or from the strata."""
    ASSIGNMENT_LEVEL = "assignment level"
    """Constant within waves although not declared so: tested between waves."""
    ASSOCIATION = "association"
    """Observed, not assigned: what goes along with it, not what it does."""
    CONFOUNDED = "confounded"
    """Alone it explains much more or much less than beside the other factors."""
    INCOMPLETE = "incomplete tasks left out"
    """Tasks without every entry and band do not enter."""
    NO_SPREAD = "no spread within cells"
    """Every cell passes or fails throughout: there is no noise to test against."""
    NO_TRIALS = "no trials"
    """Nothing was run here."""
    NOT_TESTABLE = "not testable"
    """Too few waves carry its levels."""
    ONE_TASK = "one task"
    """One task says nothing about other tasks."""
    SINGLE_SAMPLES = "single samples"
    """Cells of one sample show no noise of their own; the noise is the spread between strata."""
    TASKS_AGREE = "all tasks agree"
    """Every task shows the same difference: there is no spread to test against."""
    UNPAIRED = "no shared strata"
    """No task and entry was run at both levels."""

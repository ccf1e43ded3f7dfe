"""Tail areas and critical values of the normal and of Student's t; df None means normal."""

from scipy import special


def two_sided(est: float, se: float, df: float | None = None) -> float | None:
    """Two-sided p-value of est against 0; None where se is 0, which tells nothing."""
    return None if se <= 0.0 else 2.0 * below(-abs(est) / se, df)


def below(z: float, df: float | None = None) -> float:
    """Probability of a value at or below z."""
    return float(special.ndtr(z) if df is None else special.stdtr(df, z))


def critical(probability: float, df: float | None = None) -> float:
    """The value below which `probability` lies."""
    if df is None:
        return float(special.ndtri(probability))
    return float(special.stdtrit(df, probability))


def chi2_above(statistic: float, df: float) -> float:
    """Upper tail area of a chi-square statistic."""
    return float(special.chdtrc(df, statistic))

"""What is said first where a run has learned nothing: then no figure of it speaks of fairness."""

from __future__ import annotations

from fairdash.reports.comparison import Comparison
from fairdash.reports.numbers import number


def nothing_learned(comparison: Comparison) -> str:
    """That the standard model is no better than everyone's average; empty where it is."""
    gain = comparison.result.gain
    if gain is None or gain.is_beyond_noise:
        return ""
    error = number(gain.error, error=gain.error_se)
    yet = " yet" if comparison.sample else ""
    said = (
        f"Nothing was learned{yet}: on rows it has not seen, the standard model predicts {comparison.target} "
        f"no better than giving everyone the average does (its error is {error} of the average's, ± "
        f"{number(gain.error_se)})."
    )
    if comparison.sample:
        # As much as a sample of claims can: all rows follow.
        return f"{said} This first look saw {comparison.sample}; what fairness costs the whole run may show."
    return (
        f"{said} So nothing below says what fairness costs. More rows, other features, or a target per unit "
        "of exposure may change that."
    )

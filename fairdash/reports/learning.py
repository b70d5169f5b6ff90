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
    return (
        f"Nothing was learned: on rows it has not seen, the standard model predicts {comparison.target} no "
        f"better than giving everyone the average does (its error is {error} of the average's, ± "
        f"{number(gain.error_se)}). So nothing below says what fairness costs. More rows, other "
        "features, or a target per unit of exposure may change that."
    )

"""Predictions in, tidy frames out: accuracy, dependence beside its floor, and who pays."""

from fairdash.assessment.assess import DEFAULT_MEASURE, DEFAULT_MEASURES, assess_predictions, of_sensitive
from fairdash.assessment.capping import cap_cost
from fairdash.assessment.choose import Choice, knee, least_dependence, least_error
from fairdash.assessment.confirmation import Confirmation, confirm_point
from fairdash.assessment.distributions import common_grid, densities
from fairdash.assessment.learning import Gain, gain_over_mean
from fairdash.assessment.pareto import hypervolume, pareto_efficient, trained_points
from fairdash.assessment.quantile_profile import blended_profiles, group_averages, quantile_profile
from fairdash.assessment.result import SweepResult
from fairdash.assessment.summary import corrected_standard_error, summarise_splits
from fairdash.assessment.tradeoff_curve import (
    CurvePoint,
    assess_curve,
    blend,
    curve_points,
    curve_predictions,
)
from fairdash.assessment.transfers import merged_groups, transfers_by_group
from fairdash.assessment.verdict import with_edges

__all__ = [
    "DEFAULT_MEASURE",
    "DEFAULT_MEASURES",
    "Choice",
    "Confirmation",
    "CurvePoint",
    "Gain",
    "SweepResult",
    "assess_curve",
    "assess_predictions",
    "blend",
    "blended_profiles",
    "cap_cost",
    "common_grid",
    "confirm_point",
    "corrected_standard_error",
    "curve_points",
    "curve_predictions",
    "densities",
    "gain_over_mean",
    "group_averages",
    "hypervolume",
    "knee",
    "least_dependence",
    "least_error",
    "merged_groups",
    "of_sensitive",
    "pareto_efficient",
    "quantile_profile",
    "summarise_splits",
    "trained_points",
    "transfers_by_group",
    "with_edges",
]

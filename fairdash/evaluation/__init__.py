"""Evaluation of predictions in tidy tables: accuracy, dependence and its noise floor, changes by group."""

from fairdash.evaluation.assess import DEFAULT_MEASURE, DEFAULT_MEASURES, assess_predictions
from fairdash.evaluation.capping import cap_cost
from fairdash.evaluation.confirmation import Confirmation, confirm_point
from fairdash.evaluation.figures import of_sensitive, summarise_splits, wide
from fairdash.evaluation.quantile_profile import (
    blended_profiles,
    common_grid,
    densities,
    group_averages,
    merged_groups,
    quantile_profile,
    transfers_by_group,
)
from fairdash.evaluation.result import Gain, SweepResult, corrected_standard_error, gain_over_mean
from fairdash.evaluation.tradeoff_curve import (
    assess_curve,
    blend,
    curve_points,
    curve_predictions,
    hypervolume,
    knee,
    least_dependence,
    least_error,
    pareto_efficient,
    points_of_plan,
    trained_points,
)
from fairdash.evaluation.verdict import differ_beyond_noise

__all__ = [
    "DEFAULT_MEASURE",
    "DEFAULT_MEASURES",
    "Confirmation",
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
    "differ_beyond_noise",
    "gain_over_mean",
    "group_averages",
    "hypervolume",
    "knee",
    "least_dependence",
    "least_error",
    "merged_groups",
    "of_sensitive",
    "pareto_efficient",
    "points_of_plan",
    "quantile_profile",
    "summarise_splits",
    "trained_points",
    "transfers_by_group",
    "wide",
]

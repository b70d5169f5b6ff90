"""Predictions in, tidy frames out: accuracy, dependence beside its floor, and who pays."""

from fairdash.assessment.assess import DEFAULT_MEASURES, assess_predictions, of_sensitive
from fairdash.assessment.blend import Stop, blend, stops
from fairdash.assessment.choose import Choice, knee, least_dependence, least_error
from fairdash.assessment.distributions import common_grid, densities
from fairdash.assessment.front import hypervolume, pareto_efficient, trained_points
from fairdash.assessment.money import merged_groups, money_moved
from fairdash.assessment.path import assess_path, path_predictions
from fairdash.assessment.profile import averages_error, group_averages, quantile_profile
from fairdash.assessment.summary import corrected_standard_error, summarise_splits

__all__ = [
    "DEFAULT_MEASURES",
    "Choice",
    "Stop",
    "assess_path",
    "assess_predictions",
    "averages_error",
    "blend",
    "common_grid",
    "corrected_standard_error",
    "densities",
    "group_averages",
    "hypervolume",
    "knee",
    "least_dependence",
    "least_error",
    "merged_groups",
    "money_moved",
    "of_sensitive",
    "pareto_efficient",
    "path_predictions",
    "quantile_profile",
    "stops",
    "summarise_splits",
    "trained_points",
]

"""Predictions in, tidy frames out: accuracy, dependence beside its floor, and who pays."""

from fairdash.assessment.assess import DEFAULT_MEASURES, assess_predictions, of_sensitive
from fairdash.assessment.blend import Stop, blend, stops
from fairdash.assessment.front import pareto_efficient
from fairdash.assessment.path import assess_path, path_predictions
from fairdash.assessment.profile import group_averages, quantile_profile
from fairdash.assessment.summary import corrected_standard_error, summarise_splits

__all__ = [
    "DEFAULT_MEASURES",
    "Stop",
    "assess_path",
    "assess_predictions",
    "blend",
    "corrected_standard_error",
    "group_averages",
    "of_sensitive",
    "pareto_efficient",
    "path_predictions",
    "quantile_profile",
    "stops",
    "summarise_splits",
]

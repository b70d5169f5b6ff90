"""The sweep that a page may start by itself: a first look in seconds, then the whole in the background."""

from __future__ import annotations

from dataclasses import replace

from fairdash.api import DEFAULT_LAMS
from fairdash.data.dataset import Dataset
from fairdash.training.methods import METHODS
from fairdash.training.settings import TrainingSettings
from fairdash.training.suggested_loss import suggested_loss
from fairdash.training.sweep import STANDARD, Sweep

#: Up to so many rows a first look takes seconds on two cores.
MOST_ROWS = 12_000
FIRST_METHOD = "hgr_spline"
METHODS_BESIDE = ("chi2_kde", "hgr_nn")
N_SPLITS = 5
#: Of the rows that are not test rows: choices are made on them.
VALIDATION_SHARE = 0.2


def is_quick(n_rows: int) -> bool:
    """Whether a first look at so many rows takes seconds, so that nobody has to ask for it."""
    return n_rows <= MOST_ROWS


def quick_plans(dataset: Dataset, *, objective: str) -> tuple[Sweep, Sweep]:
    """The first look, one split of one method, and the sweep that follows: more splits and methods."""
    several = len(dataset.roles.sensitive) > 1
    beside = [method for method in METHODS_BESIDE if METHODS[method].multivariate or not several]
    first_method = FIRST_METHOD if METHODS[FIRST_METHOD].multivariate or not several else beside.pop(0)
    weight = None if dataset.weight is None else dataset.weight.to_numpy()
    first = Sweep(
        methods=(STANDARD, first_method),
        lams=DEFAULT_LAMS,
        objective=objective,
        n_splits=1,
        validation_share=VALIDATION_SHARE,
        tune=True,
        settings=TrainingSettings(loss=suggested_loss(dataset.target.to_numpy(), weight)[0]),
    )
    return first, replace(first, methods=(STANDARD, first_method, *beside), n_splits=N_SPLITS)

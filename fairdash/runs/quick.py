"""The sweep that a page may start by itself: a first look in seconds, then the whole in the background."""

from __future__ import annotations

from dataclasses import replace

from fairdash.api import DEFAULT_LAMS
from fairdash.data.dataset import Dataset
from fairdash.training.losses import LOSSES
from fairdash.training.methods import METHODS
from fairdash.training.set_aside import default_share
from fairdash.training.settings import TrainingSettings
from fairdash.training.split_kinds import default_kind
from fairdash.training.suggested_loss import suggested_loss
from fairdash.training.sweep import STANDARD, Sweep

#: Up to so many rows a first look at all of them takes seconds on two cores.
MOST_ROWS = 12_000
#: Of a larger table it sees so many, drawn at random.
ROWS_DRAWN = 5_000
FIRST_METHOD = "hgr_spline"
METHODS_BESIDE = ("chi2_kde", "hgr_nn")
N_SPLITS = 5
#: Of the rows that are not test rows: choices are made on them.
VALIDATION_SHARE = 0.2


def share_of_rows(n_rows: int) -> float:
    """The share of a table's rows that its first look sees, 1 for all of them."""
    return 1.0 if n_rows <= MOST_ROWS else ROWS_DRAWN / n_rows


def quick_plans(dataset: Dataset, *, objective: str) -> tuple[Sweep, Sweep]:
    """The first look, one split of one method, and the sweep that follows: more splits and methods."""
    several = len(dataset.roles.sensitive) > 1
    beside = [method for method in METHODS_BESIDE if METHODS[method].multivariate or not several]
    first_method = FIRST_METHOD if METHODS[FIRST_METHOD].multivariate or not several else beside.pop(0)
    weight = None if dataset.weight is None else dataset.weight.to_numpy()
    loss = suggested_loss(dataset.target.to_numpy(), weight)[0]
    first = Sweep(
        methods=(STANDARD, first_method),
        lams=DEFAULT_LAMS,
        objective=objective,
        n_splits=1,
        validation_share=VALIDATION_SHARE,
        tune=True,
        split=default_kind(dataset),
        confirmation_share=default_share(dataset.n_rows),
        settings=TrainingSettings(loss=loss, balance=LOSSES[loss].has_log_link),
    )
    # Prices are filed as tables; a table of hundreds of columns beside few rows is none.
    tariff = LOSSES[loss].has_log_link
    methods = (STANDARD, first_method, *beside)
    return first, replace(first, methods=methods, n_splits=N_SPLITS, tariff=tariff)

"""What is trained where nobody has chosen: one set of defaults for page, command line and notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fairdash.data.dataset import Dataset
from fairdash.training.losses import LOSSES
from fairdash.training.methods import DEFAULT_METHOD, METHODS, STANDARD
from fairdash.training.set_aside import default_share
from fairdash.training.settings import TrainingSettings
from fairdash.training.split_kinds import default_kind
from fairdash.training.suggested_loss import suggested_loss
from fairdash.training.sweep import Sweep

#: Fair methods that a whole sweep trains beside the default one.
METHODS_BESIDE = ("chi2_kde", "hgr_nn")
#: λ grid that spans the whole trade-off on the built-in data sets.
LAMS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
N_SPLITS = 5
#: Of the rows that are not test rows: choices are made on them.
VALIDATION_SHARE = 0.2
#: Up to so many rows a preview of all of them takes seconds on two cores; of a larger table it sees so many,
#: drawn at random.
MOST_ROWS, ROWS_DRAWN = 12_000, 5_000


def default_methods(dataset: Dataset) -> tuple[str, ...]:
    """Ids of the standard model and the fair methods that can take all sensitive columns of a data set."""
    several = len(dataset.roles.sensitive) > 1
    fair = [
        method for method in (DEFAULT_METHOD, *METHODS_BESIDE) if METHODS[method].multivariate or not several
    ]
    return (STANDARD, *fair)


def default_settings(dataset: Dataset, *, loss: str | None = None) -> TrainingSettings:
    """Settings with the loss that suits the target, or a given one; balanced where it has a log link."""
    if loss is None:
        weight = None if dataset.weight is None else dataset.weight.to_numpy()
        loss = suggested_loss(dataset.target.to_numpy(), weight)[0]
    settings = TrainingSettings(loss=loss)
    return replace(settings, balance=LOSSES[loss].has_log_link)


def default_plan(
    dataset: Dataset,
    *,
    objective: str = "demographic_parity",
    methods: Sequence[str] | None = None,
    lams: Sequence[float] = LAMS,
    n_splits: int = N_SPLITS,
    random_state: int = 0,
    validation_share: float = VALIDATION_SHARE,
    split: str | None = None,
    confirmation: float | None = None,
    settings: TrainingSettings | None = None,
    tune: bool | None = None,
    tariff: bool | None = None,
    device: str = "auto",
) -> Sweep:
    """The sweep of a data set; what is None follows from the data, as :func:`fairdash.sweep` says."""
    own = default_settings(dataset) if settings is None else settings
    return Sweep(
        methods=default_methods(dataset) if methods is None else tuple(methods),
        lams=tuple(float(lam) for lam in lams),
        objective=objective,
        n_splits=n_splits,
        random_state=random_state,
        validation_share=validation_share,
        split=default_kind(dataset) if split is None else split,
        confirmation_share=default_share(dataset.n_rows) if confirmation is None else confirmation,
        settings=own,
        tune=settings is None if tune is None else tune,
        # Prices are filed as tables; a table of hundreds of columns beside few rows is none.
        tariff=own.loss_function.has_log_link if tariff is None else tariff,
        device=device,
    )


def preview_of(plan: Sweep) -> Sweep:
    """What a page shows in seconds, before a sweep is carried out: one split of its first fair method."""
    return replace(plan, methods=plan.methods[:2], n_splits=1, tariff=False)


def share_of_rows(n_rows: int) -> float:
    """The share of a table's rows that its preview sees, 1 for all of them."""
    return 1.0 if n_rows <= MOST_ROWS else ROWS_DRAWN / n_rows

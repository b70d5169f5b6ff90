"""A fair tariff fitted on all rows, as one file to take away: a zip of tables that open anywhere.

tariff.xlsx, tariff.csv   the table of relativities, by which :func:`fairdash.rate` rates
glm.csv                   the tariff at λ = 0 of the same factors, to compare with
tariff.json               its card: data, roles, settings, seeds, versions, figures and limits
README.txt                how to rate by it, in plain words

Beside it lies, where the data have a price that stands, what the splits' tariffs of this weight ask of test
rows: a cap on changes is judged by that.
"""

from __future__ import annotations

import json
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from fairdash._version import __version__
from fairdash.assessment.execute_sweep import tariffs_of_plan
from fairdash.data.dataset import Dataset
from fairdash.records import to_plain
from fairdash.runs.bundle import ABOUT_FIGURES, BUNDLE, LIMITS_OF_ALL, about_data, zip_of
from fairdash.tariff.choosing import TermOptions
from fairdash.tariff.files import csv_of, xlsx_of
from fairdash.tariff.fit import FitOptions
from fairdash.tariff.model import FairTariff
from fairdash.tariff.shrinkage import choose_alpha
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.regressor_tables import clean_features
from fairdash.training.splits import folds
from fairdash.training.sweep import Sweep

TARIFF, GLM, TESTED = "tariff.csv", "glm.csv", "test_premiums.parquet"
_FORMAT = 1
_README = """\
A tariff made with fairdash {fairdash}

What is in here
  tariff.xlsx, tariff.csv   the table of relativities: all that rating needs
  glm.csv                   the same factors at lambda = 0: a GLM, to compare with
  tariff.json               what it was fitted on, how, what to expect of it, and its limits

How to rate by it
{formula}

With fairdash {fairdash}:

    import fairdash as fd
    premiums = fd.rate(fd.read_tariff("tariff.xlsx"), policies)

How it was made
  It was fitted on all {rows:,} rows of the data set, with the weight lambda = {lam:g} on fairness. The
  figures in tariff.json are estimates: they come from tariffs fitted in the same way on a part of the rows
  and measured on the others.

Before you use it or file it
{limits}
"""
_LIMITS = (
    *LIMITS_OF_ALL,
    "No factor is a sensitive column, but factors can still tell of them.",
    "Levels with little exposure have uncertain relativities. See the column share.",
    "It claims no compliance with any rule.",
)


def tariff_files(
    dataset: Dataset,
    plan: Sweep,
    *,
    lam: float,
    run: str,
    figures: Mapping[str, Any],
    log: Sequence[Mapping[str, Any]],
) -> Mapping[str, bytes]:
    """Fit the tariff of a weight λ on all rows: name to bytes of the bundle, :data:`TARIFF` and :data:`GLM`.

    And of :data:`TESTED`, where the data have an existing price.

    Parameters
    ----------
    plan
        The sweep beside which tariffs were fitted: its loss, objective and seed are this one's.
    run
        Id of the run that carried it out.
    figures
        What the user was shown of it, by name: numbers, texts, or None.
    log
        The run's log.

    Raises
    ------
    DataError, OptionError
        As :meth:`fairdash.tariff.model.FairTariff.fit`.
    """
    from sklearn.exceptions import ConvergenceWarning

    settings = plan.settings
    features = clean_features(dataset.features)
    # As strongly as rows held out ask for; then all rows are fitted to.
    alpha = choose_alpha(
        features.set_axis([str(name) for name in features.columns], axis=1),
        dataset.target.to_numpy(dtype=float),
        None if dataset.weight is None else dataset.weight.to_numpy(dtype=float),
        folds(np.arange(dataset.n_rows), n_folds=5, random_state=plan.random_state, groups=dataset.groups)[0],
        options=FitOptions(loss=settings.loss_function, balance=settings.balance),
        terms=TermOptions(),
        random_state=plan.random_state,
    )
    model = FairTariff(
        loss=settings.loss,
        tweedie_power=settings.tweedie_power,
        lam=lam,
        alpha=alpha,
        objective=plan.objective,
        balance=settings.balance,
        random_state=plan.random_state,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(
            dataset.features,
            dataset.target,
            sensitive_features=dataset.sensitive,
            sample_weight=dataset.weight,
        )
    card = {
        "fairdash_tariff": _FORMAT,
        "made_with": {
            "fairdash": __version__,
            **{name: version(name) for name in ("numpy", "scikit-learn", "torch")},
        },
        "data": {
            **about_data(dataset),
            "rows_of_the_confirmation_included": len(plan.set_aside(dataset)),
        },
        "tariff": {
            "predicts": dataset.label(dataset.roles.target),
            "lam": lam,
            "loss": settings.loss,
            "penalty": model.penalty,
            "objective": plan.objective,
            "objective_meaning": OBJECTIVES[plan.objective].meaning,
            "settings": to_plain(
                {name: value for name, value in model.get_params().items() if name != "random_state"}
            ),
            "random_state": plan.random_state,
            "steps": model.n_iter_,
            "notes": [str(each.message) for each in caught],
        },
        "figures": {
            "about": ABOUT_FIGURES,
            "run": run,
            "splits": plan.n_splits,
            "split": plan.split,
            "values": dict(figures),
        },
        "limits": list(_LIMITS),
        "log": list(log),
    }
    table = model.relativities()
    tables = {TARIFF: csv_of(table), GLM: csv_of(model.relativities(unpenalised=True))}
    readme = _README.format(
        fairdash=__version__,
        formula=_lines(model.formula().splitlines(), first="  "),
        rows=dataset.n_rows,
        lam=lam,
        limits=_lines(_LIMITS, first="  - "),
    )
    files = {
        "README.txt": readme.encode(),
        "tariff.xlsx": xlsx_of(table),
        **tables,
        "tariff.json": json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False).encode(),
    }
    tested = {} if dataset.prediction is None else {TESTED: _tested(dataset, plan, lam)}
    return {BUNDLE: zip_of(files), **tables, **tested}


def _tested(dataset: Dataset, plan: Sweep, lam: float) -> bytes:
    """What the splits' tariffs ask of their test rows: split, row and premium, as Parquet."""
    splits = plan.splits(dataset)
    premiums = tariffs_of_plan(dataset, plan, splits, lams=(lam,)).predictions
    parts = [
        pd.DataFrame({"split": j, "row": split.test, "premium": premiums[j, split.test]})
        for j, split in enumerate(splits)
    ]
    made: bytes = pd.concat(parts, ignore_index=True).to_parquet(index=False)
    return made


def _lines(sentences: Sequence[str], *, first: str) -> str:
    return "\n".join(
        textwrap.fill(each, 100, initial_indent=first, subsequent_indent=" " * len(first))
        for each in sentences
    )

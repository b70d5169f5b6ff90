"""A refitted model as one file to take away: a zip that opens anywhere and holds nothing that runs by itself.

model.safetensors   the model, as :meth:`fairdash.training.regressor.FairRegressor.save` writes it
model.json          its card: data, roles, settings, seeds, versions, figures and limits
load_model.py       the few lines that load it and predict for a table
README.txt          the same in plain words
"""

from __future__ import annotations

import io
import itertools
import json
import math
import tempfile
import textwrap
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairdash._version import __version__
from fairdash.data.dataset import Dataset
from fairdash.records import to_plain
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.sweep import Sweep

if TYPE_CHECKING:
    from fairdash.training.regressor import FairRegressor

#: What it is called where it is kept.
BUNDLE = "bundle.zip"
#: Counted up when the card's keys change their meaning.
_FORMAT = 1
_README = """\
A model made with fairdash {fairdash}

What is in here
  model.safetensors   the model: numbers and names, and nothing that can be executed
  model.json          what it was fitted on, how, what to expect of it, and its limits
  load_model.py       predicts for the rows of a table

How to use it
  Install fairdash {fairdash} with Python 3.11 or newer, from the folder of its source code, the one with
  pyproject.toml in it: it is not on PyPI. Whoever gave you this file has it.

      python -m pip install path/to/fairdash -c path/to/fairdash/constraints.txt

  Then:

      python load_model.py table.csv

  The table needs the columns that model.json names under "data", "roles", "features", under the same
  names and in the same units, prepared as the notes there say. Columns may stand in any order, others may
  be there too, and the sensitive ones are not needed. predictions.csv then holds a number a row.

How it was made
  It was fitted on all {rows:,} rows of the data set{set_aside}, with the weight
  lambda = {lam:g} on fairness. The figures in model.json are estimates: they come from models fitted in
  the same way on a part of the rows and measured on the others.
{confirmation}
Before you use it or pass it on
{limits}
"""
#: Limits of whatever is fitted on all rows.
LIMITS_OF_ALL = (
    "No row was left to test this very fit on. Measure its error and its dependence on the sensitive columns "
    "again on rows of your own.",
    "What was lowered is the dependence on the sensitive columns that it was fitted with, over all rows "
    "together. Other attributes, parts of the rows and later years may show more.",
)
#: The same for every model: names of columns stand in the card's other parts alone.
_LIMITS = (
    *LIMITS_OF_ALL,
    "It does not see the sensitive columns, but it can still tell of them what its features tell.",
    "A missing number counts as the median; a missing text and one that did not occur in the fit count as "
    "neither of those that did. It warns of the latter.",
    "Rows unlike those that it was fitted on get a number all the same.",
    "model.safetensors holds averages and medians of the columns of numbers, and every value that occurs in "
    "the columns of text. Make sure that none of them names a person.",
)
ABOUT_FIGURES = (
    "Estimates from the splits, not of this very fit: models fitted in the same way on the training "
    "rows of each split, measured on its test rows."
)


def zip_bundle(model: FairRegressor, card: Mapping[str, Any]) -> bytes:
    """The zip, whose bytes depend on the fit and the card alone.

    Parameters
    ----------
    model
        Fitted.
    card
        As :func:`card_of` gives it.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        model.save(path)
        saved = path.read_bytes()
    set_aside = card["data"]["rows_set_aside_to_stop_early"]
    included = card["data"]["rows_of_the_confirmation_included"]
    confirming = (
        f"  The {included:,} rows that the run had set aside to confirm its choice are among them: what they "
        "showed then is of models of all the others."
        if included
        else ""
    )
    readme = _README.format(
        fairdash=__version__,
        rows=card["data"]["rows"],
        set_aside=f" but {set_aside:,} that told when to stop" if set_aside else "",
        confirmation=textwrap.fill(confirming, 100) + "\n" if confirming else "",
        lam=card["model"]["lam"],
        limits="\n".join(
            textwrap.fill(sentence, 100, initial_indent="  - ", subsequent_indent="    ")
            for sentence in card["limits"]
        ),
    )
    files = {
        "README.txt": readme.encode(),
        "load_model.py": Path(__file__).with_name("load_model.py").read_bytes(),
        "model.json": json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False).encode(),
        "model.safetensors": saved,
    }
    return zip_of(files)


def zip_of(files: Mapping[str, bytes]) -> bytes:
    """Files as a zip: the same content gives the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            # No time of day, no mark of the system, no packing.
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def card_of(
    model: FairRegressor, dataset: Dataset, plan: Sweep, *, run: str, figures: Mapping[str, Any]
) -> dict[str, Any]:
    """What there is to know of a model, as plain values; no cell of the table is among them.

    Parameters
    ----------
    model
        Fitted on the rows of `dataset`.
    plan
        The sweep whose settings and seed it has.
    run
        Id of the run that carried the sweep out.
    figures
        What the user was shown of the model, by name: numbers, texts, or None.
    """
    set_aside = 0
    if model.patience is not None:
        set_aside = math.ceil(dataset.n_rows * model.validation_fraction)
    return {
        "fairdash_model": _FORMAT,
        "made_with": {
            "fairdash": __version__,
            **{name: version(name) for name in ("numpy", "safetensors", "scikit-learn", "torch")},
        },
        "data": {
            **about_data(dataset),
            "rows_set_aside_to_stop_early": set_aside,
            "rows_of_the_confirmation_included": len(plan.set_aside(dataset)),
        },
        "model": {
            "predicts": dataset.label(dataset.roles.target),
            "method": model.method,
            "method_title": METHODS[model.method].title,
            "objective": model.objective,
            "objective_meaning": OBJECTIVES[model.objective].meaning,
            "lam": model.lam_,
            "settings": to_plain(plan.settings),
            "random_state": plan.random_state,
            "device": model.device_,
            "epochs": model.n_iter_,
            "epoch_kept": model.best_epoch_,
        },
        "figures": {
            "about": ABOUT_FIGURES,
            "of": _figures_are_of(model.lam_, plan.lams),
            "run": run,
            "splits": plan.n_splits,
            "split": plan.split,
            "values": dict(figures),
        },
        "limits": list(_LIMITS),
    }


def about_data(dataset: Dataset) -> dict[str, Any]:
    """What a card says of the data."""
    return {
        "title": dataset.title,
        "description": dataset.description,
        "roles": asdict(dataset.roles),
        "units": dict(dataset.units),
        "meanings": dict(dataset.meanings),
        "notes": list(dataset.notes),
        "rows": dataset.n_rows,
        "fingerprint": dataset.fingerprint,
    }


def _figures_are_of(lam: float, lams: Sequence[float]) -> str:
    """Which models the page's figures come from: trained at λ, or the blend of its neighbours."""
    trained = sorted({0.0, *lams})
    if lam in trained:
        return f"models trained at lambda = {lam:g}"
    for low, high in itertools.pairwise(trained):
        if low < lam < high:
            return (
                f"the blend of the models trained at lambda = {low:g} and {high:g}; this fit was trained at "
                f"lambda = {lam:g} itself"
            )
    return f"no model: none was trained at lambda = {lam:g} or beyond"

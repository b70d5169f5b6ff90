"""Zip files ("bundles") of refitted models, fair tariffs and repaired prices, with data and a script.

Bundle of a model:
model.safetensors   the model, as :meth:`fairdash.training.regressor.FairRegressor.save` writes it
model.json          its card: data, roles, settings, seeds, versions, results and limitations
model_card.md       the card in words, under the field's headings
load_model.py       a short script that loads the model and predicts for a table
README.txt          the contents of the bundle and how to use the model, in plain words

Bundle of a tariff:
tariff.xlsx, tariff.csv   the table of relativities, for :func:`fairdash.rate`
glm.csv                   the tariff at λ = 0 with the same factors, for comparison
tariff.json               its card
model_card.md             the card in words
README.txt                how to compute premiums from the table, in plain words

Bundle of a repaired price:
repaired_prices.csv   the price of each row before and after, by strength, with s at pricing and without
repair.csv            dependence, error and changes by strength
repair.json           its card
model_card.md         the card in words
"""

from __future__ import annotations

import itertools
import json
import textwrap
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairdash._version import __version__
from fairdash.data.dataset import Dataset
from fairdash.runs.model_card import model_card
from fairdash.storage.bundle import pack
from fairdash.training.methods import METHODS
from fairdash.training.settings import OBJECTIVES
from fairdash.training.sweep import Sweep
from fairdash.utils.records import to_plain
from fairdash.utils.safe_csv import safe_csv

if TYPE_CHECKING:
    import pandas as pd

    from fairdash.auditing.plan import AuditPlan
    from fairdash.auditing.table import AuditTable
    from fairdash.tariff.model import FairTariff
    from fairdash.training.regressor import FairRegressor

#: File name of the zip file.
BUNDLE = "bundle.zip"
TARIFF, GLM, REPAIR = "tariff.csv", "glm.csv", "repair.csv"
CARD = "model_card.md"
#: File with the premiums of test rows from each split's tariff, at the same λ. It is stored if the data have
#: an existing price. It shows the effect of a cap on changes of this price.
TESTED = "test_premiums.parquet"
#: Version of the card's format, which increases when the meaning of a key changes.
_FORMAT = 1
_TEXTS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_ABOUT_FIGURES = (
    "These estimates do not describe this fit. They describe models that were fitted in the same way to the "
    "training rows of each split, and measured on its test rows."
)


def model_bundle(model: FairRegressor, card: Mapping[str, Any]) -> bytes:
    """Return the zip file of a fitted model. The same model and card give the same bytes.

    Parameters
    ----------
    card
        Card from :func:`card_of`.
    """
    set_aside = card["data"]["rows_set_aside_to_stop_early"]
    included = card["data"]["rows_of_the_confirmation_included"]
    confirming = (
        f"  They include the {included:,} rows set aside to confirm the choice. The results on those rows "
        "describe models that were fitted without them."
        if included
        else ""
    )
    readme = str.format(
        _TEXTS["readme_of_model"],
        fairdash=__version__,
        rows=card["data"]["rows"],
        set_aside=f" but {set_aside:,} used for early stopping" if set_aside else "",
        confirmation=textwrap.fill(confirming, 100) + "\n" if confirming else "",
        lam=card["model"]["lam"],
        limits=_lines(card["limits"], first="  - "),
    )
    from fairdash.training.regressor import regressor_file

    files = {
        "README.txt": readme.encode(),
        "load_model.py": Path(__file__).with_name("load_model.py").read_bytes(),
        "model.json": _text_of(card),
        CARD: model_card(card).encode(),
        "model.safetensors": regressor_file(model),
    }
    return pack(files, mode=0o644)


def tested_premiums(dataset: Dataset, plan: Sweep, lam: float) -> bytes:
    """Return a Parquet table of split, row and premium, for the test rows of all splits at one λ."""
    import pandas as pd

    from fairdash.tariff.plan import tariffs_of_plan

    splits = plan.splits(dataset)
    premiums = tariffs_of_plan(dataset, plan, splits, lams=(lam,)).predictions
    parts = [
        pd.DataFrame({"split": j, "row": split.test, "premium": premiums[j, split.test]})
        for j, split in enumerate(splits)
    ]
    content: bytes = pd.concat(parts, ignore_index=True).to_parquet(index=False)
    return content


def tariff_files(model: FairTariff, card: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the zip file of a fitted tariff and the tables :data:`TARIFF` and :data:`GLM`, by name.

    Parameters
    ----------
    card
        Card from :func:`card_of_tariff`.
    """
    from fairdash.tariff.files import csv_of, xlsx_of

    table = model.relativities()
    tables = {TARIFF: csv_of(table), GLM: csv_of(model.relativities(unpenalised=True))}
    readme = str.format(
        _TEXTS["readme_of_tariff"],
        fairdash=__version__,
        formula=_lines(model.formula().splitlines(), first="  "),
        rows=card["data"]["rows"],
        lam=card["tariff"]["lam"],
        limits=_lines(card["limits"], first="  - "),
    )
    files = {"README.txt": readme.encode(), "tariff.xlsx": xlsx_of(table), "tariff.json": _text_of(card)}
    files[CARD] = model_card(card).encode()
    return {BUNDLE: pack({**files, **tables}, mode=0o644), **tables}


def card_of(
    model: FairRegressor, dataset: Dataset, plan: Sweep, *, run: str, figures: Mapping[str, Any]
) -> dict[str, Any]:
    """Describe a model in a dict of plain values, which contains no cells of the table.

    Parameters
    ----------
    model
        Model that was fitted on the rows of `dataset`.
    plan
        The sweep (models for many weights λ), with the settings and the seed.
    run
        Id of the run that executed the sweep.
    figures
        Results shown to the user, by name. They are numbers, strings or None.
    """
    return {
        "fairdash_model": _FORMAT,
        "made_with": _made_with("numpy", "safetensors", "scikit-learn", "torch"),
        "data": _about_data(dataset, plan, rows_set_aside_to_stop_early=model.n_validation_rows_),
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
        "figures": _about_figures(plan, run, figures, of=_figures_are_of(model.lam_, plan.lams)),
        "limits": [*_TEXTS["limits_of_fit"], *_TEXTS["limits_of_model"]],
    }


def card_of_tariff(
    model: FairTariff,
    dataset: Dataset,
    plan: Sweep,
    *,
    run: str,
    figures: Mapping[str, Any],
    notes: Sequence[str],
) -> dict[str, Any]:
    """Describe a tariff as :func:`card_of` does, with notes on its fit."""
    return {
        "fairdash_tariff": _FORMAT,
        "made_with": _made_with("numpy", "scikit-learn", "torch"),
        "data": _about_data(dataset, plan),
        "tariff": {
            "predicts": dataset.label(dataset.roles.target),
            "lam": model.lam,
            "loss": model.loss,
            "penalty": model.penalty,
            "objective": plan.objective,
            "objective_meaning": OBJECTIVES[plan.objective].meaning,
            "settings": to_plain(
                {name: value for name, value in model.get_params().items() if name != "random_state"}
            ),
            "random_state": plan.random_state,
            "steps": model.n_iter_,
            "notes": list(notes),
        },
        "figures": _about_figures(plan, run, figures),
        "limits": [*_TEXTS["limits_of_fit"], *_TEXTS["limits_of_tariff"]],
    }


def card_of_repair(
    table: AuditTable, plan: AuditPlan, figures: pd.DataFrame, *, audit: str, title: str
) -> dict[str, Any]:
    """Describe a repaired price like :func:`card_of`. `figures` has a row per strength and use of s."""
    from fairdash.auditing.models.averages import (
        reach_in_words,
    )  # This import is local, because it loads measures that other cards don't need.

    figures_by_use = figures[figures["strength"] == 1].set_index("s at pricing").drop(columns="strength")
    values = {
        f"{name}, s {use_of_s}": float(each)
        for use_of_s, row in figures_by_use.to_dict("index").items()
        for name, each in row.items()
    }
    value_before = float(figures.loc[figures["strength"] == 0, "dependence"].iloc[0])
    features = [name for name in map(str, table.features) if name != table.columns.price]
    return {
        "fairdash_repair": _FORMAT,
        "made_with": _made_with("numpy", "scikit-learn"),
        "data": {
            "title": title,
            "roles": {"features": features, "sensitive": [table.columns.sensitive]},
            "rows": table.n,
            "notes": list(table.notes),
        },
        "repair": {
            "predicts": table.columns.price,
            "method_title": "Repaired price: each row keeps its rank among rows with the same attribute",
            "objective_meaning": OBJECTIVES["demographic_parity"].meaning,
            "random_state": plan.random_state,
            "audit": audit,
        },
        "figures": {
            "about": "Figures at full strength, on rows to which the repair was not fitted; HGR by splines",
            "values": {"dependence before": value_before, **values},
        },
        "limits": [reach_in_words(figures), *_TEXTS["limits_of_repair"]],
    }


def repair_files(figures: pd.DataFrame, prices: pd.DataFrame, card: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the zip file of a repaired price and the table :data:`REPAIR`, by name."""
    files = {REPAIR: safe_csv(figures), "repaired_prices.csv": safe_csv(prices)}
    files |= {"repair.json": _text_of(card), CARD: model_card(card).encode()}
    return {BUNDLE: pack(files, mode=0o644, is_packed=True), REPAIR: files[REPAIR]}


def _made_with(*packages: str) -> dict[str, str]:
    return {"fairdash": __version__, **{name: version(name) for name in packages}}


def _about_data(dataset: Dataset, plan: Sweep, **counts: int) -> dict[str, Any]:
    return {
        "title": dataset.title,
        "description": dataset.description,
        "roles": asdict(dataset.roles),
        "units": dict(dataset.units),
        "meanings": dict(dataset.meanings),
        "notes": list(dataset.notes),
        "rows": dataset.n_rows,
        "fingerprint": dataset.fingerprint,
        **counts,
        "rows_of_the_confirmation_included": len(plan.set_aside(dataset)),
    }


def _about_figures(plan: Sweep, run: str, figures: Mapping[str, Any], **sections: str) -> dict[str, Any]:
    return {
        "about": _ABOUT_FIGURES,
        **sections,
        "run": run,
        "splits": plan.n_splits,
        "split": plan.split,
        "values": dict(figures),
    }


def _text_of(card: Mapping[str, Any]) -> bytes:
    return json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False).encode()


def _lines(sentences: Sequence[str], *, first: str) -> str:
    return "\n".join(
        textwrap.fill(sentence, 100, initial_indent=first, subsequent_indent=" " * len(first))
        for sentence in sentences
    )


def _figures_are_of(lam: float, lams: Sequence[float]) -> str:
    """State which models the results on the page describe."""
    trained_lams = sorted({0.0, *lams})
    if lam in trained_lams:
        return f"models trained at lambda = {lam:g}"
    for low, high in itertools.pairwise(trained_lams):
        if low < lam < high:
            return (
                f"a mixture of the models trained at lambda = {low:g} and {high:g}; this fit was trained at "
                f"lambda = {lam:g} itself"
            )
    return f"no model, because none was trained at lambda = {lam:g} or above"

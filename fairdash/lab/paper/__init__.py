"""Tables and figures of the paper: printed values, and our results, which are stored with fairdash.

In a checkout, ``python -m fairdash reproduce table1 --dataset crime`` writes ``results/table1_crime``: tables
as CSV, and ``about.json`` with seed, versions, machine, command and seconds. The folder ``benchmarks/paper``
contains the studies. Its module ``judging`` compares the results with the paper and writes the statements of
the Paper page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from fairdash.data.catalogue import CATALOGUE
from fairdash.dependence import REGISTRY
from fairdash.errors import DataError
from fairdash.training.methods import METHODS as ALL_METHODS

#: Folder of the results that are installed together with fairdash.
COMMITTED = Path(__file__).parent / "results"

#: File with all statements that compare a result with the paper.
JUDGED = "judged.json"

#: Measures of dependence in Table 1, in the order of the paper's columns.
FAIRNESS = ("hgr_nn", "hgr_kde", "hgr_rdc", "chi2_kde", "chi2_nn", "fairquant")
#: Methods of Table 1; ``chi2_kde`` is the paper's Mary2019.
METHODS = ("standard", "hgr_nn", "chi2_nn", "chi2_kde", "mine")
OBJECTIVES = ("demographic_parity", "equalized_residuals")
#: Data sets of the paper that are not available. The keys are the ids of the data sets used instead.
STANDS_FOR = {"census_county": "census"}

#: HGR for which the weights λ were selected in the household scenario, by objective.
HOUSEHOLD_TARGETS = {"demographic_parity": 0.05, "equalized_residuals": 0.30}
#: Increase of the MSE over that of the standard network, in the household scenario. It is "about 10 %" for
#: all three fair methods.
HOUSEHOLD_INCREASES = {
    "demographic_parity": {"hgr_nn": 0.10, "chi2_nn": 0.10, "chi2_kde": 0.10},
    "equalized_residuals": {"hgr_nn": 0.67, "chi2_nn": 0.80, "chi2_kde": 0.98},
}
#: Average price in € in the household scenario, under demographic parity, according to the paper.
HOUSEHOLD_PRICE = 226.0
#: HGR of the standard network's residuals in the household scenario.
HOUSEHOLD_STANDARD_HGR = 0.61


def table1() -> pd.DataFrame:
    """Return Table 1 as printed: ``dataset``, ``method``, ``objective``, ``mse`` and fairness measures.

    MSE refers to the standardised target, and FairQuant is in standard deviations of the target.
    """
    return pd.read_csv(Path(__file__).parent / "published" / "table1.csv")


def row_of(dataset: str, method: str, objective: str) -> pd.Series:
    """Return a row of Table 1; a substitute data set has the row of the data set that it replaces.

    A method that is not in the paper has the row of the paper's Fair HGR NN.
    """
    table = table1()
    method_id = method if method in METHODS else "hgr_nn"
    rows = table[
        (table["dataset"] == STANDS_FOR.get(dataset, dataset))
        & (table["method"] == method_id)
        & (table["objective"] == objective)
    ]
    return rows.iloc[0]


@dataclass(frozen=True, kw_only=True)
class StudyResult:
    """Result of a study, and how it was computed.

    Parameters
    ----------
    tables
        Tables of the result, by name.
    study
        Name of the study's folder, such as ``"fig2"`` or ``"table1_crime"``.
    command
        Command that reproduces the result in a checkout.
    seed
        Seed of all random numbers of the study.
    seconds
        Processor time of all processes together, in seconds.
    options
        All selected options, by name.
    notes
        Sentences that readers of the results should know.
    versions
        Versions by package, including Python and fairdash.
    machine
        Type of processor, and operating system.
    """

    tables: Mapping[str, pd.DataFrame]
    study: str
    command: str
    seed: int
    seconds: float
    options: Mapping[str, Any]
    notes: tuple[str, ...]
    versions: Mapping[str, str]
    machine: str

    @property
    def about(self) -> dict[str, Any]:
        """Return all fields except the tables, as plain values."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "tables"}


def read_result(study: str, folder: Path = COMMITTED) -> StudyResult:
    """Read a committed result.

    Raises
    ------
    DataError
        Raised if there is no result with this name.
    """
    result_folder = folder / study
    try:
        content = json.loads((result_folder / "about.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError.of(
            f"There is no result of the study {study}",
            f"Create it with python -m fairdash reproduce {study.replace('_', ' --dataset ', 1)}",
        ) from None
    tables = {path.stem: pd.read_csv(path) for path in sorted(result_folder.glob("*.csv"))}
    return StudyResult(tables=tables, **content | {"notes": tuple(content["notes"])})


def study_ids(prefix: str = "", folder: Path = COMMITTED) -> tuple[str, ...]:
    """Return the names of stored studies that begin with `prefix`."""
    return tuple(sorted(path.parent.name for path in folder.glob(f"{prefix}*/about.json")))


def judgements_of(study: str) -> dict[str, Any]:
    """Return the sentences that compare a study's result with the paper, keyed by position on the page."""
    texts: dict[str, dict[str, Any]] = json.loads((COMMITTED / JUDGED).read_text(encoding="utf-8"))
    return texts[study]


def table1_names() -> list[str]:
    """Return the data sets with a computed Table 1: first the paper's data sets, in the paper's order."""
    names = [study.removeprefix("table1_") for study in study_ids("table1_")]
    order = ["crime", "motor", "motor_all", "census", "census_county"]
    return sorted(names, key=order.index)


def dataset_of(name: str) -> str:
    """Return the id of the data set of a result, given the name of the result."""
    return name.removesuffix("_all")


def title_of(name: str) -> str:
    """Return the title of the data set of a result, given the name of the result."""
    title = CATALOGUE[dataset_of(name)].title
    return f"{title}, all policies" if name.endswith("_all") else title


def method_title(method: str) -> str:
    """Return the title of a method, which says that the method is ours if it is not in the paper."""
    suffix = "" if method in METHODS else " (ours)"
    return ALL_METHODS[method].title + {"chi2_kde": " (Mary2019)"}.get(method, suffix)


def column_title(measure: str) -> str:
    """Return the heading of a column of Table 1."""
    return "MSE" if measure == "mse" else REGISTRY[measure].symbol

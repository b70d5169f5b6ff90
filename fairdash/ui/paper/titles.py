"""What results, methods and measures of Table 1 are called on the page."""

from __future__ import annotations

from fairdash.data.catalogue import CATALOGUE
from fairdash.dependence import REGISTRY
from fairdash.reproduction import committed
from fairdash.reproduction.paper import METHODS
from fairdash.training.methods import METHODS as ALL_METHODS


def names() -> list[str]:
    """Data sets whose Table 1 has been made, the paper's order first."""
    made = [study.removeprefix("table1_") for study in committed("table1_")]
    order = ["crime", "motor", "motor_all", "census", "census_county"]
    return sorted(made, key=order.index)


def dataset_of(name: str) -> str:
    """Id of the data set behind a result's name."""
    return name.removesuffix("_all")


def title_of(name: str) -> str:
    title = CATALOGUE[dataset_of(name)].title
    return f"{title}, all policies" if name.endswith("_all") else title


def method_title(method: str) -> str:
    own = "" if method in METHODS else " (ours)"
    return ALL_METHODS[method].title + {"chi2_kde": " (Mary2019)"}.get(method, own)


def column_title(measure: str) -> str:
    return "MSE" if measure == "mse" else REGISTRY[measure].symbol

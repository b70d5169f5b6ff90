"""What the paper printed: its Table 1, and the figures that its text names."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

#: Columns of Table 1 after the error, in the paper's order.
FAIRNESS = ("hgr_nn", "hgr_kde", "hgr_rdc", "chi2_kde", "chi2_nn", "fairquant")
#: The rows of Table 1; ``chi2_kde`` is Mary2019.
METHODS = ("standard", "hgr_nn", "chi2_nn", "chi2_kde", "mine")
OBJECTIVES = ("demographic_parity", "equalized_residuals")
#: Data sets that stand in for one of the paper's that can't be had: stand-in to the paper's name.
STANDS_FOR = {"census_county": "census"}

#: Household scenario: HGR that the weights were chosen for, by objective.
HOUSEHOLD_TARGETS = {"demographic_parity": 0.05, "equalized_residuals": 0.30}
#: Household scenario: increase in MSE against the standard network; "about 10 %" for all three fair methods.
HOUSEHOLD_INCREASES = {
    "demographic_parity": {"hgr_nn": 0.10, "chi2_nn": 0.10, "chi2_kde": 0.10},
    "equalized_residuals": {"hgr_nn": 0.67, "chi2_nn": 0.80, "chi2_kde": 0.98},
}
#: Household scenario: average price in € under demographic parity.
HOUSEHOLD_PRICE = 226.0
#: Household scenario: HGR of the standard network's residuals.
HOUSEHOLD_STANDARD_HGR = 0.61


def table1() -> pd.DataFrame:
    """Table 1 as printed: ``dataset``, ``method``, ``objective``, ``mse`` and a column a fairness measure.

    The MSE is that of the standardised target; FairQuant is in standard deviations of the target.
    """
    return pd.read_csv(Path(__file__).parent / "published" / "table1.csv")


def row_of(dataset: str, method: str, objective: str) -> pd.Series:
    """The row of Table 1; a stand-in has the row of the data set that it stands for.

    A method that the paper does not have is compared with its Fair HGR NN.
    """
    table = table1()
    named = method if method in METHODS else "hgr_nn"
    found = table[
        (table["dataset"] == STANDS_FOR.get(dataset, dataset))
        & (table["method"] == named)
        & (table["objective"] == objective)
    ]
    return found.iloc[0]

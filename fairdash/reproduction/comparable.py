"""Which results of ours can be held to the paper's values, and why others can't; computed from them."""

from __future__ import annotations

from fairdash.reproduction.cells import cells
from fairdash.reproduction.paper import OBJECTIVES
from fairdash.reproduction.results import StudyResult
from fairdash.training.sweep import STANDARD


def why_not_comparable(result: StudyResult, dataset: str) -> str | None:
    """Why a result's values can't be counted against the paper's; None where they can.

    Parameters
    ----------
    dataset
        Id of the data set behind the result.
    """
    if dataset == "census_county":
        return _below_the_floor(result, dataset)
    if dataset == "motor":
        return _other_data(result, dataset)
    return None


def _below_the_floor(result: StudyResult, dataset: str) -> str:
    """The stand-in has so few rows that its estimators can't read as little as the paper prints."""
    values = [cell for each in OBJECTIVES for cell in cells(result, dataset, "hgr_nn", each)[1:]]
    below = sum(cell.paper < cell.floor for cell in values)
    share = f"all {below}" if below == len(values) else f"{below} of {len(values)}"
    n_test = int(result.tables["splits"]["n_test"].iloc[0])
    return (
        f"the paper's table has over 70,000 census tracts, ours {result.about.options['rows']:,} counties; "
        f"{share} values of the paper's Fair HGR NN lie below the noise floor, that is below what "
        f"independent data read on our {n_test} test rows"
    )


def _other_data(result: StudyResult, dataset: str) -> str:
    """The paper's table is another one: already without fairness it depends far less on the attribute."""
    (found,) = [cell for cell in cells(result, dataset, STANDARD, OBJECTIVES[0]) if cell.measure == "hgr_nn"]
    return (
        f"the data differ: the standard network, not made fair, has an HGR_NN of {found.ours:.3f} here and "
        f"of {found.paper:.3f} in the paper"
    )

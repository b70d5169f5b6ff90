"""fairdash: the trade-off between accuracy and fairness for continuous sensitive attributes.

>>> import fairdash as fd
>>> round(fd.measure("pearson", [1.0, 2.0, 3.0], [2.0, 4.0, 6.1]), 3)
1.0

Nothing heavy is imported here: each name is loaded when it is first used, torch only by training and by
the neural measures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairdash._version import __version__
from fairdash.utils.lazy import lazy_names

if TYPE_CHECKING:
    from fairdash import losses
    from fairdash.api import confirm, find_lam, references, search, sweep
    from fairdash.auditing.audit import audit
    from fairdash.auditing.evidence import AuditResult
    from fairdash.data.catalogue import load_dataset
    from fairdash.data.dataset import Dataset
    from fairdash.data.leak_check import DataCheck, check_data
    from fairdash.data.proxies import rank_proxies
    from fairdash.data.readers.reading import read_table
    from fairdash.dependence import (
        assess_dependence,
        exact,
        fairquant,
        independence_floor,
        independence_test,
        learned_functions,
        measure,
        measure_many,
    )
    from fairdash.dependence.conditional import assess_conditional_dependence
    from fairdash.evaluation.result import SweepResult
    from fairdash.reports import plot
    from fairdash.tariff.cap import CappedPremiums, cap_premiums
    from fairdash.tariff.files import read_tariff
    from fairdash.tariff.model import FairTariff
    from fairdash.tariff.rating import rate
    from fairdash.training.lam_search import LamChoice
    from fairdash.training.regressor import FairRegressor
    from fairdash.training.scorer import make_scorer
    from fairdash.training.search import SearchGrid, SearchResult
    from fairdash.training.settings import TrainingSettings
    from fairdash.training.target import Target

_HOMES = {
    "AuditResult": "fairdash.auditing.evidence",
    "CappedPremiums": "fairdash.tariff.cap",
    "DataCheck": "fairdash.data.leak_check",
    "Dataset": "fairdash.data.dataset",
    "FairRegressor": "fairdash.training.regressor",
    "FairTariff": "fairdash.tariff.model",
    "LamChoice": "fairdash.training.lam_search",
    "SearchGrid": "fairdash.training.search",
    "SearchResult": "fairdash.training.search",
    "SweepResult": "fairdash.evaluation.result",
    "Target": "fairdash.training.target",
    "TrainingSettings": "fairdash.training.settings",
    "assess_dependence": "fairdash.dependence",
    "audit": "fairdash.auditing.audit",
    "cap_premiums": "fairdash.tariff.cap",
    "check_data": "fairdash.data.leak_check",
    "confirm": "fairdash.api",
    "exact": "fairdash.dependence",
    "fairquant": "fairdash.dependence",
    "find_lam": "fairdash.api",
    "independence_floor": "fairdash.dependence",
    "independence_test": "fairdash.dependence",
    "learned_functions": "fairdash.dependence",
    "load_dataset": "fairdash.data.catalogue",
    "losses": "fairdash",
    "make_scorer": "fairdash.training.scorer",
    "measure": "fairdash.dependence",
    "measure_many": "fairdash.dependence",
    "plot": "fairdash",
    "rank_proxies": "fairdash.data.proxies",
    "rate": "fairdash.tariff.rating",
    "read_table": "fairdash.data.readers.reading",
    "read_tariff": "fairdash.tariff.files",
    "references": "fairdash.api",
    "search": "fairdash.api",
    "sweep": "fairdash.api",
    "assess_conditional_dependence": "fairdash.dependence.conditional",
}

__all__ = [
    "AuditResult",
    "CappedPremiums",
    "DataCheck",
    "Dataset",
    "FairRegressor",
    "FairTariff",
    "LamChoice",
    "SearchGrid",
    "SearchResult",
    "SweepResult",
    "Target",
    "TrainingSettings",
    "__version__",
    "assess_conditional_dependence",
    "assess_dependence",
    "audit",
    "cap_premiums",
    "check_data",
    "confirm",
    "exact",
    "fairquant",
    "find_lam",
    "independence_floor",
    "independence_test",
    "learned_functions",
    "load_dataset",
    "losses",
    "make_scorer",
    "measure",
    "measure_many",
    "plot",
    "rank_proxies",
    "rate",
    "read_table",
    "read_tariff",
    "references",
    "search",
    "sweep",
]


__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)

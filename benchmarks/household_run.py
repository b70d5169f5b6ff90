"""The run that the trade-off page makes for the built-in household data, used by home page and lesson.

The plan is that of the page, without methods that neither home page nor lesson shows. Other methods in a plan
do not change how the models of a method are trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import fairdash as fd
from fairdash.data.dataset import Dataset
from fairdash.training.methods import DEFAULT_METHOD
from fairdash.training.sweep import STANDARD, Sweep, default_plan


def household_run(
    *, objective: str = "demographic_parity", lams: Sequence[float] | None = None
) -> tuple[Dataset, Sweep]:
    """The data set and the plan; `lams` replace the page's weights."""
    dataset = fd.load_dataset("household")
    plan = default_plan(dataset, objective=objective, methods=(STANDARD, DEFAULT_METHOD), device="cpu")
    return dataset, replace(plan, lams=plan.lams if lams is None else tuple(lams), find_lams=False)

r"""The cost of a cap on premium changes on the motor policies.

    FAIRDASH_DATA=… python -m benchmarks.tariff_cap [--splits 5]

The target is claims per year of pg15training (exposure as weight). The existing price is a GLM with age as a
factor, fitted to a random half of the policies; tariffs without age are fitted and evaluated on the other
half, so that the existing price uses none of these claims. Writes results/tariff_cap.csv: one row per λ and
cap, as fairdash.evaluation.cap_cost returns them, as means over the splits on test rows; the cap is missing
for no cap, and λ is missing for the existing price.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import fairdash as fd
from fairdash.data.published import motor
from fairdash.evaluation import cap_cost
from fairdash.evaluation.capping import AFTER, BEFORE
from fairdash.tariff.fit import FitOptions
from fairdash.tariff.path import fit_tariffs
from fairdash.training.losses import find_loss
from fairdash.training.splits import random_splits

RESULTS = Path(__file__).parent / "results"
LAMS, CAPS = (0.3, 3.0), (0.3, 0.2, 0.1, 0.05)
POISSON = find_loss("poisson")


def portfolio() -> fd.Dataset:
    """Half of the policies, with their existing prices from the GLM of the other half."""
    data = motor(target="frequency")
    mine = np.random.default_rng(0).random(data.n_rows) < 0.5
    rows = data.features.join(data.sensitive)
    glm = fd.FairTariff(lam=0, random_state=0)
    glm.fit(rows[~mine], data.target[~mine], sample_weight=data.weight[~mine])
    kept = data.take(np.flatnonzero(mine))
    return replace(kept, prediction=pd.Series(glm.predict(rows[mine]), name="today"))


def costs(n_splits: int) -> Iterator[dict[str, object]]:
    """One row per λ and cap."""
    data = portfolio()
    splits = random_splits(data.n_rows, n_splits=n_splits, random_state=0)
    assert data.prediction is not None
    today = np.tile(data.prediction.to_numpy(), (n_splits, 1))
    for lam in (None, *LAMS):
        premiums = today
        if lam is not None:
            premiums = fit_tariffs(data, splits, lams=[lam], options=FitOptions(loss=POISSON)).predictions
        for k, cap in enumerate(CAPS if lam is not None else CAPS[:1]):
            table = cap_cost(data, premiums, splits, max_change=cap, loss=POISSON)
            if k == 0:
                yield {"lam": lam, "cap": None} | table.loc[BEFORE].drop("changed").to_dict()
            if lam is not None:
                yield {"lam": lam, "cap": cap} | table.loc[AFTER].drop("changed").to_dict()


def page_table(table: pd.DataFrame) -> str:
    """The table of docs/tariff.md; values under independence are in brackets."""
    lines = [
        "| premiums | cap | deviance ÷ flat premium's | gap of tenths by age | HGR with age | held |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for each in table.itertuples():
        name = "today's, with the age" if np.isnan(each.lam) else f"λ = {each.lam:g}"
        cap, held = f"±{100 * each.cap:.0f} %", f"{100 * (each.at_lower + each.at_upper):.0f} %"
        if np.isnan(each.cap):
            cap, held = "none", "–"
        lines.append(
            f"| {name} | {cap} | {each.error:.4f} | {100 * each.gap:.0f} % ({100 * each.gap_floor:.0f} %) | "
            f"{each.dependence:.3f} ({each.floor:.3f}) | {held} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", type=int, default=5)
    table = pd.DataFrame(costs(parser.parse_args().splits))
    table.to_csv(RESULTS / "tariff_cap.csv", index=False)
    print(page_table(table))


if __name__ == "__main__":
    main()

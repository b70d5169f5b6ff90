"""Repair without s at every strength: a distilled network compared with the projection and FairTariff.

    OMP_NUM_THREADS=1 python -m benchmarks.distilled [--only strong]

Simulated claims of 12,000 policies, one in five years, half of which are used for training. The price is that
of a GLM without age. In `strong`, the bonus is a good proxy of age; in `weak` it is a poor one. Methods, one
row per strength: `repair` with s, `projected` without s (trees), `network` (``projection="network"``),
`fair_tariff` by λ.

Writes results/distilled.csv with values on test rows: the dependence (HGR, splines, corrected); the error
(deviance divided by that of the flat premium); `true_error`, the same with the known means instead of claims;
and for a network `excess` and `true_excess`, its error divided by that of FairTariff at the same dependence,
interpolated between two λ, less 1. It runs in parts: see benchmarks.parts.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import fairdash as fd
from benchmarks import parts
from fairdash.training.losses import find_loss

RESULTS = Path(__file__).parent / "results" / "distilled.csv"
ROWS, STRENGTHS = 12_000, (0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
LAMS = (0.0, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.4, 1.0)


def drawn(kind: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Features, age, years, claims per year and their mean."""
    rng = np.random.default_rng(1)
    age, years, noise = rng.uniform(18, 85, ROWS), rng.uniform(0.2, 1, ROWS), rng.normal(size=(2, ROWS))
    away = (age - 51.5) / 19.3
    bonus = {"strong": away + 0.7 * noise[0], "weak": 0.57 * away + noise[0]}[kind]
    power, zone = rng.integers(4, 13, ROWS).astype(float), rng.integers(1, 7, ROWS)
    mean = np.exp(0.6 * bonus + 0.1 * (power - 8) + 0.1 * (zone - 3.5))
    mean *= 0.2 / mean.mean()
    x = pd.DataFrame({"bonus": bonus, "value": away + 2 * noise[1], "power": power})
    y = pd.DataFrame({"age": age, "years": years, "rate": rng.poisson(mean * years) / years, "mean": mean})
    return x.assign(zone=[f"Z{k}" for k in zone]), y


def measured(kind: str) -> pd.DataFrame:
    x, y = drawn(kind)
    rows = np.arange(ROWS)
    train, test = rows[: ROWS // 2], rows[ROWS // 2 :]
    known, weight, loss = y.iloc[train], y["years"].to_numpy(), find_loss("poisson")
    options = {"sensitive_features": known["age"], "sample_weight": known["years"]}
    found = []

    def add(way: str, strength: float, price: np.ndarray) -> None:
        errors = {
            name: loss.relative_of_many(y[of].to_numpy(), price[None], weight, rows=test, train=train)[0]
            for name, of in (("error", "rate"), ("true_error", "mean"))
        }
        dependence = fd.measure("hgr_spline", price[test], y["age"].to_numpy()[test], evaluation="corrected")
        found.append({"table": kind, "way": way, "strength": strength, "dependence": dependence} | errors)
        print(found[-1], flush=True)

    for lam in LAMS:
        tariff = fd.FairTariff(lam=lam, random_state=0).fit(x.iloc[train], known["rate"], **options)
        add("fair_tariff", lam, tariff.predict(x))
        if not lam:
            priced = x.assign(price=tariff.predict(x))
    repair = fd.FairPostprocessor("price", random_state=0).fit(priced.iloc[train], **options)
    add("repair", 1.0, repair.predict(priced, sensitive_features=y["age"]))
    add("projected", 1.0, repair.predict(priced))
    for alpha in STRENGTHS:
        repair = fd.FairPostprocessor("price", projection="network", alpha=alpha, random_state=0)
        add("network", alpha, repair.fit(priced.iloc[train], **options).predict(priced))
    return pd.DataFrame(found)


def results_of(rows: pd.DataFrame) -> pd.DataFrame:
    found = []
    for _, own in rows.groupby("table", sort=False):
        path = own[own["way"] == "fair_tariff"].sort_values("dependence")
        for name, error in (("excess", "error"), ("true_excess", "true_error")):
            there = np.interp(own["dependence"], path["dependence"], path[error])
            own[name] = (own[error] / there - 1).where(own["way"] == "network")
        found.append(own)
    return pd.concat(found).round(4)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    work = ((kind, partial(measured, kind)) for kind in ("strong", "weak"))
    parts.run(parser, argv, lambda _: work, results_of, RESULTS, by="table")


if __name__ == "__main__":
    main()

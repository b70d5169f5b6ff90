"""Crime: the error of each method at equal independence of predictions and s.

    OMP_NUM_THREADS=1 FAIRDASH_DATA=… python -m benchmarks.crime_equal [--only NAME …] [--objective ID]

The protocol was written before the study: 20 random 80/20 splits; a quarter of each split's training rows is
set aside for choices, as many as there are test rows, so that their floors are similar. The networks do not
see s. The error is that of the test rows divided by that of a constant prediction; the excess is the mean of
HGR_KDE and HGR_RDC, each less its independence floor on the same rows. λ is the point at which the excess, a
mean over the splits, equals 0.05 and 0.03, or, for equalized residuals, at which HGR_KDE equals 0.16, by
interpolation between the trained weights: on the rows set aside ("validation"), or, so that all methods are
equally independent, on the test rows themselves ("test"). `reached` is the value on the test rows. The
difference is to the better of `hgr_spline` and `chi2_kde` with the defaults of commit c628dfb (tanh, learning
rate 0.002, decay 0.03, batches of 256, no comparison of settings), evaluated in the same way, with the half
width of the 95 % interval of Nadeau and Bengio over the splits. "tuned" compares learning rates and decays on
the rows set aside, as a run does. Seconds are processor seconds per model. Writes results/crime_equal.csv,
the rows of a method as soon as they are computed; and for equalized residuals results/crime_spread.csv, the
spread of the standard network's residuals by quarter of s.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
from scipy.stats import t as student

import fairdash as fd
from fairdash.dependence import independence_floor, measure_many
from fairdash.evaluation import corrected_standard_error
from fairdash.training.settings import OBJECTIVES, TrainingSettings
from fairdash.training.sweep import STANDARD, Sweep, train_sweep

RESULTS = Path(__file__).parent / "results" / "crime_equal.csv"
SPREAD = RESULTS.with_name("crime_spread.csv")
N_SPLITS, VALIDATION_SHARE, N_PERMUTATIONS = 20, 0.25, 10
LEVELS: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {"demographic_parity": (0.05, 0.03), "equalized_residuals": (0.16,)}
)
LEVEL_OF = MappingProxyType({"demographic_parity": "excess", "equalized_residuals": "hgr_kde"})
MEASURES = ("hgr_kde", "hgr_rdc")
DEFAULT = TrainingSettings()
FIXED = TrainingSettings(architecture="scores", hidden=(64, 32), weight_decay=0.06, lr=4e-3)
SCORES = TrainingSettings(architecture="scores", hidden=(64, 32))


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A method, its networks, and the weights used in training for demographic parity."""

    method: str
    lams: tuple[float, ...]
    settings: TrainingSettings = DEFAULT
    tune: bool = False


_SPLINE, _KDE, _CCA = (1, 1.5, 2, 3, 4, 6, 9), (1.5, 2, 3, 4, 6, 9, 14, 24), (1.5, 2, 3, 4, 6, 9, 14, 24)
_NN = (1, 1.5, 2, 3, 4, 6)
#: Residuals become independent of s at larger weights than predictions do.
_FOR_RESIDUALS = (4, 9, 16, 24, 40, 60, 100, 150)
BASES = ("hgr_spline", "chi2_kde")
ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {
        "hgr_spline": Entry(method="hgr_spline", lams=_SPLINE),
        "chi2_kde": Entry(method="chi2_kde", lams=_KDE),
        "cca_spline": Entry(method="cca_spline", lams=_CCA),
        "cca_spline, scores": Entry(method="cca_spline", lams=_CCA, settings=FIXED),
        "cca_spline, tuned": Entry(method="cca_spline", lams=_CCA, tune=True),
        "cca_spline, scores, tuned": Entry(method="cca_spline", lams=_CCA, settings=SCORES, tune=True),
        "hgr_spline, tuned": Entry(method="hgr_spline", lams=_SPLINE, tune=True),
        "hgr_spline, scores, tuned": Entry(method="hgr_spline", lams=_SPLINE, settings=SCORES, tune=True),
        "chi2_kde, tuned": Entry(method="chi2_kde", lams=_KDE, tune=True),
        "chi2_kde, scores, tuned": Entry(method="chi2_kde", lams=_KDE, settings=SCORES, tune=True),
        "hgr_nn, tuned": Entry(method="hgr_nn", lams=_NN, tune=True),
        "hgr_nn, scores, tuned": Entry(method="hgr_nn", lams=_NN, settings=SCORES, tune=True),
    }
)


def front(entry: Entry, *, objective: str) -> tuple[pd.DataFrame, float]:
    """``split``, ``lam``, ``part``, ``error`` and ``excess`` of each model, and seconds per model."""
    dataset = fd.load_dataset("crime")
    y, s = dataset.target.to_numpy(dtype=float), dataset.sensitive.to_numpy(dtype=float)[:, 0]
    plan = Sweep(
        methods=(entry.method,),
        lams=entry.lams if objective == "demographic_parity" else _FOR_RESIDUALS,
        objective=objective,
        n_splits=N_SPLITS,
        validation_share=VALIDATION_SHARE,
        settings=entry.settings,
        tune=entry.tune,
        device="cpu",
    )
    started = time.process_time()
    trained = train_sweep(dataset, plan)
    seconds = (time.process_time() - started) / len(trained.members)
    rows = []
    for number, members in trained.members.groupby("split"):
        split = trained.splits[number]
        for part in ("validation", "test"):
            at = split.parts[part]
            predicted = trained.predictions[members.index][:, at]
            constant = ((y[at] - y[split.train].mean()) ** 2).mean()
            u = OBJECTIVES[objective].audit(predicted, y[at])
            values = {id: measure_many(id, u, s[at], random_state=0) for id in MEASURES}
            excess = [
                values[id]
                - independence_floor(id, u, s[at], n_permutations=N_PERMUTATIONS, random_state=0).mean
                for id in MEASURES
            ]
            error = ((y[at] - predicted) ** 2).mean(axis=1) / constant
            found = {"error": error, "excess": np.mean(excess, axis=0), **values}
            rows.append(pd.DataFrame({"split": number, "lam": members["lam"], "part": part, **found}))
    return pd.concat(rows, ignore_index=True), seconds


def spread() -> pd.DataFrame:
    """Root mean squares of y less its mean, and of the standard network's residuals, by quarter of s."""
    dataset = fd.load_dataset("crime")
    y, s = dataset.target.to_numpy(dtype=float), dataset.sensitive.to_numpy(dtype=float)[:, 0]
    plan = Sweep(
        methods=(STANDARD,), lams=(), n_splits=N_SPLITS, validation_share=VALIDATION_SHARE, device="cpu"
    )
    trained, rows = train_sweep(dataset, plan), []
    for number, members in trained.members.groupby("split"):
        split = trained.splits[number]
        at = split.parts["test"]
        squares = pd.DataFrame(
            {
                "target": (y[at] - y[split.train].mean()) ** 2,
                "residual": (y[at] - trained.predictions[members.index[0]][at]) ** 2,
            }
        )
        for quarter, part in squares.groupby(pd.qcut(s[at], 4, labels=False)):
            rows.append({"quarter": str(quarter + 1), **part.mean()})
        rows.append({"quarter": "all", **squares.mean()})
    return np.sqrt(pd.DataFrame(rows).groupby("quarter").mean()).reset_index()


#: Test error of each split, value of the test rows at this λ, and λ.
Read = tuple[np.ndarray, float, float]


def errors_at(found: pd.DataFrame, column: str, level: float, *, by: str) -> Read | None:
    """Errors at the λ where the mean `column` of the part `by` is `level`; None if no weight reaches it."""
    means = found[found["part"] == by].groupby("lam")[column].mean()
    reached = np.flatnonzero(means <= level)
    if not len(reached) or reached[0] == 0:
        return None
    above, below = reached[0] - 1, reached[0]
    share = (means.iloc[above] - level) / (means.iloc[above] - means.iloc[below])
    test = found[found["part"] == "test"].pivot(index="split", columns="lam", values=["error", column])
    error, excess = (
        ((1 - share) * test[name].iloc[:, above] + share * test[name].iloc[:, below]).to_numpy()
        for name in ("error", column)
    )
    lam = np.exp(np.interp(share, [0, 1], np.log(means.index[[above, below]].to_numpy())))
    return error, float(excess.mean()), float(lam)


def compared(fronts: Mapping[str, pd.DataFrame], *, objective: str) -> pd.DataFrame:
    """One row per entry, level and set of rows used for choosing."""
    rows = []
    for level in LEVELS[objective]:
        for by in ("validation", "test"):
            read = {
                name: errors_at(found, LEVEL_OF[objective], level, by=by) for name, found in fronts.items()
            }
            bases = [read[name][0] for name in BASES if read.get(name) is not None]
            base = min(bases, key=np.mean, default=None)
            for name, own in read.items():
                row = {"objective": objective, "entry": name, "level": level, "read_on": by}
                if own is not None:
                    row |= {"lam": own[2], "error": own[0].mean(), "reached": own[1]}
                if own is not None and base is not None:
                    difference = own[0] - base
                    se = corrected_standard_error(
                        float(difference.var(ddof=1)), n_splits=N_SPLITS, test_to_train=1 / 3
                    )
                    row |= {
                        "difference": difference.mean(),
                        "half_width": student.ppf(0.975, N_SPLITS - 1) * se,
                    }
                rows.append(row)
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=list(ENTRIES), choices=list(ENTRIES))
    parser.add_argument("--objective", default="demographic_parity", choices=list(LEVELS))
    options = parser.parse_args()
    if options.objective == "equalized_residuals":
        spread().to_csv(SPREAD, index=False, float_format="%.4g")
    fronts, seconds = {}, {}
    for name in dict.fromkeys([*BASES, *options.only]):
        fronts[name], seconds[name] = front(ENTRIES[name], objective=options.objective)
        table = compared(fronts, objective=options.objective)
        table["seconds"] = table["entry"].map(seconds)
        print(table[table["entry"] == name].round(4).to_string(index=False), flush=True)
        _write(table)


def _write(table: pd.DataFrame) -> None:
    """Replace existing rows of the same entries in the table by new ones."""
    if RESULTS.exists():
        before = pd.read_csv(RESULTS)
        made = ["objective", "entry"]
        kept = ~pd.MultiIndex.from_frame(before[made]).isin(pd.MultiIndex.from_frame(table[made]))
        table = pd.concat([before[kept], table])
    objectives, entries = table["objective"].map(list(LEVELS).index), table["entry"].map(list(ENTRIES).index)
    places = objectives * len(ENTRIES) + entries
    table.iloc[places.argsort(kind="stable")].to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    main()

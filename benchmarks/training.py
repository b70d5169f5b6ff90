"""Training time and results of the methods.

    python -m benchmarks.training [--only seconds|quality|monotone] [--datasets crime,motor] [--splits 5]

``seconds``: duration of the sweeps that a page or a notebook starts, on Crime.

``quality``: every method on every data set and objective. λ is chosen on validation rows, and the results are
those of test rows: one sweep sets aside a fifth of each split's training rows, and the rule below, printed
with the table, chooses λ by the means over the validation rows; a second sweep trains on all training rows,
and its test rows give the results at this λ. Dependence is measured by HGR_KDE, HGR_RDC and FairQuant, which
no penalty except that of χ²_KDE resembles, each less its independence floor on the same rows.

``monotone``: whether the dependence of test rows falls with λ for ``hgr_nn``, as long as it is above the 95 %
quantile of the floor: Spearman's correlation of λ and the mean over ten splits.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import torch
from scipy.stats import spearmanr

import fairdash as fd
from fairdash.evaluation import summarise_splits, wide
from fairdash.training.methods import METHODS
from fairdash.training.settings import OBJECTIVES
from fairdash.training.sweep import STANDARD, Sweep, train_sweep

RESULTS = Path(__file__).parent / "results"
MEASURES = ("hgr_kde", "hgr_rdc", "fairquant")
SCORED = ("hgr_kde", "hgr_rdc")
#: Excess over the floor, in both measures, that counts as fair enough on the validation rows.
FAIR_ENOUGH = 0.02
LAMS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)
#: Weights for testing whether dependence falls with λ, from almost no effect to the floor on every data set.
FINE_LAMS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
#: χ² and mutual information fall much faster than HGR as dependence becomes weak, so these methods need
#: larger λ. Their adversaries are the slowest, and get fewer steps.
DIVERGENCES = ("chi2_nn", "mine")
GRIDS = {method: tuple((2 if method in DIVERGENCES else 1) * lam for lam in LAMS) for method in METHODS}


def data_sets() -> dict[str, tuple[fd.Dataset, fd.TrainingSettings]]:
    """Each data set and its training settings, with shorter training for many rows."""
    default = fd.TrainingSettings()
    return {
        "crime": (fd.load_dataset("crime"), default),
        "census_county": (fd.load_dataset("census_county"), default),
        "household": (fd.load_dataset("household", n=4000), replace(default, n_epochs=40)),
        "motor": (
            fd.load_dataset("motor", n=10_000),
            replace(default, n_epochs=20, warm_up_epochs=4, batch_size=512),
        ),
    }


def seconds() -> pd.DataFrame:
    """Wall seconds of the sweeps on Crime with default settings in one process."""
    dataset = fd.load_dataset("crime")
    lams = tuple(0.1 * 60 ** (k / 9) for k in range(10))
    rows = []
    for method in METHODS:
        plan = Sweep(methods=(method,), lams=lams, n_splits=5, device="cpu")
        rows.append({"what": f"{method}, 10 λ × 5 splits", "seconds": _seconds(dataset, plan)})
        print(rows[-1], flush=True)
    rows.append(
        {
            "what": f"all {len(METHODS)} methods, 10 λ × 5 splits",
            "seconds": sum(row["seconds"] for row in rows),
        }
    )
    first = Sweep(methods=("hgr_spline",), lams=lams[:8], n_splits=1, device="cpu")
    rows.append({"what": "hgr_spline, 8 λ × 1 split", "seconds": _seconds(dataset, first)})
    print(*rows[-2:], sep="\n")
    return pd.DataFrame(rows)


def _seconds(dataset: fd.Dataset, plan: Sweep) -> float:
    started = time.perf_counter()
    train_sweep(dataset, plan)
    return time.perf_counter() - started


def means(
    dataset: fd.Dataset, settings: fd.TrainingSettings, method: str, objective: str, splits: int, share: float
) -> pd.DataFrame:
    """Means over the splits of one method's sweep, with the excess of each measure over its floor."""
    if method in DIVERGENCES:
        settings = replace(settings, adversary_steps=3)
    result = fd.sweep(
        dataset,
        confirmation=0.0,
        methods=[method],
        lams=() if method == STANDARD else GRIDS[method],
        objective=objective,
        n_splits=splits,
        validation_share=share,
        settings=settings,
        tariff=False,
        importance=False,
        references=False,
        measures=MEASURES,
        device="cpu",
    )
    table = wide(summarise_splits(result.frames[result.objective]))
    for name in MEASURES:
        table[f"{name}_excess"] = table[name] - table[f"{name}_floor"]
    return table


def chosen(validation: pd.DataFrame) -> tuple[float, str]:
    """The λ that the rule chooses, and how the rule was met."""
    worst = validation[[f"{name}_excess" for name in SCORED]].max(axis=1)
    enough = validation[worst <= FAIR_ENOUGH]
    if len(enough):
        best = enough.loc[enough["mse"].idxmin()]
        return float(best["lam"]), "reached"
    return float(validation.loc[worst.idxmin(), "lam"]), "not reached: the fairest"


def quality(names: list[str], splits: int, methods: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One row per data set, objective and method; and the test fronts from which the rows are computed."""
    print(
        f"Rule: the least mean validation error among the λ whose mean excess over the floor is at most "
        f"{FAIR_ENOUGH} in {' and '.join(SCORED)} on the validation rows; else the fairest λ there."
    )
    rows, fronts = [], []
    for name, (dataset, settings) in data_sets().items():
        if name not in names:
            continue
        for objective in OBJECTIVES:
            for method in methods:
                test = means(dataset, settings, method, objective, splits, 0.0)
                lam, how = 0.0, "no penalty"
                at_test = test[test["part"] == "test"]
                fronts.append(at_test.assign(dataset=name, objective=objective))
                if method != STANDARD:
                    tried = means(dataset, settings, method, objective, splits, 0.2)
                    lam, how = chosen(tried[tried["part"] == "validation"])
                row = at_test[at_test["lam"] == lam].iloc[0]
                rows.append(
                    {"dataset": name, "objective": objective, "method": method, "lam": lam, "rule": how}
                    | {f: row[f] for f in ("mse", "mse_se", *(f"{m}_excess" for m in MEASURES))}
                    | {"n_splits": splits}
                )
                print(" ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in rows[-1].values()))
    return pd.DataFrame(rows), pd.concat(fronts).drop(columns="part")


def monotone(names: list[str]) -> pd.DataFrame:
    """One row per data set and objective: how mean dependence of `hgr_nn` above the floor changes with λ."""
    rows = []
    for name, (dataset, settings) in data_sets().items():
        for objective in OBJECTIVES if name in names else ():
            result = fd.sweep(
                dataset,
                confirmation=0.0,
                methods=["hgr_nn"],
                lams=FINE_LAMS,
                objective=objective,
                n_splits=10,
                validation_share=0.0,
                settings=settings,
                tariff=False,
                importance=False,
                references=False,
                measures=SCORED,
                device="cpu",
            )
            table = wide(summarise_splits(result.frames[result.objective]))
            test = table[table["part"] == "test"]
            for measure in SCORED:
                above = test[test[measure] > test[f"{measure}_floor_q95"]]
                rows.append(
                    {
                        "dataset": name,
                        "objective": objective,
                        "measure": measure,
                        "spearman": float(spearmanr(above["lam"], above[measure])[0]),
                        "weights above the floor": len(above),
                        "largest of them": above["lam"].max(),
                    }
                )
                print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=["seconds", "quality", "monotone"])
    parser.add_argument("--datasets", default="crime,census_county,household,motor")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where to write the tables")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.only in (None, "seconds"):
        seconds().to_csv(options.folder / "training_seconds.csv", index=False, float_format="%.4g")
    if options.only in (None, "quality"):
        table, fronts = quality(options.datasets.split(","), options.splits, options.methods.split(","))
        table.to_csv(options.folder / "training_quality.csv", index=False, float_format="%.4g")
        fronts.to_csv(options.folder / "training_fronts.csv", index=False, float_format="%.4g")
    if options.only in (None, "monotone"):
        table = monotone(options.datasets.split(","))
        table.to_csv(options.folder / "training_monotone.csv", index=False, float_format="%.4g")


if __name__ == "__main__":
    main()

"""Blends of two trained models compared with a model trained at an intermediate λ.

    python -m benchmarks.blends [--datasets crime,household] [--methods hgr_spline,hgr_nn] [--splits 5]

Between two trained weights λ, the trade-off page shows the blend of the two models' predictions. In this
study, models are also trained at ten of these points, with the same initial weights and mini-batches; the
blends use only the models at the default λ. Test rows, demographic parity, default settings.

The two models are compared at the same λ and at the same dependence. For the latter, the front of the blends
(means over the splits) is interpolated linearly at the mean excess of the trained model, where it crosses
this excess nearest to the trained model's λ. In each split this point of the front is compared with the
trained model. The difference of their excess in the split is converted to error by the slope of the front
between the two trained neighbours; this leaves the mean unchanged and removes the noise that both share.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

import fairdash as fd
from fairdash.evaluation import assess_predictions, blend, corrected_standard_error, curve_points, wide
from fairdash.training.defaults import LAMS
from fairdash.training.methods import ModelKey
from fairdash.training.sweep import STANDARD

RESULTS = Path(__file__).parent / "results"
MEASURE = "hgr_kde"
N_TRAINED_BETWEEN = 10


@dataclass(frozen=True)
class Figures:
    """Error, and excess of the dependence over the floor, of the test rows; (models, splits) each."""

    mse: NDArray[np.float64]
    excess: NDArray[np.float64]

    def of(self, rows: slice) -> Figures:
        return Figures(self.mse[rows], self.excess[rows])


def chosen(every: tuple[ModelKey, ...]) -> list[ModelKey]:
    """Ten blends, equally spaced along the slider: one per pair of neighbours, with different shares."""
    between = [stop for stop in every if not stop.is_trained]
    places = (np.arange(N_TRAINED_BETWEEN) + 0.5) * len(between) / N_TRAINED_BETWEEN
    return [between[int(place)] for place in places]


def study(name: str, method: str, n_splits: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Results for the ten λ, one row each, and for all slider positions, one row each."""
    dataset = fd.load_dataset(name)
    every = curve_points(method, LAMS)
    asked = chosen(every)
    result = fd.sweep(
        dataset,
        confirmation=0.0,
        methods=[STANDARD, method],
        lams=sorted({*LAMS, *(stop.lam for stop in asked)}),
        n_splits=n_splits,
        measures=(),
        validation_share=0.0,
        tariff=False,
        importance=False,
        references=False,
        settings=fd.TrainingSettings(),
        tune=True,
        device="cpu",
    )
    if result.members["diverged"].any():
        raise RuntimeError(f"{method} diverged on {name}")
    number = {(m.lam, m.split): m.Index for m in result.members.itertuples()}
    models = []
    for stop in every:
        for j in range(n_splits):
            low, high = (result.predictions[number[lam, j]] for lam in (stop.low, stop.high))
            models.append(blend(low, high, stop.share))
    models += [result.predictions[number[stop.lam, j]] for stop in asked for j in range(n_splits)]
    members = pd.DataFrame(
        {
            "method": method,
            "lam": np.repeat([stop.lam for stop in (*every, *asked)], n_splits),
            "split": np.tile(np.arange(n_splits), len(every) + len(asked)),
            "diverged": False,
        }
    )
    frame = wide(
        assess_predictions(
            dataset,
            np.stack(models),
            members,
            result.splits,
            objective=result.sweep.objective,
            measures=(MEASURE,),
        )
    )
    test = frame[frame["part"] == "test"]
    excess = test[MEASURE] - test[f"{MEASURE}_floor"]
    figures = Figures(*(values.to_numpy().reshape(-1, n_splits) for values in (test["mse"], excess)))
    ratio = len(result.splits[0].test) / len(result.splits[0].train)
    keys = {"dataset": name, "method": method}
    slider, trained = figures.of(slice(len(every))), figures.of(slice(len(every), None))
    at = {stop.lam: k for k, stop in enumerate(every)}
    rows = [
        keys
        | _place(stop)
        | {"n_splits": n_splits}
        | _figures("blend", slider.mse[at[stop.lam]], slider.excess[at[stop.lam]], ratio)
        | _figures("trained", trained.mse[k], trained.excess[k], ratio)
        | _at_the_same_lam(slider, trained, at[stop.lam], k, ratio)
        | _matched(slider, trained, every, at, stop, k, ratio)
        for k, stop in enumerate(asked)
    ]
    all_stops = [
        keys
        | _place(stop)
        | _figures("", slider.mse[k], slider.excess[k], ratio)
        | _above_both_ends(slider, at, stop, k, ratio)
        for k, stop in enumerate(every)
    ]
    return pd.DataFrame(rows), pd.DataFrame(all_stops)


def _place(stop: ModelKey) -> dict[str, object]:
    return {"lam": stop.lam, "low": stop.low, "high": stop.high, "share": round(stop.share, 6)}


def _summary(name: str, values: NDArray[np.float64], ratio: float) -> dict[str, float]:
    """Mean over the splits and its corrected standard error."""
    variance, n_splits = pd.Series([values.var(ddof=1)]), pd.Series([len(values)])
    error = corrected_standard_error(variance, n_splits=n_splits, test_to_train=ratio)
    return {name: values.mean(), f"{name}_se": float(error.iloc[0])}


def _figures(
    name: str, mse: NDArray[np.float64], excess: NDArray[np.float64], ratio: float
) -> dict[str, float]:
    start = f"{name}_" if name else ""
    return _summary(f"{start}mse", mse, ratio) | _summary(f"{start}excess", excess, ratio)


def _at_the_same_lam(slider: Figures, trained: Figures, at: int, k: int, ratio: float) -> dict[str, float]:
    """Error of the blend less that of the trained model."""
    return _summary("mse_difference", slider.mse[at] - trained.mse[k], ratio) | _summary(
        "excess_difference", slider.excess[at] - trained.excess[k], ratio
    )


def _matched(
    slider: Figures,
    trained: Figures,
    every: tuple[ModelKey, ...],
    at: dict[float, int],
    stop: ModelKey,
    k: int,
    ratio: float,
) -> dict[str, float]:
    """Error of the blends' front less that of the trained model, at the trained model's mean excess.

    NaN if the blends' front never has this excess, or does not fall between the neighbours.
    """
    mean = slider.excess.mean(axis=1)
    above = mean > trained.excess[k].mean()
    crossings = np.flatnonzero(above[:-1] != above[1:])
    low, high = at[stop.low], at[stop.high]
    fall = mean[low] - mean[high]
    if len(crossings) == 0 or fall <= 0:
        return {"matched_lam": np.nan, "matched_difference": np.nan, "matched_difference_se": np.nan}
    places = crossings + (mean[crossings] - trained.excess[k].mean()) / (
        mean[crossings] - mean[crossings + 1]
    )
    place = places[np.argmin(np.abs(places - at[stop.lam]))]
    before = min(int(place), len(mean) - 2)

    def read(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values[before] + (place - before) * (values[before + 1] - values[before])

    slope = (slider.mse[high].mean() - slider.mse[low].mean()) / -fall
    difference = read(slider.mse) - trained.mse[k] - slope * (read(slider.excess) - trained.excess[k])
    lam = read(np.array([stop.lam for stop in every]))
    return {"matched_lam": float(lam)} | _summary("matched_difference", difference, ratio)


def _above_both_ends(
    slider: Figures, at: dict[float, int], stop: ModelKey, k: int, ratio: float
) -> dict[str, float]:
    """By how much a blend's excess exceeds that of its more dependent neighbour, and in how many splits.

    The means, as shown on the page, determine which neighbour is more dependent.
    """
    ends = (at[stop.low], at[stop.high])
    worse = max(ends, key=lambda end: slider.excess[end].mean())
    in_splits = slider.excess[k] > np.maximum(*(slider.excess[end] for end in ends))
    above = _summary("above_worse_end", slider.excess[k] - slider.excess[worse], ratio)
    return above | {"splits_above_both": int(in_splits.sum())}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", default="crime,household")
    parser.add_argument("--methods", default="hgr_spline,hgr_nn")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where to write the tables")
    options = parser.parse_args()
    torch.set_num_threads(1)
    tables, sliders = [], []
    for name in options.datasets.split(","):
        for method in options.methods.split(","):
            table, slider = study(name, method, options.splits)
            print(table.to_string(index=False, float_format="{:.3f}".format), flush=True)
            worst = slider.loc[slider["above_worse_end"].idxmax()]
            print(worst.to_string(), flush=True)
            tables.append(table)
            sliders.append(slider)
    for file, parts in (("blends", tables), ("blends_slider", sliders)):
        pd.concat(parts).to_csv(options.folder / f"{file}.csv", index=False, float_format="%.6g")


if __name__ == "__main__":
    main()

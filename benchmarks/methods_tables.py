"""Generate the page docs/methods.md from the bench's results: python -m benchmarks.methods_tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.methods import ROWS
from fairdash.evaluation.rivals import RIVALS
from fairdash.training.methods import DEFAULT_METHOD, PATHS, STANDARD
from fairdash.views.reports.methods import best_at_half, errors_of, mean_ranks, missing, read_methods, summary

PAGE = Path(__file__).parent.parent / "docs" / "methods.md"
_HEAD = """# Compare methods at equal dependence

This page is made by `python -m benchmarks.methods_tables` from `fairdash/views/reports/methods.csv`, which
`python -m benchmarks.methods` reproduces. If splits are missing in the results, the same command computes
them.

`fd.bench` and `fairdash bench` compare methods of fair training by the following protocol:

1. Every method is trained at several weights λ on the training rows of the same splits. A pilot finds the
   weights λ for each of our networks and tariffs.
2. On validation rows, the bench finds the first point of a method's path along λ at which the dependence is
   at most 75, 50 and 25 % of the standard network's dependence. Between two weights, the path is interpolated
   linearly.
3. The error at this point is computed on test rows, as a multiple of the error of predicting the average.

Dependence is measured in three ways, and no method minimises any of these three values. We call these three
values readings. Two readings are measures: the randomised dependence coefficient (`hgr_rdc`) and mutual
information by nearest neighbours (`mi_ksg`). The third reading is the gap of averages: the largest average
prediction among ten groups along the sensitive attribute s, minus the smallest. The noise floor of each
reading is subtracted. With several sensitive columns, the dependence is measured on the column on which a
model's predictions depend most, and also on all columns together. For the joint dependence, RDC and nearest
neighbours use all columns as one vector, and the gap compares the cells of the crossed columns. If a
simulation knows the true mean of each row, errors are measured against this mean. Intervals are 95 %
intervals over the splits (Nadeau and Bengio 2003).

```bash
python -m fairdash bench --dataset crime --method hgr_spline,hsic,band_ratio --splits 10
python -m fairdash bench --file prices.csv --predict price --sensitive age --method mine:Line --json
```

## Add a method of your own

A method is a class, or a function, that is called with λ. The method returns an object with `fit(X, y,
sensitive_features=…)` and `predict(X)`. The method in this example is a linear model with a penalty on the
squared covariance of its predictions with s:

```python
>>> import numpy as np
>>> import fairdash as fd
>>> class Line:
...     lams = (0.0, 0.1, 1.0, 10.0, 1000.0)
...     def __init__(self, lam):
...         self.lam = lam
...     def fit(self, X, y, sensitive_features):
...         x, s = np.column_stack([np.ones(len(X)), X]), np.ravel(sensitive_features)
...         c = x.T @ (s - s.mean()) / len(x)
...         self.beta = np.linalg.solve(x.T @ x / len(x) + self.lam * np.outer(c, c), x.T @ y / len(x))
...         return self
...     def predict(self, X):
...         return np.column_stack([np.ones(len(X)), X]) @ self.beta
>>> data = fd.load_dataset("household", n=600)
>>> found = fd.bench(data, methods=[], others={{"line": Line}}, n_splits=1)
>>> found[found["reading"] == "gap"][["method", "level", "reached"]].values.tolist()
[['standard', 1.0, 1], ['line', 0.75, 1], ['line', 0.5, 1], ['line', 0.25, 1]]

```

- `lams` are the weights to try, ascending from 0. The default is 0, 0.1, 0.3, 1, 3 and 10.
- If `predict` has a parameter `sensitive_features`, the bench passes s to it, and the results table states
  that the method needs s to set a price. If `fit` has a parameter `sample_weight`, the bench passes the
  exposure.
- With `repairs = True`, X has one column, the standard network's prediction, which the method repairs.

Estimators of Fairlearn have the same interface. `benchmarks/fairlearn_method.py` adds Fairlearn's adversarial
regressor as a method (Fairlearn 0.15.0).

## Methods compared

{entrants}

GeDI and GDP agree with their authors' public code to 1e-10 on 20 samples (`benchmarks/rival_values.py`).
The four penalties `gedi`, `gdp`, `eipm` and `hsic` use the normal scores of s and standardised predictions.
FREM learns a representation with an encoder. `eipm` uses only FREM's measure and applies it to the
prediction, with Gaussian kernels along s. We had no access to the text of two papers. We therefore could
not verify the number of the theorem in Chzhen et al. and the weights along s in FREM.

## Results

The data sets have at most {rows} rows, except `regions`, which has twice as many. `benchmarks/methods.py`
describes the data sets. {splits} The adversaries of `hgr_nn`, `chi2_nn` and `mine` had the schedule
`constant`. The app shows the same results on its page “Which method?”.

{summary}

| set | smallest error at half the gap, without s for a price |
| --- | --- |
{best}

The next tables give mean ranks by error, over the data sets and readings in which the standard network shows
dependence. Rank 1 means the smallest error. Methods that do not reach a level in at least one split are tied
for the last ranks. Methods that need s to set a price, or that were measured on fewer splits than the others
because of their computing time, are left out of these ranks.

Mean ranks on the data sets with one sensitive attribute:

{ranks}

Mean ranks on the data sets with several sensitive attributes:

{several}

Some methods have no result on some data sets:

{missing}

In the tables below, each cell gives the error and half the width of its interval. An arrow marks an error
that is above (↑) or below (↓) that of `{default}` on the same splits, if the interval of the difference
excludes 0. A number in square brackets gives the number of splits that reach the level, if not all splits
reach it. “No link” means that the predictions of the standard network show no more dependence on the
sensitive attribute than noise would, so there is no dependence to reduce.

{tables}
"""


def page() -> str:
    """The whole page."""
    table = read_methods()
    best = [
        f"| {row.data} | `{row.method}`, {row.comparable:.3f} |" for row in best_at_half(table).itertuples()
    ]
    lacking = [f"- `{name}`: {why}." for name, why in missing(table).items()]
    return _HEAD.format(
        rows=f"{ROWS:,}",
        splits=_splits(table),
        entrants=_markdown(_entrants()),
        summary="\n".join(f"- {each}" for each in summary(table)),
        best="\n".join(best),
        ranks=_ranks(table, several=False),
        several=_ranks(table, several=True),
        missing="\n".join(lacking) or "- none.",
        default=DEFAULT_METHOD,
        tables="\n\n".join(
            f"### {name}\n\n{_markdown(errors_of(table, name))}" for name in table["data"].unique()
        ),
    )


def _splits(table: pd.DataFrame) -> str:
    most = table.groupby("data", sort=False)["splits"].max()
    counts = [f"{', '.join(f'`{name}`' for name in own.index)}: {count}" for count, own in most.groupby(most)]
    fewer = [f"`{name}`" for name in sorted(table.loc[~table["has_all_splits"], "method"].unique())]
    return f"Number of splits: {'; '.join(counts)}. Methods with fewer splits: {', '.join(fewer) or 'none'}."


def _ranks(table: pd.DataFrame, *, several: bool) -> str:
    ranks = mean_ranks(table, several=several)
    if ranks.empty:
        return "(not measured yet)"
    ranks.columns = [f"{100 * level:.0f} %" for level in ranks.columns]
    return _markdown(ranks.map("{:.1f}".format).rename_axis("method").reset_index())


def _entrants() -> pd.DataFrame:
    rows = [(each.id, each.meaning, each.source, "no") for each in PATHS.values() if each.id != STANDARD]
    for name, one in RIVALS.items():
        said, _, source = (one.__doc__ or "").strip().partition("\n\n")
        rows.append((name, said, " ".join(source.split()) or "the simplest correction", "yes"))
    return pd.DataFrame(rows, columns=["id", "what it does", "source", "needs s for a price"])


def _markdown(table: pd.DataFrame) -> str:
    lines = [list(table.columns), ["---"] * table.shape[1], *table.astype(str).to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

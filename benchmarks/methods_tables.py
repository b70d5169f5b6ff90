"""The page docs/methods.md, made from results/methods.csv: python -m benchmarks.methods_tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fairdash.evaluation.bench import GAP, LEVELS, READINGS
from fairdash.evaluation.rivals import RIVALS
from fairdash.training.methods import DEFAULT_METHOD, METHODS, PATHS, STANDARD

RESULTS = Path(__file__).parent / "results" / "methods.csv"
PAGE = Path(__file__).parent.parent / "docs" / "methods.md"
TITLES = {"hgr_rdc": "HGR_RDC", "mi_ksg": "MI_KSG", "gap": "gap"}
_HEAD = """# Compare methods at equal dependence

This page is made by `python -m benchmarks.methods_tables` from `benchmarks/results/methods.csv`, which
`python -m benchmarks.methods --only {only} --splits {splits}` reproduces.

`fd.bench` and `fairdash bench` compare methods of fair training by one protocol:

1. Every method is trained at several weights λ on the training rows of the same splits. A pilot finds the
   weights of each of our networks and tariffs.
2. On validation rows, its path along λ is followed to where the dependence first falls to 75, 50 and 25 % of
   the standard network's. Between two weights the path is a straight line.
3. The error at this place is read on test rows, as a multiple of the error of predicting the average.

No method minimises the three readings of dependence. Two are measures: the randomised dependence coefficient
(`hgr_rdc`) and mutual information by nearest neighbours (`mi_ksg`). The third is the gap of averages: the
largest average prediction of ten groups along the sensitive attribute s, minus the smallest. Each reading is
taken above its noise floor. Of several sensitive columns, a model is judged by the one that it follows most.
Intervals are 95 % intervals over the splits (Nadeau and Bengio 2003).

```bash
python -m fairdash bench --dataset crime --method hgr_spline,hsic,band_ratio --splits 10
python -m fairdash bench --file prices.csv --predict price --sensitive age --method mine:Line --json
```

## Add a method of your own

A method is a class, or a function, that is called with λ. It returns an object with
`fit(X, y, sensitive_features=…)` and `predict(X)`. This one lowers the squared covariance of a line with s:

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
- If `predict` has a parameter `sensitive_features`, it gets them, and the table says that a price needs s. If
  `fit` has a parameter `sample_weight`, it gets the exposure.
- With `repairs = True`, X is one column: the standard network's prediction, to be repaired.

Estimators of Fairlearn have this interface. `benchmarks/fairlearn_method.py` makes its adversarial regressor
a method (Fairlearn 0.15.0).

## What takes part

{entrants}

GeDI and GDP equal their authors' public code to 1e-10 on 20 samples (`benchmarks/rival_values.py`). The four
penalties `gedi`, `gdp`, `eipm` and `hsic` take the normal scores of s and standardised predictions. FREM
learns a representation with an encoder. `eipm` takes its measure alone and applies it to the prediction, with
Gaussian kernels along s.

## Results

These are first figures, of {splits} splits and {n_tables} data sets. Most intervals are wide, and few
differences are certain. {missing}

The next table gives mean ranks by error, over the data sets and the three readings, of the methods measured
on all of them. Rank 1 is the smallest error. Methods that do not reach a level in every split share the last
ranks.

{ranks}

{verdict}

In the tables below, each cell gives the error and half the width of its interval. An arrow marks an error
that is above (↑) or below (↓) that of `{default}` on the same splits, where the interval of the difference
excludes 0. A number in square brackets says how many splits reach the level, if not all do.

{tables}
"""


def page() -> str:
    """The whole page."""
    table = pd.read_csv(RESULTS)
    table["method"] = (
        table["method"].str.partition(":")[2].str.lower().where(lambda name: name != "", table["method"])
    )
    ranks = mean_ranks(table)
    names = list(dict.fromkeys(table["data"]))
    return _HEAD.format(
        only=" ".join(names),
        splits=int(table["splits"].max()),
        n_tables=len(names),
        entrants=_markdown(_entrants()),
        missing=_missing(table),
        ranks=_markdown(
            ranks.rename(columns="{:.0%}".format).map("{:.1f}".format).rename_axis("method").reset_index()
        ),
        verdict=_verdict(table, ranks),
        default=DEFAULT_METHOD,
        tables="\n\n".join(
            f"### {name}\n\n{_markdown(_of(own))}" for name, own in table.groupby("data", sort=False)
        ),
    )


def mean_ranks(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean rank of each method, a column a level, in the order of their mean."""
    fair = table[table["method"] != STANDARD]
    everywhere = fair.groupby("method")["data"].nunique() == fair["data"].nunique()
    fair = fair[fair["method"].isin(everywhere.index[everywhere])]
    fair = fair.assign(error=fair["error"].where(fair["reached"] == fair["splits"], np.inf))
    rank = fair.groupby(["data", "reading", "level"])["error"].rank()
    means = rank.groupby([fair["method"], fair["level"]]).mean().unstack()[list(LEVELS)]
    return means.loc[means.mean(axis=1).sort_values(kind="stable").index]


def _entrants() -> pd.DataFrame:
    rows = [(each.id, each.meaning, each.source, "no") for each in PATHS.values() if each.id != STANDARD]
    for name, one in RIVALS.items():
        said, _, source = (one.__doc__ or "").strip().partition("\n\n")
        rows.append((name, said, " ".join(source.split()) or "the simplest correction", "yes"))
    return pd.DataFrame(rows, columns=["id", "what it does", "source", "needs s for a price"])


def _missing(table: pd.DataFrame) -> str:
    every = [each for each in (*METHODS, *RIVALS) if each != STANDARD]
    said = []
    for name, own in table.groupby("data", sort=False):
        left = [f"`{each}`" for each in every if each not in set(own["method"])]
        if left:
            said.append(f"{name}: {', '.join(left)}")
    return f"Not measured yet, because of the computing time: {'; '.join(said)}." if said else ""


def _verdict(table: pd.DataFrame, ranks: pd.DataFrame) -> str:
    place = int(np.flatnonzero(ranks.index == DEFAULT_METHOD)[0]) + 1
    best = ", ".join(f"`{ranks[level].idxmin()}` at {level:.0%}" for level in LEVELS)
    half = table[(table["reading"] == GAP) & (table["level"] == 0.5) & (table["reached"] == table["splits"])]
    smallest = half.loc[half.groupby("data", sort=False)["error"].idxmin()]
    by_data = "; ".join(
        f"{one.data}: `{one.method}`{', which needs s for a price' if one.needs_s else ''}"
        for one in smallest.itertuples()
    )
    above, below = (table["more_low"] > 0).sum(), (table["more_high"] < 0).sum()
    return (
        f"fairdash's default, `{DEFAULT_METHOD}`, is number {place} of {len(ranks)} by its mean rank. The "
        f"lowest mean ranks are those of {best}. Errors of other methods were compared "
        f"{table['more'].count()} times with the default's on the same splits. The interval of the "
        f"difference is above 0 {above} times and below 0 {below} times. By chance it would be so in about 1 "
        "of 20 comparisons. "
        f"At half the gap, the smallest errors are those of: {by_data}."
    )


def _of(table: pd.DataFrame) -> pd.DataFrame:
    """Errors of one data set: a row a method, a column a reading and level."""
    standard = table[table["method"] == STANDARD].iloc[0]
    rows = [{"method": STANDARD} | dict.fromkeys(_columns(), "") | _about(standard)]
    rows[0][_columns()[0]] = f"at 100 %: {_cell(standard)}"
    for method, own in table[table["method"] != STANDARD].groupby("method", sort=False):
        cells = {_column(one["reading"], one["level"]): _cell(one) for _, one in own.iterrows()}
        rows.append({"method": method} | cells | _about(own.iloc[0]))
    return pd.DataFrame(rows)


def _column(reading: str, level: float) -> str:
    return f"{TITLES[reading]} {100 * level:.0f} %"


def _columns() -> list[str]:
    return [_column(reading, level) for reading in READINGS for level in LEVELS]


def _about(row: pd.Series) -> dict[str, str]:
    return {"needs s": "yes" if row["needs_s"] else "no", "CPU seconds a split": f"{row['cpu_s']:.1f}"}


def _cell(row: pd.Series) -> str:
    if row["reached"] == 0:
        return "–"
    said = f"{row['error']:.3f}"
    if pd.notna(row["error_low"]):
        said += f" ± {row['error_high'] - row['error']:.3f}"
    said += " ↑" if row["more_low"] > 0 else " ↓" if row["more_high"] < 0 else ""
    return said if row["reached"] == row["splits"] else f"{said} [{row['reached']}]"


def _markdown(table: pd.DataFrame) -> str:
    lines = [list(table.columns), ["---"] * table.shape[1], *table.astype(str).to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""Generate docs/repair.md from results/postprocessor.csv: python -m benchmarks.postprocessor_tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

RESULTS = Path(__file__).parent / "results" / "postprocessor.csv"
PAGE = Path(__file__).parent.parent / "docs" / "repair.md"
WAYS = {
    "repair": "repaired trees, s known",
    "repair_projected": "repaired trees, s not known",
    "repair_factors": "the same as factors",
    "hgr_spline": "networks, λ",
    "fair_tariff": "fair tariff, λ",
    "x_residual": "trees on residual columns, s known",
    "price_residual": "residual price, s known",
}
_HEAD = """# Repair an existing price

This page is made by `python -m benchmarks.postprocessor_tables` from `benchmarks/results/postprocessor.csv`,
which `python -m benchmarks.postprocessor` reproduces.

`fd.FairPostprocessor` takes any regressor, a function, or a column of prices, and repairs the prices. Each
price keeps its rank among customers with the same sensitive attribute s. The repaired price is the value at
that rank in one distribution common to all values of s (the Wasserstein barycentre). The mean price stays the
same. The parameter `alpha` interpolates between the original price (0) and the fully repaired price (1).

```python
repair = fd.FairPostprocessor("price", alpha=1.0).fit(X, sensitive_features=age)
repair.predict(X_new, sensitive_features=age_new)  # s is known at pricing
repair.predict(X_new)  # s is not known: E[repaired price | x]
fd.FairPostprocessor("price", projection="factors").fit(X, sensitive_features=age).export("factors.csv")
fd.FairPostprocessor("price", projection="network", alpha=0.5).fit(X, sensitive_features=age)
```

- **A number and classes**, such as age and sex, are repaired together. The repaired price is then also
  independent of age within each sex. Combinations with fewer than 20 rows are merged. For **several
  numbers**, prices are repaired for one number after another, in three passes. The last pass works within
  combinations of up to ten bands of the other numbers, with at least about 200 rows per combination. In an
  example with two numbers, this method reduces the joint HGR from 0.88 to 0.16 on 4,000 new rows. Without
  bands, the joint HGR falls only to 0.83.
- **`objective="equalized_residuals"`** subtracts the average error at each s. This repair does not equalise
  the spread of errors, which depends on the target and is unknown at pricing.
- **Without s**, the repaired price still depends on s if the features x predict the repair only in part (see
  the second table). If x reveals almost nothing about s, the price hardly changes. The attribute
  `share_without_s_` is the share of the repair that is achieved without s on held-out rows, from 0 to 1.
- **`projection="network"`** reaches every level of dependence down to the noise floor without using s, at the
  cost shown in the table below. A fair network learns the price from the features alone. The parameter
  `alpha` is then the requested reduction of the dependence, as a share of the distance from the price's value
  to the noise floor. Trial trainings (a pilot) find the network's λ.
- **A model fitted by the repair** is the mean of five models, one for each fold. The repair is calibrated on
  this mean, because customers pay this mean price, and this price must not follow s. Evaluate a repair on
  rows that were not used to fit it, as the audit page does.

## When to use which

{when}

## Error at equal dependence

The table gives each method's error on test rows, as a multiple of the error of predicting the average. The
error is taken where the dependence (HGR, splines, corrected for noise) first falls to 75, 50 and 25 % of the
dependence of the unrepaired trees. The 95 % intervals are over {splits} random splits (Nadeau and Bengio
2003). A number in square brackets gives the number of splits that reach this level, if not all splits reach
it. A mean over only some of the splits is not comparable with the other means. Results for a tariff and for
factors exist only for the motor tables. Each claims table has 3,000 policies drawn at random.

“Trees on residual columns” uses our version of Fairlearn's `CorrelationRemover`. With equal weights, the
columns of our version differ from those of Fairlearn 0.15.0 by less than 1e-14 on household and Crime, at
alpha 0.25, 0.5 and 1. Fairlearn accepts no weights. On the motor tables, our version weights policies by
exposure.

{equal}

## Without s: the projection and the network

The table uses simulated claims, half of which are test rows (`benchmarks/distilled.py`). The bonus is a
strong or a weak proxy of age. “Excess” is the network's error divided by the error of `FairTariff` at the
same dependence, minus 1. The excess is computed once with the simulated claims and once with their known
means.

{distilled}

## Dependence and error on new rows, by strength

Each cell gives the dependence and the error, separated by a slash.

{strength}
"""


def page() -> str:
    """The whole page."""
    table = pd.read_csv(RESULTS)
    equal, strength = (table[table["kind"] == kind] for kind in ("equal", "strength"))
    return _HEAD.format(
        when=_when(equal, strength),
        splits=int(table["splits"].max()),
        equal=_markdown(equal, lambda row: _equal(row), "{:.0%} of its dependence"),
        distilled=_distilled(),
        strength=_markdown(
            strength, lambda row: f"{row['dependence']:.2f} / {row['error']:.3f}", "alpha = {:g}"
        ),
    )


def _distilled() -> str:
    table = pd.read_csv(RESULTS.with_name("distilled.csv"))
    glm = (table["way"] == "fair_tariff") & (table["strength"] == 0)
    ways = {"repair": "repair with s", "projected": "projection on trees", "network": "network"}
    lines = [
        "| table | way | alpha | dependence | error | excess | excess of means |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in table[glm | (table["way"] != "fair_tariff")].itertuples():
        way, alpha = ways.get(row.way, "the price, a GLM"), f"{row.strength:g}" if row.strength else ""
        more = [f"{each:.1%}" if pd.notna(each) else "" for each in (row.excess, row.true_excess)]
        cells = [row.table, way, alpha, f"{row.dependence:.2f}", f"{row.error:.3f}", *more]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _when(equal: pd.DataFrame, strength: pd.DataFrame) -> str:
    """Sentences with the numbers on which they are based."""
    lines = []
    for name, own in strength.groupby("table", sort=False):
        at = own.set_index(["way", "share"])
        before, known = (at.loc[("repair", t), "dependence"] for t in (0.0, 1.0))
        other = at.loc[("repair_projected", 1.0), "dependence"]
        half = equal[(equal["table"] == name) & (equal["share"] == 0.5)]
        whole = half[half["reached"] == half["splits"]].set_index("way")["error"]
        best = (
            f"At half the dependence, the smallest error is {whole.min():.3f} times that of predicting the "
            f"average ({WAYS[str(whole.idxmin())]})."
        )
        lines.append(
            f"- **{name}**: a full repair reduces the dependence from {before:.2f} to {known:.2f} with s, "
            f"and to {other:.2f} without s. {best if len(whole) else ''}"
        )
    return "\n".join(
        [
            "- Use the **repair with s** if the price may use s and the model must stay unchanged.",
            "- Use the **repair without s**, or its factors, if you may not ask for s at pricing. Check the "
            "remaining dependence.",
            "- Use **networks or a fair tariff** if you can train a new model. These methods fit the "
            "target and reduce the dependence at the same time, and don't need s at pricing.",
            *lines,
        ]
    )


def _equal(row: pd.Series) -> str:
    if row["reached"] == 0:
        return "–"
    said = f"{row['error']:.3f}"
    if pd.notna(row["error_low"]):
        said += f" ({row['error_low']:.3f} to {row['error_high']:.3f})"
    return said if row["reached"] == row["splits"] else f"{said} [{row['reached']}]"


def _markdown(table: pd.DataFrame, cell: object, title: str) -> str:
    assert callable(cell)
    shares = sorted(table["share"].unique(), reverse=title.startswith("{"))
    lines = [
        "| table | way | " + " | ".join(title.format(share) for share in shares) + " |",
        "|---|---|" + "---|" * len(shares),
    ]
    for name, of_table in table.groupby("table", sort=False):
        for way, words in WAYS.items():
            own = of_table[of_table["way"] == way].set_index("share")
            if len(own):
                lines.append(
                    f"| {name} | {words} | " + " | ".join(cell(own.loc[share]) for share in shares) + " |"
                )
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

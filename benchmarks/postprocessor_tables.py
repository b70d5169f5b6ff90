"""The page docs/repair.md, made from results/postprocessor.csv: python -m benchmarks.postprocessor_tables."""

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
_HEAD = """# Repair a price that exists

Made by `python -m benchmarks.postprocessor_tables` from `benchmarks/results/postprocessor.csv`, which
`python -m benchmarks.postprocessor` remakes.

`fd.FairPostprocessor` takes any regressor, a function, or a column of prices, and repairs what it charges.
A price keeps its rank among customers with the same sensitive attribute s and takes the value of that rank
in one law common to all (the Wasserstein barycentre). The mean price stays, and `alpha` goes from the
original price (0) to the repaired one (1).

```python
repair = fd.FairPostprocessor("price", alpha=1.0).fit(X, sensitive_features=age)
repair.predict(X_new, sensitive_features=age_new)  # s is known at pricing
repair.predict(X_new)  # s is not known: E[repaired price | x]
fd.FairPostprocessor("price", projection="factors").fit(X, sensitive_features=age).export("factors.csv")
```

- **Several attributes** are repaired one after another, in three passes. The price ends up independent of
  each, not of their combinations.
- **`objective="equalized_residuals"`** takes off the average error at each s. It does not equalise the
  spread of errors: that is a matter of the target, which no price knows.
- **Without s** the price still follows s as far as x tells only part of s. The second table says how far.
- **A model that is fitted here** is the mean of five, one a fold, and the repair is calibrated on that
  mean: it is this very price that must not follow s. Check a repair on rows it has not seen, as the audit
  page does.

## When to take which

{when}

## Error at equal dependence

Error on test rows ÷ that of the average, where a way's path first comes down to 75, 50 and 25 % of the
trees' own dependence (HGR, splines, corrected for noise), with 95 % intervals over {splits} random splits
(Nadeau and Bengio 2003). In brackets: splits that come down so far, where not all do; their means are of
other splits. Only motor tables have a tariff, and factors. Claims tables are 3,000 policies drawn at
random.

{equal}

## Dependence and error on new rows, by strength

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
        strength=_markdown(
            strength, lambda row: f"{row['dependence']:.2f} / {row['error']:.3f}", "alpha = {:g}"
        )
        + "\n\nEach cell: dependence / error.",
    )


def _when(equal: pd.DataFrame, strength: pd.DataFrame) -> str:
    """Sentences with the numbers that they rest on."""
    lines = []
    for name, own in strength.groupby("table", sort=False):
        at = own.set_index(["way", "share"])
        before, known = (at.loc[("repair", t), "dependence"] for t in (0.0, 1.0))
        other = at.loc[("repair_projected", 1.0), "dependence"]
        half = equal[(equal["table"] == name) & (equal["share"] == 0.5)]
        whole = half[half["reached"] == half["splits"]].set_index("way")["error"]
        best = f"At half the dependence {WAYS[str(whole.idxmin())]} has the least error ({whole.min():.3f})."
        lines.append(
            f"- **{name}**: a full repair takes dependence from {before:.2f} to {known:.2f} with s, and to "
            f"{other:.2f} without. {best if len(whole) else ''}"
        )
    return "\n".join(
        [
            "- Take the **repair with s** where the price may use s and the model must stay as it is.",
            "- Take the **repair without s**, or its factors, where s must not be asked at pricing. Look "
            "at what dependence is left.",
            "- Take **networks or a fair tariff** where a new model may be trained: these learn from the "
            "target while they become fair, and need no s at pricing.",
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

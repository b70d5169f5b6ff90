"""Write docs/blends.md from the committed results of the study of blends.

    python -m benchmarks.blend_tables

The results themselves are remade by benchmarks.blends, which says how the two are matched.
"""

from __future__ import annotations

import pandas as pd

from benchmarks.estimator_tables import RESULTS, ROOT, markdown
from benchmarks.training_tables import TITLES
from fairdash.utils.text import counted

PAGE = ROOT / "docs" / "blends.md"


def page() -> str:
    """The whole page as Markdown."""
    table = pd.read_csv(RESULTS / "blends.csv")
    slider = pd.read_csv(RESULTS / "blends_slider.csv")
    lines = [
        "# Blends between two trained weights λ",
        "",
        "Made by `python -m benchmarks.blend_tables` from `benchmarks/results/`, which "
        "`python -m benchmarks.blends` remakes.",
        "",
        "Between two trained weights λ the trade-off page blends the predictions of the two models. Here a "
        "model was trained at ten of these places as well, from the same initial weights. Demographic "
        f"parity, default settings, test rows, means over {table['n_splits'].iloc[0]} random splits with "
        "corrected standard errors. The error is divided by the variance of the target. The excess is "
        "HGR_KDE above its noise floor on the same rows.",
        "",
        "The last column is the error of the blends, at the point of their front with the trained model's "
        "excess, less the trained model's error. Below 0 the blends are better. A dash means that the "
        "front never has that excess, or does not fall between the two neighbours. The λ of a blend is its "
        "position on the slider. A model trained there may have another dependence.",
        "",
    ]
    for (name, method), rows in table.groupby(["dataset", "method"], sort=False):
        own = slider[(slider["dataset"] == name) & (slider["method"] == method)]
        lines += [f"## {TITLES[name]}, `{method}`", "", markdown(_table(rows)), ""]
        lines += [_at_the_same_excess(rows), "", _above_both_ends(own, rows["n_splits"].iloc[0]), ""]
    return "\n".join(lines)


def _table(rows: pd.DataFrame) -> pd.DataFrame:
    def with_error(name: str, digits: int) -> list[str]:
        pairs = zip(rows[name], rows[f"{name}_se"], strict=True)
        return ["–" if pd.isna(v) else f"{v:.{digits}f} ± {e:.{digits}f}" for v, e in pairs]

    return pd.DataFrame(
        {
            "λ": [f"{lam:g}" for lam in rows["lam"]],
            "blend of": [
                f"{1 - share:.0%} λ = {low:g}, {share:.0%} λ = {high:g}"
                for low, high, share in rows[["low", "high", "share"]].itertuples(index=False)
            ],
            "blend's error": with_error("blend_mse", 3),
            "trained model's": with_error("trained_mse", 3),
            "blend's excess": with_error("blend_excess", 3),
            "trained model's excess": with_error("trained_excess", 3),
            "difference of error at the same excess": with_error("matched_difference", 5),
        }
    )


def _at_the_same_excess(rows: pd.DataFrame) -> str:
    found = rows[rows["matched_difference"].notna()]
    difference, error = found["matched_difference"], found["matched_difference_se"]
    worst, best = found.loc[difference.idxmax()], found.loc[difference.idxmin()]
    beyond = found[difference.abs() > 2 * error]
    near = found.drop(beyond.index)
    text = (
        f"At the same excess the blends' error differs from the trained model's by "
        f"{best['matched_difference']:+.5f} (λ = {best['lam']:g}) to {worst['matched_difference']:+.5f} "
        f"(λ = {worst['lam']:g}), by {difference.median():+.5f} in the middle of the {len(found)} λ where "
        f"the two can be matched. In {len(near)} of them that is within two standard errors"
    )
    if len(beyond) == 0:
        return f"{text}."
    beyond_words = ", ".join(
        f"{row.matched_difference:+.5f} at λ = {row.lam:g}" for row in beyond.itertuples()
    )
    return f"{text}; in the others it is {beyond_words}."


def _above_both_ends(slider: pd.DataFrame, n_splits: int) -> str:
    blends = slider[slider["share"] > 0]
    above = blends[blends["above_worse_end"] > 0]
    single = int(blends["splits_above_both"].sum())
    text = (
        f"Of the slider's {len(blends)} blends, {len(above) or 'none'} "
        f"{'shows' if len(above) == 1 else 'show'} more dependence than both neighbours in the means over "
        "the splits"
    )
    if len(above):
        most = above.loc[above["above_worse_end"].idxmax()]
        text += (
            f", by at most {most['above_worse_end']:.4f} ± {most['above_worse_end_se']:.4f} "
            f"(λ = {most['lam']:g})"
        )
    return f"{text}. In single splits {counted(single, 'blend')} of {len(blends) * n_splits} do."


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

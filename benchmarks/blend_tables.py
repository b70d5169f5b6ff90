"""Write docs/blends.md from the committed results of the study of blends.

    python -m benchmarks.blend_tables

benchmarks.blends produces the results and describes how models are matched.
"""

from __future__ import annotations

import pandas as pd

from benchmarks.estimator_tables import RESULTS, ROOT, markdown
from benchmarks.training_tables import TITLES

PAGE = ROOT / "docs" / "blends.md"


def page() -> str:
    """The whole page as Markdown."""
    table = pd.read_csv(RESULTS / "blends.csv")
    slider = pd.read_csv(RESULTS / "blends_slider.csv")
    lines = [
        "# Blends between two trained weights λ",
        "",
        "This page is made by `python -m benchmarks.blend_tables` from `benchmarks/results/`, which "
        "`python -m benchmarks.blends` reproduces.",
        "",
        "Between two trained weights λ, the trade-off page shows blends: weighted averages of the "
        "predictions of both models. This page compares blends at ten values of λ with models trained at "
        "these λ from the same initial weights. The objective is demographic parity, with the default "
        "settings; the adversary of `hgr_nn` had the schedule `constant`. All numbers are means over the "
        f"test rows of {table['n_splits'].iloc[0]} random splits, with corrected standard errors. The "
        "error is divided by the variance of the target. The excess is HGR_KDE minus its noise floor on the "
        "same rows.",
        "",
        "The last column is the error of the blends minus the error of the trained model. The blends' error "
        "is taken at the point of their front that has the same excess as the trained model. If the "
        "difference is negative, the blends are better. A dash means that no such point exists between the "
        "two neighbouring trained models. The λ of a blend is its position on the slider. A model trained at "
        "this λ may have a different dependence.",
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
            "trained model's error": with_error("trained_mse", 3),
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
        "At the same excess, the error of the blends minus the error of the trained model is between "
        f"{best['matched_difference']:+.5f} (λ = {best['lam']:g}) and {worst['matched_difference']:+.5f} "
        f"(λ = {worst['lam']:g}). The median difference over the {len(found)} λ with such a point is "
        f"{difference.median():+.5f}. At {len(near)} of these λ, the difference is within two standard "
        "errors of 0"
    )
    if len(beyond) == 0:
        return f"{text}."
    beyond_words = " and ".join(
        f"{row.matched_difference:+.5f} at λ = {row.lam:g}" for row in beyond.itertuples()
    )
    return f"{text}. The {'exception is' if len(beyond) == 1 else 'exceptions are'} {beyond_words}."


def _above_both_ends(slider: pd.DataFrame, n_splits: int) -> str:
    blends = slider[slider["share"] > 0]
    above = blends[blends["above_worse_end"] > 0]
    single = int(blends["splits_above_both"].sum())
    text = (
        f"Averaged over the splits, {len(above) or 'none'} of the {len(blends)} blends on the slider "
        f"{'shows' if len(above) < 2 else 'show'} more dependence than both neighbouring models"
    )
    if len(above):
        most = above.loc[above["above_worse_end"].idxmax()]
        text += (
            f", by at most {most['above_worse_end']:.4f} ± {most['above_worse_end_se']:.4f} "
            f"(λ = {most['lam']:g})"
        )
    return (
        f"{text}. In single splits, {single or 'none'} of the {len(blends) * n_splits} blends "
        f"{'shows' if single < 2 else 'show'} more dependence than both neighbouring models."
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

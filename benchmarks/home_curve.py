"""Generate the curve that the home page shows first: prices by age, from accurate to fair.

    python -m benchmarks.home_curve [--check | --redraw]

Trains the household example as the trade-off page does (5,000 rows, the spline penalty, 8 weights, 5 splits;
about a minute) and writes averages by age, error and dependence of every slider position to
``fairdash/ui/home_curve.json``, which the package contains. ``--check`` writes nothing and prints the
differences between the file and new results; ``--redraw`` draws the figures again from the stored numbers,
after a change of the figures' code.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.household_run import household_run
from fairdash.views.figures.groups import profile_figure
from fairdash.views.figures.theme import DARK, LIGHT, Theme

#: The λ that the page shows first.
BEGIN = 1.0
THEMES = {"light": LIGHT, "dark": DARK}
FILE = Path(__file__).parents[1] / "fairdash" / "ui" / "home_curve.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--redraw", action="store_true", help="the kept numbers' pictures anew")
    options = parser.parse_args()
    if options.redraw:
        keep({name: values for name, values in read().items() if name not in THEMES})
        return
    made = curve()
    if not options.check:
        keep(made)
        return
    kept = read()
    for name, values in made.items():
        print(f"{name}: {np.abs(np.array(values, float) - np.array(kept[name], float)).max():.1e}")


def read() -> dict[str, Any]:
    """Numbers and figures of the file."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def keep(made: dict[str, Any]) -> None:
    """Write the file: the numbers of :func:`curve`, and their figure in each theme."""
    whole = made | {name: picture(made, theme) for name, theme in THEMES.items()}
    FILE.write_text(json.dumps(whole, separators=(",", ":")) + "\n", encoding="utf-8")


def curve() -> dict[str, Any]:
    """For each slider position: λ, averages by age with intervals, error in €, dependence, limit, verdict."""
    from fairdash.evaluation.execute_sweep import execute_sweep
    from fairdash.training.methods import THE_STANDARD, ModelKey
    from fairdash.views.reports.comparison import Comparison
    from fairdash.views.reports.fronts import fronts_of
    from fairdash.views.reports.stage import stops_of

    dataset, plan = household_run()
    result = execute_sweep(dataset, plan)
    fronts = fronts_of(result, sensitive="Age")
    found = Comparison(
        title="", plan=plan, result=result, fronts=fronts, objective=plan.objective, measure="hgr_spline",
        a=THE_STANDARD, b=ModelKey("hgr_spline", 1.0),
    )  # fmt: skip
    stops = stops_of(found)
    groups = found.profile(THE_STANDARD)

    def of_front(name: str) -> list[float]:
        return [round(found.mean(name, each), 5) for each in stops.points]

    return {
        "lam": [float(each) for each in stops.lams],
        **{name: groups[name].round(2).tolist() for name in ("s_low", "s_high", "s_mean", "n")},
        "mean": stops.mean.round(3).tolist(),
        "low": stops.low.round(3).tolist(),
        "high": stops.high.round(3).tolist(),
        "average": round(found.target_mean, 3),
        "change": [round(float(each[3].partition(" ")[0]), 3) for each in stops.values],
        "rmse": of_front("rmse"),
        "rmse_of_average": round(found.front.rmse_of_mean, 5),
        "dependence": of_front("hgr_spline"),
        "edge": [round(found.edge(each), 5) for each in stops.points],
        "p": [round(found.verdict_p(each), 5) for each in stops.points],
        "trained": [found.curve_point(each).is_trained for each in stops.points],
    }


def picture(found: dict[str, Any], theme: Theme) -> dict[str, Any]:
    """The figure of :func:`curve`'s numbers with its moving parts; the app itself imports no plotly."""
    from fairdash.views.reports.stage import moving_lines

    groups = pd.DataFrame({name: found[name] for name in ("s_low", "s_high", "s_mean", "n")})
    lines = {name: np.array(found[name]) for name in ("mean", "low", "high")}
    at = found["lam"].index(BEGIN)
    standard, chosen = (groups.assign(**{name: lines[name][k] for name in lines}) for k in (0, at))
    figure = profile_figure(
        standard, chosen, chosen_name=f"λ = {BEGIN:g}", by_value=True, audited="price",
        sensitive="age (years)",
        level="Average price (€)", reference=found["average"], reference_name="average cost",
        subtitle="Synthetic household insurance, test rows", theme=theme,
    )  # fmt: skip
    figure.update_xaxes(range=[groups["s_mean"].min() - 2, groups["s_mean"].max() + 2])
    spec, moves = moving_lines(
        figure,
        profiles=(lines["mean"], lines["low"], lines["high"]),
        names=["fairer model" if lam == 0 else f"λ = {lam:g}" for lam in found["lam"]],
        named_at=int(np.abs(lines["mean"][at] - lines["mean"][0]).argmax()),
        further_values=np.array([found["average"]]),
    )
    return {"spec": spec, "moves": [{"figure": 0, **each} for each in moves]}


if __name__ == "__main__":
    main()

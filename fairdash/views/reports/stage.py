"""Interactive figures of the Trade-off page, computed in advance for every position of the slider."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from fairdash.dependence import REGISTRY
from fairdash.evaluation import blended_profiles, points_of_plan
from fairdash.training.methods import ModelKey
from fairdash.training.settings import OBJECTIVES
from fairdash.utils.text import number, percent, with_unit
from fairdash.views.figures.parts import lists, plain
from fairdash.views.figures.theme import Theme, escaped
from fairdash.views.reports import pictures, sentences
from fairdash.views.reports.comparison import Comparison
from fairdash.views.reports.sentences import shows_nothing

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Stops:
    """Values for the P positions of the slider; the model at each position is compared with point A.

    Parameters
    ----------
    points
        Model at each position of the slider; the standard model if the trained models next to the position
        diverged.
    lams
        Weight λ at each position, as a text.
    mean, low, high
        Averages in the G groups of the sensitive column, and the limits of their 95 % intervals, (P, G) each.
    values, below
        Main texts of the four cards, and the notes below the main texts, (P, 4).
    """

    points: tuple[ModelKey, ...]
    lams: tuple[str, ...]
    mean: Array
    low: Array
    high: Array
    values: tuple[tuple[str, ...], ...]
    below: tuple[tuple[str, ...], ...]


def stops_of(comparison: Comparison) -> Stops:
    """Return the values for all positions of the slider; they depend on B's method, but not on B's λ."""
    method, front = comparison.b.method, comparison.front
    stored = set(front.test.loc[front.test["method"] == method, "lam"])
    stops = points_of_plan(comparison.plan, method)
    points = tuple(stop if stop.lam in stored else ModelKey(method, 0.0) for stop in stops)
    profiles: list[Array] = []
    positions: list[float] = []
    for (low, high), stops_between in groupby(points, key=lambda stop: (stop.low, stop.high)):
        shares = np.array([stop.share for stop in stops_between])
        blends = _between(comparison, ModelKey(method, low), ModelKey(method, high), shares)
        profiles.extend(np.stack(blends[:3], axis=1))
        positions.extend(blends[3])
    cards = [
        four_numbers(replace(comparison, b=point), mean_change=change)
        for point, change in zip(points, positions, strict=True)
    ]
    mean, below, above = np.stack(profiles, axis=1)
    return Stops(
        points=points,
        lams=tuple(f"{stop.lam:g}" for stop in stops),
        mean=mean,
        low=below,
        high=above,
        values=tuple(tuple(card[1] for card in of_stop) for of_stop in cards),
        below=tuple(tuple(card[2] for card in of_stop) for of_stop in cards),
    )


def _between(
    comparison: Comparison, low: ModelKey, high: ModelKey, shares: Array
) -> tuple[Array, Array, Array, Array]:
    """Return means and limits of blends of two models, (P, G) each, and their mean change from A, (P,)."""
    result, objective = comparison.result, comparison.objective_seen
    of_low, of_high, of_a = (comparison.predictions(point) for point in (low, high, comparison.a))
    common_splits = [j for j in of_low if j in of_high]
    first, last = (
        objective.audit(np.stack([part[j] for j in common_splits]), result.target)
        for part in (of_low, of_high)
    )
    splits, groups = [result.splits[j] for j in common_splits], comparison.front.groups
    profiles = blended_profiles(
        first, last, shares, splits, groups=groups, weight=result.weight, units=result.groups
    )
    changes = []
    for j in (j for j in common_splits if j in of_a):
        rows = result.splits[j].test
        a, b = (part[j][rows] - of_a[j][rows] for part in (of_low, of_high))
        weight = None if result.weight is None else result.weight[rows]
        changes.append([np.average(np.abs((1 - w) * a + w * b), weights=weight) for w in shares])
    return *profiles, np.mean(changes, axis=0)


def four_numbers(comparison: Comparison, *, mean_change: float | None = None) -> tuple[tuple[str, ...], ...]:
    """Return title, value, note and meaning of four cards: error, dependence, FairQuant and mean change.

    `mean_change` is :attr:`Comparison.mean_change`, if it is already known.
    """
    mean_shift = comparison.mean_change if mean_change is None else mean_change
    model_name = "standard model" if comparison.a.is_standard else comparison.called(comparison.a)
    entry = REGISTRY[comparison.measure]
    return (
        (
            "Test error",
            comparison.error_in_words(comparison.b),
            f"{_share(comparison)}{model_name}: {comparison.error_in_words(comparison.a)}",
            _error_meaning(comparison),
        ),
        (
            entry.symbol,
            comparison.shown(comparison.measure, comparison.b),
            sentences.verdict_in_short(comparison),
            f"0: {entry.zero}; 1: {entry.one}. {sentences.how_the_verdict_is_made(comparison)}",
        ),
        (
            "FairQuant",
            with_unit(comparison.shown("fairquant", comparison.b), comparison.unit),
            "noise floor "
            f"{with_unit(number(comparison.front.figure('fairquant', comparison.b).floor), comparison.unit)}",
            "Mean distance between the averages of 50 equal-sized groups of the sensitive attribute and "
            "the overall average (with equal values or few rows, there are fewer groups). FairQuant does "
            "not detect groups that differ in spread but not in average.",
        ),
        (
            "Average change in prediction",
            with_unit(number(mean_shift), comparison.unit),
            "target's standard deviation: "
            f"{with_unit(number(float(comparison.result.target.std())), comparison.unit)}",
            "Mean absolute difference between the two models' predictions for a row. For comparison, the "
            "text below the value gives the standard deviation of the target.",
        ),
    )


def _share(comparison: Comparison) -> str:
    """Return B's error divided by the error of predicting the mean; "" if the card already shows this."""
    share = comparison.mean("rmse", comparison.b) / comparison.front.rmse_of_mean
    is_known = comparison.front.error == "mse" and math.isfinite(share)
    return f"{percent(share)} of the average's error; " if is_known else ""


def _error_meaning(comparison: Comparison) -> str:
    if comparison.front.error != "mse":
        return f"{comparison.front.error_title}: 0 is perfect. Predicting the average for everyone gives 1."
    of_mean = with_unit(number(comparison.front.rmse_of_mean), comparison.unit)
    return f"Root mean squared error. 0 is perfect. Predicting the average for everyone gives {of_mean}."


def stage_of(comparison: Comparison, stops: Stops, *, at: int, theme: Theme) -> dict[str, Any]:
    """Return figures, cards and table of a comparison, and how these change with the slider, as plain values.

    Parameters
    ----------
    comparison
        Comparison whose point B is at the slider's initial position.
    at
        Index of the slider's initial position.
    """
    profile = pictures.profile(comparison, objective=comparison.objective, theme=theme)
    spec, of_profile = _moving_profile(comparison, stops, profile.figure)
    objective, lams = comparison.objective_seen, {0.0, *comparison.plan.lams}
    table = comparison.profile(comparison.a)
    figures = [{"spec": spec, "alt": profile.alt}]
    moves = [{"figure": 0, **move} for move in of_profile]
    # The Pareto front is left out if it shows only noise.
    if not shows_nothing(comparison):
        front = pictures.front(comparison, theme=theme)
        spec, of_front = _moving_front(comparison, stops, front.figure, theme=theme)
        figures.append({"spec": spec, "alt": front.alt})
        moves += [{"figure": 1, **move} for move in of_front]
    return {
        "slider": {
            "label": "Weight of fairness, λ",
            "symbol": "λ",
            "help": "In training, λ weights the dependence against the error. Ticks are trained models. A "
            "position between ticks is a blend, which averages the predictions of two trained "
            "models; blends are evaluated in the same way.",
            "stops": list(stops.lams),
            "ticks": [k for k, lam in enumerate(stops.lams) if any(f"{value:g}" == lam for value in lams)],
            "at": at,
        },
        "figures": figures,
        "moves": moves,
        "cards": [
            {
                "title": title,
                "help": meaning,
                "values": [row[k] for row in stops.values],
                "below": [row[k] for row in stops.below],
            }
            for k, (title, _, _, meaning) in enumerate(four_numbers(comparison))
        ],
        "table": {
            "title": f"Average {objective.audited} as a table",
            "head": [comparison.sensitive_called, comparison.called(comparison.a)],
            "rows": [
                [group, number(mean)]
                for group, mean in zip(comparison.groups_called(table), table["mean"], strict=True)
            ],
            "move": 1,
        },
    }


def _moving_profile(
    comparison: Comparison, stops: Stops, figure: go.Figure
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    a, b = comparison.profile(comparison.a), comparison.profile(comparison.b)
    level = 0.0 if OBJECTIVES[comparison.objective].uses_target else comparison.target_mean
    return moving_lines(
        figure,
        profiles=(stops.mean, stops.low, stops.high),
        names=[comparison.called(point) for point in stops.points],
        # The names of the lines are next to the group with the largest distance between the lines.
        named_at=int((b["mean"] - a["mean"]).abs().fillna(0.0).to_numpy().argmax()),
        further_values=np.array([level, *a["low"], *a["high"]]),
    )


def moving_lines(
    figure: go.Figure,
    *,
    profiles: tuple[Array, Array, Array],
    names: Sequence[str],
    named_at: int,
    further_values: Array,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a figure whose axes fit all positions, and how its second line, band and name change.

    Parameters
    ----------
    figure
        Figure made by :func:`fairdash.views.figures.groups.profile_figure`.
    profiles
        Means at the slider's positions, and lower and upper limits of their intervals, (P, G) each.
    names
        Name of the line at each position of the slider.
    named_at
        Index of the group beside which the name is drawn.
    further_values
        Further values that the y-axis must include.
    """
    spec, (mean, low, high) = plain(figure), profiles
    everything = np.concatenate([mean.ravel(), low.ravel(), high.ravel(), further_values])
    lowest, highest = float(np.nanmin(everything)), float(np.nanmax(everything))
    room = 0.06 * (highest - lowest) or 0.5
    spec["layout"]["yaxis"]["range"] = [lowest - room, highest + room]
    texts = [f"<b>{escaped(name)}</b>" for name in names]
    note = len(spec["layout"]["annotations"]) - 1
    return spec, [
        {"kind": "trace", "part": 2, "y": lists(np.concatenate([high, low[:, ::-1]], axis=1))},
        {"kind": "trace", "part": 3, "y": lists(mean), "name": list(names)},
        {"kind": "note", "part": note, "y": lists(mean[:, named_at]), "text": texts},
    ]


def _moving_front(
    comparison: Comparison, stops: Stops, figure: go.Figure, *, theme: Theme
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the Pareto front's figure, and how the chosen point, its name and the noise floor move."""
    spec = plain(figure)
    notes, traces = spec["layout"]["annotations"], spec["data"]
    if comparison.b.is_standard:
        # If B is the standard model, the mark of B is invisible, because the standard model already has one.
        traces.append(traces[-1] | {"name": "chosen", "opacity": 0, "x": [0.0], "y": [0.0]})
        traces[-1]["marker"] = traces[-1]["marker"] | {"symbol": "circle"}
        (note,) = (annotation for annotation in notes if annotation["text"] == "<b>standard model</b>")
        notes.append(note | {"text": "", "font": note["font"] | {"color": theme.chosen}})
        part = len(notes) - 1
    else:
        text = f"<b>{escaped(f'chosen: {comparison.b.name}')}</b>"
        part = next(k for k, each in enumerate(notes) if each["text"] == text)
    measures = (comparison.measure, comparison.front.error_shown)
    x, y = (np.array([comparison.mean(measure, point) for point in stops.points]) for measure in measures)
    hollow = [not point.is_trained for point in stops.points]
    edges = np.array([comparison.edge(point) for point in stops.points])
    return spec, [
        {
            "kind": "trace",
            "part": len(traces) - 1,
            "x": [[value] for value in x.tolist()],
            "y": [[value] for value in y.tolist()],
            "opacity": [float(not point.is_standard) for point in stops.points],
            "name": ["chosen" if point.is_standard else f"chosen: {point.name}" for point in stops.points],
            "fills": [theme.veil if is_hollow else theme.chosen for is_hollow in hollow],
            "rim": [theme.chosen if is_hollow else "white" for is_hollow in hollow],
        },
        {
            "kind": "note",
            "part": part,
            "x": x.tolist(),
            "y": y.tolist(),
            "text": [
                "" if point.is_standard else f"<b>{escaped(f'chosen: {point.name}')}</b>"
                for point in stops.points
            ],
        },
        {"kind": "shape", "part": len(spec["layout"]["shapes"]) - 1, "x1": lists(edges)},
    ]

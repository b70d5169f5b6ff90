"""What a report says besides its pictures: facts, tables and limits, as plain text."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
import pandas as pd

from fairdash._version import __version__
from fairdash.assessment import merged_groups, pareto_efficient
from fairdash.assessment.distributions import MOST_ROWS
from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY
from fairdash.figures.features import MOST_FEATURES
from fairdash.reports import tables, words
from fairdash.reports.comparison import Comparison, Front, Point
from fairdash.reports.numbers import number, signed, with_unit
from fairdash.reports.pictures import profiles
from fairdash.training.device import TITLES
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.references import REFERENCES

#: What writes numbers into a report.
PACKAGES = ("torch", "numpy", "pandas", "scipy", "scikit-learn", "plotly")
#: Under tables with floors.
_FLOORS = (
    "Means over the splits, test rows, ± standard error. Floor: what the same estimator reads when the "
    "sensitive attribute is shuffled, on average and, in brackets, in 95 % of cases at most."
)


@dataclass(frozen=True)
class Table:
    """A table of text.

    Parameters
    ----------
    title, note
        What stands above and below it.
    columns
        Titles of the columns; the first one names the row.
    rows
        As many cells each.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    @classmethod
    def of(cls, frame: pd.DataFrame, *, title: str, note: str = "") -> Table:
        """The cells of a frame of texts."""
        return cls(
            title,
            tuple(str(column) for column in frame.columns),
            tuple(tuple(str(cell) for cell in row) for row in frame.itertuples(index=False)),
            note,
        )


def summary(found: Comparison, fronts: Mapping[str, Front]) -> list[str]:
    """The finding in plain sentences, every number from the comparison."""
    parts = [words.dependence(found)]
    if found.is_of_one_point:
        return parts
    if not found.a.is_standard:
        parts.append(words.dependence(found, found.a))
    parts.append(
        f"{words.cost(found)} {found.error_title}: {found.shown(found.front.error, found.a)} for "
        f"{_named(found.a)}, {found.shown(found.front.error, found.b)} at {found.called(found.b)}."
    )
    moved = with_unit(number(found.mean_change), found.unit)
    parts.append(f"A prediction moves by {moved} on average. {words.who_pays(found)} {words.level(found)}")
    if not found.b.is_standard:
        parts.append(words.both_objectives(found, fronts))
    return [" ".join(part.split()) for part in parts]


def unsaid(found: Comparison) -> list[str]:
    """What these numbers can't say, as far as it follows from them."""
    seen, symbol = found.objective_seen, REGISTRY[found.measure].symbol
    edge = number(found.mean(f"{found.measure}_floor_q95", found.b))
    n_test, n_splits = len(found.result.splits[0].test), len(found.result.splits)
    parts = [
        f"That the {seen.audited} is independent of {found.sensitive}: with {n_test:,} test rows a "
        f"dependence that {symbol} reads below {edge} can't be told from none, and {symbol} has blind spots "
        "of its own.",
        "Anything about a single person: all of it is about averages and spreads of groups.",
    ]
    if n_splits == 1:
        parts.append("How much another random split would change the figures: there was only one.")
    if found.objective != found.plan.objective:
        parts.append(
            f"What a model trained for {seen.title.lower()} could reach: these were trained for "
            f"{OBJECTIVES[found.plan.objective].title.lower()}."
        )
    stop = found.stop(found.b)
    if not stop.is_trained:
        parts.append(
            f"What a model trained at λ = {found.b.lam:g} would do: this point is {_blend(found, found.b)}."
        )
    if found.is_worse_than_both_ends():
        parts.append(
            "That this blend is a good choice: it shows more dependence than both trained models beside it."
        )
    return parts


def data_facts(found: Comparison, dataset: Dataset | None) -> list[tuple[str, str]]:
    """The data and the roles of its columns."""
    result = found.result
    facts = [("Data set", found.title)]
    if dataset is not None and dataset.description:
        facts.append(("What it is", dataset.description))
    first = result.splits[0]
    parts = [f"{len(rows):,} {part}" for part, rows in first.parts.items()]
    facts += [
        ("Rows", f"{len(result.target):,}; in each split {', '.join(parts)}"),
        ("Target", _with_meaning(found.target, found.unit, dataset)),
        ("Sensitive attribute in view", _with_meaning(found.sensitive, found.sensitive_unit, dataset)),
    ]
    others = [column for column in result.sensitive.columns if column != found.sensitive]
    if others:
        facts.append(("Other sensitive attributes", ", ".join(others)))
    if dataset is None:
        weight = "no" if result.weight is None else "yes"
        facts.append(("Rows weighted by exposure", weight))
        facts.append(("Features", "not listed: the data set itself was not at hand"))
        return facts
    roles = dataset.roles
    facts.append(("Exposure", roles.weight or "none: all rows count alike"))
    facts.append((f"Features ({len(roles.features)})", ", ".join(roles.features)))
    if dataset.notes:
        facts.append(("Done to the table before", " ".join(dataset.notes)))
    return facts


def training_facts(found: Comparison) -> list[tuple[str, str]]:
    """What was trained, and with what."""
    plan, result = found.plan, found.result
    objective, settings = OBJECTIVES[plan.objective], plan.settings
    facts = [("Trained for", f"{objective.title}: {objective.meaning}")]
    facts += [(METHODS[id].title, f"{METHODS[id].meaning} ({METHODS[id].source})") for id in plan.methods]
    held_out = (
        f"{100 * plan.validation_share:.0f} % of the rows that are not test rows"
        if plan.validation_share
        else "none was set aside"
    )
    architecture = [f"{name}: {_setting(value)}" for name, value in settings.to_json().items()]
    return [
        *facts,
        ("Weights λ trained", ", ".join(f"{lam:g}" for lam in sorted(plan.lams))),
        ("Random splits", f"{len(result.splits)}, the same for all methods"),
        ("Validation rows", held_out),
        ("Loss", settings.loss_function.title),
        ("Settings", "; ".join(architecture)),
        ("Seed", f"{plan.random_state} (splits, initial weights, mini-batches)"),
        ("Trained on", f"{TITLES.get(result.device, result.device)}, in {result.seconds:.0f} s"),
    ]


def versions() -> list[tuple[str, str]]:
    """Versions of what wrote the report."""
    own = [("fairdash", __version__), ("Python", platform.python_version())]
    return own + [(name, version(name)) for name in PACKAGES]


def tables_of(found: Comparison, fronts: Mapping[str, Front], *, with_groups: bool) -> dict[str, Table]:
    """All tables by id: those of the pictures under theirs, "measures", "trained-…" a method, and others."""
    made = {"measures": _measures(found), "hypervolumes": _hypervolumes(found)}
    made |= {f"trained-{method}": _trained(found, method) for method in found.front.methods}
    if len(found.front.references):
        made["references"] = _references(found)
    if with_groups:
        made |= {f"profile-{objective}": _profile(found, objective) for objective in fronts}
        made["spread"] = _spread(found)
        if not found.is_of_one_point:
            made["money"] = Table.of(
                tables.moved(found),
                title="What moves from and to each group",
                note="Means over the splits, test rows. The groups' totals add up to the change of the sum "
                "of all predictions of a test part.",
            )
    made["objectives"] = _objectives(found, fronts)
    if found.result.importance is not None:
        made["features"] = _features(found)
    return made


def limits(found: Comparison) -> list[str]:
    """What to keep in mind, whatever the numbers are."""
    parts = [
        "All figures are of test rows: rows that no model was fitted to.",
        "A dependence value is never read alone. The noise floor beside it is what the same estimator reads "
        "on the same rows when the sensitive attribute is shuffled: its average, and the value that "
        "independence exceeds in 5 % of cases.",
        "Not finding dependence does not prove independence. A measure sees what it is made to see, with the "
        "rows that there are.",
    ]
    if len(found.result.splits) > 1:
        parts.append(
            "The random splits overlap, so they tell less than as many new samples would. Standard errors "
            "are corrected for that (Nadeau and Bengio 2003)."
        )
    parts += [
        "Between two trained λ there are blends: the weighted average of the two models' predictions. "
        "They are real predictors and are judged like trained ones, but no model was trained at their λ; "
        "their floors lie between their neighbours' floors.",
        f"The models never see {found.sensitive}. What the features tell of it, they can use.",
        "The average of a group does not show what happens to its members: some may pay more while the group "
        "pays less. A group holds at least 20 test rows in every split; smaller ones are joined with their "
        "neighbours.",
        "The bands and intervals of group averages are of one test part; averaging over overlapping splits "
        "is given no credit.",
    ]
    if found.result.weight is not None:
        parts.append(
            "Errors, money and the averages by group count rows by exposure. A measure that takes no weights "
            "counts every row once."
        )
    if len(found.front.references):
        parts.append(
            "References use the sensitive attribute to set a price, which the models do not. They are there "
            "to compare, not to choose."
        )
    return parts


def _measures(found: Comparison) -> Table:
    points = list(dict.fromkeys((found.a, found.b)))
    error, rows = found.front.error, []
    for id in (error, *found.front.measures):
        title = found.error_title if id == error else REGISTRY[id].title
        rows.append((title, *_cells({_named(p): found.front.row(p) for p in points}, id, found)))
    return Table(
        f"Every measure of the {found.objective_seen.audited}",
        ("Figure", *(title for point in points for title in (_named(point), "floor"))),
        tuple(rows),
        _FLOORS,
    )


def _trained(found: Comparison, method: str) -> Table:
    front = found.front
    trained = front.test[front.test["share"] == 0]
    # The standard model stands in every path: for what is beaten it counts once.
    others = trained[(trained["lam"] > 0) | (trained["method"] == method)]
    best = pareto_efficient(others[front.error], others[found.measure])
    shown = dict.fromkeys((found.measure, *(id for id in ("fairquant",) if id in front.measures)))
    rows = [
        (
            f"{row['lam']:g}" if row["lam"] else "0: the standard model",
            str(int(row["n_splits"])),
            _value(row, front.error, found),
            *(cell for id in shown for cell in (_value(row, id, found), _floor(row, id, found))),
            "" if efficient else "yes",
        )
        for (_, row), efficient in zip(others.iterrows(), best, strict=True)
        if row["method"] == method
    ]
    titles = (title for id in shown for title in (REGISTRY[id].symbol, "floor"))
    last = f"{_FLOORS} Beaten: any trained model is at least as good in error and in "
    last += f"{REGISTRY[found.measure].symbol}, and better in one of them."
    return Table(
        f"{METHODS[method].title}: every trained weight",
        ("λ", "Splits", "Error", *titles, "Beaten"),
        tuple(rows),
        last if method == front.methods[-1] else "",
    )


def _references(found: Comparison) -> Table:
    front = found.front
    rows = [
        (
            REFERENCES[row["method"]].title.partition(": ")[2],
            f"{100 * row['lam']:.0f} %" if REFERENCES[row["method"]].is_curve else "–",
            _value(row, "mse", found),
            _value(row, found.measure, found),
            _floor(row, found.measure, found),
        )
        for _, row in front.references.iterrows()
    ]
    price = (
        f" Exact independence of predictions is estimated to cost {number(front.price)} of test error or "
        "more, even if the sensitive attribute were used."
    )
    return Table(
        "References that use the sensitive attribute",
        ("Reference", "Strength", "MSE ÷ variance", REGISTRY[found.measure].symbol, "floor"),
        tuple(rows),
        _FLOORS + (price if np.isfinite(front.price) else ""),
    )


def _hypervolumes(found: Comparison) -> Table:
    return Table.of(
        tables.hypervolumes(found),
        title="How much each method's front wins",
        note="The share of the box between nothing and the standard model's dependence and the constant "
        "mean's error that the trained models of a method win; larger is better.",
    )


def _profile(found: Comparison, objective: str) -> Table:
    seen, by_point = OBJECTIVES[objective], profiles(found, objective)
    points = list(by_point)
    rows = []
    for k in range(len(by_point[points[0]])):
        first = by_point[points[0]].iloc[k]
        cells = []
        for point in points:
            row = by_point[point].iloc[k]
            error = (row["high"] - row["low"]) / (2 * 1.96)
            interval = " to ".join(_rounded(row[end], error) for end in ("low", "high"))
            cells.append(f"{_rounded(row['mean'], error)} ({interval})")
        rows.append((words.span(first["s_low"], first["s_high"]), number(first["n"]), *cells))
    in_unit = f" ({found.unit})" if found.unit else ""
    return Table(
        f"Average {seen.audited} by group{in_unit}",
        (found.sensitive, "Test rows", *(_named(point) for point in points)),
        tuple(rows),
        "Means over the splits; in brackets the 95 % interval of one test part's average."
        + (" Residual: predicted − true." if seen.uses_target else ""),
    )


def _spread(found: Comparison) -> Table:
    seen = {point: found.audited_of_first_split(point) for point in dict.fromkeys((found.a, found.b))}
    s = next(iter(seen.values()))[1]
    groups = merged_groups(s, [np.arange(len(s))], n_groups=3)
    rows = []
    for group in range(int(groups.max()) + 1):
        own = groups == group
        spreads = [(float(u[own].mean()), float(u[own].std()), np.sqrt(own.sum())) for u, _ in seen.values()]
        rows.append(
            (
                words.span(s[own].min(), s[own].max()),
                f"{own.sum():,}",
                *(f"{_rounded(mean, sd / root)} ({_rounded(sd, sd / root)})" for mean, sd, root in spreads),
            )
        )
    in_unit = f" ({found.unit})" if found.unit else ""
    return Table(
        f"{found.objective_seen.audited.capitalize()}s by third{in_unit}",
        (found.sensitive, "Test rows", *(_named(point) for point in seen)),
        tuple(rows),
        "Test rows of the first split: average, and in brackets the standard deviation."
        + (f" The picture is of {MOST_ROWS:,} of them, drawn at random." if len(s) > MOST_ROWS else ""),
    )


def _objectives(found: Comparison, fronts: Mapping[str, Front]) -> Table:
    points = list(dict.fromkeys((found.a, found.b)))
    rows = [
        (
            f"{OBJECTIVES[objective].title} ({OBJECTIVES[objective].audited}s)",
            *_cells({_named(p): front.row(p) for p in points}, found.measure, found),
        )
        for objective, front in fronts.items()
    ]
    return Table(
        f"{REGISTRY[found.measure].symbol} under both objectives",
        ("Objective", *(title for point in points for title in (_named(point), "floor"))),
        tuple(rows),
        _FLOORS,
    )


def _features(found: Comparison) -> Table:
    reliance, importance = found.importance("reliance"), found.importance("importance")
    assert reliance is not None
    assert importance is not None
    both = reliance.merge(importance, on="feature", suffixes=("_move", "_error"), sort=False)
    most = both[["a_move", "b_move"]].abs().max(axis=1).nlargest(MOST_FEATURES).index
    rows = [
        (
            str(row["feature"]),
            *(with_unit(number(row[f"{point}_move"]), found.unit) for point in "ab"),
            *(signed(row[f"{point}_error"]) for point in "ab"),
        )
        for _, row in both.loc[most].iterrows()
    ]
    names = (_named(found.a), _named(found.b))
    return Table(
        "Features that count most",
        ("Feature", *(f"Move: {name}" for name in names), *(f"Error: {name}" for name in names)),
        tuple(rows),
        "One feature's cells are shuffled among the test rows; means over the splits. Move: how far a "
        "prediction moves on average. Error: how much the test error (MSE ÷ variance) grows. Features that "
        "tell the same story share their weight. A blend is shown by its nearest trained model.",
    )


def _cells(rows: Mapping[str, pd.Series], figure: str, found: Comparison) -> list[str]:
    """Value and floor of each row; an error has no floor."""
    return [
        cell for row in rows.values() for cell in (_value(row, figure, found), _floor(row, figure, found))
    ]


def _value(row: pd.Series, figure: str, found: Comparison) -> str:
    """A mean ± its standard error."""
    value, error = float(row[figure]), float(row[f"{figure}_se"])
    text = _rounded(value, error)
    if np.isfinite(error):
        text += f" ± {number(error, error=error)}"
    return with_unit(text, found.unit) if figure.startswith("fairquant") else text


def _floor(row: pd.Series, figure: str, found: Comparison) -> str:
    """Average and 95 % quantile of the floor, with the value's digits."""
    if f"{figure}_floor" not in row:
        return "–"
    mean, edge = (
        _rounded(float(row[f"{figure}_floor{end}"]), float(row[f"{figure}_se"])) for end in ("", "_q95")
    )
    text = f"{mean} ({edge})"
    return with_unit(text, found.unit) if figure.startswith("fairquant") else text


def _rounded(value: float, error: float) -> str:
    """A number of any sign with the digits that its error leaves it; a true minus, none before a zero."""
    text = number(value, error=error)
    sign, size = ("−", text[1:]) if text.startswith("-") else ("", text)
    return sign + size if size.strip("0.,") else size


def _named(point: Point) -> str:
    return "the standard model" if point.is_standard else point.title


def _blend(found: Comparison, point: Point) -> str:
    stop = found.stop(point)
    rest = "the standard model" if stop.low == 0 else f"the one at λ = {stop.low:g}"
    return f"a blend, {100 * stop.share:.0f} % of the model at λ = {stop.high:g} and the rest of {rest}"


def of_points(found: Comparison) -> list[str]:
    """What A and B are."""
    lines = []
    for letter, point in (("A", found.a), ("B", found.b)):
        kind = "trained" if found.stop(point).is_trained else _blend(found, point)
        lines.append(
            f"{letter}: {_named(point)}." if point.is_standard else f"{letter}: {point.title}, {kind}."
        )
    return lines


def _with_meaning(column: str, unit: str, dataset: Dataset | None) -> str:
    meaning = "" if dataset is None else dataset.meanings.get(column, "")
    about: Sequence[str] = [text for text in (unit, meaning) if text]
    return f"{column} ({'; '.join(about)})" if about else column


def _setting(value: object) -> str:
    if isinstance(value, list):
        return "–".join(str(each) for each in value)
    return "none" if value is None else str(value)

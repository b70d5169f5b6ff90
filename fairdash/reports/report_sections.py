"""What a report says besides its pictures and tables: findings, facts and limits, as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from fairdash._version import versions
from fairdash.data.dataset import Dataset
from fairdash.data.leak_check import check_data
from fairdash.dependence import REGISTRY
from fairdash.reports import words
from fairdash.reports.comparison import Comparison
from fairdash.reports.fronts import Point
from fairdash.reports.learning import nothing_learned
from fairdash.reports.numbers import number, with_unit
from fairdash.reports.point_values import of_values
from fairdash.reports.words import named
from fairdash.training.device import TITLES
from fairdash.training.methods import METHODS
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.split_kinds import SPLITS
from fairdash.utils.records import to_plain


def summary(comparison: Comparison) -> list[str]:
    """The finding in plain sentences, every number from the comparison."""
    if nothing := nothing_learned(comparison):
        return [nothing]
    parts = [words.dependence(comparison)]
    if comparison.is_of_one_point:
        return parts
    if not comparison.a.is_standard:
        parts.append(words.dependence(comparison, comparison.a))
    parts.append(
        f"{words.cost(comparison)} {comparison.error_title}: "
        f"{comparison.shown(comparison.front.error, comparison.a)} for {named(comparison.a)}, "
        f"{comparison.shown(comparison.front.error, comparison.b)} at {comparison.called(comparison.b)}."
    )
    moved = with_unit(number(comparison.mean_change), comparison.unit)
    parts.append(
        f"A prediction moves by {moved} on average. {words.who_pays(comparison)} {words.level(comparison)}"
    )
    if not comparison.b.is_standard:
        parts.append(words.both_objectives(comparison))
    return [" ".join(part.split()) for part in parts]


def of_points(comparison: Comparison) -> list[str]:
    """What A and B are."""
    lines = []
    for letter, point in (("A", comparison.a), ("B", comparison.b)):
        kind = "trained" if comparison.curve_point(point).is_trained else _blend(comparison, point)
        lines.append(
            f"{letter}: {named(point)}." if point.is_standard else f"{letter}: {point.title}, {kind}."
        )
    return lines


def unsaid(comparison: Comparison) -> list[str]:
    """What these numbers can't say, as far as it follows from them."""
    seen, symbol = comparison.objective_seen, REGISTRY[comparison.measure].symbol
    edge = number(comparison.edge(comparison.b))
    n_test, n_splits = len(comparison.result.splits[0].test), len(comparison.result.splits)
    independent = f"That the {seen.audited} is independent of {comparison.sensitive_called}"
    blind = f"and {symbol} has blind spots of its own"
    if np.isfinite(comparison.verdict_p(comparison.b)):
        blind += "; the test of several measures has fewer, but misses weak links as well"
    parts = [
        f"{independent}: with {n_test:,} test rows a dependence that {symbol} reads below {edge} can't be "
        f"told from none by {symbol}, {blind}.",
        "Anything about a single person: all of it is about averages and spreads of groups.",
    ]
    if comparison.sample:
        parts.append(f"What all rows would show: it saw {comparison.sample}.")
    if n_splits == 1:
        parts.append("How much another split would change the figures: there was only one.")
    if comparison.objective != comparison.plan.objective:
        parts.append(
            f"What a model trained for {seen.title.lower()} could reach: these were trained for "
            f"{OBJECTIVES[comparison.plan.objective].title.lower()}."
        )
    curve_point = comparison.curve_point(comparison.b)
    if not curve_point.is_trained:
        parts.append(
            f"What a model trained at λ = {comparison.b.lam:g} would do: this point is "
            f"{_blend(comparison, comparison.b)}."
        )
    if comparison.is_worse_than_both_ends():
        parts.append(
            "That this blend is a good choice: it shows more dependence than both trained models beside it."
        )
    return parts


def data_facts(comparison: Comparison, dataset: Dataset | None) -> list[tuple[str, str]]:
    """The data and the roles of its columns."""
    result = comparison.result
    facts = [("Data set", comparison.title)]
    if dataset is not None and dataset.description:
        facts.append(("What it is", dataset.description))
    first = result.splits[0]
    parts = [f"{len(rows):,} {part}" for part, rows in first.parts.items()]
    if result.set_aside is not None:
        parts.append(f"{len(result.set_aside.rows):,} set aside in all of them to confirm the choice")
    facts += [
        ("Rows", f"{comparison.sample or f'{len(result.target):,}'}; in each split {', '.join(parts)}"),
        ("Target", _with_meaning(comparison, comparison.target, comparison.unit, dataset)),
        (
            "Sensitive attribute in view",
            _with_meaning(comparison, comparison.sensitive, comparison.sensitive_unit, dataset),
        ),
    ]
    others = [column for column in result.sensitive.columns if column != comparison.sensitive]
    if others:
        facts.append(
            ("Other sensitive attributes", ", ".join(comparison.called_column(each) for each in others))
        )
    if dataset is None:
        weight = "no" if result.weight is None else "yes"
        facts.append(("Rows weighted by exposure", weight))
        facts.append(("Features", "not listed: the data set itself was not at hand"))
        return facts
    roles = dataset.roles
    facts.append(("Exposure", roles.weight or "none: all rows count alike"))
    if roles.group is not None:
        together = "no fold parts its rows, and they are shuffled together behind every noise floor"
        facts.append(("Group", f"{roles.group}: {together}"))
    if roles.time is not None:
        facts.append(("Time", roles.time))
    facts.append((f"Features ({len(roles.features)})", ", ".join(roles.features)))
    facts.append(("Columns that give the target away", _on_leaks(dataset)))
    if dataset.notes:
        facts.append(("Done to the table before", " ".join(dataset.notes)))
    return facts


def _on_leaks(dataset: Dataset) -> str:
    """What the leak check says of the features; what it left out before stands among the notes."""
    roles = dataset.roles
    found = check_data(
        dataset.table(),
        target=roles.target,
        sensitive=roles.sensitive,
        exposure=roles.weight,
        price=roles.prediction,
        columns=roles.features,
    )
    return " ".join(found.sentences())


def training_facts(comparison: Comparison) -> list[tuple[str, str]]:
    """What was trained, and with what."""
    plan, result = comparison.plan, comparison.result
    objective, settings, kind = OBJECTIVES[plan.objective], plan.settings, SPLITS[plan.split]
    facts = [("Trained for", f"{objective.title}: {objective.meaning}")]
    facts += [(METHODS[id].title, f"{METHODS[id].meaning} ({METHODS[id].source})") for id in plan.methods]
    held_out = (
        f"{100 * plan.validation_share:.0f} % of the rows that are not test rows"
        if plan.validation_share
        else "none was set aside"
    )
    architecture = [f"{name}: {_setting(value)}" for name, value in to_plain(settings).items()]
    return [
        *facts,
        ("Weights λ trained", ", ".join(f"{lam:g}" for lam in sorted(plan.lams))),
        ("Splits", f"{len(result.splits)}, the same for all methods. {kind.title}: {kind.meaning}"),
        ("Validation rows", held_out),
        ("Loss", settings.loss_function.title),
        ("Settings", "; ".join(architecture)),
        *_tuned(comparison),
        ("Seed", f"{plan.random_state} (splits, initial weights, mini-batches)"),
        ("Trained on", f"{TITLES.get(result.device, result.device)}, in {result.seconds:.0f} s"),
        ("Trained with", ", ".join(" ".join(each) for each in result.versions.items()) or "not kept"),
    ]


def _tuned(comparison: Comparison) -> list[tuple[str, str]]:
    """What was found on validation rows, where it was; it takes the place of what stands in the settings."""
    tuning = comparison.result.tuning
    if tuning is None:
        return []
    chosen = tuning[tuning["chosen"]].sort_values("split")
    decays = ", ".join(f"{decay:g}" for decay in chosen["weight_decay"])
    rates = ", ".join(f"{lr:g}" for lr in chosen["lr"].unique())
    return [("Found on validation rows instead", f"weight_decay, split by split: {decays}; lr: {rates}")]


def versions_of_report() -> list[tuple[str, str]]:
    """Versions of what wrote the report."""
    return [*versions().items(), ("plotly", version("plotly"))]


def limits(comparison: Comparison) -> list[str]:
    """What to keep in mind, whatever the numbers are."""
    parts = [
        "All figures are of test rows: rows that no model was fitted to.",
        "A dependence value is never read alone. The noise floor beside it is what the same estimator reads "
        "on the same rows when the sensitive attribute is shuffled: its average, and the value that "
        "independence exceeds in 5 % of cases.",
        "Not finding dependence does not prove independence. A measure sees what it is made to see, with the "
        "rows that there are.",
    ]
    parts += of_values(comparison)
    if "fairquant" in comparison.front.measures:
        parts.append(
            "FairQuant compares averages: it is blind to groups that differ in spread and not in average."
        )
    if len(comparison.result.splits) > 1:
        parts.append(
            "The splits overlap, so they tell less than as many new samples would. Standard errors "
            "are corrected for that (Nadeau and Bengio 2003)."
        )
    parts += [
        "Between two trained λ there are blends: the weighted average of the two models' predictions. "
        "They are real predictors and are judged like trained ones, but no model was trained at their λ; "
        "their floors lie between their neighbours' floors.",
        f"The models never see {comparison.sensitive_called}. What the features tell of it, they can use.",
        "The average of a group does not show what happens to its members: some may pay more while the group "
        "pays less. A group holds at least 20 test rows in every split; smaller ones are joined with their "
        "neighbours.",
        "The bands and intervals of group averages are for new rows and the models as they were trained; "
        "training again, on other rows, would move them further.",
    ]
    if comparison.result.weight is not None:
        parts.append(
            "Errors, money and the averages by group count rows by exposure. A measure that takes no weights "
            "counts every row once."
        )
    if len(comparison.front.references):
        parts.append(
            "References use the sensitive attribute to set a price, which the models do not. They are there "
            "to compare, not to choose."
        )
    return parts


def _blend(comparison: Comparison, point: Point) -> str:
    place = comparison.curve_point(point)
    rest = "the standard model" if place.low == 0 else f"the one at λ = {place.low:g}"
    return f"a blend, {100 * place.share:.0f} % of the model at λ = {place.high:g} and the rest of {rest}"


def _with_meaning(comparison: Comparison, column: str, unit: str, dataset: Dataset | None) -> str:
    meaning = "" if dataset is None else dataset.meanings.get(column, "")
    name = comparison.called_column(column)
    header = f"column {column}" if name != column else ""
    about: Sequence[str] = [text for text in (unit, header, meaning) if text]
    return f"{name} ({'; '.join(about)})" if about else name


def _setting(value: object) -> str:
    if isinstance(value, list):
        return "–".join(str(each) for each in value)
    return "none" if value is None else str(value)

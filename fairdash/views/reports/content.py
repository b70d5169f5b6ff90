"""Content of the Trade-off page and the report: figures with tables, findings, facts and limits.

The content is text in blocks (:mod:`fairdash.views.blocks`) without HTML; the caller must escape it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np

from fairdash._version import versions
from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY
from fairdash.evaluation.quantile_profile import ROWS_PER_GROUP
from fairdash.tables.leak_check import check_data
from fairdash.training.device import TITLES
from fairdash.training.methods import PATHS, ModelKey, separation_in_words
from fairdash.training.settings import OBJECTIVES
from fairdash.training.split_kinds import SPLITS
from fairdash.utils.classes import attributes_of
from fairdash.utils.records import to_plain
from fairdash.utils.text import number, percent, with_unit
from fairdash.views.blocks import Block
from fairdash.views.figures.theme import Theme
from fairdash.views.reports import pictures, sentences, tables
from fairdash.views.reports.comparison import Comparison
from fairdash.views.reports.sentences import named, nothing_learned, of_values


def has_groups(comparison: Comparison) -> bool:
    """Return True if every split has enough test rows for averages by group; otherwise, reports omit them."""
    return min(len(split.test) for split in comparison.result.splits) >= ROWS_PER_GROUP


def spread(comparison: Comparison, *, theme: Theme) -> list[Block]:
    """Return a figure and a table of the distributions of predictions or residuals, by third of s."""
    if comparison.front.cells_called:
        return ["Cells have no order. Choose one attribute to see the distributions in its thirds."]
    return [
        pictures.spread(comparison, theme=theme),
        tables.spread(comparison),
        "Groups with equal averages can have different distributions. If predictions are independent of "
        "the attribute, the three curves are the same.",
    ]


def who_pays(comparison: Comparison, *, theme: Theme) -> list[Block]:
    """Return a figure and a table of how predictions change, by group of the sensitive column."""
    return [pictures.transfers(comparison, theme=theme), tables.moved(comparison)]


def both_objectives(comparison: Comparison, *, theme: Theme) -> list[Block]:
    """Return a figure, a table and a sentence on the dependence of predictions and of residuals."""
    trained_for = OBJECTIVES[comparison.plan.objective].title.lower()
    return [
        pictures.objectives(comparison, theme=theme),
        tables.objectives(comparison),
        f"The models were trained for {trained_for}. If the target's average differs between groups, the "
        "average prediction and the average error can't both be the same in all groups.",
    ]


def features(comparison: Comparison, *, theme: Theme, kind: str = "reliance") -> list[Block]:
    """Return a figure and a table of the most important features; [] if the run did not measure them."""
    picture = pictures.features(comparison, kind=kind, theme=theme)
    if picture is None:
        return []
    return [
        picture,
        tables.features(comparison),
        "A fair model may use a feature to cancel what other features reveal about the sensitive "
        "attribute. The predictions then change if this feature is shuffled, although the error falls.",
    ]


def measures(comparison: Comparison) -> dict[str, str]:
    """Return an explanation of each measure in the report, by the measure's name."""
    entries = [REGISTRY[id] for id in comparison.front.measures]
    return {
        tables.in_full(entry): f"0 means: {entry.zero}. 1 means: {entry.one}. This measure misleads in this "
        f"case: {entry.fails_when} Source: {entry.source}."
        for entry in entries
    }


def summary(comparison: Comparison) -> list[str]:
    """State the findings of the comparison in plain sentences."""
    if nothing := nothing_learned(comparison):
        return [nothing]
    parts = [sentences.dependence(comparison)]
    if comparison.is_of_one_point:
        return parts
    if not comparison.a.is_standard:
        parts.append(sentences.dependence(comparison, comparison.a))
    parts.append(
        f"{sentences.cost(comparison)} {comparison.front.error_title}: "
        f"{comparison.shown(comparison.front.error, comparison.a)} for {named(comparison.a)}, "
        f"{comparison.shown(comparison.front.error, comparison.b)} at {comparison.called(comparison.b)}."
    )
    change_text = with_unit(number(comparison.mean_change), comparison.unit)
    parts.append(
        f"Predictions change by {change_text} on average. {sentences.who_pays(comparison)} "
        f"{sentences.level(comparison)}"
    )
    if not comparison.b.is_standard:
        parts.append(sentences.both_objectives(comparison))
    return [" ".join(part.split()) for part in parts]


def of_points(comparison: Comparison) -> list[str]:
    """Describe points A and B."""
    lines = []
    for letter, point in (("A", comparison.a), ("B", comparison.b)):
        kind = "trained" if comparison.curve_point(point).is_trained else blended(comparison, point)
        lines.append(
            f"{letter}: {named(point)}." if point.is_standard else f"{letter}: {point.title}, {kind}."
        )
    return lines


def limits_of_comparison(comparison: Comparison) -> list[str]:
    """List those limits of the results that follow from the numbers of this comparison."""
    objective, symbol, point = comparison.objective_seen, REGISTRY[comparison.measure].symbol, comparison.b
    n_test, n_splits = len(comparison.result.splits[0].test), len(comparison.result.splits)
    blind = f"{symbol} misses some links"
    if np.isfinite(comparison.verdict_p(point)):
        blind += ", and the joint test of several measures misses weak links"
    sentences = {
        f"The {objective.audited} may still depend on {comparison.sensitive_called}. With {n_test:,} "
        f"test rows, values of {symbol} below {number(comparison.edge(point))} do not indicate a "
        f"link, but {blind}.": True,
        "No result applies to a single person. All results are averages or distributions of groups.": True,
        f"The run used {comparison.sample}. Results on all rows may differ.": bool(comparison.sample),
        "The run had one split. Another random split would give different numbers.": n_splits == 1,
        f"The models were trained for {OBJECTIVES[comparison.plan.objective].title.lower()}. Models trained "
        f"for {objective.title.lower()} would give different results.": (
            comparison.objective != comparison.plan.objective
        ),
        f"This point is {blended(comparison, point)}. A model trained at λ = {point.lam:g} would have "
        "different predictions.": not comparison.curve_point(point).is_trained,
        separation_in_words(point.method, len(attributes_of(comparison.result.sensitive))): True,
        "This blend is not a good choice, because each of its two trained models shows less dependence.": (
            comparison.is_more_dependent_than_its_models()
        ),
    }
    return [sentence for sentence, holds in sentences.items() if sentence and holds]


def data_facts(comparison: Comparison, dataset: Dataset | None) -> dict[str, str]:
    """Return facts about the data and the roles of the columns, by title."""
    result, target, sensitive = comparison.result, comparison.target, comparison.sensitive
    parts = [f"{len(rows):,} {part}" for part, rows in result.splits[0].parts.items()]
    if result.set_aside is not None:
        parts.append(f"{len(result.set_aside.rows):,} not used by any split, to confirm the choice")
    others = [column for column in result.sensitive.columns if column != sensitive]
    facts = {
        "Data set": comparison.title,
        "What it is": "" if dataset is None else dataset.description,
        "Rows": f"{comparison.sample or f'{len(result.target):,}'}; in each split {', '.join(parts)}",
        "Target": _with_meaning(comparison, target, comparison.unit, dataset),
        "Sensitive attribute shown": _with_meaning(comparison, sensitive, comparison.sensitive_unit, dataset),
        "Other sensitive attributes": ", ".join(map(comparison.called_column, others)),
    }
    if dataset is None:
        facts["Rows weighted by exposure"] = "no" if result.weight is None else "yes"
        facts["Features"] = "not listed, because the data set is not available"
    else:
        roles = dataset.roles
        group_note = "a group's rows stay together in folds and when noise floors are computed"
        facts |= {
            "Exposure": roles.weight or "none: all rows have equal weight",
            "Group": ""
            if dataset.group is None
            else f"{roles.group}, with {dataset.group.nunique():,} groups: {group_note}",
            "Time": roles.time or "",
            f"Features ({len(roles.features)})": ", ".join(roles.features),
            "Columns that reveal the target": _leak_findings(dataset),
            "Changes to the table before training": " ".join(dataset.notes),
        }
    return {name: fact for name, fact in facts.items() if fact}


def _leak_findings(dataset: Dataset) -> str:
    """Return the findings of the leak check on the features, as a text."""
    roles = dataset.roles
    check = check_data(
        dataset.table(),
        target=roles.target,
        sensitive=roles.sensitive,
        exposure=roles.weight,
        price=roles.prediction,
        group=roles.group,
        columns=roles.features,
    )
    return " ".join(check.sentences())


def training_facts(comparison: Comparison) -> dict[str, str]:
    """Return facts about the settings of the training, by title."""
    plan, result = comparison.plan, comparison.result
    objective, settings, kind = OBJECTIVES[plan.objective], plan.settings, SPLITS[plan.split]
    held_out = "none"
    if plan.validation_share:
        held_out = f"{percent(plan.validation_share, decimals=0)} of the rows that are not test rows"
    return {
        "Trained for": f"{objective.title}: {objective.meaning}",
        **{PATHS[id].title: f"{PATHS[id].meaning} ({PATHS[id].source})" for id in plan.methods},
        "Weights λ trained": ", ".join(f"{lam:g}" for lam in sorted(plan.lams)),
        "Splits": f"{len(result.splits)}; all methods have the same splits. {kind.title}: {kind.meaning}",
        "Validation rows": held_out,
        "Loss": settings.loss_function.title,
        "Settings": "; ".join(f"{name}: {_setting(value)}" for name, value in to_plain(settings).items()),
        **_tuned_settings(comparison),
        "Seed": f"{plan.random_state} (splits, initial weights, mini-batches)",
        "Trained on": f"{TITLES.get(result.device, result.device)}, in {result.seconds:.0f} s",
        "Trained with": ", ".join(" ".join(pair) for pair in result.versions.items()) or "not kept",
    }


def _tuned_settings(comparison: Comparison) -> dict[str, str]:
    """Return the settings that the run selected on validation rows; {} if it selected no settings."""
    tuning = comparison.result.tuning
    if tuning is None:
        return {}
    chosen = tuning[tuning["chosen"]].sort_values("split")
    decays = ", ".join(f"{decay:g}" for decay in chosen["weight_decay"])
    rates = ", ".join(f"{lr:g}" for lr in chosen["lr"].unique())
    return {"Settings chosen on validation rows": f"weight_decay of each split: {decays}; lr: {rates}"}


def versions_of_report() -> dict[str, str]:
    """Return the versions of the software that wrote the report."""
    return versions() | {"plotly": version("plotly")}


def limits(comparison: Comparison) -> list[str]:
    """Return general notes on what the numbers do not show."""
    sentences = {
        "All numbers come from test rows, to which no model was fitted.": True,
        "Compare a value of dependence with its noise floor. We shuffle the sensitive attribute on "
        "the same rows, and give the average and the 95th percentile of the estimates. If the two "
        "are independent, the value exceeds this percentile in 5 % of cases.": True,
        "Finding no dependence does not prove independence. Each measure detects only certain links, and "
        "needs enough rows.": True,
        **dict.fromkeys(of_values(comparison), True),
        "FairQuant compares averages, so it does not detect groups that differ in spread but not in "
        "average.": "fairquant" in comparison.front.measures,
        "The splits overlap, so they contain less information than the same number of new samples. Standard "
        "errors are corrected for this overlap (Nadeau and Bengio 2003).": len(comparison.result.splits) > 1,
        "A point between two trained λ is a blend: a weighted average of the two models' "
        "predictions. Blends are evaluated in the same way as trained models, but no model was "
        "trained at their λ. A blend's noise floor is interpolated between the noise floors of its "
        "two models.": True,
        f"The models never use {comparison.sensitive_called}, but can use related features.": True,
        "A group's average does not show what happens to its members. Some members may pay more although "
        "the group pays less on average. Groups with fewer than 20 test rows in a split are merged with "
        "their neighbours.": True,
        "Bands and intervals of group averages include the uncertainty due to the choice of test "
        "rows. They do not include the uncertainty due to the choice of training rows.": True,
        "Errors, amounts and averages by group are weighted by exposure. Measures that accept no weights "
        "count every row once.": comparison.result.weight is not None,
        "Reference prices use the sensitive attribute, and the models do not. Reference prices show what is "
        "possible; do not charge them.": len(comparison.front.references) > 0,
    }
    return [sentence for sentence, holds in sentences.items() if holds]


def blended(comparison: Comparison, point: ModelKey) -> str:
    """Describe a blend by the weights of its two trained models."""
    blend = comparison.curve_point(point)
    model_text = "the standard model" if blend.low == 0 else f"the model at λ = {blend.low:g}"
    share = percent(blend.share, decimals=0)
    return (
        f"a blend, {share} of the model at λ = {blend.high:g} and {percent(1 - blend.share, decimals=0)} "
        f"of {model_text}"
    )


def _with_meaning(comparison: Comparison, column: str, unit: str, dataset: Dataset | None) -> str:
    meaning = "" if dataset is None else dataset.meanings.get(column, "")
    name = comparison.called_column(column)
    header = f"column {column}" if name != column else ""
    header_parts: Sequence[str] = [text for text in (unit, header, meaning) if text]
    return f"{name} ({'; '.join(header_parts)})" if header_parts else name


def _setting(value: object) -> str:
    if isinstance(value, list):
        return "–".join(str(item) for item in value)
    return "none" if value is None else str(value)

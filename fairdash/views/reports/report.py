"""Export of a comparison as one HTML file, for any browser; it loads nothing from the web."""

from __future__ import annotations

import json
from collections.abc import Sequence

from markupsafe import Markup

from fairdash._version import __version__
from fairdash.data.dataset import Dataset
from fairdash.evaluation.confirmation import Confirmation
from fairdash.storage.log import Log
from fairdash.utils.text import utc_time
from fairdash.views.blocks import Block, Text, as_script_json, chapter, document, templates
from fairdash.views.figures.stage import stage_script, stage_style
from fairdash.views.figures.theme import LIGHT
from fairdash.views.reports import content, pictures, sentences, tables
from fairdash.views.reports.comparison import Comparison
from fairdash.views.reports.stage import stage_of, stops_of


def render_report(
    comparison: Comparison,
    *,
    run_id: str,
    created: str,
    dataset: Dataset | None = None,
    is_preview: bool = False,
    openings: Sequence[Confirmation] = (),
    log: Log | None = None,
) -> bytes:
    """Return the report on a comparison as HTML.

    The same arguments give the same bytes, because the report does not contain the time of the export.

    Parameters
    ----------
    comparison
        Comparison of the points A and B of a run.
    run_id, created
        Id of the run, and time at which it was requested, in ISO 8601.
    dataset
        Data on which the run was trained, from which the report lists features and notes; None omits both.
    is_preview
        Whether the run is unfinished; if so, the report says that it is a preview.
    openings
        Results on holdout rows, from :func:`fairdash.runs.confirmations.read_confirmations`.
    log
        Log of the run, from :func:`fairdash.storage.log.read`.

    Returns
    -------
    bytes
        HTML document in UTF-8 of about 5 MB, most of which is plotly.js.
    """
    title, objective = f"The cost of fairness: {comparison.title}", comparison.objective_seen
    sample = f"{comparison.sample}; " if comparison.sample else ""
    all_rows = "all rows, " if comparison.sample else ""
    preview = (
        f"This is a preview: {sample}the whole run will have {all_rows}more splits and methods, and more "
        "precise noise floors."
    )
    blocks = [
        Text(title, "title"),
        Text(
            f"{comparison.target_called} predicted without {comparison.sensitive_called}. Run {run_id}, "
            f"requested {utc_time(created)}; report by fairdash {__version__}.",
            "small",
        ),
        *(Text(sentence, "answer") for sentence in content.summary(comparison)),
        Text(f"{' '.join(content.of_points(comparison))} {objective.title}: {objective.meaning}", "small"),
        *([preview] if is_preview else []),
        *(f"Note: {note}" for note in comparison.result.notes),
        *findings(comparison, openings),
        *_moving(comparison),
        *details(comparison, dataset=dataset, log=log or Log()),
    ]
    return document(title, blocks)


def findings(comparison: Comparison, openings: Sequence[Confirmation] = ()) -> list[Block]:
    """Return the blocks of the report that are above the slider."""
    return [
        *chapter("Confirmation on rows set aside", *sentences.of_rows_set_aside(comparison, openings)),
        *chapter("Limits of these results", content.limits_of_comparison(comparison)),
        *chapter("Cost", pictures.front(comparison, theme=LIGHT), tables.measures(comparison)),
    ]


def details(comparison: Comparison, *, dataset: Dataset | None = None, log: Log) -> list[Block]:
    """Return the report's blocks below the slider; results by group need enough rows in every split."""
    front = comparison.front
    own_blocks: list[Block] = [
        "Some splits have fewer than 20 test rows, which is too few for results by group."
    ]
    if content.has_groups(comparison):
        own_blocks = []
        for objective in sorted(comparison.fronts, key=lambda name: name != comparison.objective):
            own_blocks += [
                pictures.profile(comparison, objective=objective, theme=LIGHT),
                tables.profile(comparison, objective),
            ]
        own_blocks += content.spread(comparison, theme=LIGHT)
        if not comparison.is_of_one_point:
            own_blocks += content.who_pays(comparison, theme=LIGHT)
    models: list[Block] = [tables.trained(comparison, method) for method in front.methods]
    models.append(tables.hypervolumes(comparison))
    if len(front.baselines):
        models.append(tables.benchmarks(comparison))
    if len(front.references):
        models.append(tables.references(comparison))
    blocks: list[Block] = [tables.history(log)] if log.events else []
    if not log.is_whole:
        blocks.insert(0, "The log was changed: lines were altered or are missing.")
    chapters: dict[str, list[Block]] = {
        "Groups affected": own_blocks,
        "Predictions and residuals": content.both_objectives(comparison, theme=LIGHT),
        "Most important features": content.features(comparison, theme=LIGHT),
        "All models": models,
        "The data": [content.data_facts(comparison, dataset)],
        "Training": [content.training_facts(comparison)],
        "Software versions of this report": [content.versions_of_report()],
        "Log of this run": blocks,
        "Measures explained": [content.measures(comparison)],
        "Limits": [content.limits(comparison)],
    }
    return [block for title, blocks in chapters.items() for block in chapter(title, *blocks)]


def _moving(comparison: Comparison) -> list[Block]:
    """Return the Trade-off page's figures, with a slider that needs no server; [] without groups."""
    if not content.has_groups(comparison) or comparison.is_of_one_point:
        return []
    stops = stops_of(comparison)
    away = [abs(float(lam) - comparison.b.lam) for lam in stops.lams]
    data = stage_of(comparison, stops, at=away.index(min(away)), theme=LIGHT)
    for number, figure in enumerate(data["figures"], 1):
        figure |= {"form": "svg", "name": f"fairdash-report-{number}"}
    stage = templates().get_template("stage.html")
    code = {"script": Markup(stage_script()), "style": Markup(stage_style())}  # noqa: S704 - our own files
    return [Markup(stage.render(data=as_script_json(json.dumps(data)), **code))]  # noqa: S704 - escaped there

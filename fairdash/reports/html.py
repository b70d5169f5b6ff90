"""Export a comparison as one HTML file that opens anywhere, prints well and loads nothing online."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from fairdash._version import __version__
from fairdash.data.dataset import Dataset
from fairdash.evaluation.confirmation import Confirmation
from fairdash.figures.blocks import Block, Chapters, as_script_json, plotly_script, templates
from fairdash.figures.stage import stage_script, stage_style
from fairdash.figures.theme import LIGHT
from fairdash.reports import content, pictures, tables, words
from fairdash.reports.comparison import Comparison
from fairdash.reports.stage import stage_of, stops_of
from fairdash.runs.log import Log
from fairdash.utils.text import utc_time


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
    """Render the report of a comparison.

    The same comparison gives the same bytes: the only times in it are the run's own.

    Parameters
    ----------
    comparison
        Points A and B of a run.
    run_id, created
        The run's id, and when it was asked for, ISO 8601.
    dataset
        The data that the run was trained on, for the list of features and the notes; they are left out
        without it.
    is_preview
        Whether the run has more to come, which the report then says.
    openings
        Results on the holdout rows, from :func:`fairdash.runs.confirmations.read_confirmations`.
    log
        Log of the run, from :func:`fairdash.runs.log.read`.

    Returns
    -------
    bytes
        An HTML document in UTF-8, about 5 MB, most of it plotly.js.
    """
    return (
        templates(Path(__file__).parent)
        .get_template("template.html")
        .render(
            comparison=comparison,
            run_id=run_id,
            created=utc_time(created),
            version=__version__,
            is_preview=is_preview,
            summary=content.summary(comparison),
            points=content.of_points(comparison),
            findings=findings(comparison, openings),
            stage=_moving(comparison),
            stage_script=Markup(stage_script()),  # noqa: S704 - our own file
            stage_style=Markup(stage_style()),  # noqa: S704 - our own file
            details=details(comparison, dataset=dataset, log=log or Log()),
            plotly=plotly_script(),
        )
        .encode()
    )


def findings(comparison: Comparison, openings: Sequence[Confirmation] = ()) -> Chapters:
    """Return the blocks before the slider."""
    chapters: dict[str, list[Block]] = {}
    if confirmed := words.of_rows_set_aside(comparison, openings):
        chapters["Confirmation on rows set aside"] = [*confirmed]
    chapters["Limits of these results"] = [content.unsaid(comparison)]
    chapters["Cost"] = [pictures.front(comparison, theme=LIGHT), tables.measures(comparison)]
    return chapters


def details(comparison: Comparison, *, dataset: Dataset | None = None, log: Log) -> Chapters:
    """Return the blocks after the slider; groups only if every split has enough rows."""
    front = comparison.front
    concerned: list[Block] = ["A split has fewer than 20 test rows, too few to show any group."]
    if content.has_groups(comparison):
        concerned = []
        for objective in sorted(comparison.fronts, key=lambda each: each != comparison.objective):
            concerned += [
                pictures.profile(comparison, objective=objective, theme=LIGHT),
                tables.profile(comparison, objective),
            ]
        concerned += content.spread(comparison, theme=LIGHT)
        if not comparison.is_of_one_point:
            concerned += content.who_pays(comparison, theme=LIGHT)
    models: list[Block] = [tables.trained(comparison, method) for method in front.methods]
    models.append(tables.hypervolumes(comparison))
    if len(front.baselines):
        models.append(tables.benchmarks(comparison))
    if len(front.references):
        models.append(tables.references(comparison))
    done: list[Block] = [tables.history(log)] if log.events else []
    if not log.is_whole:
        done.insert(0, "The log was changed: lines were altered or are missing.")
    chapters: dict[str, list[Block]] = {
        "Groups affected": concerned,
        "Predictions and residuals": content.both_objectives(comparison, theme=LIGHT),
        "Most important features": content.features(comparison, theme=LIGHT),
        "All models": models,
        "The data": [content.data_facts(comparison, dataset)],
        "Training": [content.training_facts(comparison)],
        "Versions that wrote this report": [content.versions_of_report()],
        "Who did what with this run": done,
        "Measures explained": [content.measures(comparison)],
        "Limits": [content.limits(comparison)],
    }
    return {title: blocks for title, blocks in chapters.items() if blocks}


def _moving(comparison: Comparison) -> Markup | None:
    """The stage of the trade-off page, which moves λ without a server; None where there are no groups."""
    if not content.has_groups(comparison) or comparison.is_of_one_point:
        return None
    stops = stops_of(comparison)
    away = [abs(float(lam) - comparison.b.lam) for lam in stops.lams]
    data = stage_of(comparison, stops, at=away.index(min(away)), theme=LIGHT)
    for place, figure in enumerate(data["figures"], 1):
        figure |= {"form": "svg", "name": f"fairdash-report-{place}"}
    return as_script_json(json.dumps(data))

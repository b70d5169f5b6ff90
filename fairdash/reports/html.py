"""A comparison as one HTML file that opens anywhere, prints well and loads nothing from the network."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from markupsafe import Markup

from fairdash._version import __version__
from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY
from fairdash.evaluation.confirmation import Confirmation
from fairdash.figures.offline import plotly_script, templates
from fairdash.figures.stage import stage_script, stage_style
from fairdash.reports import confirming, report_sections
from fairdash.reports.comparison import Comparison
from fairdash.reports.report_figures import has_groups, moving, pictures
from fairdash.reports.report_tables import tables_of
from fairdash.reports.tables import history
from fairdash.runs.log import Log


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
    """The report of a comparison.

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
        What the rows set aside have shown, as :func:`fairdash.runs.confirmations.read_confirmations` has it.
    log
        Who did what with the run, as :func:`fairdash.runs.log.read` gives it.

    Returns
    -------
    bytes
        An HTML document in UTF-8, about 5 MB, most of it plotly.js.
    """
    drawn = pictures(comparison)
    return (
        templates(Path(__file__).parent)
        .get_template("template.html")
        .render(
            comparison=comparison,
            run_id=run_id,
            created=datetime.fromisoformat(created).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            version=__version__,
            is_preview=is_preview,
            summary=report_sections.summary(comparison),
            points=report_sections.of_points(comparison),
            unsaid=report_sections.unsaid(comparison),
            data=report_sections.data_facts(comparison, dataset),
            training=report_sections.training_facts(comparison),
            versions=report_sections.versions_of_report(),
            pictures=drawn,
            stage=moving(comparison),
            stage_script=Markup(stage_script()),  # noqa: S704 - our own file
            stage_style=Markup(stage_style()),  # noqa: S704 - our own file
            tables=tables_of(comparison, with_groups=has_groups(comparison)),
            measures=[REGISTRY[id] for id in comparison.front.measures],
            limits=report_sections.limits(comparison),
            confirmation=confirming.of_report(comparison, openings),
            history=history(log or Log()).to_numpy().tolist(),
            is_log_whole=log is None or log.is_whole,
            plotly=plotly_script(),
        )
        .encode()
    )

"""A comparison as one HTML file that opens anywhere, prints well and loads nothing from the network."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fairdash._version import __version__
from fairdash.data.dataset import Dataset
from fairdash.dependence import REGISTRY
from fairdash.reports import facts
from fairdash.reports.comparison import Comparison, Front
from fairdash.reports.pictures import has_groups, pictures
from fairdash.reports.report_tables import tables_of

#: What would end a script element, or a line of a script, too early.
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
#: Addresses of maps, fonts and editors in the code of plotly.js; names of XML vocabularies are no addresses.
_REMOTE = re.compile(r"https?://(?!www\.w3\.org/)")


def render_report(
    found: Comparison,
    *,
    run_id: str,
    created: str,
    dataset: Dataset | None = None,
    is_first_look: bool = False,
) -> bytes:
    """The report of a comparison.

    The same comparison gives the same bytes: the only times in it are the run's own.

    Parameters
    ----------
    found
        Points A and B of a run.
    run_id, created
        The run's id, and when it was asked for, ISO 8601.
    dataset
        The data that the run was trained on, for the list of features and the notes; they are left out
        without it.
    is_first_look
        Whether the run has more to come, which the report then says.

    Returns
    -------
    bytes
        An HTML document in UTF-8, about 5 MB, most of it plotly.js.
    """
    fronts = {
        objective: Front.of(found.result, objective=objective, sensitive=found.sensitive)
        for objective in found.result.paths
    }
    drawn = pictures(found, fronts)
    return (
        _environment()
        .get_template("template.html")
        .render(
            found=found,
            run_id=run_id,
            created=datetime.fromisoformat(created).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            version=__version__,
            is_first_look=is_first_look,
            summary=facts.summary(found, fronts),
            points=facts.of_points(found),
            unsaid=facts.unsaid(found),
            data=facts.data_facts(found, dataset),
            training=facts.training_facts(found),
            versions=facts.versions_of_report(),
            pictures=drawn,
            json={id: as_script_json(picture.json) for id, picture in drawn.items()},
            tables=tables_of(found, fronts, with_groups=has_groups(found)),
            measures=[REGISTRY[id] for id in found.front.measures],
            limits=facts.limits(found),
            plotly=plotly_script(),
        )
        .encode()
    )


def as_script_json(text: str) -> Markup:
    """JSON that may stand in a script element: no name in it can end the element."""
    return Markup(text.translate(_ESCAPES))  # noqa: S704 - made safe on the spot


@cache
def plotly_script() -> Markup:
    """plotly.js with every address in it made unreachable.

    Only maps, which no figure here is, would fetch anything, and the document's policy forbids it besides.
    """
    from plotly.offline import get_plotlyjs

    return Markup(_REMOTE.sub("offline://", get_plotlyjs()))  # noqa: S704 - not a user's text


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

"""Pictures that follow a slider in the browser: their script and styles, for pages and for reports alike.

The script ends with ``mount({data, parentElement, setTriggerValue})``: it draws into the ``.stage`` of
`parentElement` what :mod:`fairdash.reports.stage` makes, and gives back what ends it.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def stage_script() -> str:
    """JavaScript with ``mount`` in it; it asks for nothing from elsewhere."""
    return _read("plot.js") + _read("stage.js")


@cache
def stage_style() -> str:
    """CSS of what is in ``.stage``; colours and font are those of Streamlit's variables, ``--st-…``."""
    return _read("stage.css")


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")

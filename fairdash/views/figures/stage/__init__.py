"""Interactive figures with a slider in the browser: script and styles for pages and reports.

The script ends with ``mount({data, parentElement, setTriggerValue})``. This function draws the output of
:mod:`fairdash.views.reports.stage` into the element ``.stage`` of `parentElement`. ``mount`` returns a
function that removes the drawing. The script uses D3; the folder ``d3/`` contains D3's modules, unchanged
from npm.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

#: Names of D3's modules in the order of their dependencies.
_MODULES = "array color format interpolate path selection shape time time-format scale axis".split()


@cache
def d3_script() -> str:
    """Return JavaScript that defines D3 as ``d3`` without a global variable, preceded by D3's licence."""
    # D3's web address is removed. A report must not contain addresses that it might seem to load.
    modules = [_read(f"d3/d3-{name}.min.js").replace("https://d3js.org/", "") for name in _MODULES]
    scoped = ["const d3 = (globalThis => {", *modules, "return globalThis.d3;", "})({});", ""]
    return f"/*\n{_read('d3/LICENSE')}*/\n" + "\n".join(scoped)


@cache
def stage_script() -> str:
    """Return JavaScript that defines ``mount``; the script makes no network requests."""
    return d3_script() + _read("plot.js") + _read("stage.js")


@cache
def stage_style() -> str:
    """Return CSS for ``.stage``, with colours and font from Streamlit's variables ``--st-…``."""
    return _read("stage.css")


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")

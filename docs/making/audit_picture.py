"""Draw the picture of an audit that README shows, from the example: python -m docs.making.audit_picture."""

from __future__ import annotations

from pathlib import Path

from fairdash.auditing.example import example_audit
from fairdash.auditing.filing.report import blocks_of
from fairdash.figures.blocks import Picture
from fairdash.figures.svg import svg_of
from fairdash.figures.theme import LIGHT

PICTURE = Path(__file__).parents[1] / "audit.svg"


def drawn() -> bytes:
    """The average price along the attribute, with its band, as SVG on white."""
    result = example_audit()
    tables = next(tables for answer, tables in result.sections() if answer.question == 1)
    curve = next(each for each in blocks_of(tables, result, theme=LIGHT) if isinstance(each, Picture))
    return svg_of(curve.figure, height=300)


if __name__ == "__main__":
    PICTURE.write_bytes(drawn())

"""Draw README's picture of the example audit: python -m docs.making.audit_picture."""

from __future__ import annotations

from pathlib import Path

from fairdash.auditing.example import example_audit
from fairdash.auditing.filing.view import first_chart
from fairdash.views.figures.svg import svg_of
from fairdash.views.figures.theme import LIGHT

PICTURE = Path(__file__).parents[1] / "audit.svg"


def drawn() -> bytes:
    """Average price along the attribute with its band, as SVG on a white background."""
    curve = first_chart(example_audit()).drawn(LIGHT)
    assert curve is not None
    return svg_of(curve.figure, height=300)


if __name__ == "__main__":
    PICTURE.write_bytes(drawn())

"""Association patterns: which measure sees the link? And what is true of bivariate normal laws."""

from __future__ import annotations

from fairdash.ui.patterns.parts import show_part

show_part()

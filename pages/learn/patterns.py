"""Patterns page: which measure detects a link, and exact values for bivariate normal distributions."""

from __future__ import annotations

from fairdash.ui.patterns.parts import show_part

show_part()

"""All simulated portfolios with known answers (worlds), by name."""

from __future__ import annotations

from benchmarks.worlds.columns import COLUMNS
from benchmarks.worlds.shapes import SHAPES
from benchmarks.worlds.tables import TABLES

WORLDS = {each.name: each for each in (*SHAPES, *COLUMNS, *TABLES)}

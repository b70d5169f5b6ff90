"""The book of worlds: every portfolio whose answers are known, by name."""

from __future__ import annotations

from tests.auditing.worlds.columns import COLUMNS
from tests.auditing.worlds.shapes import SHAPES
from tests.auditing.worlds.tables import TABLES

WORLDS = {each.name: each for each in (*SHAPES, *COLUMNS, *TABLES)}

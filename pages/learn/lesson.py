"""Lesson page of five screens (scenes). On each, the reader makes a guess before the answer appears."""

from __future__ import annotations

from fairdash.ui.learn import show_lesson

show_lesson()

"""Lesson page: five scenes, with a guess before each answer."""

from __future__ import annotations

from fairdash.ui.learn import show_lesson

show_lesson()

"""The lesson: five scenes, with a guess before each answer."""

from __future__ import annotations

from fairdash.ui.lesson import show_lesson

show_lesson()

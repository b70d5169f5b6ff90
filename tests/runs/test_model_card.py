"""The card of a model in words: every heading of Mitchell et al. (2019), filled or marked, and texts as texts."""

from __future__ import annotations

import json

import pytest

from fairdash.auditing.filing.governance import FIELDS
from fairdash.runs.model_card import HEADINGS, model_card
from tests.auditing.test_evidence import HOSTILE
from tests.runs.test_models import made, opened


def test_every_heading_is_filled_or_marked_and_a_user_s_texts_are_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = {"purpose": "Motor *quotes*"}
    monkeypatch.setattr("fairdash.runs.models.kept_answers", lambda owner: answers)
    files = opened(made().bundle())
    card, text = json.loads(files["model.json"]), files["model_card.md"].decode()
    assert card["governance"] == answers
    assert text == model_card(card)
    assert "- Motor \\*quotes\\*\n" in text
    places = [text.index(f"## {heading}\n") for heading in HEADINGS]
    assert places == sorted(places)
    for heading, begin, end in zip(HEADINGS, places, [*places[1:], len(text)], strict=True):
        below = text[begin:end]
        assert "\n- " in below, heading
        for field in HEADINGS[heading]:
            assert (f"**Yours to write:** {FIELDS[field]}" in below) == (field not in answers)


def test_names_and_texts_are_texts() -> None:
    card = json.loads(opened(made().bundle())["model.json"])
    card["data"]["title"] = card["model"]["predicts"] = HOSTILE + "\n## Intended use"
    text = model_card({**card, "governance": {"purpose": HOSTILE}})
    assert "<img" not in text.replace("\\<img", "")
    assert text.count("\n## Intended use") == 1

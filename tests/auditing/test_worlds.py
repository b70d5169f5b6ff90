"""Every question of an audit has the known correct answer for every simulated portfolio (world)."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks.worlds.book import WORLDS
from benchmarks.worlds.study import RESULTS, page_lines
from benchmarks.worlds.truths import NUMBERS
from fairdash.auditing.models import premiums
from fairdash.auditing.questions import attribution
from tests.serving import ROOT
from tests.tiers import few

#: Representative worlds: each kind of link and of attribute, and worlds whose code no other test executes.
KEPT = (
    "linear gap", "U-shape", "heavy tails", "gap of exactly δ", "spread alone", "age itself", "rare class",
    "missing attribute", "attribute with error", "vanishing given a factor", "a factor of one value",
    "a factor that is the attribute", "exposure follows the attribute", "panel", "parts of the price",
    "tariff of 10 prices", "a second price that mends",
)  # fmt: skip


@pytest.mark.parametrize("name", few(WORLDS, *KEPT))
def test_every_question_is_answered_correctly_for_every_simulated_data_set(name, monkeypatch):
    world = WORLDS[name]
    assert [number for number in NUMBERS if not world.truths.get(number)] == [], "each has its truths"
    # Networks are optional next to the trees, and no truth concerns them.
    for module in (premiums, attribution):
        monkeypatch.setattr(module, "has", lambda package: package != premiums.OF_NETWORKS)
    judged = world.judge(world.audit())
    assert judged[~judged["ok"]].to_dict("records") == []


def test_the_page_shows_the_committed_rates_of_correct_answers():
    table = pd.read_csv(RESULTS)
    assert set(table["world"]) == set(WORLDS)
    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- worlds -->\n")[2].partition("<!-- /worlds -->")[0]
    assert shown.splitlines() == page_lines(table)

"""A French table of claims with recoveries, from its file to its pure premium."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

TABLE = Path(os.environ.get("FAIRDASH_DATA", "")) / "motor" / "freMPL1.rda"


@pytest.mark.skipif(not TABLE.is_file(), reason="needs freMPL1.rda of CASdatasets in FAIRDASH_DATA/motor")
def test_the_pure_premium_of_a_table_with_recoveries(page: Page) -> None:
    page.goto("/data")
    page.get_by_text("Your own file").click()
    page.locator("input[type=file]").set_input_files(TABLE)
    # The roles are right as they are suggested, and a target of pricing is offered.
    for title, column in (("Target", "ClaimAmount"), ("Sensitive attribute", "DrivAge")):
        box = page.get_by_role("combobox", name=re.compile(title))
        expect(box).to_have_value(re.compile(column), timeout=60_000)
    expect(page.get_by_role("button", name="Pure premium: ClaimAmount ÷ Exposure")).to_be_visible()
    # Recoveries are named with their rows, and with what each way makes of them.
    problem = page.get_by_text("amounts below zero, such as recoveries, would be divided by the exposure")
    expect(problem).to_be_visible()
    expect(problem).to_contain_text("196 places")
    for label, premium in (
        ("Count them as 0", "567.7"),
        ("Leave these rows out", "575.4"),
        ("Use them as they are", "556.6"),
    ):
        expect(problem).to_contain_text(premium)
        page.get_by_role("button", name=label, exact=True).click()
        expect(page.get_by_text(f"= {premium} over all rows")).to_be_visible(timeout=60_000)
        if premium != "556.6":
            page.get_by_role("button", name=f"{label}: ClaimAmount").click()
    expect(
        page.get_by_text("sensitive: DrivAge · target: ClaimAmount ÷ Exposure · exposure: Exposure")
    ).to_be_visible()
    expect(page.get_by_text("314.1")).to_have_count(0)

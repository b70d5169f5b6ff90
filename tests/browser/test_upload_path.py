"""An actuary's export, from the file to the figures that are taken away."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import chart, choose, figures_taken, take_screenshots, train_a_little

#: Reading is held in tests/ui/test_data_page.py, the form's training in test_networking_cut.py.
pytestmark = [pytest.mark.browser, pytest.mark.variant]

N = 1500


def policies() -> bytes:
    """Semicolons, decimal commas, Windows-1252, whole ages, 88 % zeros, and a proxy of the age."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, N)
    bonus = np.clip(np.round(50 - 0.6 * (age - 18) + rng.normal(0, 6, N)), -30, 60)
    claims = np.zeros(N)
    hit = rng.permutation(N)[: round(0.12 * N)]
    claims[hit] = np.round(rng.gamma(2, 300, len(hit)) + 20 * bonus[hit].clip(0), 2)
    power = np.round(rng.normal(6, 1.5, N), 1)
    rows = [
        f"P{k:05};{age[k]};{bonus[k]:.0f};{str(power[k]).replace('.', ',')};{['Orléans', 'Nîmes'][k % 2]};"
        f"{f'{claims[k]:.2f}'.replace('.', ',')}"
        for k in range(N)
    ]
    return "\r\n".join(["Police;Âge;Bonus;Leistung;Région;Coût", *rows, ""]).encode("cp1252")


@pytest.mark.bad_input(2, 4, 5, 31, 32)
def test_from_an_actuarys_export_to_the_figures(page: Page, tmp_path):
    path = tmp_path / "policen.csv"
    path.write_bytes(policies())
    page.goto("/data")
    page.get_by_text("Your own file").click()
    page.locator("input[type=file]").set_input_files(path)
    expect(page.get_by_text("Read as Windows-1252 with semicolons")).to_be_visible()
    expect(page.get_by_text("Numbers with a decimal comma")).to_be_visible()
    choose(page, "Target", "Coût")
    choose(page, "Sensitive attribute", "Âge")
    expect(page.get_by_text(f"{N:,} rows · 3 features · sensitive: Âge · target: Coût")).to_be_visible()
    # The profile: zeros, ties, distributions.
    expect(page.get_by_text("“Coût” is zero in 88 % of the rows")).to_be_visible()
    expect(page.get_by_text(re.compile("72 different values.*quantile groups"))).to_be_visible()
    page.get_by_text("Distribution of the sensitive attribute").wait_for()
    # The proxies, computed beside the page.
    expect(page.get_by_text("most of all Bonus")).to_be_visible()
    bars = chart(page, "How well each feature predicts Âge")["dependence"]
    assert len(bars["x"]) == 4
    assert bars["x"][1] > 0.8, "Bonus follows the age"
    take_screenshots(page, "upload-path")

    train_a_little(page, epochs=4)
    page.get_by_text("Average prediction by Âge", exact=True).first.wait_for()
    download = figures_taken(page)
    text = download.read_text(encoding="utf-8-sig")
    assert text.startswith("method,lam,split,part")
    models = {tuple(line.split(",")[:4]) for line in text.splitlines()}
    assert len(models) == 1 + 3 * (2 + 2 * 4)
    assert "P00001" not in text

"""The user's real path on the real Crime data: choose, train, wait, move the slider, read the chart."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from fairdash.runs.listing import list_runs
from tests.browser.conftest import owner_of
from tests.browser.steps import chart, choose, come_to_rest, take_screenshots, to_the_largest
from tests.tiers import few

pytestmark = pytest.mark.browser

#: To wait for a training to be over, however busy the machine is.
SECONDS_TO_WAIT = 300


def spread(values: list[float]) -> float:
    return max(values) - min(values)


@pytest.mark.data
def test_from_the_crime_table_to_what_fairness_costs(page: Page, real_data):
    page.goto("/data")
    page.get_by_text("Communities and Crime", exact=True).first.click()
    page.get_by_role("heading", name="Communities and Crime").wait_for()
    expect(page.get_by_text("1,994 rows · 99 features")).to_be_visible()
    take_screenshots(page, "data")
    page.get_by_role("button", name="Train on this data").click()

    train = page.get_by_role("button", name="Train", exact=True)
    train.wait_for()
    page.get_by_text("Balance, tariffs, weights and splits").click()
    expect(page.get_by_text("Random splits into training")).to_be_visible()
    take_screenshots(page, "train")
    train.click()
    page.wait_for_url(re.compile("run=[0-9a-f]{12}"))
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.get_by_text("Error on training batches", exact=True).last.wait_for()
    # A reload in the middle: the address brings the run back.
    page.reload()
    page.get_by_role("button", name="See what fairness costs").click(timeout=SECONDS_TO_WAIT * 1000)
    page.get_by_role("heading", name="What does fairness cost?").wait_for()
    before = chart(page, "Average prediction by share of Black people")

    lam = to_the_largest(page)
    page.wait_for_url(re.compile(f"lam={lam}"))
    expect(page.get_by_text(f"At λ = {lam} ")).to_be_visible()
    come_to_rest(page)
    after = chart(page, "Average prediction by share of Black people")
    assert set(after) >= {"standard model", f"λ = {lam}"}
    assert after["standard model"] == before["standard model"]
    # What the tool is for: the fair model's averages no longer follow the sensitive attribute.
    assert spread(after[f"λ = {lam}"]["y"]) < 0.35 * spread(after["standard model"]["y"])
    front = chart(page, "What fairness costs")
    points = [
        front[name]["x"] for name in front if name.startswith("Fair spline network") and "path" not in name
    ]
    assert sum(map(len, points)) == 9, "the standard model, and a model for each of eight weights"
    assert len(front["single splits"]["x"]) in (2, 16)
    take_screenshots(page, "tradeoff")

    with page.expect_download() as download:
        page.get_by_role("button", name="All figures (CSV)").click()
    text = download.value.path().read_text(encoding="utf-8-sig")
    assert text.startswith("method,lam,split,part,diverged,best_epoch,n,mse")
    assert len(text.splitlines()) == 1 + 3 * (2 + 16), "training, validation and test rows of each model"

    address = page.url
    page.goto("/")
    page.get_by_text("Recent runs").wait_for()
    expect(page.get_by_text("Communities and Crime").first).to_be_visible()
    take_screenshots(page, "home")
    page.goto(address)
    expect(page.get_by_text(f"At λ = {lam} ")).to_be_visible()


def test_a_cancelled_run_trains_no_further(page: Page, person: str):
    page.goto("/train")
    page.get_by_text("Advanced: networks and schedule").click()
    # Curves begin when the settings are found: with so many epochs that alone would take minutes.
    page.get_by_text("Find learning rate and weight decay on validation rows first").click()
    epochs = page.get_by_label("Epochs (passes over the rows)")
    epochs.fill("2000")
    epochs.press("Enter")
    page.get_by_role("button", name="Train", exact=True).click()
    page.get_by_text("Error on training batches", exact=True).last.wait_for(timeout=60_000)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Stopped.").wait_for(timeout=SECONDS_TO_WAIT * 1000)
    (run,) = list_runs(owner=owner_of(person)).runs
    folder = run.folder
    lines = (folder / "curves.jsonl").read_text(encoding="utf-8").splitlines()
    epochs = {json.loads(line)["epoch"] for line in lines}
    assert epochs, "it had begun"
    assert max(epochs) < 2000, "it was not carried to its end"
    assert not (folder / "result").exists()
    page.reload()
    page.get_by_text("Stopped.").wait_for()
    assert (folder / "curves.jsonl").read_text(encoding="utf-8").splitlines() == lines


@pytest.mark.parametrize("scheme", few(["light", "dark"], "dark"))
def test_an_uploaded_table_is_read_and_shown(page: Page, scheme, tmp_path):
    rows = "\n".join(f"{18 + k % 60};{k % 7},5;{100 + k % 13},25" for k in range(200))
    path = tmp_path / "policen.csv"
    path.write_bytes(f"Alter;Größe;Prämie\n{rows}\n".encode("cp1252"))
    page.emulate_media(color_scheme=scheme)
    page.goto("/data")
    page.get_by_text("Your own file").click()
    page.locator("input[type=file]").set_input_files(path)
    expect(page.get_by_text("Read as Windows-1252 with semicolons")).to_be_visible()
    for label, column in (("Target", "Prämie"), ("Sensitive attribute", "Alter")):
        choose(page, label, column, exact=False)
    expect(page.get_by_text("200 rows · 1 feature ·")).to_be_visible()
    chart(page, "How the target follows the sensitive attribute")
    take_screenshots(page, f"upload-{scheme}")
    page.reload()
    expect(page.get_by_text("200 rows · 1 feature ·")).to_be_visible()

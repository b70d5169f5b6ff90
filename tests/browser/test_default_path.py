"""The user path with all defaults: from a table to a model that predicts in a fresh environment.

Data → "See what fairness costs" → the refined front → the slider → every panel → the report → the refit → the
zip file → its script in another process → predictions. The table is small.
"""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from tests.browser.steps import chart, choose, to_the_largest
from tests.browser.test_networking_cut import noted
from tests.serving import ROOT

pytestmark = pytest.mark.browser

#: Time limits for the preview, the refinement and the refit, on two busy cores.
SECONDS_TO_LOOK, SECONDS_TO_REFINE, SECONDS_TO_REFIT = 120, 600, 120


def costs(n: int = 500) -> pd.DataFrame:
    """A cost that depends on power and bonus, which are related to age."""
    rng = np.random.default_rng(0)
    age, power = rng.integers(18, 90, n), rng.integers(4, 15, n)
    bonus = np.clip(140 - age + rng.integers(-15, 15, n), 50, 150)
    cost = (20 * power + 3 * bonus + rng.normal(0, 40, n)).round(2)
    return pd.DataFrame({"age": age, "power": power, "bonus": bonus, "cost": cost})


def upload(page: Page, frame: pd.DataFrame, path: Path, *, target: str, sensitive: str) -> None:
    frame.to_csv(path, index=False)
    page.goto("/data")
    page.get_by_text("Your own file").click()
    page.locator("input[type=file]").set_input_files(path)
    for label, column in (("Target", target), ("Sensitive attribute: ", sensitive)):
        box = page.get_by_role("combobox", name=re.compile(label)).first
        box.wait_for()
        if column not in (box.get_attribute("aria-label") or ""):
            choose(page, box, column)
    page.get_by_role("button", name="See what fairness costs").wait_for()


def calm(page: Page) -> None:
    """Check that the page shows no error."""
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_text("Unexpected error")).to_have_count(0)


def to_the_front(page: Page) -> str:
    """Go from the data page with all roles to the refined front; return the largest weight."""
    page.get_by_role("button", name="See what fairness costs").click()
    page.get_by_text("Preview:").wait_for(timeout=SECONDS_TO_LOOK * 1000)
    page.get_by_text("mean of 5 random splits").first.wait_for(timeout=SECONDS_TO_REFINE * 1000)
    calm(page)
    assert page.get_by_role("combobox", name=re.compile("Method")).count() == 1, "several methods by default"
    return to_the_largest(page)


def check_it_is_fair(page: Page, lam: str, *, by: str) -> None:
    """Check that the averages of the fair model no longer depend on the sensitive attribute."""
    assert any(each.endswith("path") for each in chart(page, "What fairness costs"))
    # The page may have been redrawn with the weights of the refined run after the slider was moved.
    for _ in range(3):
        if f"λ = {lam}" in (averages := chart(page, f"Average prediction by {by}")):
            break
        lam = to_the_largest(page)
    assert np.ptp(averages[f"λ = {lam}"]["y"]) < 0.5 * np.ptp(averages["standard model"]["y"])


def take_away(page: Page) -> Path:
    """Download the report and the zip file of the model."""
    with page.expect_download(timeout=90_000) as download:
        page.get_by_role("button", name="Report (HTML)").click()
    assert download.value.path().read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    calm(page)
    page.get_by_role("button", name="Refit this model on all rows").click()
    give = page.get_by_role("button", name="Model, refitted on all rows (zip)")
    give.wait_for(timeout=SECONDS_TO_REFIT * 1000)
    calm(page)
    expect(page.get_by_role("button", name="Test predictions (CSV)")).to_be_visible()
    with page.expect_download(timeout=60_000) as download:
        give.click()
    return Path(download.value.path())


def predictions(bundle: Path, table: Path, folder: Path) -> np.ndarray:
    """Predictions of the bundle's script, run in a separate process."""
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(folder)
    # Only the library, as if installed: no home, no data, no settings of the app.
    environment = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "load_model.py", str(table)], cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT), "HOME": str(folder), "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return pd.read_csv(folder / "predictions.csv")["prediction"].to_numpy()


def test_with_default_settings_an_uploaded_table_yields_a_model_file_that_predicts(app, page, tmp_path):
    frame, path = costs(), tmp_path / "own.csv"
    upload(page, frame, path, target="cost", sensitive="age")
    check_it_is_fair(page, to_the_front(page), by="age")
    bundle = take_away(page)
    y_pred = predictions(bundle, path, tmp_path)
    assert y_pred.shape == (len(frame),)
    assert y_pred.mean() == pytest.approx(frame["cost"].mean(), rel=0.1)
    # No process has tried to reach another machine.
    log = app[1].with_name("watched.log")
    watched = "\n".join(noted(log, "watched"))
    for process in ("-m fairdash app", "-m fairdash.cli.worker studies", "-m fairdash.cli.worker long"):
        assert process in watched, "its attempts would have been missed"
    assert noted(log, "attempt") == []

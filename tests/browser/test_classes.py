"""Audits of classes in a browser: two, seven, crossed with an age, and by probabilities, to the last file."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from tests.auditing.test_classes import FOUR, mixed
from tests.browser.steps import choose, come_to_rest, take_screenshots, violations

pytestmark = [pytest.mark.browser, pytest.mark.variant]

#: What only this audit says.
SAID = {
    "sex": "among the classes of “sex”",
    "region": "“F”, “G” are merged into “all others”",
    "age × sex": "cells of “age” and “sex”",
    "probabilities": "These figures do not say to which class a row belongs",
}


def every_download(page: Page) -> dict[str, bytes]:
    """Content of every file that the page offers, by its name."""
    folded = page.locator("[data-testid=stExpander] details:not([open]) > summary")
    while folded.count():
        folded.evaluate_all("all => all.forEach(each => each.click())")
        come_to_rest(page)
    buttons, found = page.locator("[data-testid=stDownloadButton] button:visible"), {}
    for k in range(buttons.count()):
        with page.expect_download() as download:
            buttons.nth(k).click()
        found[download.value.suggested_filename] = Path(download.value.path()).read_bytes()
    assert len(found) == buttons.count()
    return found


def test_four_audits_of_classes_from_the_file_to_the_last_download(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    mixed().to_csv(path, index=False)
    page.goto("/data")
    page.get_by_text("Your own file").click()
    page.locator("input[type=file]").set_input_files(path)
    choose(page, "Target", "claims")
    choose(page, "Sensitive attribute", "region")
    expect(page.get_by_text("sensitive: region: A, region: B")).to_be_visible()
    page.get_by_role("link", name="Audit a price").click()
    for name, columns in FOUR.items():
        page.get_by_role("button", name="Audit this price").wait_for()
        choose(page, "Price, or prediction", "premium")
        choose(page, "Sensitive attribute", columns[0])
        page.get_by_text("Legitimate factors, policy, expected cost, a second price").click()
        if name == "probabilities":
            for each in columns:
                choose(page, "Probabilities of classes", each)
                page.keyboard.press("Escape")
            choose(page, "Class, where it is known", "truth")
        for each in columns[1:] if name == "age × sex" else ():
            choose(page, "Further sensitive attributes", each)
            page.keyboard.press("Escape")
        come_to_rest(page)
        page.get_by_role("button", name="Audit this price").click()
        expect(page.get_by_role("heading", name=re.compile("Independence: "))).to_be_visible(timeout=180_000)
        page.get_by_role("button", name="Repair it at four strengths").click()
        page.get_by_role("button", name="Repaired prices and model card (zip)").wait_for(timeout=120_000)
        files = every_download(page)
        assert {"audit.zip", "repaired-price.zip"} <= set(files)
        for file, content in files.items():
            if file.endswith(".csv"):
                assert len(pd.read_csv(io.BytesIO(content))), file
        for file in ("audit.zip", "repaired-price.zip"):
            with zipfile.ZipFile(io.BytesIO(files[file])) as archive:
                assert archive.testzip() is None
        assert any(file.endswith(".html") and len(files[file]) > 10_000 for file in files)
        said = page.locator("[data-testid=stMain]").inner_text()
        assert SAID[name] in said
        assert not re.search(r"\b(nan|NaN)\b", said)
        assert violations(page) == []
        take_screenshots(page, f"audit-of-{columns[0]}")
        page.get_by_role("button", name="Another audit").click()

"""Every page with nothing there, as a phone shows it: nothing scrolls sideways, and nobody is kept out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playwright.sync_api import Page

from fairdash.lab import Progress, Scene, noise_axis_study, scene_estimates
from fairdash.lab.studies import Study, gaussian_study
from fairdash.ui.pages import PAGES
from tests.browser.steps import come_to_rest, fits, violations
from tests.lab.simulations.test_simulations_pages import IDS, carried_out
from tests.tiers import few

pytestmark = pytest.mark.browser


#: What comes to rest after a study or a run; the others show themselves at once.
LATER = ["tradeoff", "patterns", "gaussians"]
AT_ONCE = [name for name in PAGES if name not in LATER]


def make_studies() -> None:
    """Pages of simulations come to rest when their studies are done: small ones stand for them."""
    scene, few_rows = Scene(), {"repeats": 2, "ids": IDS}
    for study, progress in (
        (Study("scene", scene), iter([Progress(1.0, "done", {"readings": scene_estimates(scene, IDS)})])),
        (Study("noise_axis", replace(scene, noise=0.0)), noise_axis_study([Scene(n=50)], **few_rows)),
        (Study("gaussians", Scene(n=2000, seed=0)), gaussian_study(n=50, **few_rows)),
    ):
        carried_out(study, progress)


@pytest.mark.parametrize("names", few([AT_ONCE, LATER], AT_ONCE), ids=["at once", "later"])
@pytest.mark.parametrize("scheme", few(["light", "dark"], "dark"))
def test_every_page_fits_a_phone(page: Page, scheme: str, names: list[str]) -> None:
    if names == LATER:
        make_studies()
    page.set_default_timeout(240_000)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 844})
    for name in names:
        page.goto("/" if name == "home" else f"/{name}")
        page.get_by_test_id("stMain").get_by_role("heading", level=1).first.wait_for()
        come_to_rest(page)
        assert fits(page), name
        assert violations(page) == [], name

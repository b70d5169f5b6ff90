"""Steps that several browser tests share, with the traces of a chart and screenshots."""

import os
import re
from contextlib import suppress
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page
from playwright.sync_api import TimeoutError as NotThere

from tests.browser.conftest import SCREENSHOTS

#: Screenshots are taken on request only, because each takes seconds.
PICTURES = bool(os.environ.get("FAIRDASH_SCREENSHOTS"))
#: Streamlit's list of pages has headings between its items, which axe reports.
NOT_OURS = {"exclude": [["[data-testid=stSidebarNavItems]"]]}


def violations(page: Page) -> list[str]:
    """Accessibility faults of axe's two most severe levels."""
    found = Axe().run(page, context=NOT_OURS).response["violations"]
    grave = [each for each in found if each["impact"] in ("serious", "critical")]
    return [f"{each['id']}: {[node['html'][:200] for node in each['nodes']][:3]}" for each in grave]


def choose(page: Page, box: str | Locator, option: str, *, exact: bool = True) -> None:
    """Choose an option of a select box, and open its list again if redrawing the page has closed it."""
    if not isinstance(box, Locator):
        box = page.get_by_role("combobox", name=re.compile(box))
    wanted = page.get_by_role("option", name=option, exact=exact)
    for _ in range(4):
        box.click()
        with suppress(NotThere):
            wanted.click(timeout=8_000)
            return
    wanted.click()


def chart(page: Page, title: str) -> dict:
    """Traces of the chart with this title: name, mapped to x and y as the browser draws them."""
    drawn = page.wait_for_function(
        """title => {
            for (const each of document.querySelectorAll('*')) {
                const stage = each.shadowRoot?.querySelector('.stage')?.stage;
                if (stage?.drawn()[title]) return stage.drawn()[title];
            }
            // A long title is drawn in several lines.
            const drawn = [...document.querySelectorAll('.js-plotly-plot')]
                .find(each => each._fullLayout?.title.text?.replaceAll('<br>', ' ').includes(title));
            return drawn && Object.fromEntries(drawn._fullData.map(
                trace => [trace.name, {x: [...trace.x], y: [...trace.y]}]));
        }""",
        arg=title,
        timeout=90_000,
    )
    return drawn.json_value()


def come_to_rest(page: Page) -> None:
    """Wait until the app has drawn the requested state.

    While a script runs, Streamlit keeps the previous output, marked stale and fading: a chart may appear
    twice, and text has lower contrast than later. The server must therefore be idle, with nothing stale and
    no transition running, for as long as a click may need to reach the server.
    """
    page.evaluate("() => { delete window.restingSince }")
    page.wait_for_function(
        """stillFor => {
            const state = document.querySelector('[data-testid=stApp]')?.dataset.testScriptState;
            const busy = state !== 'notRunning' || document.querySelector('[data-stale=true]')
                || document.getAnimations().some(each => each.playState === 'running');
            if (busy) delete window.restingSince;
            else window.restingSince ??= performance.now();
            return !busy && performance.now() - window.restingSince > stillFor;
        }""",
        arg=800,
    )


def drag(page: Page, grip: Locator, *, by: tuple[float, float]) -> None:
    """Press the mouse at the centre of an element and move it by pixels, without releasing it."""
    box = grip.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + by[0], y + by[1], steps=10)


def drag_slider(page: Page, slider: Locator, *, to: float) -> None:
    """Press the mouse at the centre of a slider and move it to a share of its length, without releasing it."""
    box = slider.bounding_box()
    assert box is not None
    drag(page, slider, by=((to - 0.5) * box["width"], 0))


def fits(page: Page) -> bool:
    """Return True if the page does not scroll sideways."""
    main = page.get_by_test_id("stMain")
    return bool(main.evaluate("each => each.scrollWidth - each.clientWidth <= 1"))


def take_picture(shown: Page | Locator, name: str, **options: Any) -> None:
    """Save a picture in tests/screenshots."""
    if PICTURES:
        SCREENSHOTS.mkdir(exist_ok=True)
        shown.screenshot(path=SCREENSHOTS / f"{name}.png", **options)


def take_screenshots(page: Page, name: str) -> None:
    """Save pictures of the page at widths of 1440 and 390 px, and check that it does not scroll sideways."""
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_timeout(700)
        assert fits(page), f"{name} scrolls at {width} px"
        if PICTURES:
            main = page.get_by_test_id("stMain")
            page.set_viewport_size({"width": width, "height": main.evaluate("each => each.scrollHeight")})
            page.wait_for_timeout(700)
            take_picture(page, f"{name}-{width}")
    page.set_viewport_size({"width": 1440, "height": 1000})


def to_the_largest(page: Page) -> str:
    """Move the slider of λ to its end, again if the page was just redrawn, and return the weight there."""
    for _ in range(2):
        with suppress(NotThere):
            return _at_the_end(page)
    return _at_the_end(page)


def _at_the_end(page: Page) -> str:
    slider = page.get_by_role("slider", name="Weight of fairness")
    slider.focus()
    slider.press("End")
    (lam,) = re.findall(r"^λ = ([\d.]+);", slider.get_attribute("aria-valuetext") or "")
    # The weight is shown on the front, or on the averages if no front is drawn.
    page.get_by_text(re.compile(rf"^(chosen: )?λ = {re.escape(lam)}$")).last.wait_for(timeout=20_000)
    return str(lam)

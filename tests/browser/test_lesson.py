"""The lesson in a browser: guesses, mouse, keyboard, playback, addresses, the lab, a phone, accessibility."""

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from fairdash.lab import lesson
from tests.browser.steps import chart, come_to_rest, drag, drag_slider, fits, violations
from tests.tiers import few

pytestmark = pytest.mark.browser


def plain(said: str) -> re.Pattern:
    """The first sentence, as the page shows it."""
    return re.compile(re.escape(said.partition(".**")[0].strip("*")))


def guess(page: Page, words: str) -> None:
    page.get_by_text(words, exact=True).click()
    page.get_by_text("Make a guess").wait_for(state="detached")


def test_a_guess_is_accepted_and_the_lesson_curve_can_be_moved_by_mouse_and_keyboard(page: Page) -> None:
    page.goto("/lesson")
    first = page.get_by_role("slider", name="Price at the age of 20")
    first.wait_for()
    expect(page.locator(".value").first).to_have_text("?")
    guess(page, "Only a little")
    page.get_by_text(plain(lesson.curve_sentence(lesson.HUMP))).wait_for()
    expect(page.locator(".value").first).to_have_text("0.00")
    # By keyboard: the browser updates the values at once and the sentence when the key is released.
    for _ in range(8):
        first.press("ArrowUp")
    points = lesson.points_of([-6.0, -5.0, 3.0, -5.0, -10.0])
    page.get_by_text(plain(lesson.curve_sentence(points))).wait_for()
    shown = [float(each.replace("−", "-")) for each in page.locator(".value").all_inner_texts()]
    # The browser integrates over sixty cells, and the library's sentence by quadrature.
    assert shown == pytest.approx(lesson.dials(points), abs=0.011)
    assert "points=-10:-6" in page.url.replace("%3A", ":").replace("%2C", ",")
    # By mouse: drag the last point up to the middle.
    drag(page, page.get_by_role("slider", name="Price at the age of 60"), by=(0, -60))
    page.mouse.up()
    page.wait_for_function("() => !decodeURIComponent(location.search).includes('10:-10')")
    come_to_rest(page)
    assert violations(page) == []
    page.get_by_role("link", name="Open in the lab").click()
    page.get_by_role("heading", name="Which measure detects the link?").wait_for()
    assert "pattern=points" in page.url


class Moving(NamedTuple):
    """A scene with figures that the browser moves: the state to open, and the texts to expect."""

    address: str
    guess: str
    slider: str
    #: Title of a figure, and a trace of this figure that differs between all states.
    drawn: tuple[str, str]
    #: The library's sentence for the parameters in the address.
    says: Callable[[dict[str, str]], str]
    #: A second choice next to the slider, and its value in the address.
    variant: tuple[str, str] | None = None


SCENES = {
    "2": Moving(
        address="bent=20", guess="f alone, of age", slider="How far", drawn=("The cloud", "slope"),
        says=lambda at: lesson.straight_sentence(lesson.HUMP, int(at["bent"]) / 100),
    ),
    "3": Moving(
        address="n=500&trained=100", guess="It depends on rows and steps", slider="Steps of training",
        drawn=("What the adversary reports", "training rows"),
        says=lambda at: lesson.noise_sentence(int(at["n"]), int(at["trained"])), variant=("50", "n=50"),
    ),
    "4": Moving(
        address="step=120&frozen=true", guess="It forgets age", slider="Steps of the game",
        drawn=("Average price by age", "price"),
        says=lambda at: lesson.duel_sentence(at["frozen"] == "true", int(at["step"])),
        variant=("keeps learning", "frozen=false"),
    ),
    "5": Moving(
        address="weight=3&objective=equalized_residuals", guess="Everyone a little",
        slider="Weight of fairness", drawn=("Average error by age", "chosen"),
        says=lambda at: lesson.payers_sentence(at["objective"], float(at["weight"])),
    ),
}  # fmt: skip


def expect_sentence(page: Page, scene: Moving) -> dict[str, str]:
    """Check that the page shows the library's sentence for the state in the address, and return that state."""
    at = dict(parse_qsl(urlsplit(page.url).query))
    page.get_by_text(plain(scene.says(at))).wait_for()
    return at


@pytest.mark.parametrize("name", few(SCENES, "5"))
def test_a_lesson_chart_follows_the_slider_and_address_and_text_are_updated_on_release(page, name) -> None:
    scene = SCENES[name]
    title, trace = scene.drawn
    page.goto(f"/lesson?scene={name}&{scene.address}")
    guess(page, scene.guess)
    begun = expect_sentence(page, scene)
    come_to_rest(page)
    before, address = chart(page, title)[trace], page.url

    # By mouse: the figure follows; address and sentence change only on release.
    slider = page.get_by_role("slider", name=scene.slider)
    drag_slider(page, slider, to=0.86)
    come_to_rest(page)
    assert chart(page, title)[trace] != before
    assert page.url == address
    page.mouse.up()
    page.wait_for_url(lambda url: url != address)
    moved = expect_sentence(page, scene)
    assert moved != begun

    # By keyboard only, and step by step.
    slider.press("ArrowLeft")
    page.wait_for_url(lambda url: dict(parse_qsl(urlsplit(url).query)) != moved)
    back = expect_sentence(page, scene)
    page.get_by_role("button", name="One step forward").press("Enter")
    page.wait_for_url(lambda url: dict(parse_qsl(urlsplit(url).query)) != back)
    assert expect_sentence(page, scene) == moved
    if scene.variant:
        choice, held = scene.variant
        page.get_by_role("radio", name=choice, exact=True).press("Space")
        page.wait_for_url(lambda url: held in url)
        expect_sentence(page, scene)

    # The address stores the whole state, which a phone can open.
    kept = page.url
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    guess(page, scene.guess)
    expect_sentence(page, scene)
    assert page.url == kept
    come_to_rest(page)
    assert violations(page) == []
    end = slider.get_attribute("max")
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_url(lambda url: url != kept)
    expect_sentence(page, scene)
    assert slider.input_value() == end
    assert fits(page)


#: Font sizes of all visible text, including text in the shadow DOM of components.
SIZES = """() => {
    const sizes = [], into = root => root.querySelectorAll('*').forEach(each => {
        if (each.shadowRoot) into(each.shadowRoot);
        const text = [...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
        // Icons are letters of a font, and what has no size is for screen readers alone.
        const {width, height} = each.getBoundingClientRect(), {fontSize, fontFamily} = getComputedStyle(each);
        const said = !['STYLE', 'SCRIPT'].includes(each.tagName) && !fontFamily.includes('Material');
        if (text && said && width > 1 && height > 1 && each.checkVisibility({visibilityProperty: true}))
            sizes.push([parseFloat(fontSize), each.textContent.trim().slice(0, 40)]);
    });
    into(document.querySelector('[data-testid=stMain]'));
    return sizes;
}"""


def tab_to(page: Page, there: Locator) -> None:
    for _ in range(40):
        if there.evaluate("each => each === document.activeElement"):
            break
        page.keyboard.press("Tab")


@pytest.mark.variant
def test_presentation_mode_fits_its_screen_and_works_by_keyboard(page: Page) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.goto("/lesson?scene=1&present=true")
    page.get_by_text("Make a guess").wait_for()
    for name, scene in lesson.SCENES.items():
        expect(page.get_by_role("heading", name=scene.question)).to_be_visible()
        # Tab reaches the first guess and Space selects it: it is right in scene 1 and wrong elsewhere.
        tab_to(page, page.get_by_role("radiogroup", name="What do you think?").get_by_role("radio").first)
        page.keyboard.press("Space")
        page.get_by_text("Make a guess").wait_for(state="detached")
        come_to_rest(page)
        small = [each for each in page.evaluate(SIZES) if each[0] < 24 and each[1] != "⤓"]
        assert small == [], name
        title = page.get_by_role("heading", level=1)
        assert title.evaluate("each => parseFloat(getComputedStyle(each).fontSize)") >= 48
        main = page.get_by_test_id("stMain")
        assert main.evaluate("each => each.scrollHeight - each.clientHeight") <= 1, name
        tab_to(page, page.get_by_role("button", name="Next scene"))
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What have we learned?")).to_be_visible()
    for scene in lesson.SCENES.values():
        page.get_by_text(f"Your guess: {scene.guesses[0]}.").wait_for()
    come_to_rest(page)
    assert violations(page) == []
    page.get_by_role("button", name="Back").press("Enter")
    expect(page.get_by_role("heading", name=lesson.SCENES["5"].question)).to_be_visible()


#: Puts a figure into each of its states and returns marks outside its frame or hidden despite a value.
STRAYED = """() => {
    const stage = [...document.querySelectorAll('*')].map(each => each.shadowRoot?.querySelector('.stage')?.stage)
        .find(each => each?.figures?.length);
    const strayed = [], room = 0.6, {slider, variants} = stage.data;
    cancelAnimationFrame(stage.frame);
    const is_inside = (figure, x, y) =>
        x >= -room && x <= figure.width + room && y >= -room && y <= figure.height + room;
    for (let variant = 0; variant < (variants?.names.length ?? 1); variant++) {
        stage.chosen = variant;
        slider.stops.forEach((stop, at) => {
            stage.place(at);
            for (const figure of stage.figures) figure.traces.forEach((trace, k) => {
                const {marks, line, dots} = figure.parts.trace[k];
                const say = what => strayed.push(`${figure.title}, ${trace.name}, ${stop}, ${variant}: ${what}`);
                const there = trace.x.filter((x, j) => Number.isFinite(x) && Number.isFinite(trace.y[j])).length;
                const all = marks?.nodes() ?? [], seen = all.filter(mark => mark.getAttribute('visibility') === 'visible');
                for (const mark of seen) {
                    const [x, y] = mark.getAttribute('transform').match(/-?[\\d.]+/g).map(Number);
                    if (!is_inside(figure, x, y)) say(`a mark at ${x}, ${y}`);
                }
                for (const [, x, y] of (dots?.attr('d') ?? '').matchAll(/M(-?[\\d.]+),(-?[\\d.]+)/g))
                    if (!is_inside(figure, Number(x), Number(y))) say(`a dot at ${x}, ${y}`);
                if (all.length && seen.length !== there) say(`${seen.length} marks of ${there} values`);
                if (line && !line.attr('clip-path')) say('a line that nothing ends at the axes');
            });
        });
    }
    return [stage.data.slider.stops.length, strayed];
}"""


@pytest.mark.parametrize("name", few(SCENES, "3"))
def test_all_points_and_lines_of_a_lesson_chart_stay_inside_the_chart_frame(page: Page, name: str) -> None:
    scene = SCENES[name]
    page.goto(f"/lesson?scene={name}")
    page.get_by_role("slider", name=scene.slider).wait_for()
    for answered in (False, True):
        if answered:
            guess(page, scene.guess)
        come_to_rest(page)
        stops, strayed = page.evaluate(STRAYED)
        assert stops > 4
        assert strayed == [], (answered, len(strayed), strayed[:5])

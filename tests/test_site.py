"""The documentation site: every page is in the navigation, every link works, nothing external is loaded.

``make docs`` builds the site, fails on any warning and checks the built pages; these tests build nothing.
"""

import re
from pathlib import Path

import pytest

import fairdash
from docs.making import build, gallery, links, pages, reference

GENERATED = {"gallery.md", "measures.md", *reference.reference_pages()}
SOURCES = pages.sources()


def test_every_page_is_in_the_navigation_once_and_every_entry_is_a_page():
    there = sorted({*SOURCES, *GENERATED})
    assert sorted(pages.pages_of(build.settings(there)["nav"])) == there
    with pytest.raises(SystemExit, match=re.escape("Not in the navigation of mkdocs.yml: elsewhere/page.md")):
        build.settings([*there, "elsewhere/page.md"])


def test_every_warning_of_the_site_builder_counts_as_an_error():
    output = "Build started\nNo issues found\n\nBuild finished in 2.10s\n"
    assert not build.unexpected_lines(output)
    assert build.unexpected_lines(f"griffe: a.py:10: No types\n{output}") == ["griffe: a.py:10: No types"]


@pytest.mark.parametrize("page", sorted(SOURCES))
def test_every_page_has_one_title(page):
    prose = "".join(t for t, is_prose in pages.outside_code(SOURCES[page].read_text("utf-8")) if is_prose)
    assert len(re.findall(r"^# \S", prose, flags=re.MULTILINE)) == 1, "the navigation shows the page's title"


def slug(heading: str) -> str:
    """The anchor that GitHub and the site give to a heading of plain words."""
    text = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@pytest.mark.parametrize("page", sorted(SOURCES))
def test_every_link_on_a_page_points_to_an_existing_file_and_anchor(page):
    source = SOURCES[page]
    prose = [text for text, is_prose in pages.outside_code(source.read_text("utf-8")) if is_prose]
    for target in (link["target"] for text in prose for link in pages.LINK.finditer(text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (source.parent / path).resolve() if path else source
        assert file.is_file(), f"{source.name} links to {target}, which is not there"
        on_site = pages.on_site(target, source).partition("#")[0]
        # The licence is the only linked file that is not part of the site.
        assert not path or (pages.DOCS / on_site).is_file() or on_site in SOURCES, f"{target} leaves the site"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text("utf-8"), flags=re.MULTILINE)
            assert anchor in map(slug, headings), f"{source.name} links to {target}: no such heading"


@pytest.mark.variant
def test_every_figure_of_the_gallery_is_drawn():
    assert all('"data":[{' in each for drawn in gallery.drawings().values() for each in drawn.values())


def test_the_reference_has_every_public_name_and_every_command():
    written = reference.reference_pages()
    listed = re.findall(r"^::: fairdash\.(\w+)$", "\n".join(written.values()), flags=re.MULTILINE)
    assert sorted(listed) == sorted(set(fairdash.__all__) - {"__version__"})
    assert "\n### fairdash sweep\n" in written["reference/commands.md"]


def test_public_names_become_links_and_code_stays_as_it_is():
    text = "Call `fd.measure(u, v)`, not `x.y`:\n\n```python\n>>> `fd.measure`\n\n```\n"
    assert pages.for_site(text, pages.DOCS / "page.md") == (
        'Call <autoref optional identifier="fairdash.measure"><code>fd.measure(u, v)</code></autoref>, not `x.y`:'
        "\n\n```pycon\n>>> `fd.measure`\n\n```\n"
    )


FINE = '<p id="here"><a href="b.html#there">b</a> <a href="#here">up</a> <a href="https://example.org">away</a></p>'
FAULTS = {
    '<a href="c.html">c</a>': "no file at c.html",
    '<a href="b.html#nowhere">b</a>': "no anchor at b.html#nowhere",
    '<img src="missing.png">': "no file at missing.png",
    '<script src="https://example.org/x.js"></script>': "loads the external resource https://example.org/x.js",
    '<link rel="stylesheet" href="//example.org/x.css">': "loads the external resource //example.org/x.css",
    '<style>@import "https://example.org/f.css";</style>': "loads the external resource https://example.org/f.css",
    '<p style="background: url(https://example.org/p.png)">': "loads the external resource https://example.org/p.png",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_link_check_finds_each_kind_of_fault_in_a_built_page(tmp_path: Path, fault: str):
    (tmp_path / "a.html").write_text(FINE, "utf-8")
    (tmp_path / "b.html").write_text('<h2 id="there">b</h2>', "utf-8")
    assert not list(links.faults(tmp_path))
    (tmp_path / "a.html").write_text(f"{FINE}\n{fault}", "utf-8")
    assert list(links.faults(tmp_path)) == [f"a.html, line 2: {FAULTS[fault]}"]


def test_style_sheets_with_external_resources_are_found(tmp_path: Path):
    (tmp_path / "a.css").write_text("@font-face {src: url('https://example.org/f.woff2')}", "utf-8")
    assert list(links.faults(tmp_path)) == ["a.css: loads the external resource https://example.org/f.woff2"]

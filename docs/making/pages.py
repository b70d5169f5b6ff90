"""Pages of the documentation site: their order, and the targets of their links; needs no Zensical."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: Page of the site, to the file of the repository that contains its text.
REPOSITORY_FILES = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "lesson-notes.md": "fairdash/lab/lesson_data/notes.md",
    "exercises.md": "fairdash/lab/lesson_data/exercises.md",
}
#: A link or a picture in Markdown, with its target as a group; titles of links and pictures are not supported.
LINK = re.compile(r"(?P<before>\]\()(?P<target>[^)\s]+)(?=\))")
FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)\s*?$", flags=re.DOTALL | re.MULTILINE)
_PUBLIC = re.compile(r"(?<![\[`])`(?P<code>(?:fd|fairdash)\.(?P<name>[\w.]+)(?:\([^`]*)?)`(?!`)")
_ROLE = re.compile(r":[a-z]+:`(?P<short>~?)(?P<target>[\w.]+)`")
_ANY = "*"


def sources() -> dict[str, Path]:
    """Map each page that is written by hand to its file."""
    pages = {path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.rglob("*.md"))}
    return pages | {page: ROOT / file for page, file in REPOSITORY_FILES.items()}


def pages_of(nav: Any) -> Iterator[str]:
    """Yield every page that a navigation names, including patterns with an asterisk."""
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_of(entry)


def expanded(nav: list[Any], pages: Iterable[str]) -> list[Any]:
    """Replace each pattern of a navigation by the pages of its folder that the navigation does not name.

    >>> expanded(["a.md", {"More": ["*"]}, {"Reference": ["reference/*"]}], ["a.md", "b.md", "reference/c.md"])
    ['a.md', {'More': ['b.md']}, {'Reference': ['reference/c.md']}]
    """
    named = set(pages_of(nav))
    left = [page for page in pages if page not in named]

    def entries(part: list[Any]) -> Iterator[Any]:
        for entry in part:
            if isinstance(entry, dict):
                yield {
                    title: list(entries(of)) if isinstance(of, list) else of for title, of in entry.items()
                }
            elif posixpath.basename(entry) == _ANY:
                folder = posixpath.dirname(entry)
                yield from (page for page in left if posixpath.dirname(page) == folder)
            else:
                yield entry

    return list(entries(nav))


def on_site(target: str, source: Path) -> str:
    """Return the target, on the site, of a link in a file of the repository.

    >>> on_site("docs/paper.md#motor", ROOT / "README.md"), on_site("../CONTRIBUTING.md", DOCS / "paper.md")
    ('paper.md#motor', 'contributing.md')
    """
    path, hash, anchor = target.partition("#")
    if not path or "://" in path or path.startswith("mailto:"):
        return target
    file = posixpath.normpath((source.parent.relative_to(ROOT) / path).as_posix())
    page_of_file = {of: page for page, of in REPOSITORY_FILES.items()}
    page = page_of_file.get(file, posixpath.relpath(file, "docs") if file.startswith("docs/") else path)
    return page + hash + anchor


def outside_code(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a page, each with True if the piece is outside of fenced code."""
    end = 0
    for block in FENCE.finditer(text):
        yield text[end : block.start()], True
        yield block.group(), False
        end = block.end()
    yield text[end:], True


def for_site(text: str, source: Path) -> str:
    """Convert a page for the site: adapt its links, colour Python sessions, and link public names."""
    return "".join(
        _prose(piece, source) if is_prose else piece.replace("```python\n>>>", "```pycon\n>>>", 1)
        for piece, is_prose in outside_code(text)
    )


def _prose(text: str, source: Path) -> str:
    text = LINK.sub(lambda link: link["before"] + on_site(link["target"], source), text)
    return "\n".join(
        line if line.startswith("#") else _PUBLIC.sub(_linked, line) for line in text.split("\n")
    )


def _linked(code: re.Match[str]) -> str:
    return _reference(f"fairdash.{code['name']}", code["code"])


def roles_as_links(docstring: str) -> str:
    """Replace each Sphinx role of a docstring by a link to the reference.

    >>> roles_as_links("see :func:`~fairdash.sweep`")
    'see <autoref optional identifier="fairdash.sweep"><code>sweep</code></autoref>'
    """

    def link(role: re.Match[str]) -> str:
        target = role["target"]
        return _reference(target, target.rpartition(".")[2] if role["short"] else target)

    return _ROLE.sub(link, docstring)


def _reference(name: str, shown: str) -> str:
    """Return a link to a name in the reference, shown as plain code if the reference lacks the name."""
    return f'<autoref optional identifier="{name}"><code>{html.escape(shown, quote=False)}</code></autoref>'

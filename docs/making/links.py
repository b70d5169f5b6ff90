"""Check a built site: every link leads somewhere, and no page asks another machine for anything.

python -m docs.making.links site
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Tags whose address a browser fetches by itself; it waits for a click with all others.
_FETCHED = {
    "audio": ("src",), "embed": ("src",), "iframe": ("src",), "img": ("src", "srcset"), "input": ("src",),
    "link": ("href",), "object": ("data",), "script": ("src",), "source": ("src", "srcset"),
    "track": ("src",), "use": ("href",), "video": ("src", "poster"),
}  # fmt: skip
#: Kinds of <link> that say something and fetch nothing.
_SAYS = {"alternate", "canonical", "edit", "license", "next", "prev"}
#: What a style sheet fetches.
_IN_STYLES = re.compile(r"""(?:url\(\s*|@import\s+)["']?\s*((?:https?:)?//[^"')\s]+)""")


@dataclass
class Read:
    """What a page holds: addresses with the line they stand on, those that are fetched, and its anchors."""

    links: list[tuple[int, str]] = field(default_factory=list)
    fetched: list[tuple[int, str]] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.read = Read()
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        line = self.getpos()[0]
        self.read.anchors |= {of[name] for name in ("id", "name") if of.get(name)}
        self._in_style = tag == "style"
        self._styles(of.get("style", ""))
        if tag == "a" and "href" in of:
            self.read.links.append((line, of["href"]))
        if tag in _FETCHED and not (tag == "link" and set(of.get("rel", "").split()) <= _SAYS):
            for name in _FETCHED[tag]:
                if of.get(name):
                    # A list of pictures for several sizes: the address stands before the size.
                    parts = of[name].split(",") if name == "srcset" else [of[name]]
                    self.read.fetched += [(line, part.split()[0]) for part in parts if part.strip()]

    def handle_endtag(self, _tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self._styles(data)

    def _styles(self, text: str) -> None:
        self.read.fetched += [(self.getpos()[0], address) for address in _IN_STYLES.findall(text)]


def faults(site: Path) -> Iterator[str]:
    """Each broken link and each request to elsewhere, in a sentence that names page and line."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(site).as_posix()
        for line, address in page.fetched:
            if urlsplit(address).netloc:
                yield f"{where}, line {line}: asks another machine for {address}"
        for line, address in page.links + page.fetched:
            yield from (f"{where}, line {line}: {fault}" for fault in _fault(address, path, site, pages))
    for path in sorted(site.rglob("*.css")):
        for address in _IN_STYLES.findall(path.read_text("utf-8")):
            yield f"{path.relative_to(site).as_posix()}: asks another machine for {address}"


def _read(path: Path) -> Read:
    reader = _Reader()
    reader.feed(path.read_text("utf-8"))
    return reader.read


def _fault(address: str, page: Path, site: Path, pages: dict[Path, Read]) -> Iterator[str]:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return
    there = page
    if path := unquote(parts.path):
        # 404.html is shown at any address, so that its links begin at the top.
        there = site / path.lstrip("/") if path.startswith("/") else (page.parent / path).resolve()
    if there.is_dir():
        there = there / "index.html"
    if not there.is_file():
        yield f"no file at {address}"
    elif parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].anchors:
        yield f"no anchor at {address}"


def main(site: Path) -> int:
    """Print the faults; 1 if there are any."""
    found = list(faults(site.resolve()))
    for fault in found:
        print(fault)
    print(
        f"{len(list(site.rglob('*.html')))} pages: {len(found) or 'no'} broken links or requests to elsewhere"
    )
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

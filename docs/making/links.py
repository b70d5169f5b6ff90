"""Check a built site: every link has a target, and no page loads resources from another server.

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

#: Tags, and their attributes with an address that a browser loads without a click.
_LOADED_ATTRIBUTES = {
    "audio": ("src",), "embed": ("src",), "iframe": ("src",), "img": ("src", "srcset"), "input": ("src",),
    "link": ("href",), "object": ("data",), "script": ("src",), "source": ("src", "srcset"),
    "track": ("src",), "use": ("href",), "video": ("src", "poster"),
}  # fmt: skip
#: Relations of <link> that do not make the browser load the address.
_NOT_LOADED = {"alternate", "canonical", "edit", "license", "next", "prev"}
#: External addresses that a style sheet loads.
_STYLE_ADDRESSES = re.compile(r"""(?:url\(\s*|@import\s+)["']?\s*((?:https?:)?//[^"')\s]+)""")


@dataclass
class PageContent:
    """Links and loaded addresses of a page, each with its line, and the anchors of the page."""

    links: list[tuple[int, str]] = field(default_factory=list)
    fetched: list[tuple[int, str]] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.read = PageContent()
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        line = self.getpos()[0]
        self.read.anchors |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        self._in_style = tag == "style"
        self._styles(attributes.get("style", ""))
        if tag == "a" and "href" in attributes:
            self.read.links.append((line, attributes["href"]))
        if tag in _LOADED_ATTRIBUTES and not (
            tag == "link" and set(attributes.get("rel", "").split()) <= _NOT_LOADED
        ):
            for name in _LOADED_ATTRIBUTES[tag]:
                if attributes.get(name):
                    # srcset lists pictures for several sizes; in each part, the address comes before the size.
                    parts = attributes[name].split(",") if name == "srcset" else [attributes[name]]
                    self.read.fetched += [(line, part.split()[0]) for part in parts if part.strip()]

    def handle_endtag(self, _tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self._styles(data)

    def _styles(self, text: str) -> None:
        self.read.fetched += [(self.getpos()[0], address) for address in _STYLE_ADDRESSES.findall(text)]


def faults(site: Path) -> Iterator[str]:
    """Yield a sentence, with page and line, for each broken link and each resource from another server."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(site).as_posix()
        for line, address in page.fetched:
            if urlsplit(address).netloc:
                yield f"{where}, line {line}: loads the external resource {address}"
        for line, address in page.links + page.fetched:
            yield from (f"{where}, line {line}: {fault}" for fault in _fault(address, path, site, pages))
    for path in sorted(site.rglob("*.css")):
        for address in _STYLE_ADDRESSES.findall(path.read_text("utf-8")):
            yield f"{path.relative_to(site).as_posix()}: loads the external resource {address}"


def _read(path: Path) -> PageContent:
    reader = _Reader()
    reader.feed(path.read_text("utf-8"))
    return reader.read


def _fault(address: str, page: Path, site: Path, pages: dict[Path, PageContent]) -> Iterator[str]:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return
    target = page
    if path := unquote(parts.path):
        # Links of 404.html begin with a slash, because the server shows this page at any address.
        target = site / path.lstrip("/") if path.startswith("/") else (page.parent / path).resolve()
    if target.is_dir():
        target = target / "index.html"
    if not target.is_file():
        yield f"no file at {address}"
    elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        yield f"no anchor at {address}"


def main(site: Path) -> int:
    """Print all faults, and return 1 if there are any, else 0."""
    found = list(faults(site.resolve()))
    for fault in found:
        print(fault)
    print(f"{len(list(site.rglob('*.html')))} pages: {len(found) or 'no'} broken links or external resources")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

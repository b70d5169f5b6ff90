"""What MkDocs asks while it builds the site: generated pages, the navigation, links, the gallery's figures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# MkDocs loads a hook from its path, and may have been started as a command of its own.
sys.path.insert(0, str(Path(__file__).parents[2]))

from docs.making import gallery, pages, reference

_ASSETS = Path(__file__).parent / "assets"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is not a file of docs/, and fill the navigation's patterns."""
    written = {page: pages.ROOT.joinpath(of).read_text("utf-8") for page, of in pages.OF_REPOSITORY.items()}
    generated: dict[str, str] = written | reference.reference_pages()
    generated |= {"measures.md": reference.measures_page()} | gallery.files()
    generated |= {f"assets/{path.name}": path.read_text("utf-8") for path in sorted(_ASSETS.iterdir())}
    for uri, content in generated.items():
        files.append(File.generated(config, uri, content=content))
    config.nav = pages.expanded(config.nav or [], [file.src_uri for file in files.documentation_pages()])
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links of the repository become links of the site."""
    source = pages.sources().get(page.file.src_uri)
    return pages.for_site(markdown, source or pages.DOCS / page.file.src_uri)

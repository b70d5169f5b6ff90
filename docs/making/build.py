"""Build the documentation site: write every page into one folder, of which Zensical makes HTML.

    python -m docs.making.build

A warning is a failure, also those that Zensical prints and does not count. Whether links of the built pages lead
somewhere is for docs/making/links.py.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from docs.making import gallery, pages, reference

#: Where pages and settings are written; Zensical's own site has to lie there, too.
_FOLDER = pages.ROOT / "build" / "site"
_ASSETS = Path(__file__).parent / "assets"
_PROGRESS = re.compile(r"Build (started|finished)|No issues found|\s*$")


def settings(names: list[str]) -> dict[str, Any]:
    """The settings of mkdocs.yml, with all of these pages in the navigation; SystemExit names those that aren't."""
    told = dict(yaml.safe_load((pages.ROOT / "mkdocs.yml").read_text("utf-8")))
    told["nav"] = pages.expanded(told["nav"], names)
    if missing := sorted(set(names) - set(pages.pages_of(told["nav"]))):
        raise SystemExit(f"Not in the navigation of mkdocs.yml: {', '.join(missing)}")
    return told


def write(folder: Path) -> None:
    """Write pages, what they show, and settings."""
    shutil.rmtree(folder, ignore_errors=True)
    docs = folder / "docs"
    shutil.copytree(pages.DOCS, docs, ignore=shutil.ignore_patterns("making", "*.py", "*.md", "__pycache__"))
    shutil.copytree(_ASSETS, docs / "assets")
    texts = {page: pages.for_site(of.read_text("utf-8"), of) for page, of in pages.sources().items()}
    texts |= reference.reference_pages() | {"measures.md": reference.measures_page()} | gallery.files()
    for name, text in texts.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text, "utf-8")
    told = yaml.safe_dump(settings([name for name in texts if name.endswith(".md")]), sort_keys=False)
    (folder / "mkdocs.yml").write_text(told, "utf-8")


def complaints(output: str) -> list[str]:
    """The lines of Zensical's output that are more than progress."""
    return [line for line in output.splitlines() if not _PROGRESS.match(line)]


def main() -> int:
    """Build the site into site/, and print what went wrong; 1 if anything did."""
    write(_FOLDER)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", _FOLDER / "mkdocs.yml"]
    done = subprocess.run(
        command, cwd=pages.ROOT, env=os.environ | {"NO_COLOR": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    wrong = complaints(done.stdout)
    print(*wrong, sep="\n", end="\n" * bool(wrong))
    if done.returncode or wrong:
        return 1
    site = pages.ROOT / "site"
    shutil.rmtree(site, ignore_errors=True)
    shutil.move(_FOLDER / "site", site)
    return 0


if __name__ == "__main__":
    sys.exit(main())

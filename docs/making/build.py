"""Build the documentation site: write every page into one folder, and run Zensical on this folder.

    python -m docs.making.build

The build fails at any warning, including warnings that Zensical prints but does not count. The links of the built
pages are checked by docs/making/links.py.
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

#: Folder for the pages and the settings. Zensical can write its site only into this folder.
_FOLDER = pages.ROOT / "build" / "site"
_ASSETS = Path(__file__).parent / "assets"
_PROGRESS = re.compile(r"Build (started|finished)|No issues found|\s*$")


def settings(names: list[str]) -> dict[str, Any]:
    """Return the settings of mkdocs.yml; raise SystemExit if its navigation lacks one of the pages."""
    config = dict(yaml.safe_load((pages.ROOT / "mkdocs.yml").read_text("utf-8")))
    config["nav"] = pages.expanded(config["nav"], names)
    if missing := sorted(set(names) - set(pages.pages_of(config["nav"]))):
        raise SystemExit(f"Not in the navigation of mkdocs.yml: {', '.join(missing)}")
    return config


def write(folder: Path) -> None:
    """Write the pages, their assets and figures, and the settings into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    docs = folder / "docs"
    shutil.copytree(pages.DOCS, docs, ignore=shutil.ignore_patterns("making", "*.py", "*.md", "__pycache__"))
    shutil.copytree(_ASSETS, docs / "assets")
    texts = {page: pages.for_site(of.read_text("utf-8"), of) for page, of in pages.sources().items()}
    texts |= reference.reference_pages() | {"measures.md": reference.measures_page()} | gallery.files()
    for name, text in texts.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text, "utf-8")
    config = yaml.safe_dump(settings([name for name in texts if name.endswith(".md")]), sort_keys=False)
    (folder / "mkdocs.yml").write_text(config, "utf-8")


def unexpected_lines(output: str) -> list[str]:
    """Return the lines of Zensical's output that do not report progress."""
    return [line for line in output.splitlines() if not _PROGRESS.match(line)]


def main() -> int:
    """Build the site into site/, print all errors and warnings, and return 1 if there are any, else 0."""
    write(_FOLDER)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", _FOLDER / "mkdocs.yml"]
    finished = subprocess.run(
        command, cwd=pages.ROOT, env=os.environ | {"NO_COLOR": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    problems = unexpected_lines(finished.stdout)
    print(*problems, sep="\n", end="\n" * bool(problems))
    if finished.returncode or problems:
        return 1
    site = pages.ROOT / "site"
    shutil.rmtree(site, ignore_errors=True)
    shutil.move(_FOLDER / "site", site)
    return 0


if __name__ == "__main__":
    sys.exit(main())

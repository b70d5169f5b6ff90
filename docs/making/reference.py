"""Make the pages of the reference from the code: public names, measures and the command line."""

from __future__ import annotations

from collections.abc import Iterator

import fairdash
from fairdash.cli import command_line, help_of_all_commands
from fairdash.dependence import REGISTRY, Measure
from fairdash.utils.imports import homes_of_stub

#: Package of a public name, to page and title; every other package gets a separate page.
_PAGES = {
    "dependence": ("dependence", "Measuring dependence"),
    "data": ("data", "Data"),
    "api": ("training", "Training and evaluation"),
    "training": ("training", "Training and evaluation"),
    "tariff": ("tariff", "Tariffs"),
    "losses": ("losses", "Losses for your own torch loops"),
    "evaluation": ("training", "Training and evaluation"),
    "reports": ("plot", "Figures in a notebook"),
}


def reference_pages() -> dict[str, str]:
    """Map pages to Markdown: one page per package of ``fairdash.__all__``, and one for the command line."""
    titles: dict[str, str] = {}
    names: dict[str, list[str]] = {}
    homes = homes_of_stub(fairdash.__file__)
    for name in fairdash.__all__:
        if name == "__version__":
            continue
        home = homes[name]
        package = name if home == "fairdash" else home.split(".")[1]
        page, title = _PAGES.get(package, (package, package.replace("_", " ").capitalize()))
        titles[page] = title
        names.setdefault(page, []).append(name)
    order = [page for page, _ in dict.fromkeys(_PAGES.values()) if page in names]
    order += [page for page in names if page not in order]
    pages = {f"reference/{page}.md": _page(titles[page], names[page]) for page in order}
    return pages | {"reference/commands.md": "\n".join(_commands())}


def _page(title: str, names: list[str]) -> str:
    return "\n".join(
        [f"# {title}", "", "```python", "import fairdash as fd", "```", ""]
        + [f"::: fairdash.{name}\n" for name in sorted(names, key=str.lower)]
    )


def _commands() -> Iterator[str]:
    yield "# The command line\n\nThis page shows the `--help` text of each command. `python -m fairdash` is the same as `fairdash`. The help text of a command explains its exit statuses 0 to 3. Every command ends with status 2 if an input or an option can't be used, and with 70 after an unexpected error, which also prints the path of the log to stderr.\n"
    for verbs, text in help_of_all_commands(command_line(), width=100):
        yield f"{'#' * (2 + len(verbs))} {' '.join(['fairdash', *verbs])}\n"
        yield f"```text\n{text}\n```\n"


def measures_page() -> str:
    """Return the page that describes each measure of the registry, when it misleads, and its source."""
    return "\n".join(
        [
            "# The measures of dependence",
            "",
            f"This page describes the {len(REGISTRY)} measures in the app, `fd.measure` and the command line. For "
            "the accuracy of each measure by kind of link and number of rows, see "
            "[the accuracy of the estimators](estimators.md).",
            "",
            *(_measure_section(measure) for measure in REGISTRY.values()),
        ]
    )


def _measure_section(measure: Measure) -> str:
    top = "∞" if measure.upper == float("inf") else f"{measure.upper:g}"
    facts = {
        "Symbol": measure.symbol,
        "Range": f"{measure.lower:g} to {top}",
        "0 means": measure.zero,
        "1 means": measure.one,
        "Misleads when": measure.fails_when,
        "Trained on the rows": "yes; evaluated on held-out rows by default" if measure.fitted else "no",
        "Accepts exposure": "yes" if measure.accepts_weights else "no",
        "Source": measure.source,
    }
    rows = [f"| {name} | {value.replace('|', chr(92) + '|')} |" for name, value in facts.items() if value]
    return "\n".join([f"## {measure.title}", "", f"| In code | `{measure.id}` |", "|---|---|", *rows, ""])

"""Write the table of docs/rules.md from the rules that fairdash knows of: python -m docs.rules."""

from __future__ import annotations

from pathlib import Path

from fairdash.auditing.filing.rules import RULES

PAGE = Path(__file__).with_suffix(".md")
_BEGIN, _END = "<!-- rules -->\n", "<!-- /rules -->"


def table() -> str:
    """A row a rule."""
    lines = [
        "| rule | version | template | looked up | what fairdash can't answer |",
        "|---|---|---|---|---|",
    ]
    for rule in RULES.values():
        template = f"`{rule.id}`" if rule.headings else "–"
        looked = f"{rule.looked_up}: {rule.source}"
        lines.append(
            f"| {rule.title} ({rule.authority}) | {rule.version} | {template} | {looked} | {' '.join(rule.cannot)} |"
        )
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with its table made anew."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(_BEGIN) + len(_BEGIN), text.index(_END)
    return f"{text[:begin]}{table()}{text[end:]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""Write the table of docs/rules.md from the rules that fairdash knows of: python -m docs.rules."""

from __future__ import annotations

from pathlib import Path

from fairdash.auditing.filing.rules import RULES

PAGE = Path(__file__).with_suffix(".md")
_BEGIN, _END = "<!-- rules -->\n", "<!-- /rules -->"


def table() -> str:
    """Table in Markdown with one row per rule."""
    lines = [
        "| rule | version | template | who must follow it | our understanding of what it requires "
        "| questions of an audit | what fairdash can't answer | looked up | sources |",
        "|---" * 9 + "|",
    ]
    for rule in RULES.values():
        template = f"`{rule.id}`" if rule.headings else "–"
        sources = "; ".join(map(_link, rule.sources))
        cells = [f"{rule.title} ({rule.authority})", rule.version, template, rule.applies, rule.asks]
        cells += [rule.answers, " ".join(rule.cannot), rule.looked_up, sources]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _link(source: str) -> str:
    """Source in Markdown, whose address is a link."""
    name, _, address = source.partition(": https://")
    return f"[{name}](https://{address})" if address else name


def page() -> str:
    """Text of the page with an updated table."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(_BEGIN) + len(_BEGIN), text.index(_END)
    return f"{text[:begin]}{table()}{text[end:]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

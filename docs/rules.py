"""Write the table of docs/rules.md from the rules that fairdash knows of: python -m docs.rules."""

from __future__ import annotations

from pathlib import Path

from fairdash.auditing.filing.rules import RULES

PAGE = Path(__file__).with_suffix(".md")
_BEGIN, _END = "<!-- rules -->\n", "<!-- /rules -->"


def table() -> str:
    """A row a rule."""
    lines = [
        "| rule | version | template | whom it concerns | is understood to ask | questions of an audit "
        "| what fairdash can't answer | looked up | sources |",
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
    """A source in Markdown, with its address as a link."""
    name, _, address = source.partition(": https://")
    return f"[{name}](https://{address})" if address else name


def page() -> str:
    """The page with its table made anew."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(_BEGIN) + len(_BEGIN), text.index(_END)
    return f"{text[:begin]}{table()}{text[end:]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

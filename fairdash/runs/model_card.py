"""Model card as a text with the headings of Mitchell et al. (2019, “Model cards for model reporting”, FAT*).
fairdash fills in the parts that it knows, and marks the parts that only the owner of the model can write.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fairdash.auditing.filing.document import FIELDS
from fairdash.utils.text import few, visible

#: Characters with a special meaning in Markdown or HTML.
_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~&!$])")
#: Map from headings, in the order of the paper, to the fields below them.
HEADINGS: Mapping[str, tuple[str, ...]] = {
    "Model details": ("model", "owner"),
    "Intended use": ("purpose", "out_of_scope"),
    "Factors": ("legitimacy",),
    "Metrics": ("threshold_reason",),
    "Evaluation data": (),
    "Training data": ("data_source", "external_data"),
    "Quantitative analyses": (),
    "Ethical considerations": ("risk", "alternatives", "human_oversight"),
    "Caveats and recommendations": ("limits", "monitoring", "sign_off"),
}


def model_card(card: Mapping[str, Any]) -> str:
    """Return the card in Markdown, with user text escaped.

    Parameters
    ----------
    card
        Card of a model (see :func:`fairdash.runs.bundle.card_of`), a tariff or a repaired price. Its
        ``governance`` contains the available answers to :data:`fairdash.auditing.filing.document.FIELDS`.
    """
    sections, answers = _known(card), card.get("governance", {})
    lines = [f"# Model card: {escaped(card['data']['title'])}", ""]
    for heading, fields in HEADINGS.items():
        lines += [f"## {heading}", "", *sections[heading]]
        for field in fields:
            text = answers.get(field)
            lines.append(f"- **Yours to write:** {FIELDS[field]}" if text is None else f"- {escaped(text)}")
        lines.append("")
    return "\n".join(lines)


def escaped(text: object) -> str:
    """Escape text so that Markdown shows it unchanged, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(visible(str(text)).split()))


def _known(card: Mapping[str, Any]) -> dict[str, list[str]]:
    """Map from headings to the parts of the card that fairdash fills in."""
    model = card.get("model") or card.get("tariff") or card["repair"]
    data, figures, roles = card["data"], card["figures"], card["data"]["roles"]
    kind = model.get("method_title", "Fair tariff: an additive model with a table of relativities")
    versions = ", ".join(f"{name} {number}" for name, number in card["made_with"].items())
    weight = f", weight λ = {model['lam']:g} on fairness" if "lam" in model else ""
    details = [f"{kind}{weight}", f"It predicts {model['predicts']}"]
    if "loss" in model:
        details.append(f"Loss: {model['loss']}; penalty: {model['penalty']}")
    model_details = [*details, f"Seed {model['random_state']}", f"Made with {versions}"]
    tested, fingerprint = [], []
    if "splits" in figures:
        tested = [f"Test rows of {figures['splits']} splits ({figures['split']}) of the same table"]
        fingerprint = [f"Fingerprint {data['fingerprint']}"]
    values = [f"{name}: {value}" for name, value in figures["values"].items() if value is not None]
    return {
        "Model details": _listed(model_details),
        "Intended use": [],
        "Factors": _listed(
            [
                f"Features: {few(roles['features'])}",
                f"Sensitive attributes, which the model does not use: {few(roles['sensitive'])}",
            ]
        ),
        "Metrics": _listed([model["objective_meaning"]]),
        "Evaluation data": _listed([*tested, figures["about"]]),
        "Training data": _listed([f"{data['title']}: {data['rows']:,} rows", *data["notes"], *fingerprint]),
        "Quantitative analyses": _listed(values or ["No figures are stored with this model"]),
        "Ethical considerations": [],
        "Caveats and recommendations": _listed(card["limits"]),
    }


def _listed(texts: list[Any]) -> list[str]:
    return list(_lines(texts))


def _lines(texts: list[Any]) -> Iterator[str]:
    for paragraph in texts:
        text = escaped(paragraph)
        yield f"- {text if text.endswith('.') else text + '.'}"

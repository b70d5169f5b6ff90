"""Governance text for filed audits and model cards, entered once and stored in a YAML file."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType

from fairdash.errors import StorageError
from fairdash.storage import write_whole
from fairdash.utils.text import visible

#: The file's name beside a plan.
FILE = "governance.yaml"
#: Bytes of it at most.
_LARGEST = 10**6
#: Field to what is asked for.
FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "purpose": "What the price or model is for: product, lines of business, the decisions it serves.",
        "out_of_scope": "What it must not be used for.",
        "model": "What kind of model it is, its version, and who built it.",
        "external_data": "Which data from outside the company it rests on.",
        "data_source": "Where the rows are from, of which period, and how their quality was checked.",
        "inventory": "Where models and data are listed with versions, and what changed since the last one.",
        "third_parties": "Which vendors take part, and how they are overseen.",
        "validity": "Why the factors predict cost, and who has validated that.",
        "test_policy": "Which policy says how and when this is tested.",
        "threshold_reason": "Why this criterion comes first, and why this gap is acceptable.",
        "legitimacy": "Why each factor that is named as legitimate is legitimate.",
        "alternatives": "Which alternatives were considered, and why the price is preferred to them.",
        "actions": "What you do about what was found, who does it and until when.",
        "risk": "What harm it may do to whom, how likely that is, and which measures follow.",
        "limits": "Further limits that a reader must know.",
        "board": "Which board or committee oversees it, and when it last saw this.",
        "principles": "Which written principles and policies govern it.",
        "human_oversight": "Who can overrule it, and how often that happens.",
        "complaints": "What customers are told, and how complaints are handled.",
        "monitoring": "How often this is repeated, by whom, and what triggers an earlier repetition.",
        "owner": "Who owns it, and who in senior management answers for it.",
        "sign_off": "Name, role, date and signature.",
    }
)


def read_governance(path: str | PathLike[str]) -> dict[str, str]:
    """Read the answers of a YAML file, a map of fields to text; blank answers are left out.

    Raises
    ------
    StorageError
        It can't be read, or holds anything but texts under the names of :data:`FIELDS`.
    """
    place = Path(path)
    try:
        content = place.read_bytes()
    except OSError as error:
        raise StorageError.of(f"The answers in {place} can't be read", "Name another file.") from error
    return parse_governance(content, name=str(place))


def parse_governance(content: bytes, *, name: str) -> dict[str, str]:
    """Parse the answers from a file's bytes."""
    import yaml

    hint = "Write it as `fairdash audit --template` does: a field, a colon, and a text."
    fault = StorageError.of(f"The answers in {name} can't be read", hint)
    if len(content) > _LARGEST:
        raise fault
    try:
        # Texts alone: no tag of YAML is followed, and a date stays as it is written.
        found = yaml.load(content.decode(), Loader=yaml.BaseLoader) or {}  # noqa: S506
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise fault from error
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise fault
    if unknown := [str(each) for each in found if each not in FIELDS]:
        raise StorageError.of(
            f"{name} has a field that is not asked for: “{unknown[0]}”",
            f"Fields are: {', '.join(FIELDS)}.",
        )
    return {field: found[field].strip() for field in FIELDS if found.get(field, "").strip()}


def governance_yaml(answers: Mapping[str, str]) -> bytes:
    """Write YAML with every field, its question as a comment, and the existing answers."""
    import yaml

    parts = ["# Yours to write. fairdash puts these texts into filings and model cards as they stand."]
    for field, asks in FIELDS.items():
        written = yaml.safe_dump({field: visible(answers.get(field, ""))}, allow_unicode=True, width=100)
        parts.append("\n".join([*textwrap.wrap(f"# {asks}", 100, subsequent_indent="# "), written.rstrip()]))
    return "\n\n".join(parts).encode() + b"\n"


def kept_governance(path: str | PathLike[str]) -> dict[str, str]:
    """Read the answers of a file; if it does not exist yet, create one with blanks.

    Raises
    ------
    StorageError
        It can't be read or written.
    """
    place = Path(path)
    if not place.exists():
        write_whole(place, governance_yaml({}))
    return read_governance(place)

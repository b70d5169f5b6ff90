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
#: Fields with their question.
FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "purpose": "Purpose of the price or model: product, lines of business, and decisions based on it.",
        "out_of_scope": "Uses that are excluded.",
        "model": "Type and version of the model, and its author.",
        "external_data": "External data used.",
        "data_source": "Source and period of the rows, and checks of their quality.",
        "inventory": "Inventory of models and data with versions, and changes since the last inventory.",
        "third_parties": "Vendors involved, and their oversight.",
        "validity": "Evidence that the factors predict cost, and the person who validated it.",
        "test_policy": "Policy on the method and frequency of tests.",
        "threshold_reason": "Reasons for the primary criterion and for the acceptable gap.",
        "legitimacy": "Reason why each legitimate factor is legitimate.",
        "alternatives": "Alternatives considered, and reasons for preferring this price.",
        "actions": "Actions on the findings, with a responsible person and a date for each.",
        "risk": "Possible harm, the people affected, its likelihood, and measures against it.",
        "limits": "Further limits of the results.",
        "board": "Board or committee responsible for oversight, and the date of its last review.",
        "principles": "Written principles and policies that apply.",
        "human_oversight": "People who can overrule the model, and how often they do.",
        "complaints": "Information given to customers, and handling of complaints.",
        "monitoring": "Frequency of the audit, the person responsible, and reasons for an earlier audit.",
        "owner": "Owner of the price or model, and the senior manager responsible.",
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
        # The values are texts: no YAML tag is followed, and a date keeps its spelling.
        written = yaml.load(content.decode(), Loader=yaml.BaseLoader) or {}  # noqa: S506
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise fault from error
    if not isinstance(written, dict) or not all(isinstance(each, str) for each in written.values()):
        raise fault
    if unknown := [str(each) for each in written if each not in FIELDS]:
        raise StorageError.of(
            f"{name} has an unknown field: “{unknown[0]}”",
            f"Fields are: {', '.join(FIELDS)}.",
        )
    return {field: written[field].strip() for field in FIELDS if written.get(field, "").strip()}


def governance_yaml(answers: Mapping[str, str]) -> bytes:
    """Write YAML with every field, its question as a comment, and the existing answers."""
    import yaml

    parts = ["# Yours to write. fairdash copies these texts unchanged into filings and model cards."]
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

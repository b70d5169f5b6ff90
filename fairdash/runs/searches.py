"""Searches in the store: for good settings, or for the weight that meets a target.

<home>/searches/<id>/spec.json   what to look for, and in which data
<home>/searches/<id>/result/     what was found

The other files are a run's; see :mod:`fairdash.runs.store`. Searches stand apart from the runs, since they
train nothing that one could look at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, ClassVar

import pandas as pd

from fairdash._version import __version__
from fairdash.data.folders import write_whole
from fairdash.data.source import DatasetSource
from fairdash.runs.store import Job
from fairdash.training.lam_search import LamChoice, LamSearch
from fairdash.training.search import SearchResult, SettingsSearch
from fairdash.training.settings import TrainingSettings

_PLANS: Mapping[str, type[SettingsSearch | LamSearch]] = MappingProxyType(
    {"settings": SettingsSearch, "lam": LamSearch}
)


@dataclass(frozen=True, kw_only=True)
class SearchSpec:
    """What a search has to do.

    Parameters
    ----------
    source
        How to get its data set.
    plan
        What to look for.
    created
        When it was asked for, ISO 8601, UTC.
    """

    source: DatasetSource
    plan: SettingsSearch | LamSearch
    created: str

    def to_json(self) -> str:
        (kind,) = (kind for kind, plan in _PLANS.items() if isinstance(self.plan, plan))
        return json.dumps(
            {
                "fairdash": __version__,
                "source": json.loads(self.source.to_json()),
                "kind": kind,
                "plan": self.plan.to_json(),
                "created": self.created,
            },
            indent=2,
        )

    @classmethod
    def from_json(cls, text: str) -> SearchSpec:
        content = json.loads(text)
        return cls(
            source=DatasetSource.from_json(json.dumps(content["source"])),
            plan=_PLANS[content["kind"]].from_json(content["plan"]),
            created=content["created"],
        )


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a finished search has found.

    Parameters
    ----------
    frame
        One row a candidate or weight; see :class:`fairdash.training.search.SearchResult` and
        :class:`fairdash.training.lam_search.LamChoice`.
    rule
        What was chosen and how, in words.
    settings
        The best settings; None if a weight was looked for.
    lam
        The weight; None if settings were looked for.
    reached
        Whether the target is met; True for settings, which have none.
    seconds, device, notes
        As in both results.
    """

    frame: pd.DataFrame
    rule: str
    settings: TrainingSettings | None = None
    lam: float | None = None
    reached: bool = True
    seconds: float
    device: str
    notes: tuple[str, ...]

    @classmethod
    def of(cls, result: SearchResult | LamChoice) -> Finding:
        """What is kept of a result."""
        common: dict[str, Any] = {
            name: getattr(result, name) for name in ("frame", "rule", "seconds", "device", "notes")
        }
        if isinstance(result, SearchResult):
            return cls(settings=result.best, **common)
        return cls(lam=result.lam, reached=result.reached, **common)


class SearchJob(Job):
    """One search in the store."""

    room: ClassVar[str] = "searches"
    word: ClassVar[str] = "search"

    @property
    def spec(self) -> SearchSpec:
        """What it has to do; RunError if its file can't be read."""
        return self._read_spec(SearchSpec.from_json)

    def write_finding(self, finding: Finding) -> None:
        """Keep the result: all of it or nothing."""
        settings = finding.settings
        about = {
            "rule": finding.rule,
            "settings": None if settings is None else settings.to_json(),
            "lam": finding.lam,
            "reached": finding.reached,
            "seconds": finding.seconds,
            "device": finding.device,
            "notes": finding.notes,
        }
        with self._result_folder() as folder:
            finding.frame.to_parquet(folder / "frame.parquet")
            write_whole(folder / "about.json", json.dumps(about).encode())

    def read_finding(self) -> Finding:
        """The kept result; RunError if it is not there or can't be read."""
        folder = self.folder / "result"
        try:
            about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
            settings = about.pop("settings")
            return Finding(
                **about
                | {
                    "frame": pd.read_parquet(folder / "frame.parquet"),
                    "settings": None if settings is None else TrainingSettings.from_json(settings),
                    "notes": tuple(about["notes"]),
                }
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise self._damaged() from error


def create_search(source: DatasetSource, plan: SettingsSearch | LamSearch) -> SearchJob:
    """A new search, queued; nobody works at it yet."""
    spec = SearchSpec(source=source, plan=plan, created=datetime.now(UTC).isoformat(timespec="seconds"))
    return SearchJob.create(spec.to_json())

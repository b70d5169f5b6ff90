"""What a run has found, and its files: Parquet for tables, safetensors for rows, JSON for the rest."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairdash.evaluation import Gain, SweepResult, with_edges
from fairdash.storage import cant_keep, write_whole
from fairdash.training.set_aside import SetAside
from fairdash.training.splits import Split
from fairdash.training.sweep import Sweep
from fairdash.utils.records import from_plain, to_plain

#: Marks of a row's part in a split; rows after a window of time belong to none.
PARTS = ("train", "test", "validation")
_TRAIN, _TEST, _VALIDATION, NONE = 0, 1, 2, 3
_NAME = re.compile(r"[a-z_]+")
#: Older results hold a "price" of independence for a base that was not told s: that is no bound.
PRICE = "price_of_independence"
#: The training curves' file, and what a line of it says.
CURVES, CURVE_COLUMNS = "curves.jsonl", ("method", "lam", "epoch", "mse", "dependence")
#: Files of the rows set aside, which nothing but a confirmation reads.
SET_ASIDE = "set_aside"


@dataclass(frozen=True, kw_only=True)
class About:
    """What of a result is neither table nor row: ``about.json``. Fields as in :class:`SweepResult`."""

    objective: str
    objectives: tuple[str, ...]
    target: str
    sensitive: tuple[str, ...]
    units: Mapping[str, str]
    device: str
    seconds: float
    notes: tuple[str, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    gain: Gain | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    evaluations: Mapping[str, str] = field(default_factory=dict)
    drawn_from: int | None = None

    def __post_init__(self) -> None:
        if not all(_NAME.fullmatch(each) for each in self.objectives):
            # They become parts of paths.
            raise ValueError("no ids of objectives")

    @classmethod
    def known(cls, values: Any) -> dict[str, Any]:
        """Those of a file's values that this version knows."""
        if not isinstance(values, dict):
            raise ValueError("not a JSON object")
        return {each.name: values[each.name] for each in fields(cls) if each.name in values}


#: What a result and its ``about.json`` call alike.
_AS_IT_IS = tuple(
    each.name for each in fields(About) if each.name not in ("objectives", "target", "sensitive")
)


class UnreadableError(Exception):
    """A result is not there, or its files are not what they should be."""


def write_result(result: SweepResult, folder: Path) -> None:
    """Write all files of a result into an empty folder."""
    from safetensors.numpy import save

    kinds = (("frame", result.frames), ("path", result.paths), ("baselines", result.baselines))
    for kind, tables in kinds:
        for objective, table in tables.items():
            write_whole(folder / f"{kind}-{objective}.parquet", table.to_parquet())
    for name in ("members", "references", "importance", "tuning"):
        table = getattr(result, name)
        if table is not None:
            write_whole(folder / f"{name}.parquet", table.to_parquet())
    part = np.full((len(result.splits), len(result.target)), NONE, dtype=np.uint8)
    for j, split in enumerate(result.splits):
        part[j, split.train], part[j, split.test], part[j, split.validation] = _TRAIN, _TEST, _VALIDATION
    arrays = {
        "predictions": result.predictions,
        "target": result.target,
        "sensitive": result.sensitive.to_numpy(dtype=float),
        "part": part,
    }
    arrays |= {
        name: value
        for name, value in (("weight", result.weight), (PRICE, result.price), ("rows", result.rows))
        if value is not None
    }
    if result.set_aside is not None:
        _write_set_aside(result.set_aside, folder)
    write_whole(folder / "rows.safetensors", save({k: np.ascontiguousarray(v) for k, v in arrays.items()}))
    about = About(
        objectives=tuple(result.frames),
        target=result.target_name,
        sensitive=tuple(result.sensitive.columns),
        **{name: getattr(result, name) for name in _AS_IT_IS},
    )
    write_whole(folder / "about.json", json.dumps(to_plain(about)).encode())


def read_result(folder: Path, plan: Sweep) -> SweepResult:
    """The result of a plan that :func:`write_result` wrote; UnreadableError if it can't be read."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    def optional(name: str) -> pd.DataFrame | None:
        path = folder / f"{name}.parquet"
        return with_edges(_table(path)) if path.exists() else None

    try:
        arrays = load_file(folder / "rows.safetensors")
        text = (folder / "about.json").read_text(encoding="utf-8")
        about = from_plain(About, About.known(json.loads(text)))
        frames, paths = (
            {each: with_edges(_table(folder / f"{kind}-{each}.parquet")) for each in about.objectives}
            for kind in ("frame", "path")
        )
        return SweepResult(
            sweep=plan,
            **{name: getattr(about, name) for name in _AS_IT_IS if name != "objective"},
            frames=frames,
            paths=paths,
            members=_table(folder / "members.parquet"),
            predictions=arrays["predictions"],
            splits=tuple(
                Split(*(np.flatnonzero(row == part) for part in (_TRAIN, _TEST, _VALIDATION)))
                for row in arrays["part"]
            ),
            target=arrays["target"],
            sensitive=pd.DataFrame(arrays["sensitive"], columns=list(about.sensitive)),
            weight=arrays.get("weight"),
            target_name=about.target,
            references=optional("references"),
            price=arrays.get(PRICE),
            importance=optional("importance"),
            tuning=optional("tuning"),
            baselines={
                each: table
                for each in about.objectives
                if (table := optional(f"baselines-{each}")) is not None
            },
            rows=arrays.get("rows"),
            set_aside=_read_set_aside(folder),
        )
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise UnreadableError from error


def _table(path: Path) -> pd.DataFrame:
    """A table as its columns say; what a file says to pandas could make any other one of it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(path.read_bytes()))
    except pa.ArrowException as error:
        raise ValueError("not a Parquet file") from error
    found: pd.DataFrame = table.replace_schema_metadata(None).to_pandas()
    return found


def _write_set_aside(aside: SetAside, folder: Path) -> None:
    from safetensors.numpy import save

    arrays = {
        "rows": aside.rows,
        "predictions": aside.predictions,
        "target": aside.target,
        "sensitive": aside.sensitive.to_numpy(dtype=float),
        "weight": aside.weight,
        "groups": aside.groups,
    }
    there = {name: np.ascontiguousarray(value) for name, value in arrays.items() if value is not None}
    write_whole(folder / f"{SET_ASIDE}.safetensors", save(there))
    write_whole(folder / f"{SET_ASIDE}.parquet", aside.members.to_parquet())
    columns = json.dumps([str(column) for column in aside.sensitive.columns])
    write_whole(folder / f"{SET_ASIDE}.json", columns.encode())


def _read_set_aside(folder: Path) -> SetAside | None:
    """The rows set aside; None where there are none, as in a run of before there were any."""
    from safetensors.numpy import load_file

    path = folder / f"{SET_ASIDE}.safetensors"
    if not path.exists():
        return None
    arrays = load_file(path)
    columns = json.loads((folder / f"{SET_ASIDE}.json").read_text(encoding="utf-8"))
    return SetAside(
        rows=arrays["rows"],
        members=_table(folder / f"{SET_ASIDE}.parquet"),
        predictions=arrays["predictions"],
        target=arrays["target"],
        sensitive=pd.DataFrame(arrays["sensitive"], columns=columns),
        weight=arrays.get("weight"),
        groups=arrays.get("groups"),
    )


def add_curve(path: Path, curve: pd.DataFrame) -> None:
    """Append an epoch's curve (see :class:`fairdash.training.sweep.SweepProgress`).

    Raises
    ------
    StorageError
        The disk won't; what is there stays as it is.
    """
    before = path.stat().st_size if path.exists() else 0
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(curve.to_json(orient="records", lines=True))
    except OSError as error:
        # Half a line would spoil the next; where not even this can be done, nothing has been written.
        with suppress(OSError):
            os.truncate(path, before)
        raise cant_keep(error) from error


def read_curves(path: Path | None) -> pd.DataFrame:
    """All curves in a file so far; no rows without one."""
    if path is None:
        return pd.DataFrame(columns=list(CURVE_COLUMNS))
    # The worker may be in the middle of writing the last line.
    whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
    lines = [json.loads(line) for line in whole.splitlines() if line]
    return pd.DataFrame(lines, columns=list(CURVE_COLUMNS))

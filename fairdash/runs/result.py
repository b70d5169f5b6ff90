"""Storage of the result of a run, with tables as Parquet, arrays as safetensors, and the rest as JSON."""

from __future__ import annotations

import errno
import io
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairdash.data.dataset import Dataset
from fairdash.errors import RunError
from fairdash.evaluation import Gain, SweepResult
from fairdash.storage import write_error, write_whole
from fairdash.training.split_kinds import SetAside
from fairdash.training.splits import Split
from fairdash.training.sweep import STANDARD, Sweep
from fairdash.utils.records import from_plain, to_plain

#: Parts of a split, whose positions are their codes. Rows after a split's time window belong to no part.
PARTS = ("train", "test", "validation")
_TRAIN, _TEST, _VALIDATION, NONE = 0, 1, 2, 3
_NAME = re.compile(r"[a-z_]+")
#: Name of the array with the price of independence in each split. It is the smallest increase in mean squared
#: error with which a prediction can be independent of s.
PRICE = "price_of_independence"
#: Training curves are stored in the file `CURVES`, whose lines have the keys `CURVE_COLUMNS`.
CURVES, CURVE_COLUMNS = "curves.jsonl", ("method", "lam", "epoch", "mse", "dependence")
#: Name of the files of the holdout rows, which are read only for a confirmation.
SET_ASIDE = "set_aside"


@dataclass(frozen=True, kw_only=True)
class About:
    """Metadata of a result in ``about.json``. The fields are those of :class:`SweepResult`."""

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
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if not all(_NAME.fullmatch(objective) for objective in self.objectives):
            # Other characters are rejected, because the ids are used in paths.
            raise ValueError("the ids of objectives are not valid")


#: Fields that have the same name in ``about.json`` and in SweepResult.
_AS_IT_IS = tuple(
    entry.name for entry in fields(About) if entry.name not in ("objectives", "target", "sensitive")
)


#: Names of tables that only some results have.
_OPTIONAL = ("references", "importance", "tuning")
#: Names of the arrays of the holdout rows.
_HOLDOUT_ARRAYS = ("rows", "predictions", "target", "weight", "groups")


class UnreadableError(Exception):
    """Error for a result that is missing or whose files are invalid."""


def write_result(result: SweepResult, folder: Path) -> None:
    """Write all files of a result into an empty folder."""
    kinds = (("frame", result.frames), ("path", result.paths), ("baselines", result.baselines))
    tables = {f"{kind}-{name}": table for kind, of_kind in kinds for name, table in of_kind.items()}
    tables |= {name: getattr(result, name) for name in ("members", *_OPTIONAL)}
    part = np.full((len(result.splits), len(result.target)), NONE, dtype=np.uint8)
    for j, split in enumerate(result.splits):
        part[j, split.train], part[j, split.test], part[j, split.validation] = _TRAIN, _TEST, _VALIDATION
    rows = {name: getattr(result, name) for name in ("predictions", "target", "weight", "groups", "rows")}
    rows |= {"sensitive": result.sensitive.to_numpy(dtype=float), "part": part, PRICE: result.price}
    if (holdout := result.set_aside) is not None:
        tables[SET_ASIDE] = holdout.members
        of_aside = {name: getattr(holdout, name) for name in _HOLDOUT_ARRAYS}
        write_arrays(
            folder / f"{SET_ASIDE}.safetensors",
            of_aside | {"sensitive": holdout.sensitive.to_numpy(dtype=float)},
        )
        columns = json.dumps([str(column) for column in holdout.sensitive.columns])
        write_whole(folder / f"{SET_ASIDE}.json", columns.encode())
    for name, table in tables.items():
        if table is not None:
            write_whole(folder / f"{name}.parquet", table.to_parquet())
    write_arrays(folder / "rows.safetensors", rows)
    description = About(
        objectives=tuple(result.frames),
        target=result.target_name,
        sensitive=tuple(result.sensitive.columns),
        **{name: getattr(result, name) for name in _AS_IT_IS},
    )
    write_whole(folder / "about.json", json.dumps(to_plain(description)).encode())


def plan_with_lams(plan: Sweep, members: pd.DataFrame) -> Sweep:
    """Return the plan with the λ values of the trained models, which pilot training may have selected.

    A ValueError is raised if the plan has a different number of λ values.
    """
    if not plan.find_lams:
        return plan
    lams = sorted(set(members["lam"][members["method"] != STANDARD].tolist()))
    if len(lams) != len(plan.lams):
        raise ValueError("the number of its λ values differs from the plan")
    return replace(plan, lams=tuple(lams))


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write the arrays that are not None, without copies, because the arrays may fill most of the memory."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    given = {name: np.ascontiguousarray(value) for name, value in arrays.items() if value is not None}

    def write(name: str) -> None:
        try:
            save_file(given, name)
        except SafetensorError as error:
            # The arrays are valid, so the cause of the error is the disk.
            raise OSError(errno.EIO, str(error)) from error

    write_whole(path, write)


def read_result(folder: Path, plan: Sweep) -> SweepResult:
    """Read a result that :func:`write_result` has written; raise an UnreadableError if it can't be read."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays = load_file(folder / "rows.safetensors")
        facts = from_plain(About, _json(folder / "about.json"))
        members = _table(folder, "members")
        frames, paths = (
            {objective: _table(folder, f"{kind}-{objective}") for objective in facts.objectives}
            for kind in ("frame", "path")
        )
        optional: dict[str, Any] = {name: _optional(folder, name) for name in _OPTIONAL}
        baselines = {objective: _optional(folder, f"baselines-{objective}") for objective in facts.objectives}
        return SweepResult(
            sweep=plan_with_lams(plan, members),
            **{name: getattr(facts, name) for name in _AS_IT_IS if name != "objective"},
            frames=frames,
            paths=paths,
            baselines={each: table for each, table in baselines.items() if table is not None},
            members=members,
            **optional,
            predictions=arrays["predictions"],
            splits=tuple(
                Split(*(np.flatnonzero(row == part) for part in (_TRAIN, _TEST, _VALIDATION)))
                for row in arrays["part"]
            ),
            target=arrays["target"],
            target_name=facts.target,
            sensitive=pd.DataFrame(arrays["sensitive"], columns=list(facts.sensitive)),
            weight=arrays.get("weight"),
            groups=arrays.get("groups"),
            price=arrays.get(PRICE),
            rows=arrays.get("rows"),
            set_aside=_read_set_aside(folder),
        )
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise UnreadableError from error


def check_data(folder: Path, dataset: Dataset) -> None:
    """Raise RunError if the result in a folder was computed from other data.

    If the folder has no readable result, nothing is checked.
    """
    path = folder / "about.json"
    try:
        trained_on = _json(path)["fingerprint"] if path.is_file() else ""
    except (OSError, ValueError, KeyError, TypeError):
        # The functions that read the result report a damaged file later.
        return
    if trained_on not in ("", dataset.fingerprint):
        raise RunError.of(
            "these data are not the data on which this run was trained",
            "The figures of the run are valid. To price rows or to refit a model, train on these data.",
        )


def _read_set_aside(folder: Path) -> SetAside | None:
    """Return the holdout rows, or None if there are none."""
    from safetensors.numpy import load_file

    path = folder / f"{SET_ASIDE}.safetensors"
    if not path.exists():
        return None
    arrays: dict[str, Any] = load_file(path)
    columns = _json(folder / f"{SET_ASIDE}.json")
    arrays["sensitive"] = pd.DataFrame(arrays["sensitive"], columns=columns)
    return SetAside(members=_table(folder, SET_ASIDE), **arrays)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _optional(folder: Path, name: str) -> pd.DataFrame | None:
    return _table(folder, name) if (folder / f"{name}.parquet").exists() else None


def _table(folder: Path, name: str) -> pd.DataFrame:
    """Read a table without its pandas metadata, which could change it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO((folder / f"{name}.parquet").read_bytes()))
    except pa.ArrowException as error:
        raise ValueError("not a Parquet file") from error
    return table.replace_schema_metadata(None).to_pandas()


def add_curve(path: Path, curve: pd.DataFrame) -> None:
    """Append the training curve of an epoch (see :class:`fairdash.training.sweep.SweepProgress`).

    Raises
    ------
    StorageError
        The file can't be written; its content is unchanged.
    """
    size_before = path.stat().st_size if path.exists() else 0
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(curve.to_json(orient="records", lines=True))
    except OSError as error:
        # An incomplete line is removed, because it would damage the next line. If the removal fails too,
        # nothing has been written.
        with suppress(OSError):
            os.truncate(path, size_before)
        raise write_error(error) from error


def read_curves(path: Path | None) -> pd.DataFrame:
    """Return all training curves in a file. The result has no rows if `path` is None."""
    if path is None:
        return pd.DataFrame(columns=list(CURVE_COLUMNS))
    # The last line is ignored if it has no line end, because a process may still be writing it.
    complete_lines = path.read_text(encoding="utf-8").rpartition("\n")[0]
    lines = [json.loads(line) for line in complete_lines.splitlines() if line]
    return pd.DataFrame(lines, columns=list(CURVE_COLUMNS))

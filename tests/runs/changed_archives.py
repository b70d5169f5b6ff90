"""Run archives with one change by a seed and correct hashes, and a check of all that pages read.

``change(content, seed)`` changes one thing: a JSON value; a column, cell or row of a table; an array; or a
file.
"""

import io
import json
import random
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import load, save

from fairdash.data import UploadSource, keep_upload
from fairdash.runs import archive, worker
from fairdash.runs.comparison import parse_comparison
from fairdash.runs.confirmations import confirm_run, read_confirmations
from fairdash.runs.listing import list_runs
from fairdash.runs.store import FIRST, Run, create_run
from fairdash.storage import sha256
from fairdash.storage.bundle import SEAL, open_sealed_text, sealed_text
from fairdash.storage.log import note, read
from fairdash.views.reports.report import render_report
from tests.runs.finished import PLAN, SOURCE

SEALED = ("spec.json", "status.json", "name.json", "log.json", "confirmations.json")
DEEP: Any = []
for _ in range(400):
    DEEP = [DEEP]
#: Values that hardly any field allows.
HOSTILE: list[Any] = [
    None, True, False, 0, -1, 7, 0.5, 1e308, -1e308, float("nan"), float("inf"), 10**30, 10**400, "", "x", "λ" * 30_000,
    "../../evil", "a/b", "<script>alert(1)</script>", "\ud800", "\x00", "2026-13-45", [], {}, [[]], [None], {"a": 1},
    {"a": [1, {"b": "c"}]}, DEEP, [k / 2**18 for k in range(200_000)], [1, 1], ["x", "x"], "standard", "local", 3e9,
]  # fmt: skip


def rich(kind: str = "networks") -> Run:
    """A finished run with every optional part; with networks, with tariffs, or with three classes."""
    source = SOURCE
    plan = replace(PLAN, confirmation_share=0.3, validation_share=0.2, tune=kind == "networks")
    if kind == "tariffs":
        plan = replace(plan, methods=("standard", "fair_tariff"))
    if kind == "classes":
        table = source.load().table().assign(Region=np.array(["east", "north", "west"])[np.arange(200) % 3])
        upload = keep_upload(table.to_csv(index=False).encode(), name="household.csv")
        roles = replace(source.load().roles, sensitive=("Region",))
        source = UploadSource(sha256=upload.sha256, name=upload.name, roles=roles)
        plan = replace(plan, methods=("standard", "hgr_spline"))
    run = create_run(source, plan)
    assert worker.main(run.id) == 0, run.status
    run.rename("A name")
    note(run.folder, "asked for", who="local", data="household", columns={"sensitive": ["Age"]})
    confirm_run(run, method=plan.methods[-1], lam=1.0, owner="local")
    return run


def unpacked(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as found:
        return {name: found.read(name) for name in found.namelist()}


def packed(files: dict[str, bytes]) -> bytes:
    """The archive of these files with correct hashes."""
    files = {name: each for name, each in files.items() if not name.endswith(SEAL)}
    for look in ("result/", "first/"):
        own = {name.removeprefix(look): each for name, each in files.items() if name.startswith(look)}
        if own:
            hashes = {name: sha256(each) for name, each in sorted(own.items())}
            files[f"{look}{SEAL}"] = json.dumps(hashes).encode()
    return archive._packed(files)


def change(content: bytes, seed: int) -> tuple[str, bytes]:
    """A description of the change, and the archive."""
    rng, files = random.Random(seed), unpacked(content)
    name = rng.choice([each for each in files if not each.endswith(SEAL)])
    ways = {".parquet": _table, ".safetensors": _arrays, ".jsonl": _lines}
    if rng.random() < 0.08:
        said = _file(files, name, rng)
    else:
        way = ways.get(Path(name).suffix, _sealed if name in SEALED else _unsealed)
        said, files[name] = way(files[name], rng)
    return f"{name}: {said}", packed(files)


def _sealed(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    said, values = _plain(open_sealed_text(content.decode()), rng)
    # JSON that is not an object can't contain its hash.
    return said, (sealed_text(values) if isinstance(values, dict) else json.dumps(values)).encode()


def _unsealed(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    said, values = _plain(json.loads(content), rng)
    return said, json.dumps(values).encode()


def _file(files: dict[str, bytes], name: str, rng: random.Random) -> str:
    what = rng.choice(["gone", "empty", "noise", "another", "added", "moved"])
    contents = {"empty": b"", "noise": rng.randbytes(2_000), "another": files[rng.choice(list(files))]}
    if what in contents:
        files[name] = contents[what]
    elif what == "added":
        places = ["result/frame-x.parquet", "result/x/y.json", "result/x", "first/about.json"]
        files[rng.choice(places)] = b"{}"
    else:
        content = files.pop(name)
        files |= {"result/frame-evil.parquet": content} if what == "moved" else {}
    return what


def _plain(values: Any, rng: random.Random) -> tuple[str, Any]:
    """Change one place of a JSON value."""
    places: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            places.append((value, key))
            walk(value[key])

    walk(values)
    what = rng.choice(["another", "another", "another", "gone", "added", "whole"])
    new = rng.choice(HOSTILE)
    if what == "whole" or not places:
        return f"the whole is {_short(new)}", new
    holder, key = rng.choice(places)
    if what == "gone":
        del holder[key]
        return f"{key} is gone", values
    if what == "added":
        if isinstance(holder, dict):
            holder[rng.choice(["x", "../x", "lam", "λ" * 30_000])] = new
        else:
            holder.extend(rng.choice([[new], holder * 2, holder * 100_000]))
        return f"{_short(new)} is added beside {key}", values
    holder[key] = new
    return f"{key} is {_short(new)}", values


def _lines(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    lines = [json.loads(line) for line in content.splitlines()]
    at = rng.randrange(len(lines))
    said, lines[at] = _plain(lines[at], rng)
    return f"line {at}, {said}", b"".join(json.dumps(each).encode() + b"\n" for each in lines)


def _table(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    table = pd.read_parquet(io.BytesIO(content))
    column, at = rng.choice(list(table.columns)), rng.randrange(len(table))
    old = table[column]
    wholes = {
        "texts": old.astype(str), "whole": range(len(table)), "flags": True, "dates": pd.Timestamp("2026-01-01"),
        "lists": [[1, 2]] * len(table), "none": None, "codes": pd.Categorical(old), "a long text": "λ" * 100_000,
    }  # fmt: skip
    cells = [True, False]
    if old.dtype != bool:
        cells = ["", "x", "λ"] if pd.api.types.is_string_dtype(old) else [-1, 99, 2**62]
        cells = [float("nan"), float("inf"), -1.0, 1e308, 0.3] if old.dtype == float else cells
    wholes |= {f"a cell {cell}": partial(old.where, np.arange(len(table)) != at, cell) for cell in cells}
    ways: dict[str, Callable[[], Any]] = {
        "dropped": lambda: table.drop(columns=column),
        "renamed": lambda: table.rename(columns={column: rng.choice(["x", "lam2", "hgr_spline[Age]", "__index_level_0__"])}),
        "a row less": lambda: table.drop(index=at),
        "a row twice": lambda: pd.concat([table, table.iloc[[at]]], ignore_index=True),
        "another order": lambda: table.sample(frac=1, random_state=0, ignore_index=True),
        "no rows": lambda: table.iloc[:0],
        "many rows": lambda: pd.DataFrame({name: np.zeros(3_000_000, dtype=np.int8) for name in table}),
        "a column more": lambda: table.assign(**{rng.choice(["x", "hgr_nn", "verdict_p", "hgr_kde[x]", "sensitive"]): 1.0}),
        "an index": lambda: table.set_index(column),
    }  # fmt: skip
    what, buffer = rng.choice(["metadata", *wholes, *ways]), io.BytesIO()
    if what == "metadata":
        about = rng.choice([b"{", b'{"index_columns": ["x"], "columns": []}', b"[" * 100_000, b"7"])
        arrow = pq.read_table(io.BytesIO(content))
        pq.write_table(arrow.replace_schema_metadata({b"pandas": about}), buffer)
        return f"metadata {about[:20]!r}", buffer.getvalue()
    try:
        whole = wholes.get(what)
        new = table.assign(**{column: whole() if isinstance(whole, partial) else whole})
        (ways[what]() if what in ways else new).to_parquet(buffer)
    except (ValueError, TypeError, pa.ArrowException):
        return f"{column} {what}, which is no Parquet", b"PAR1"
    return f"{column} {what}", buffer.getvalue()


def _arrays(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    arrays = dict(load(content))
    name = rng.choice(list(arrays))
    old = arrays[name]
    third = np.arange(old.shape[-1]) == 3
    ways: dict[str, Callable[[], Any]] = {
        "float32": lambda: old.astype(np.float32),
        "int64": lambda: np.nan_to_num(old).astype(np.int64),
        "uint8": lambda: np.nan_to_num(old).astype(np.uint8),
        "float64": lambda: old.astype(float) + 0.5,
        "empty": lambda: old[:0],
        "shorter": lambda: old[..., :-1],
        "flat": lambda: old.reshape(-1),
        "turned": lambda: old.T,
        "deeper": lambda: old[None],
        "twice": lambda: np.concatenate([old, old]),
        "backwards": lambda: old[..., ::-1],
        "negative": lambda: -np.abs(old.astype(float)).astype(old.dtype),
    }  # fmt: skip
    ways |= {f"{each}s": partial(np.full_like, old, each) for each in (0, 1, 9)}
    ways |= {f"a cell {each}": partial(np.where, third, each, old) for each in (np.nan, np.inf, 1e308)}
    what = rng.choice([*ways, "gone", "one more"])
    if what == "gone":
        del arrays[name]
    elif what == "one more":
        arrays[rng.choice(["x", "weight", "rows", "groups"])] = np.ones(7)
    else:
        arrays[name] = np.ascontiguousarray(ways[what]())
    return f"{name} {what}", save(arrays)


def _short(value: Any) -> str:
    is_long = isinstance(value, (list, dict)) and len(value) >= 20
    return f"a list of {len(value)}" if is_long else repr(value)[:60]


def look_at(run: Run, *, whole: bool = True) -> None:
    """Read all of a run that pages, reports and commands read; charts of the report only if `whole`."""
    from fairdash.ui.runs import line_of

    (same,) = [each for each in list_runs().runs if each.id == run.id]
    assert line_of(same, same.status)
    assert run.name is not None
    run.curves()
    log, openings = read(run.folder), read_confirmations(run)
    assert all(event.in_words for event in log.events)
    about = {"run_id": run.id, "created": run.spec.created, "dataset": None}
    about["is_preview"] = run.available_result == FIRST
    for objective in [*run.read_result().frames][: None if whole else 1]:
        found = parse_comparison(run, objective=objective)
        assert not whole or render_report(found, **about, openings=openings, log=log)
    archive.export_run(run)

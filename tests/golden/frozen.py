"""Results on small tables, which ``python -m tests.golden.frozen`` writes to files.

Every call states all options, so that no changed default can alter a number: an audit with a second price,
the frames of two runs, and the output of every command with ``--json``.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

import fairdash as fd
from fairdash.__main__ import main
from fairdash.evaluation import wide
from fairdash.runs import worker
from fairdash.runs.store import create_run
from fairdash.training.sweep import Sweep
from tests.golden.policies import PLAN, QUICK, policies, source
from tests.golden.texts import HERE

FROZEN = HERE / "frozen"
#: One plan for prices with a tariff, and one for residuals with validation rows, confirmation rows and no
#: tuning.
PLANS = {
    "parity": PLAN,
    "residuals": Sweep(
        methods=("standard", "chi2_kde", "cca_spline"), lams=(1.0,), objective="equalized_residuals",
        n_splits=1, random_state=4, validation_share=0.2, confirmation_share=0.2, settings=QUICK,
        device="cpu",
    ),
}  # fmt: skip
#: Values that differ between runs: versions, addresses and times.
_ELSEWHERE = {
    *("seconds", "created", "version", "versions", "written", "id", "file", "log", "took", "home", "run"),
    *("bytes", "sha256", "made_with", "folder"),
}

#: Name, mapped to a command's arguments: {table} is the file of policies, {run} the id of a finished run.
_LINES = (line.split(": ") for line in (HERE / "commands.txt").read_text(encoding="utf-8").splitlines())
COMMANDS: Mapping[str, list[str]] = MappingProxyType({name: given.split() for name, given in _LINES})


def audit() -> str:
    """``audit.json`` of a price with controls, costs and a second price."""
    table = policies()
    rng = np.random.default_rng(1)
    table["expected"] = (table["premium"] / 1.1).round(4)
    table["second"] = (table["premium"].mean() * np.exp(rng.normal(0, 0.2, len(table)))).round(4)
    result = fd.audit(
        table, price="premium", sensitive="age", exposure="years", outcome="claims", controls=["zone"],
        criterion="independence", expected_cost="expected", candidate="second", reliability=0.8, max_gap=0.05,
        totals=["claims"], features=["zone"], random_state=0,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "audit")
        return (Path(folder) / "audit" / "audit.json").read_text(encoding="utf-8")


def frames(*names: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Name, mapped to frame, of the runs in FAIRDASH_HOME: models, blends, baselines and references."""
    for name in names or PLANS:
        plan = PLANS[name]
        run = create_run(source(), plan)
        assert worker.main(run.id) == 0, run.status
        result = run.read_result()
        for kind in ("frames", "paths", "baselines"):
            for objective, frame in getattr(result, kind).items():
                yield f"{name}-{kind}-{objective}", wide(frame)
        if result.references is not None:
            yield f"{name}-references", wide(result.references)


def commands(only: str | None = None) -> Iterator[tuple[str, object]]:
    """Name, mapped to the printed output of a command. FAIRDASH_HOME must contain the runs of :func:`frames`."""
    from fairdash.runs.listing import list_runs

    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "policies.csv"
        policies().to_csv(table, index=False)
        set_aside = [run for run in list_runs().runs if run.spec.plan.confirmation_share > 0]
        known = {"table": str(table), "out": str(Path(folder) / "report.html"), "run": set_aside[0].id}
        for name, arguments in COMMANDS.items():
            if only in (None, name):
                yield name, printed([each.format_map(known) if "{" in each else each for each in arguments])


def printed(arguments: list[str]) -> object:
    """The exit code of a command and its printed JSON."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(arguments)
    return {"exit": code, "printed": settled(json.loads(out.getvalue()))}


def settled(value: object) -> object:
    """A JSON value without the values that differ between runs."""
    if isinstance(value, dict):
        return {key: settled(each) for key, each in value.items() if key not in _ELSEWHERE}
    if isinstance(value, list):
        return [settled(each) for each in value]
    return value


def write(place: Path) -> None:
    """Write all frozen values into a folder."""
    place.mkdir(exist_ok=True)

    def write_json(name: str, value: object) -> None:
        text = json.dumps(value, ensure_ascii=False, indent=None, separators=(",", ":"))
        (place / f"{name}.json").write_text(text + "\n", encoding="utf-8")

    with tempfile.TemporaryDirectory() as folder:
        os.environ["FAIRDASH_HOME"] = folder
        write_json("audit", settled(json.loads(audit())))
        for name, frame in frames():
            frame.to_csv(place / f"{name}.csv", index=False, float_format="%.10g")
        for name, value in commands():
            write_json(f"command-{name}", value)


def kept(name: str, folder: Path = FROZEN) -> object:
    """A frozen JSON value."""
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def records(path: Path) -> list[dict[str, Any]]:
    """Rows of a frozen frame; for a tariff with almost no effects, only the errors.

    Rounding on the processor determines which factors of such a tariff still differ from 1.
    """
    rows = pd.read_csv(path).to_dict("records")
    flat = ("method", "lam", "split", "part", "mse", "rmse", "deviance")
    return [
        {name: row[name] for name in flat} if row.get("method") == "fair_tariff" and row["lam"] > 1 else row
        for row in rows
    ]


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FROZEN)

"""Duration of the whole run that a page starts automatically, from first front to result, with workers.

    python -m benchmarks.whole_run [crime freMPL1 claims_678000 pg15training_5000000] [--machines 1 2]

Needs a quiet machine, and FAIRDASH_DATA for real tables. A number of rows after a table's name draws that
many of its rows with replacement and adds noise to its numbers; `claims` are simulated. Tables that are not
in the catalogue are first uploaded as Parquet. With `--machines`, this number of workers share the run
through PostgreSQL (FAIRDASH_DATABASE), each on a separate core and without the first front.

Adds one row per run to results/whole_run.csv: seconds to the first front and to the end; the predicted total
at a tenth of the time; peak memory of the largest process and of all processes together, in GB.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.large_table import claims, of_processes, roles_of_claims
from benchmarks.tariff_rivals import tables
from fairdash.jobs.process import ONE_THREAD

if TYPE_CHECKING:
    from fairdash.data.source import DatasetSource

RESULTS = Path(__file__).parent / "results" / "whole_run.csv"
_NAME = re.compile(r"(?P<table>.+?)(_(?P<rows>\d+))?")
#: Tables of tariff_rivals: claims for bodily injury of the same policies.
_OF_RIVALS = {"pg15training": "bodily", "freMPL1": "freMPL1"}
_ALL = 10**9
#: A line of /proc/…/status whose value begins with a number.
_FIELD = re.compile(r"^(\w+):\s+(\d+)", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tables", nargs="*", default=["crime", "household"])
    parser.add_argument("--machines", nargs="+", type=int, default=[0])
    options = parser.parse_args()
    os.environ |= ONE_THREAD
    found = [pd.read_csv(RESULTS)] if RESULTS.exists() else []
    for name in options.tables:
        for machines in options.machines:
            with tempfile.TemporaryDirectory() as home:
                os.environ |= {"FAIRDASH_HOME": home, "FAIRDASH_MACHINE": "m0"}
                row = measured(name, machines=machines, home=Path(home))
            print(row, flush=True)
            found.append(pd.DataFrame([row]))
            table = pd.concat(found).drop_duplicates(["table", "machines"], keep="last")
            table.round(2).to_csv(RESULTS, index=False)


def measured(name: str, *, machines: int, home: Path) -> dict[str, Any]:
    """The row of one run."""
    from fairdash.runs.launch import start_run
    from fairdash.runs.state import DONE
    from fairdash.training.defaults import share_of_rows
    from fairdash.training.sweep import default_plan, preview_of

    source = source_of(name)
    dataset = source.load()
    rows, columns = dataset.features.shape
    plan = default_plan(dataset)
    share = share_of_rows(rows, tariff_columns=columns if plan.tariff else 0)
    first = {} if machines else {"first": preview_of(plan), "first_share": share}
    with ExitStack() as stack:
        for k in range(machines):
            stack.enter_context(machine(k))
        run = start_run(source, plan, **first)
        begun = last = time.perf_counter()
        seconds_first = np.nan
        doing: defaultdict[str, float] = defaultdict(float)
        told: list[tuple[float, float]] = []
        peaks: dict[int, float] = {}
        while not run.status.is_over:
            time.sleep(0.5)
            status, now = run.status, time.perf_counter()
            what = status.doing or status.state
            if what not in doing:
                print(f"  {now - begun:7.1f} s, {status.fraction or 0:.0%}: {what}", flush=True)
            doing[what] += now - last
            last = now
            if first and np.isnan(seconds_first) and run.available_result is not None:
                seconds_first = now - begun
            # A preview reports a time estimate too, which does not count.
            if status.seconds_left is not None and not what.startswith("preview"):
                told.append((now - begun, sum(status.seconds_left) / 2))
            peaks |= peak_memory(home)
        for each in peak_memory(home):
            os.kill(each, signal.SIGKILL)
    whole = last - begun
    assert run.status.state == DONE, run.status
    print(*(f"  {took:6.1f} s {what}" for what, took in doing.items()), sep="\n", flush=True)
    said = {
        share: next(((at + left) / whole for at, left in told if at >= whole * share), np.nan)
        for share in (0.05, 0.1, 0.2, 0.5)
    }
    print(*(f"  after {share:.0%} told as {value:.2f} of it" for share, value in said.items()), sep="\n")
    return {
        "table": name,
        "rows": rows,
        "columns": columns,
        "machines": machines,
        "models": len(plan.models()),
        "first_s": seconds_first,
        "whole_s": whole,
        "told_at_a_tenth": said[0.1],
        "largest_gb": max(peaks.values()),
        "all_gb": sum(peaks.values()),
        "load": os.getloadavg()[0],
    }


def source_of(name: str) -> DatasetSource:
    """A catalogue data set, or an uploaded table with roles."""
    from fairdash.data.catalogue import CATALOGUE
    from fairdash.data.source import CatalogueSource, UploadSource
    from fairdash.data.uploads import keep_upload
    from fairdash.tables.roles import Roles

    if name in CATALOGUE:
        return CatalogueSource(dataset=name)
    found = _NAME.fullmatch(name)
    assert found is not None
    n = int(found["rows"]) if found["rows"] else None
    if found["table"] == "claims":
        frame = claims(n or 678_000)
        roles = roles_of_claims(frame)
    else:
        wanted = _OF_RIVALS[found["table"]]
        table = next(each for title, each in tables(_ALL) if title == wanted)
        frame = table.features.assign(claims=np.round(table.y * table.w), years=table.w, age=table.s)
        frame = frame if n is None else repeated(frame, n, kept=("claims", "years"))
        roles = Roles(
            target="claims", sensitive=("age",), features=tuple(table.features), weight="years", rate=True
        )
    content = io.BytesIO()
    frame.to_parquet(content)
    upload = keep_upload(content.getvalue(), name=f"{name}.parquet")
    return UploadSource(sha256=upload.sha256, name=f"{name}.parquet", roles=roles)


def repeated(frame: pd.DataFrame, n: int, *, kept: tuple[str, ...]) -> pd.DataFrame:
    """Rows drawn with replacement; numbers that are not kept get noise of a twentieth of their spread."""
    rng = np.random.default_rng(0)
    drawn = frame.iloc[rng.integers(0, len(frame), n)].reset_index(drop=True)
    for name in drawn.select_dtypes("number").columns.difference(kept):
        spread = 0.05 * float(frame[name].std())
        drawn[name] = drawn[name].to_numpy(float) + rng.normal(0, spread, n)
    return drawn


class machine:
    """A worker on a separate core, as an administrator starts it."""

    def __init__(self, k: int) -> None:
        self.k = k

    def __enter__(self) -> None:
        from fairdash.jobs import queue

        command = ["taskset", "-c", str(self.k), sys.executable, "-m", "fairdash", "worker"]
        command += ["--database", os.environ["FAIRDASH_DATABASE"], "--queues", "long"]
        name = f"m{self.k}"
        self.process = subprocess.Popen(
            command, env=os.environ | {"FAIRDASH_MACHINE": name}, start_new_session=True
        )
        lock = queue.lock_of("long").with_name(f"{name}-long.lock")
        while not queue.is_locked(lock):
            time.sleep(0.2)

    def __exit__(self, *_: object) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def peak_memory(home: Path) -> dict[int, float]:
    """Peak memory, in GB, of the processes that were started with this home, by process number."""
    told = [dict(_FIELD.findall(each)) for each in of_processes(home, "status")]
    return {int(each["Pid"]): int(each["VmHWM"]) / 1e6 for each in told if "VmHWM" in each}


if __name__ == "__main__":
    main()

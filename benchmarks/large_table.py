"""A table of 678,013 policies in the app: upload, a change of role, the first front, the time estimate.

    python -m benchmarks.large_table [--rows 678013] [--only upload|roles]

Upload, first front and estimate are measured in a Chromium browser with a server; a change of role is the
script run under Streamlit's test runner, with nothing cached for the new roles. Wall seconds are reported
together with the CPU seconds of the processes (app and workers), because other programs on the machine
lengthen only wall seconds. Writes results/large_table.csv. Needs Chromium for the upload.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.tradeoff_times import DRAWN, ROOT, _app, _page
from fairdash.jobs.process import ONE_THREAD
from fairdash.tables.roles import Roles

RESULTS = Path(__file__).parent / "results" / "large_table.csv"
ROLES = """
import sys, time
from pathlib import Path
from streamlit.testing.v1 import AppTest
from fairdash.data.source import UploadSource, save_source
from fairdash.tables.suggestion import suggest_roles
from fairdash.tables.roles import Roles
from fairdash.tables.readers.report import ReadingOptions
from fairdash.data.uploads import keep_upload, table_of_upload
path, root = Path(sys.argv[1]), Path(sys.argv[2])
upload = keep_upload(path.read_bytes(), name=path.name)
frame, _ = table_of_upload(upload.sha256, ReadingOptions(), name=path.name)
given = suggest_roles(frame)
roles = Roles(target=given.target, sensitive=given.sensitive, features=given.features, weight=given.weight,
              row_id=given.row_id, rate=given.rate)
source = UploadSource(sha256=upload.sha256, name=path.name, roles=roles)
at = AppTest.from_file(str(root / "fairdash" / "ui" / "main.py"), default_timeout=300).run()
at.query_params["dataset"] = save_source(source)
at = at.switch_page(str(root / "pages" / "work" / "data.py")).run()
for label, wanted in (("Sensitive attribute: what predictions must not depend on", "VehAge"),
                      ("Sensitive attribute: what predictions must not depend on", "BonusMalus"),
                      ("Sensitive attribute: what predictions must not depend on", "Density"),
                      ("Exposure: how much a row counts", "None: every row counts alike")):
    (box,) = [each for each in at.selectbox if each.label == label]
    box.set_value(wanted)
    begun = time.perf_counter(), time.process_time()
    at.run()
    print(wanted, time.perf_counter() - begun[0], time.process_time() - begun[1], sep="\\t")
    assert not at.exception and not at.error, at.error
"""


def claims(n: int) -> pd.DataFrame:
    """Policies with the columns of freMTPL2freq; claims depend on age, bonus and density."""
    rng = np.random.default_rng(0)
    exposure = np.clip(np.round(rng.beta(1.2, 1.0, n), 2), 0.01, 1)
    age = np.clip(rng.gamma(9, 5.1, n).astype(int), 18, 100)
    bonus = np.clip((50 + rng.exponential(10, n) * (1 + (age < 25) * 3)).astype(int), 50, 230)
    density = np.exp(rng.normal(6, 1.9, n)).clip(1, 27_000).astype(int)
    rate = np.exp(-3 + 0.012 * (bonus - 50) + 0.4 * (age < 25) + 0.05 * np.log(density))
    return pd.DataFrame(
        {
            "IDpol": np.arange(1, n + 1),
            "ClaimNb": rng.poisson(exposure * rate),
            "Exposure": exposure,
            "Area": np.array(list("ABCDEF"))[np.digitize(density, [50, 100, 500, 2000, 10_000])],
            "VehPower": rng.integers(4, 16, n),
            "VehAge": np.clip(rng.gamma(1.6, 4.4, n).astype(int), 0, 100),
            "DrivAge": age,
            "BonusMalus": bonus,
            "VehBrand": np.array([f"B{k}" for k in range(11)])[rng.integers(0, 11, n)],
            "VehGas": np.where(rng.random(n) < 0.51, "Regular", "Diesel"),
            "Density": density,
            "Region": np.array([f"R{k}" for k in range(21)])[rng.integers(0, 21, n)],
        }
    )


def roles_of_claims(table: pd.DataFrame) -> Roles:
    """Claims per year as the target, with age as the sensitive attribute."""
    features = table.columns.drop(["IDpol", "ClaimNb", "Exposure", "DrivAge"])
    return Roles(
        target="ClaimNb", sensitive=("DrivAge",), features=tuple(features), weight="Exposure", rate=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=678_013)
    parser.add_argument("--only", choices=["upload", "roles"])
    options = parser.parse_args()
    found: list[tuple[str, float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "policies.csv"
        claims(options.rows).to_csv(table, index=False)
        if options.only != "upload":
            found += role_changes(table, home=Path(folder) / "roles")
        if options.only != "roles":
            found += in_browser(table, home=Path(folder) / "home")
    frame = pd.DataFrame(found, columns=["step", "wall_s", "cpu_s"]).round(2)
    print(frame.to_string(index=False))
    if options.only is None:
        load = round(os.getloadavg()[0], 1)
        frame.assign(rows=options.rows, processors=os.cpu_count(), load=load).to_csv(RESULTS, index=False)


def role_changes(table: Path, *, home: Path) -> list[tuple[str, float, float]]:
    done = subprocess.run(
        [sys.executable, "-c", ROLES, str(table), str(ROOT)],
        env=os.environ
        | {"FAIRDASH_HOME": str(home), "PYTHONPATH": str(ROOT), "FAIRDASH_NO_STANDBY": "1", **ONE_THREAD},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    lines = [line.split("\t") for line in done.stdout.strip().splitlines()[-4:]]
    return [(f"role: {name.partition(':')[0]}", float(wall), float(cpu)) for name, wall, cpu in lines]


def in_browser(table: Path, *, home: Path) -> list[tuple[str, float, float]]:
    found = []

    def step(name: str, act: Callable[[], object]) -> None:
        wall, cpu = time.monotonic(), _cpu_seconds(home)
        act()
        found.append((name, time.monotonic() - wall, _cpu_seconds(home) - cpu))
        print(name, *(f"{each:.2f}" for each in found[-1][1:]), flush=True)

    with _app(home) as address, _page() as page:
        page.goto(f"{address}/data")
        page.get_by_text("Your own file", exact=True).first.click()
        place = page.locator("input[type=file]")
        place.wait_for(state="attached")
        page.wait_for_timeout(3000)
        step(
            "upload to progress",
            lambda: (
                place.set_input_files(str(table)),
                page.get_by_text("Reading policies.csv").first.wait_for(),
            ),
        )
        step("progress to roles", lambda: page.get_by_text("Target: what is predicted").first.wait_for())
        button = page.get_by_role("button", name="See what fairness costs")
        step("roles to the data set", button.wait_for)
        page.get_by_text("Who carries").first.wait_for()
        page.wait_for_timeout(15_000)
        step("click to first front", lambda: (button.click(), page.wait_for_function(DRAWN)))
        page.get_by_text("tariffs from a GLM").first.wait_for()
        estimate = page.get_by_text(re.compile("about .+ left")).first
        step("first front to an estimate", estimate.wait_for)
        print(estimate.inner_text())
        for run in (home / "runs").iterdir():
            (run / "cancel").touch()
    return found


def _cpu_seconds(home: Path) -> float:
    """CPU seconds that all processes of this home, app and workers, have used so far."""
    ticks = 0
    for stat in of_processes(home, "stat"):
        times = stat.rpartition(")")[2].split()
        ticks += int(times[11]) + int(times[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def of_processes(home: Path, name: str) -> list[str]:
    """The entry of /proc with this name for each process that was started with this home."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"FAIRDASH_HOME={home}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / name).read_text())
        except OSError:
            continue  # the process has ended, or belongs to another user
    return found


if __name__ == "__main__":
    main()

"""Processes of fairdash's own, wherever the app was started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fairdash
from fairdash.jobs.process import environment


def test_a_process_started_from_another_folder_finds_this_fairdash(tmp_path: Path) -> None:
    # -S: without site-packages, where an installed copy might stand in; PYTHONSAFEPATH: nor the folder itself.
    found = subprocess.run(
        [sys.executable, "-S", "-c", "import importlib.util as u; print(u.find_spec('fairdash').origin)"],
        cwd=tmp_path,
        env=environment() | {"PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert os.path.samefile(found.stdout.strip(), fairdash.__file__)

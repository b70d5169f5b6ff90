"""The app as `make app` serves it, for tests that drive it in a browser."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

ROOT = Path(__file__).parents[1]
SECONDS_TO_START = 60
_NOTHING: Mapping[str, str] = MappingProxyType({})


@contextmanager
def served(home: Path, *, environment: Mapping[str, str] = _NOTHING) -> Iterator[str]:
    """Address of the app with a home of its own; it is stopped on the way out."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = home.with_suffix(".log")
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "fairdash", "app", "--port", str(port)],
            cwd=ROOT,
            env=os.environ | {"FAIRDASH_HOME": str(home)} | environment,
            stdout=out,
            stderr=out,
        )
        try:
            _wait_until_up(f"http://127.0.0.1:{port}", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=20)


def _wait_until_up(address: str, process: subprocess.Popen, log: Path) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"the app did not start:\n{log.read_text()}")

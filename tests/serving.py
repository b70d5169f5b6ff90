"""The app as `make app` serves it, for tests that drive it in a browser."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

ROOT = Path(__file__).parents[1]
#: No test measures time, but on a busy machine a process can take minutes to start.
SECONDS_THAT_HANG = 600
#: Arguments with which `make app` starts the app, except the port.
MAKE_APP = ("-m", "fairdash", "app", "--port")


def free_port() -> int:
    """A free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(
    home: Path, *, environment=MappingProxyType({}), program=(sys.executable,), command=MAKE_APP, folder=ROOT
) -> Iterator[str]:
    """Address of the app with a separate home; the app is stopped at the end."""
    port = free_port()
    log = home.with_suffix(".log")
    with log.open("wb") as out:
        own = {"cwd": folder, "env": os.environ | {"FAIRDASH_HOME": str(home)} | environment}
        process = subprocess.Popen([*program, *command, str(port)], stdout=out, stderr=out, **own)
        try:
            wait_until_up(f"http://127.0.0.1:{port}", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(timeout=20)
            end_workers(str(home))


def begin_work() -> None:
    """Start waiting jobs of the queue in memory (tests/line.py); real workers start by themselves."""


def until(holds: Callable[[], object]) -> None:
    """Wait for the action of another process or thread, and fail if it hangs."""
    begun = time.monotonic()
    while not holds():
        begin_work()
        assert time.monotonic() - begun < SECONDS_THAT_HANG, "it has not come about"
        time.sleep(0.05)


def end_workers(home: str) -> None:
    """Kill the workers that a page has started for this home, because they would slow down the next tests."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            begun_with = (process / "environ").read_bytes().split(b"\0")
            command = (process / "cmdline").read_bytes()
            if f"FAIRDASH_HOME={home}".encode() in begun_with and b"worker" in command:
                os.kill(int(process.name), signal.SIGKILL)
        except (OSError, ProcessLookupError):
            continue  # the process has ended, or belongs to another user


def wait_until_up(address: str, process: subprocess.Popen, log: Path) -> None:
    def responds() -> bool:
        if process.poll() is not None:
            pytest.fail(f"the app did not start:\n{log.read_text()}")
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return True
        except OSError:
            return False

    until(responds)

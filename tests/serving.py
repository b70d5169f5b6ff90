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
#: No test looks at a clock: beside enough other work a process takes minutes to start.
SECONDS_THAT_HANG = 600
#: How `make app` starts it, up to the port.
MAKE_APP = ("-m", "fairdash", "app", "--port")


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(
    home: Path, *, environment=MappingProxyType({}), program=(sys.executable,), command=MAKE_APP, folder=ROOT
) -> Iterator[str]:
    """Address of the app with a home of its own; it is stopped on the way out."""
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
    """What a line in memory begins when a test waits (tests/line.py); a worker begins by itself."""


def until(holds: Callable[[], object]) -> None:
    """Wait for something that another process or thread does; fail if it hangs."""
    begun = time.monotonic()
    while not holds():
        begin_work()
        assert time.monotonic() - begun < SECONDS_THAT_HANG, "it has not come about"
        time.sleep(0.05)


def end_workers(home: str) -> None:
    """Kill the workers that a page has started at this home: they would take the next tests' cores."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            begun_with = (process / "environ").read_bytes().split(b"\0")
            command = (process / "cmdline").read_bytes()
            if f"FAIRDASH_HOME={home}".encode() in begun_with and b"worker" in command:
                os.kill(int(process.name), signal.SIGKILL)
        except (OSError, ProcessLookupError):
            continue  # it has ended, or it is another user's


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

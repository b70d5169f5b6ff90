"""Networking disabled, as in all browser tests: attempts to reach another machine are refused and logged."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import ROOT

pytestmark = pytest.mark.browser


def cut(log: Path) -> dict[str, str]:
    """An environment in which Python and child processes refuse and log connections to other machines."""
    paths = [str(ROOT / "tests" / "watched"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths), "WATCH_LOG": str(log)}


def noted(log: Path, what: str) -> list[str]:
    return [line for line in log.read_text(encoding="utf-8").splitlines() if f": {what}" in line]


ATTEMPTS = """
import socket, urllib.request
for attempt in (
    lambda: socket.create_connection(("192.0.2.1", 80), timeout=1),
    lambda: socket.getaddrinfo("example.org", 443),
    lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53)),
    lambda: urllib.request.urlopen("http://example.org", timeout=1),
):
    try:
        attempt()
    except OSError as error:
        print(error)
"""


def test_with_networking_disabled_connection_attempts_are_refused_and_logged(tmp_path: Path) -> None:
    log = tmp_path / "watched.log"
    command = [sys.executable, "-c", ATTEMPTS]
    done = subprocess.run(command, env=os.environ | cut(log), capture_output=True, text=True, check=True)
    assert (done.stdout.count("networking is cut"), len(noted(log, "attempt"))) == (4, 4)

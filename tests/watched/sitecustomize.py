"""Loaded by Python itself at its start where this folder is on PYTHONPATH: networking is cut and watched.

Every attempt to reach anything but this machine is written to the file that WATCH_LOG names, and refused.
An audit hook sees what goes through Python's own sockets, in whatever library; a thread or a subprocess
can't take it off.
"""

import ipaddress
import os
import sys

ASKS_FOR_A_NAME = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}
GOES_OUT = {"socket.connect", "socket.sendto", "socket.sendmsg"}


def is_here(host: object) -> bool:
    if host in (None, "", "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host)).is_loopback
    except ValueError:
        return False


def watch(event: str, args: tuple) -> None:
    if event in GOES_OUT:
        address = args[1]
        # A path or nothing: a socket of this machine, or one that is connected already.
        host = address[0] if isinstance(address, tuple) else None
    elif event in ASKS_FOR_A_NAME:
        host = args[0][0] if event == "socket.getnameinfo" else args[0]
    else:
        return
    if not is_here(host):
        note(f"attempt {event} {host!r}")
        raise ConnectionRefusedError(f"networking is cut: {event}")


def note(what: str) -> None:
    line = f"{os.getpid()} {' '.join(sys.orig_argv[1:6])}: {what}\n"
    # One write of a line, so that processes don't mix theirs.
    log = os.open(os.environ["WATCH_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(log, line.encode())
    os.close(log)


sys.addaudithook(watch)
note("watched")

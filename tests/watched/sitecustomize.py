"""Python loads this module at its start if its folder is on PYTHONPATH; it refuses and logs connections.

Every attempt to reach anything but this machine is refused and written to the file that WATCH_LOG names. An
audit hook sees all accesses through Python's sockets, in any library; a thread or a subprocess can't remove
it.
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
        # The host is a path or None for a local socket, or for a socket that is already connected.
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
    # Write each line at once, so that lines of several processes are not mixed.
    log = os.open(os.environ["WATCH_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(log, line.encode())
    os.close(log)


sys.addaudithook(watch)
note("watched")

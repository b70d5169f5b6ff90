"""Memory limits for a process, so that one table or run cannot exhaust the machine.

The variable ``FAIRDASH_MEMORY`` sets the limit in gigabytes. The default is half of the memory of the machine
or container. The limit applies only on Linux, where an allocation beyond the limit fails at once. It does not
apply on machines with a GPU, because GPU drivers reserve very large address spaces.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Files that exist if a GPU driver is installed.
_GPUS = tuple(map(Path, ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/kfd")))
_CONTAINERS = tuple(map(Path, ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")))


def most_memory() -> int:
    """Return the number of bytes that a run, or reading a table, may add to the memory of the process."""
    setting = os.environ.get("FAIRDASH_MEMORY")
    if setting:
        return int(float(setting) * 1e9)
    return _machine_memory() // 2


def _machine_memory() -> int:
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _CONTAINERS:
        try:
            limits.append(int(path.read_text()))
        except (OSError, ValueError):
            # Outside a container, the file is missing or contains "max".
            continue
    return min(limits)


def can_limit() -> bool:
    """Return whether the memory of a process can be limited on this machine."""
    return sys.platform == "linux" and not any(path.exists() for path in _GPUS)


def is_over_limit() -> str:
    """Return the words that follow "takes more" in a message and name the exceeded limit."""
    return f"than {most_memory() / 1e9:,.1f} GB of memory" if can_limit() else "memory than there is"


def limit_memory() -> None:
    """Limit the memory that this process adds from now on. Larger allocations raise a MemoryError."""
    if can_limit():
        _set_limit(_memory_in_use() + most_memory())


_n_contexts = 0
_lock = threading.Lock()


@contextmanager
def limited_memory() -> Iterator[None]:
    """Limit the memory that this process adds in this context. The MemoryError may occur in any thread."""
    global _n_contexts
    if not can_limit():
        yield
        return
    import resource

    with _lock:
        if _n_contexts == 0:
            _earlier_limits.append(resource.getrlimit(resource.RLIMIT_DATA)[0])
            _set_limit(_memory_in_use() + most_memory())
        _n_contexts += 1
    try:
        yield
    finally:
        with _lock:
            _n_contexts -= 1
            if _n_contexts == 0:
                _set_limit(_earlier_limits.pop())


_earlier_limits: list[int] = []


def _memory_in_use() -> int:
    """Return the memory that the process already uses and that counts towards the limit."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return 0


def _set_limit(limit: int) -> None:
    import resource

    import numpy as np

    # The linear algebra library allocates its working memory at the first matrix product, before the limit
    # applies. If this allocation failed, the library would end the process.
    np.ones((64, 64)) @ np.ones((64, 64))
    _, maximum = resource.getrlimit(resource.RLIMIT_DATA)
    if maximum != resource.RLIM_INFINITY:
        limit = maximum if limit == resource.RLIM_INFINITY else min(limit, maximum)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, maximum))


#: Parts of the messages of torch and Arrow about a lack of memory. Their exceptions have general types.
_MEMORY_MESSAGES = ("can't allocate memory", "alloc of size", "Failed to launch worker thread")


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an exception, or its cause, reports a lack of memory."""
    depth = 0
    while error is not None and depth < 20:
        if isinstance(error, MemoryError) or any(sign in str(error) for sign in _MEMORY_MESSAGES):
            return True
        error, depth = error.__cause__ or error.__context__, depth + 1
    return False

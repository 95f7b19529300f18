"""The memory that a process may still take, and what of it a table that grows leaves to others."""

from __future__ import annotations

from pathlib import Path

# So much stays free for what is done with a table, or as much as the table has, if that is less.
RESERVE = 2**28


def available_memory() -> float | None:
    """Return the bytes of memory that this process may still take; None where the system does not say."""
    found = []
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found += [1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        pass
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
        used = int(Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii"))
        found.append(float(max(0, limit - used)))
    except (OSError, ValueError):  # no such group, or "max"
        pass
    return min(found, default=None)


def room_for_more(taken: float, wanted: float) -> float:
    """Return how many bytes, up to `wanted`, something that has `taken` bytes may take in addition."""
    free = available_memory()
    return wanted if free is None else min(wanted, max(0.0, free - min(RESERVE, taken)))


def bytes_text(count: float) -> str:
    """Return a number of bytes to three digits, with its unit."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024.0:
            return f"{count:.3g} {unit}"
        count /= 1024.0
    return f"{count:.3g} PiB"

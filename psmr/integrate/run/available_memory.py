"""The memory that a process may still take, and what of it a table that grows leaves to others."""

from __future__ import annotations

from pathlib import Path

# So much stays free for what is done with a table, or as much as the table has, if that is less.
RESERVE = 2**28

# So few bytes are never what a machine lacks; to ask whether they are there takes longer than to use them.
SMALL = 2**22

# Where Linux has its groups of processes.
GROUPS = Path("/sys/fs/cgroup")


def available_memory() -> float | None:
    """Return the bytes of memory that this process may still take; None where the system does not say."""
    found = []
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            found += [1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        pass
    for group in _groups():
        try:
            limit = int((group / "memory.max").read_text(encoding="ascii"))
            used = int((group / "memory.current").read_text(encoding="ascii"))
        except (OSError, ValueError):  # no such group, or "max"
            continue
        found.append(float(max(0, limit - used + _reclaimable(group))))
    return min(found, default=None)


def _groups() -> list[Path]:
    """Return the folders of this process's group and of those that it is in."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    own = next((line.removeprefix("0::").strip("/") for line in lines if line.startswith("0::")), "")
    parts = own.split("/") if own else []
    return [GROUPS.joinpath(*parts[:count]) for count in range(len(parts), -1, -1)]


def _reclaimable(group: Path) -> int:
    """Return the bytes of files that a group has in memory and that make room where it is needed."""
    try:
        lines = (group / "memory.stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))


def room_for_more(taken: float, wanted: float) -> float:
    """Return how many bytes, up to `wanted`, something that has `taken` bytes may take in addition."""
    if taken + wanted <= SMALL:
        return wanted
    free = available_memory()
    return wanted if free is None else min(wanted, max(0.0, free - min(RESERVE, taken)))


def bytes_text(count: float) -> str:
    """Return a number of bytes to three digits, with its unit."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024.0:
            return f"{count:.3g} {unit}"
        count /= 1024.0
    return f"{count:.3g} PiB"

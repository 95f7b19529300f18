"""Compiled kernels as a parcel, for workers on machines that have compiled nothing yet."""

from __future__ import annotations

from pathlib import Path

from psmr.dae.compile.cache import folder as folders
from psmr.dae.compile.cache.entry import read_entry, write_entry
from psmr.dae.compile.cache.sources import fingerprint

# The cache of a whole version of psmr is a few megabytes; one that is far larger stays at home.
MOST_BYTES = 64_000_000


def packed() -> dict[str, dict[str, bytes]]:
    """Return the machine code that this machine keeps of this version of psmr, by folder and name.

    What does not suit the processor of another machine is never asked for there: its name says for which one
    it is.
    """
    found: dict[str, dict[str, bytes]] = {}
    size = 0
    for name in (fingerprint(), "components"):
        place = folders.folder(name)
        for path in sorted(place.iterdir()):
            if path.name.startswith(".") or not path.is_file():
                continue
            data = read_entry(path)
            size += 0 if data is None else len(data)
            if size > MOST_BYTES:
                return {}
            if data is not None:
                found.setdefault(name, {})[path.name] = data
    return found


def unpacked(parcel: dict[str, dict[str, bytes]]) -> int:
    """Write what is missing here of a parcel and return how many entries that were."""
    written = 0
    for name, entries in parcel.items():
        if name not in (fingerprint(), "components"):
            continue  # another version of psmr: its code is none of ours
        place = folders.folder(name)
        for entry, data in entries.items():
            path = place / Path(entry).name
            if not path.exists():
                write_entry(path, data)
                written += 1
    return written

"""Islands as a program of load flow takes them: dead ones left out, each of the others with a swing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from psmr.base.errors import CaseError, PsmrWarning, few
from psmr.network.case.checks import connected_parts
from psmr.network.case.tables import BusRow, GeneratorRow

Rows = dict[str, list[Any]]

SHOWN = 8
"""Most names in the list of what is left out."""


def energised(rows: Rows, place: str) -> Rows:
    """Return the rows of a case without islands that no generator feeds, and with a slack in each other one.

    An island without a generator in service is dead: it is left out with all that is there. Where no
    generator is the slack, the one of the largest rating is, those before that hold their voltage.

    Parameters
    ----------
    rows
        Rows by the names of the case's tables.
    place
        The file, for a message.

    Warns
    -----
    PsmrWarning
        For each dead island with what is lost, and each slack that is chosen.

    Raises
    ------
    CaseError
        Where the file has no bus, and where none of its generators is in service.
    """
    if not rows["buses"]:
        raise CaseError(f"{place}: there is no bus; is this the whole file?")
    if not rows["generators"]:
        raise CaseError(f"{place}: no generator is in service: nothing feeds the network")
    branches = [row for name in ("lines", "transformers") for row in rows[name]]
    joined = ((row.from_bus, row.to_bus) for row in branches if row.status)
    fed: dict[int, list[GeneratorRow]] = {}
    for row in rows["generators"]:
        fed.setdefault(row.bus, []).append(row)
    stored = {row.number: row for row in rows["buses"]}
    dead: set[int] = set()
    slacks: dict[str, GeneratorRow] = {}
    for island in connected_parts(stored, joined):
        here = [row for bus in sorted(island & fed.keys()) for row in fed[bus]]
        if not here:
            dead |= island
            _tell_of_dead(rows, island)
            continue
        if all(row.control != "slack" for row in here):
            slacks |= _chosen(here, stored)
    found = {name: [row for row in table if not _buses_of(row) & dead] for name, table in rows.items()}
    found["generators"] = [slacks.get(row.name, row) for row in found["generators"]]
    return found


def _buses_of(row: Any) -> set[int]:
    if isinstance(row, BusRow):
        return {row.number}
    return {row.from_bus, row.to_bus} if hasattr(row, "from_bus") else {row.bus}


def _tell_of_dead(rows: Rows, island: frozenset[int]) -> None:
    first = next(row for row in rows["buses"] if row.number in island)
    lost = [row.name for name in ("loads", "shunts") for row in rows[name] if row.bus in island]
    power = sum(row.p_mw for row in rows["loads"] if row.bus in island)
    what = (
        f", and with {'it' if len(island) == 1 else 'them'} {few(lost, SHOWN)} ({power:g} MW)" if lost else ""
    )
    noun = "bus" if len(island) == 1 else "buses"
    words = (
        f"{noun} {few([str(number) for number in sorted(island)], SHOWN)}: no generator in service feeds this"
    )
    warnings.warn(f"{first.where}: {words} island; left out{what}", PsmrWarning, stacklevel=4)


def _chosen(here: Sequence[GeneratorRow], stored: dict[int, BusRow]) -> dict[str, GeneratorRow]:
    """Return the generator that becomes the slack of its island, by its name."""
    holding = [row for row in here if row.control == "pv"] or list(here)
    new = max(holding, key=lambda row: row.rating_mva)
    bus = stored[new.bus]
    own = new.control == "pv" and not new.control_bus
    v = new.v if own or bus.v is None else bus.v
    warnings.warn(
        f"{new.place}: the island of bus {new.bus} has no swing with a generator in service; {new.name} is it"
        " now, the largest there, at the stored angle",
        PsmrWarning,
        stacklevel=4,
    )
    return {new.name: replace(new, control="slack", v=v, angle_deg=bus.angle_deg or 0.0, control_bus=0)}

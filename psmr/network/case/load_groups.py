"""Which loads of a case are meant by a bus, an area, a zone or a pattern, as events mean them."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from psmr.base.errors import InputError, first_few, nearest, shown
from psmr.network.case.case import Case

GROUP = re.compile(r"(area|zone) ([0-9]+)")


def loads_at(case: Case, bus: int | str, what: str) -> frozenset[str]:
    """Return the names of the loads at a bus, of an area or zone (``"area 2"``), or at buses by a pattern.

    Raises InputError where there is none.
    """
    pattern, loaded = str(bus), {row.bus for row in case.loads}
    group = GROUP.fullmatch(pattern)
    meant: set[int] = set()
    for row in case.buses:
        names = (row.name, str(row.number), *row.aliases)
        within = group is not None and getattr(row, group[1]) == int(group[2])
        if within or any(fnmatchcase(name, pattern) for name in names):
            meant.add(row.number)
    if not meant & loaded:
        known = [str(row.number) for row in case.buses if row.number in loaded]
        raise InputError(
            f"{what} = {shown(bus)}: no load is there{nearest(pattern, known)}; there are loads at"
            f" {first_few(known, 20) or 'no bus'}"
        )
    return frozenset(row.name for row in case.loads if row.bus in meant)

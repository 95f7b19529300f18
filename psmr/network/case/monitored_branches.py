"""Branches whose currents devices read."""

from __future__ import annotations

from psmr.base.errors import CaseError
from psmr.devices.catalogue import defaults
from psmr.network.case.tables import BranchRow, DeviceRow, Tables


def branch_read(case: Tables, row: DeviceRow) -> tuple[BranchRow, str] | None:
    """Return the branch whose current a device reads, and at which of its ends, "i" or "j".

    None where it reads none.

    Raises
    ------
    CaseError
        Where there is no such branch.
    """
    names = row.component.branch
    if not names:
        return None
    values = defaults(row.component) | dict(row.parameters)
    here, there, circuit = (int(values[name]) for name in names[:3])
    if not here and not there:
        return None
    for branch in case.branches:
        if branch.circuit == circuit and {branch.from_bus, branch.to_bus} == {here, there}:
            return branch, "i" if branch.from_bus == here else "j"
    parallel = [b.circuit for b in case.branches if {b.from_bus, b.to_bus} == {here, there}]
    known = f"; its circuits are {', '.join(map(str, parallel))}" if parallel else ""
    raise CaseError(
        f"{row.place}: {names[0]} = {here}, {names[1]} = {there}, {names[2]} = {circuit}: there is no such"
        f" branch{known}; name one of the case, or 0, 0 for none"
    )


def monitored_branches(case: Tables) -> frozenset[str]:
    """Return the names of the branches whose currents devices and relays read."""
    found = (branch_read(case, device) for row in case.generators for device in row.devices)
    relays = (row.branch for row in case.relays if row.branch)
    return frozenset((*(read[0].name for read in found if read is not None), *relays))

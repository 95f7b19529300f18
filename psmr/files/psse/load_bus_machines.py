"""Machines in service at buses of type 1, which PSS/E passes over and other programs count."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from psmr.base.errors import PsmrWarning, few
from psmr.network.case.case import Case
from psmr.network.case.tables import GeneratorRow
from psmr.network.powerflow.stored_solution import balances

SHOWN = 8
"""Most names in a list."""


def with_load_bus_machines(case: Case, machines: Sequence[GeneratorRow]) -> Case:
    """Return the case, with machines at buses of type 1 where its stored solution is one with them alone.

    MATPOWER and PowSyBl write generators of given power to such buses; PSS/E's solutions are without them.

    Warns
    -----
    PsmrWarning
        With the machines, what becomes of them, and what to do for the other.
    """
    if not machines:
        return case
    at = {name: bus.number for bus in case.buses for name in (*bus.aliases, str(bus.number))}
    there = [replace(row, bus=at[str(row.bus)]) for row in machines if str(row.bus) in at]
    counted = replace(case, generators=(*case.generators, *there))
    counts = bool(there) and not balances(case) and balances(counted)
    total = sum(row.p_mw for row in machines)
    done = (
        f"{total:g} MW counted: the voltages of the file are a solution with them alone. PSS/E needs IDE = 2"
        " for them, with QT = QB = QG"
        if counts
        else f"{total:g} MW left out. Programs that write such machines as generators of given P and Q"
        " (MATPOWER, PowSyBl) mean them to count: then give their buses IDE = 2, with QT = QB = QG"
    )
    warnings.warn(
        f"{machines[0].where}: {listed(machines)} in service at buses of type 1 (IDE = 1), which PSS/E passes"
        f" over; {done}",
        PsmrWarning,
        stacklevel=3,
    )
    return counted if counts else case


def listed(machines: Sequence[GeneratorRow]) -> str:
    """Return how many machines there are, and the first by name, power and line."""
    found = [
        f"{row.name} {row.p_mw:g} MW, {row.q_mvar:g} Mvar, line {row.where.rpartition(':')[2].split()[0]}"
        for row in machines
    ]
    return f"{len(found)} machine{'s' if len(found) > 1 else ''} ({few(found, SHOWN, '; ')})"

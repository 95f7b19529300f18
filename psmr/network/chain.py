"""Large cases from a small one: copies in a row, coupled by tie lines, no two of them quite alike."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

from psmr.base.errors import CaseError
from psmr.base.numbers import plain
from psmr.network.case.case import Case
from psmr.network.case.tables import BranchRow, BusRow, GeneratorRow, LineRow, LoadRow, ShuntRow
from psmr.network.powerflow.powerflow import power_flow

# Its multiples, modulo 1, fill the interval as evenly as any sequence can (Weyl), so that a longer chain does
# not change the inertias of its first copies.
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0

OnBus = TypeVar("OnBus", LoadRow, ShuntRow)
Branch = TypeVar("Branch", bound=BranchRow)


def chain(case: Case, copies: int, tie: LineRow, inertia_spread: float) -> Case:
    """Return a case of `copies` copies of a case in a row, each coupled to the next by one line.

    Every copy keeps the dispatch and the voltages of the original, so that its power flow starts near the
    solution. Only the first keeps its slack; that of each other copy becomes a voltage-controlled generator
    with the power it has in the original. Copies are counted from 0. Bus 5 of copy 3 of a case with one-digit
    bus numbers is bus 35; G1 of copy 3 is ``G1_3``.

    Parameters
    ----------
    case
        What is copied.
    copies
        How many, at least 1.
    tie
        The coupling line, its buses numbered as in `case`: ``from_bus`` in one copy, ``to_bus`` in the next.
    inertia_spread
        Largest relative difference of an inertia constant ``h`` from the original, in [0, 1). With 0 the
        copies are alike and their modes lie very close together.

    Raises
    ------
    CaseError
        For fewer than one copy, a spread out of range, or a tie bus that the case does not have.
    PowerFlowError
        When the power flow of `case` has no solution.

    Examples
    --------
    >>> chain(case, copies=223, tie=LineRow(from_bus=8, to_bus=5, r=0.01, x=0.1), inertia_spread=0.1)
    """
    copies, inertia_spread = plain(copies), plain(inertia_spread)
    if isinstance(copies, bool) or not isinstance(copies, int) or copies < 1:
        raise CaseError(f"copies = {copies!r}: must be a whole number >= 1")
    if not (isinstance(inertia_spread, int | float) and 0.0 <= inertia_spread < 1.0):
        raise CaseError(f"inertia_spread = {inertia_spread!r}: must be a fraction >= 0 and < 1")
    numbers = sorted(bus.number for bus in case.buses)
    for end in (tie.from_bus, tie.to_bus):
        if end not in numbers:
            raise CaseError(f"tie: {case.name} has no bus {end}; known: {', '.join(map(str, numbers))}")
    offset = 10 ** len(str(numbers[-1]))
    dispatch = tuple(float(p) * case.base_mva for p in power_flow(case).p)
    every = range(copies)
    ties = tuple(
        replace(
            tie,
            from_bus=tie.from_bus + k * offset,
            to_bus=tie.to_bus + (k + 1) * offset,
            name=f"tie{k}-{k + 1}",
        )
        for k in range(copies - 1)
    )
    return Case(
        name=f"{case.name}, {copies} in a chain",
        base_mva=case.base_mva,
        frequency_hz=case.frequency_hz,
        mechanical=case.mechanical,
        stator=case.stator,
        buses=tuple(_bus(row, k, k * offset) for k in every for row in case.buses),
        lines=tuple(_branch(row, k, k * offset) for k in every for row in case.lines) + ties,
        transformers=tuple(_branch(row, k, k * offset) for k in every for row in case.transformers),
        shunts=tuple(_on_bus(row, k, k * offset) for k in every for row in case.shunts),
        loads=tuple(_on_bus(row, k, k * offset) for k in every for row in case.loads),
        generators=tuple(
            _generator(row, k, k * offset, p_mw, _inertia_factor(k, inertia_spread))
            for k in every
            for row, p_mw in zip(case.generators, dispatch, strict=True)
        ),
    )


def _inertia_factor(k: int, spread: float) -> float:
    return 1.0 + spread * (2.0 * math.modf(k * GOLDEN)[0] - 1.0) if k else 1.0


def _bus(row: BusRow, k: int, shift: int) -> BusRow:
    given = row.name != f"bus{row.number}"
    return replace(row, number=row.number + shift, name=f"{row.name}_{k}" if given else "")


def _branch(row: Branch, k: int, shift: int) -> Branch:
    name = "" if row.name.startswith(f"{row.kind}{row.from_bus}-{row.to_bus}") else f"{row.name}_{k}"
    return replace(row, from_bus=row.from_bus + shift, to_bus=row.to_bus + shift, name=name)


def _on_bus(row: OnBus, k: int, shift: int) -> OnBus:
    given = row.name != f"{'load' if isinstance(row, LoadRow) else 'shunt'}{row.bus}"
    return replace(row, bus=row.bus + shift, name=f"{row.name}_{k}" if given else "")


def _generator(row: GeneratorRow, k: int, shift: int, p_mw: float, factor: float) -> GeneratorRow:
    devices = tuple(
        replace(
            device,
            name=f"{device.name}_{k}",
            parameters={
                key: value * factor if key == "h" else value for key, value in device.parameters.items()
            },
        )
        for device in row.devices
    )
    slack = row.control == "slack"
    return replace(
        row,
        name=f"{row.name}_{k}",
        bus=row.bus + shift,
        control="pv" if slack and k else row.control,
        p_mw=p_mw if slack and k else row.p_mw,
        devices=devices,
    )

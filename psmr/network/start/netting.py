"""Generators without dynamic models as negative loads, as PSS/E's GNET makes them."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

from psmr.base.errors import CaseError, PsmrWarning
from psmr.network.case.case import Case
from psmr.network.case.checks import connected_parts
from psmr.network.case.tables import GeneratorRow, LoadRow
from psmr.network.powerflow.powerflow import PowerFlow

KINDS = {"impedance": (1.0, 0.0, 0.0), "current": (0.0, 1.0, 0.0), "power": (0.0, 0.0, 1.0)}
"""What a netted generator can become: its fractions of impedance, current and power."""


def net_generators(case: Case, flow: PowerFlow, every: bool = True, kind: str | None = None) -> Case:
    """Return the case with each generator that has no dynamic devices as a load of the power it takes in.

    Voltages and powers of the power flow stay what they are. Where a slack is netted, the largest generator
    left in its island is the slack, at the voltage and angle of the solution.

    Parameters
    ----------
    case, flow
        The case and its solved power flow.
    every
        Whether all are netted, or only the ends of DC lines (`GeneratorRow.held`).
    kind
        One of `KINDS`, which a netted generator then stays where loads are converted; None: a power, which is
        converted as loads are. The ends of DC lines are powers.

    Warns
    -----
    PsmrWarning
        For each generator, with its power; for each slack that moves.

    Raises
    ------
    CaseError
        Where an island keeps no generator.
    """
    rows = list(zip(case.generators, flow.p * case.base_mva, flow.q * case.base_mva, strict=True))
    gone = [(row, p, q) for row, p, q in rows if not row.devices and (every or row.held)]
    if not gone:
        return case
    netted = {row.name for row, _, _ in gone}
    for row, p, q in gone:
        warnings.warn(
            f"{row.place}: has no dynamic model; netted: a load of {-p:.6g} MW, {-q:.6g} Mvar at bus"
            f" {row.bus}",
            PsmrWarning,
            stacklevel=2,
        )
    # A netted generator no longer shares its bus with others: these keep what they have in the solution.
    touched = {row.bus for row, _, _ in gone}
    kept = {
        row.name: replace(row, p_mw=float(p), q_mvar=float(q)) if row.bus in touched else row
        for row, p, q in rows
        if row.name not in netted
    }
    for row in _moved_slacks(case, flow, kept):
        kept[row.name] = row
    loads = tuple(_load(row, float(p), float(q), "power" if row.held else kind) for row, p, q in gone)
    for relay in case.relays:
        if relay.acts_on in netted:
            what = f"acts on {relay.acts_on}, which is netted; left out"
            warnings.warn(f"{relay.place}: {what}", PsmrWarning, stacklevel=2)
    relays = tuple(row for row in case.relays if row.acts_on not in netted)
    return replace(
        case,
        loads=(*case.loads, *loads),
        generators=tuple(kept.values()),
        relays=relays,
        sequence=tuple(row for row in case.sequence if row.element not in netted),
    )


def _load(row: GeneratorRow, p: float, q: float, kind: str | None) -> LoadRow:
    """Return the load that a generator of a power in MW and Mvar becomes."""
    parts = KINDS[kind or "power"]
    name = f"netted-{row.name}"
    return LoadRow(row.bus, -p, -q, parts, parts, name=name, held=kind is not None, where=row.where)


def _moved_slacks(case: Case, flow: PowerFlow, kept: dict[str, GeneratorRow]) -> list[GeneratorRow]:
    """Return the generators that become a slack, as such."""
    lines = [(row.from_bus, row.to_bus) for row in case.branches if row.status]
    voltage = flow.by_number()
    power = {row.name: float(p * case.base_mva) for row, p in zip(case.generators, flow.p, strict=True)}
    moved = []
    for island in connected_parts((bus.number for bus in case.buses), lines):
        left = [row for row in kept.values() if row.bus in island]
        if any(row.control == "slack" for row in left):
            continue
        lost = next(row for row in case.generators if row.bus in island and row.control == "slack")
        if not left:
            raise CaseError(
                f"{lost.place}: netting leaves the island of bus {lost.bus} without a generator; give one of"
                " them a model (GENCLS with H = 0 is an infinite bus)"
            )
        new = max(left, key=lambda row: row.rating_mva)
        # Rows at one bus must hold one voltage: the others there follow.
        for row in left:
            if row.bus == new.bus:
                v = voltage[row.bus]
                control = "slack" if row is new or row.control != "pq" else "pq"
                angle = math.degrees(math.atan2(v.imag, v.real))
                held = replace(row, v=abs(v), angle_deg=angle, control_bus=0)
                moved.append(replace(held, control=control, p_mw=power[row.name]))
        warnings.warn(
            f"{lost.place}: is netted and was the slack; {new.name} at bus {new.bus} is it now, at the angle"
            " of the solution",
            PsmrWarning,
            stacklevel=3,
        )
    return moved

"""The bench: one plant of a case on a source behind an impedance, whose voltage, phase and speed can move."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from psmr.base.errors import CaseError, nearest, warn
from psmr.dae.declare.component import Terms
from psmr.dae.system.system import System
from psmr.devices.machines.textbook import F_N, InfiniteBus
from psmr.devices.placement import placement
from psmr.files.case_file import CaseFile
from psmr.network.case.case import Case
from psmr.network.case.region import Region
from psmr.network.case.row import DeviceRow
from psmr.network.case.tables import GeneratorRow, SequenceRow, ShuntRow
from psmr.network.dynamic.region import can_be_dynamic, reads_voltage

SOURCE = "source"
"""Name of the source on the bench."""

CAPACITANCE = 0.02
"""Susceptance at the point of connection where the network has its phases, per unit of the plant's rating."""


class BenchSource(InfiniteBus):
    """An infinite bus whose voltage, phase and speed can be moved, and whose voltage can swing.

    The voltage behind the impedance is e gain (1 + swing_d s) exp(j (delta + jump + turn + swing_q s)) with
    turn' = 2 pi f_n dw and s = sin(2 pi f_s t): a ramp of dw is one of the frequency.
    """

    states = ("turn",)
    inputs = (*InfiniteBus.inputs, "gain", "jump", "dw", "swing_d", "swing_q", "f_s")
    optional = {"gain": 1.0, "jump": 0.0, "dw": 0.0, "swing_d": 0.0, "swing_q": 0.0, "f_s": 0.0}
    units = {"delta": "rad", "turn": "rad", "jump": "rad", "dw": "pu", "f_s": "Hz", "swing_q": "rad"}

    f_n = F_N

    @staticmethod
    def moved(m: Any, v: Any) -> dict[str, Any]:
        """Return the voltage and its angle as they have been moved."""
        s = m.sin(2 * math.pi * v.f_s * v.t)
        return {
            "e": v.e * v.gain * (1 + v.swing_d * s),
            "delta": v.delta + v.jump + v.turn + v.swing_q * s,
        }

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the angle, and the current into the bus."""
        _, _, current = InfiniteBus.equations(m, SimpleNamespace(**vars(v) | BenchSource.moved(m, v)), p)
        return (2 * math.pi * p.f_n * v.dw,), (), current


@dataclass(frozen=True)
class BenchFile(CaseFile):
    """A case file of which one plant stands on the bench.

    Attributes
    ----------
    plant
        Name of the plant; None: the only one.
    bus
        Number of the bus where the source is connected; None: the plant's own.
    scr, x_r
        Short-circuit ratio on the plant's rating, and X/R of the source's impedance.
    phases
        Whether the bus and the source have their phases, with the dynamics of the network.
    """

    plant: str | None = None
    bus: int | None = None
    scr: float = 20.0
    x_r: float = 10.0
    phases: bool = False

    def read(self) -> Case:
        """Return the case of the bench."""
        case = super().read()
        row = plant_of(case, self.plant)
        at = self.bus or row.bus
        alone = len(case.generators) == 1
        case.bus(at)
        if not alone and at != row.bus:
            raise CaseError(
                f"bus = {at}: {case.name} has other plants as well, and of it {row.name} stands on the bench "
                "alone, without the network; leave bus out, or give a case with this plant and its network"
            )
        kept = {bus.number for bus in case.buses} if alone else {at}
        plant = _on_bench(row, case, kept, at)
        z = 1.0 / self.scr
        values = {"s_n": row.rating_mva, "r_a": z / math.hypot(1.0, self.x_r)}
        values["x_d1"] = values["r_a"] * self.x_r
        device = DeviceRow(SOURCE, "machine", BenchSource.__name__, values, own=BenchSource)
        v = row.v if at == row.bus else case.bus(at).v or 1.0
        source = GeneratorRow(SOURCE, at, "slack", v=v, devices=(device,))
        name = f"{row.name} of {case.name} at a source with SCR {self.scr:g} and X/R {self.x_r:g}"
        case = replace(
            case if alone else _without_network(case, plant, at),
            name=name,
            generators=(plant, source),
            dynamic=None if not self.phases else Region((at,), zero_sequence=True),
        )
        if not self.phases:
            return case
        shunt = ShuntRow(at, b_mvar=CAPACITANCE * row.rating_mva, name=f"{SOURCE}-capacitance")
        sequence = SequenceRow(
            SOURCE, r2=values["r_a"], x2=values["x_d1"], r0=values["r_a"], x0=values["x_d1"]
        )
        return replace(case, shunts=(*case.shunts, shunt), sequence=(*case.sequence, sequence))


def plant_of(case: Case, name: str | None) -> GeneratorRow:
    """Return the plant that stands on the bench; raises CaseError where there is none, or not one."""
    plants = {row.name: row for row in case.generators if row.devices}
    if name is not None:
        if name not in plants:
            raise CaseError(
                f"{case.name} has no plant {name!r}{nearest(name, plants)}; it has {_listed(plants)}"
            )
        row = plants[name]
    elif len(plants) != 1:
        raise CaseError(
            f"{case.name} has {len(plants) or 'no'} plants with dynamic devices ({_listed(plants)}); "
            "the bench takes one: name it with --plant (in Python plant=)"
            if plants
            else f"{case.name} has no plant with dynamic devices to put on the bench"
        )
    else:
        (row,) = plants.values()
    for field, words in (("p_mw", "the power that it gives"), ("rating_mva", "its rating")):
        row.require(getattr(row, field) != 0, field, f"must be given on the bench: {words}")
    return row


def _listed(names: Collection[str]) -> str:
    return ", ".join(names) or "none"


def _on_bench(row: GeneratorRow, case: Case, kept: set[int], at: int) -> GeneratorRow:
    """Return the plant with its power prescribed, and devices that read buses of the bench alone."""
    devices = []
    for device in row.devices:
        values = dict(device.parameters)
        for name in placement(device.component).buses:
            number = int(values.get(name, 0))
            if number and number not in kept:
                warn(f"{device.name} measures bus {number}, which is not on the bench: it measures bus {at}")
                values[name] = float(at)
        devices.append(replace(device, parameters=values))
    return replace(row, control="pq", control_bus=0, angle_deg=0.0, devices=tuple(devices))


def _without_network(case: Case, row: GeneratorRow, at: int) -> Case:
    """Return a case with the bus of a plant alone, with what acts on the plant there."""
    slack = replace(row, control="slack", control_bus=0)
    relays = tuple(relay for relay in case.relays if relay.acts_on == row.name and relay.bus == at)
    sequence = tuple(part for part in case.sequence if part.element == row.name)
    return replace(
        case, buses=(case.bus(at),), lines=(), transformers=(), shunts=(), loads=(), generators=(slack,),
        relays=relays, sequence=sequence, dynamic=None,
    )  # fmt: skip


def phasors_alone(system: System, plant: str, bus: str) -> str:
    """Return why a plant is no plant in phases, "" where it is one."""
    for device in system.devices:
        if device.connections.get("i_re") != f"{bus}.i_re" or device.name == SOURCE:
            continue
        if reads_voltage(device.component) and not can_be_dynamic(device):
            return (
                f"{plant} has the positive sequence alone ({device.component.__name__} answers its voltage "
                "at once: it has no filter or stator whose currents could be unequal)"
            )
    return ""

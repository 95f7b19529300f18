"""Tap changers and phase shifters as devices: where they stand, which way they act, and what follows them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.arrays import Reals
from psmr.base.errors import warn
from psmr.dae.declare.component import parameters_of
from psmr.dae.declare.device import Device
from psmr.dae.system.places import cached_by_devices
from psmr.dae.system.system import System
from psmr.devices.network import Transformer
from psmr.devices.placement import placement
from psmr.devices.tap_changers import ContinuousTapChanger, TapChanger
from psmr.network.case.case import Case
from psmr.network.case.rows import component_of, device_parameters, two_ports
from psmr.network.case.tables import TransformerRow
from psmr.network.case.tap_changers import KINDS, Tap, taps_in
from psmr.network.powerflow.adjustment import BLIND, effects
from psmr.network.powerflow.powerflow import PowerFlow

Place = tuple[int, int, int]

CONTROLS = {measured: what for what, (_, measured) in KINDS.items()}
"""What a tap changer measures, as the power flow's controls call it."""

UNITS = {"v": "pu", "q": "Mvar", "p": "MW"}

CORRECTION = "correction"
"""What a transformer's device says of its impedance at other positions (`Device.data`)."""

ROUNDING = 1e-3
"""Part of a step by which a tap may be off its position: files write four digits or more."""


def tap_changer_devices(case: Case, flow: PowerFlow) -> Iterator[Device]:
    """Yield the tap changers of a case, wired to what they measure, each at its position.

    Warns (PsmrWarning) of a tap that is between two positions, of a band that is narrower than what a
    position changes, and of a tap that acts on nothing that is measured.
    """
    taps = taps_in(case.transformers)
    if not taps:
        return
    voltage = flow.by_number()
    for tap, effect in zip(taps, _effects(case, flow, taps), strict=True):
        _tell(tap, effect)
        component = component_of(tap.device)
        second = tap.bus == tap.row.to_bus or (tap.bus != tap.row.from_bus and effect < 0)
        far = int(tap.p.block_bus) or tap.bus
        names = {"v": case.bus(tap.bus).name, "b": case.bus(far).name}
        wires = {f"{port}_{part}": f"{names[port]}.v_{part}" for port in names for part in ("re", "im")}
        if "m_re" in component.inputs:
            wires |= {port: f"{tap.row.name}.{port}_{'j' if second else 'i'}" for port in ("m_re", "m_im")}
        sign = float(np.sign(effect)) if abs(effect) >= BLIND else -1.0 if second else 1.0
        values = device_parameters(tap.device, case, abs(voltage[tap.bus]))
        values |= {"at": tap.position, "direction": sign, "idle": float(not tap.row.status)}
        if "rest" in parameters_of(component):
            values["rest"] = _compensated(tap, voltage, second)
        yield Device(tap.device.name, component, values, wires, acts_on=tap.row.name)


def tap_changer_start(case: Case, flow: PowerFlow) -> dict[str, float]:
    """Return the starting values of tap changers by full name; of flows, which are linear, any will do."""
    voltage = flow.by_number()
    found: dict[str, float] = {}
    for tap in taps_in(case.transformers):
        component = component_of(tap.device)
        rest = {"position": tap.position, "v": abs(voltage[tap.bus]), "ratio": tap.row.tap}
        names = (*component.states, *component.algebraic)
        found |= {f"{tap.device.name}.{name}": rest.get(name, 0.0) for name in names}
    return found


def _compensated(tap: Tap, voltage: Mapping[int, complex], second: bool) -> float:
    """Return the voltage that a tap changer measures, behind its line drop compensation."""
    ends = np.array([voltage[tap.row.from_bus], voltage[tap.row.to_bus]])
    current = (two_ports(Transformer, [tap.row])[0] @ ends)[int(second)]
    return float(abs(voltage[tap.bus] + complex(tap.p.r_c, tap.p.x_c) * current))


def _effects(case: Case, flow: PowerFlow, taps: list[Tap]) -> Reals:
    """Return by how much a position more changes what each measures: in pu, MW or Mvar."""
    plain: dict[str, Any] = {"control_low": 0.0, "control_high": 0.0, "tap_min": 1.0, "tap_max": 1.0}
    plain |= {"positions": 2, "tap_changer": None, "status": 1}
    controls = {
        tap.row.name: replace(tap.row, controls=CONTROLS[tap.kind.measured], control_bus=tap.bus, **plain)
        for tap in taps
    }
    controlled = replace(case, transformers=tuple(controls.get(r.name, r) for r in case.transformers))
    units = [tap.step * (1.0 if tap.kind.measured == "v" else case.base_mva) for tap in taps]
    return effects(controlled, flow, list(controls.values())) * np.array(units)


def _tell(tap: Tap, effect: float) -> None:
    """Warn of a start off a position, a band that a position crosses, and a tap that acts on nothing."""
    place, what, moved = tap.device.place, tap.kind.measured, tap.kind.moves[0]
    if abs(tap.off) > ROUNDING:
        warn(
            f"{place}: {moved} = {tap.start:g} is {abs(tap.off):.2g} steps off position {tap.position:g},"
            f" {tap.nearest:.6g}, and stays there until the first move"
        )
    if not tap.active:
        return
    if abs(effect) < BLIND:
        warn(
            f"{place}: {tap.row.name} does not act on {what} in the power flow (a generator holds it, or its"
            " bus is in another part): it would run to an end of its range; correct its bus"
        )
    elif 2 * tap.p.half_band < abs(effect):
        warn(
            f"{place}: half_band = {tap.p.half_band:g}: a position changes {what} by"
            f" {abs(effect):.4g} {UNITS[what]}, more than the width of the band: it can move to and fro"
            f" without end; half_band > {abs(effect) / 2:.4g} ends that"
        )


def continuous_taps(case: Case) -> Case:
    """Return the case with the continuous form of its tap changers that keep voltages, for modes with them.

    Parameters
    ----------
    case
        The case; each `TapChanger` becomes a `ContinuousTapChanger` of the same settings.

    Returns
    -------
    Case
        The case; in its modes taps follow voltages from where they are at the start.

    Examples
    --------
    >>> slow = psmr.modes(psmr.build(psmr.continuous_taps(case)).linearise())
    """
    check_arguments(continuous_taps, locals())
    rows = {row.name: row for row in case.transformers}
    for tap in taps_in(case.transformers):
        if tap.kind is TapChanger:
            device = replace(tap.device, type=ContinuousTapChanger.__name__)
            rows[tap.row.name] = replace(tap.row, tap_changer=device)
    return replace(case, transformers=tuple(rows.values()))


def correction_data(row: TransformerRow) -> dict[str, float | str]:
    """Return what the device of a transformer says of its impedance at other positions."""
    return {CORRECTION: " ".join(map(repr, row.correction))} if row.correction else {}


@cached_by_devices
def _followed(system: System) -> tuple[tuple[Device, Device, Place, Place, Reals | None], ...]:
    """Return the tap changers of a system with their transformers.

    Beside them the places of their `idle` and `status`, and the points of a correction.
    """
    found = []
    for device in system.devices:
        if placement(device.component).role == "tap_changer":
            moved = system.device(device.acts_on)
            idle, status = (
                system.parameter_place(device.name, "idle"),
                system.parameter_place(moved.name, "status"),
            )
            given = np.array(str(moved.data.get(CORRECTION, "")).split(), float).reshape(-1, 3)
            found.append((device, moved, idle, status, given if len(given) else None))
    return tuple(found)


def has_tap_changers(system: System) -> bool:
    """Return whether a system has tap changers."""
    return bool(_followed(system))


def following_taps(system: System, out: Collection[str] = ()) -> tuple[tuple[str, str, float], ...]:
    """Return what follows from taps and statuses of transformers, where it does not yet.

    The impedance of one with a correction follows its position; the tap changer of one that is out of service
    stands still.
    """
    found = []
    for device, moved, (g, row, column), status, points in _followed(system):
        idle = float(moved.name in out or not system.parameters[status[0]][status[1:]])
        if idle != system.parameters[g][row, column]:
            found.append((device.name, "idle", idle))
        if points is not None:
            z = _impedance(system, moved, points)
            ways = (("r", z.real), ("x", z.imag))
            found += [(moved.name, key, x) for key, x in ways if x != system.parameter(moved.name, key)]
    return tuple(found)


def _impedance(system: System, device: Device, points: Reals) -> complex:
    """Return the impedance of a transformer at its position, by points of a factor (`correction`)."""
    start, by_angle = device.parameters, not 0 < points[0, 0] < points[-1, 0] < 3
    name = "shift" if by_angle else "tap"
    at = np.array([start[name], system.parameter(device.name, name)])
    at = np.degrees(at) if by_angle else at
    factors = np.interp(at, points[:, 0], points[:, 1] + 1j * points[:, 2])
    return complex(start["r"], start["x"]) * complex(factors[1] / factors[0] if at[0] != at[1] else 1.0)

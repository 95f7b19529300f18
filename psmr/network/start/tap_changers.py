"""Tap changers and phase shifters as devices: where they stand, which way they act, and what follows them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

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
from psmr.network.case.tables import ACTIVE, REACTIVE_POWER, VOLTAGE, TransformerRow
from psmr.network.case.tap_changers import Tap, taps_in
from psmr.network.powerflow.adjustment import BLIND, effects
from psmr.network.powerflow.powerflow import PowerFlow

CONTROLS = {"v": VOLTAGE, "q": REACTIVE_POWER, "p": ACTIVE}
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
        far = int(tap.values["block_bus"]) or tap.bus
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
    return float(abs(voltage[tap.bus] + complex(tap.values["r_c"], tap.values["x_c"]) * current))


def _effects(case: Case, flow: PowerFlow, taps: list[Tap]) -> Reals:
    """Return by how much a position more changes what each measures: in pu, MW or Mvar."""
    controls = {
        tap.row.name: replace(
            tap.row,
            controls=CONTROLS[tap.kind.measured],
            control_bus=tap.bus,
            control_low=0.0,
            control_high=0.0,
            tap_min=tap.ends[0],
            tap_max=tap.ends[1],
            positions=int(tap.values["positions"]),
            tap_changer=None,
            status=1,
        )
        for tap in taps
    }
    controlled = replace(case, transformers=tuple(controls.get(r.name, r) for r in case.transformers))
    units = np.array([1.0 if tap.kind.measured == "v" else case.base_mva for tap in taps])
    steps = np.array([tap.step for tap in taps])
    return effects(controlled, flow, list(controls.values())) * units * steps


def _tell(tap: Tap, effect: float) -> None:
    """Warn of a start off a position, a band that a position crosses, and a tap that acts on nothing."""
    place, what = tap.device.place, tap.kind.measured
    if abs(tap.off) > ROUNDING:
        warn(
            f"{place}: {tap.name} = {tap.start:g} is {abs(tap.off):.2g} steps off position {tap.position:g},"
            f" {tap.nearest:.6g}, and stays there until the first move"
        )
    if not tap.active:
        return
    if abs(effect) < BLIND:
        warn(
            f"{place}: {tap.row.name} does not act on {what} in the power flow (a generator holds it, or its"
            " bus is in another part): it would run to an end of its range; correct its bus"
        )
    elif 2 * tap.values["half_band"] < abs(effect):
        warn(
            f"{place}: half_band = {tap.values['half_band']:g}: a position changes {what} by"
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
    return replace(case, transformers=tuple(map(_continuous, case.transformers)))


def _continuous(row: TransformerRow) -> TransformerRow:
    device = row.tap_changer
    if device is None or device.component is not TapChanger:
        return row
    return replace(row, tap_changer=replace(device, type=ContinuousTapChanger.__name__))


def correction_data(row: TransformerRow) -> dict[str, float | str]:
    """Return what the device of a transformer says of its impedance at other positions."""
    return {CORRECTION: " ".join(map(repr, row.correction))} if row.correction else {}


@cached_by_devices
def _followed(system: System) -> tuple[tuple[str, str], ...]:
    """Return the tap changers of a system with their transformers."""
    return tuple((d.name, d.acts_on) for d in system.devices if placement(d.component).role == "tap_changer")


@cached_by_devices
def _corrected(system: System) -> Mapping[str, tuple[Reals, Mapping[str, float]]]:
    """Return the points, and the parameters at the start, of transformers whose impedance follows a tap."""
    moved = {transformer for _, transformer in _followed(system)}
    return {
        d.name: (np.array(str(d.data[CORRECTION]).split(), float).reshape(-1, 3), d.parameters)
        for d in system.devices
        if d.name in moved and CORRECTION in d.data
    }


def has_tap_changers(system: System) -> bool:
    """Return whether a system has tap changers."""
    return bool(_followed(system))


def following_taps(system: System, out: Collection[str] = ()) -> tuple[tuple[str, str, float], ...]:
    """Return what follows from taps and statuses of transformers, where it does not yet.

    The impedance of one with a correction follows its position; the tap changer of one that is out of service
    stands still.
    """
    found = []
    for name, transformer in _followed(system):
        idle = float(transformer in out or not _value(system, transformer, "status"))
        if idle != _value(system, name, "idle"):
            found.append((name, "idle", idle))
    for name, (points, start) in _corrected(system).items():
        by_angle = not 0 < points[0, 0] < points[-1, 0] < 3
        now = {key: _value(system, name, key) for key in ("tap", "shift", "r", "x")}
        at = [values["shift" if by_angle else "tap"] for values in (start, now)]
        at = [math.degrees(x) for x in at] if by_angle else at
        factors = [complex(*(np.interp(x, points[:, 0], points[:, k]) for k in (1, 2))) for x in at]
        z = complex(start["r"], start["x"])
        z *= factors[1] / factors[0] if at[0] != at[1] else 1.0
        found += [(name, k, x) for k, x in (("r", z.real), ("x", z.imag)) if x != now[k]]
    return tuple(found)


def _value(system: System, device: str, parameter: str) -> float:
    place, row, column = system.parameter_place(device, parameter)
    return float(system.parameters[place][row, column])

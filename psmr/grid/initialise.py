"""From a case to a system at its equilibrium."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
from scipy.sparse.linalg import splu

from psmr.dae.assemble import assemble
from psmr.dae.device import Device
from psmr.dae.system import System
from psmr.errors import CaseError, InitialisationError
from psmr.grid.case import Case
from psmr.grid.equilibrium import Plant, solve_plants
from psmr.grid.margins import settle
from psmr.grid.motors import pull_out_power
from psmr.grid.powerflow import PowerFlow, power_flow
from psmr.grid.wiring import network_devices, plant_devices

RESIDUAL = 1e-10
"""Largest residual of the whole system at its start."""


def build(case: Case, flow: PowerFlow | None = None) -> System:
    """Return the system of a case at the equilibrium that belongs to its power flow.

    Devices are numbered in the order buses, branches, shunts, loads, plants. States, algebraic variables and
    set-points of a plant, or of a motor, are solved jointly on its components' own equations.

    Parameters
    ----------
    case
        The case; every generator has a machine or a converter.
    flow
        A power flow of this case, solved with other options; by default the plain one.

    Warns
    -----
    PsmrWarning
        Where devices start at their limits. The linearisation there is that of the inside.

    Raises
    ------
    PowerFlowError
        Where the power flow has no solution.
    InitialisationError
        Where a plant has no equilibrium, or devices start outside their limits (by how much), or the whole
        system keeps a residual (device, variable, value).
    CaseError
        Where a generator has no dynamic devices, a load's voltage is below its v_min, or a motor cannot take
        its power.
    """
    flow = power_flow(case) if flow is None else flow
    _check_loads(case, flow)
    plants = _plants(case, flow)
    network = list(network_devices(case, flow))
    motors = _motors(case, flow, network)
    dynamic = [device for plant in plants for device in plant.devices]
    start = solve_plants([*motors, *plants])
    for bus, voltage in zip(case.buses, flow.voltage, strict=True):
        start |= {f"{bus.name}.v_re": float(voltage.real), f"{bus.name}.v_im": float(voltage.imag)}
    found = polish(assemble([*network, *dynamic], start, name=case.name))
    system = settle(found, dynamic)
    if (system.x0 != found.x0).any():
        system = polish(system)
    check_residual(system)
    return system


def _plants(case: Case, flow: PowerFlow) -> list[Plant]:
    place = {bus.number: i for i, bus in enumerate(case.buses)}
    plants = []
    for generator, p, q in zip(case.generators, flow.p, flow.q, strict=True):
        if not generator.devices:
            raise CaseError(
                f"{generator.place}: no machine and no converter; add a [generator.machine] table, or"
                " name the DYR file that belongs to a .raw file (--dynamics)"
            )
        voltage = complex(flow.voltage[place[generator.bus]])
        current = complex(np.conj(complex(p, q) / voltage))
        plants.append(Plant(generator.name, tuple(plant_devices(case, generator, voltage)), voltage, current))
    return plants


def _motors(case: Case, flow: PowerFlow, network: Sequence[Device]) -> list[Plant]:
    """Return the loads with states of their own, each with what the power flow gives its bus for it.

    Raises
    ------
    CaseError
        Where a motor cannot take its power at the voltage of its bus, with the most that it can.
    """
    devices = {device.name: device for device in network}
    voltage = dict(zip((bus.number for bus in case.buses), map(complex, flow.voltage), strict=True))
    plants = []
    for load in case.loads:
        if load.motor is None:
            continue
        v, device = voltage[load.bus], devices[load.name]
        p = SimpleNamespace(**device.parameters)
        most = float(pull_out_power(p, abs(v))) * p.s_n
        if load.p_mw > most:
            raise CaseError(
                f"{load.place}: p_mw = {load.p_mw:g}: the most that this motor takes at {abs(v):.4f} pu is"
                f" {most:.4g} MW, at its pull-out torque; raise s_n = {p.s_n:g}, or mend its reactances"
            )
        current = -complex(load.p_mw, -load.q_mvar) / case.base_mva / v.conjugate()
        plants.append(Plant(load.name, (device,), v, current))
    return plants


def _check_loads(case: Case, flow: PowerFlow) -> None:
    voltage = {bus.number: float(v) for bus, v in zip(case.buses, flow.v, strict=True)}
    for load in case.loads:
        given = load.motor is None and load.v_0 is None and not load.impedance
        if given and voltage[load.bus] <= load.v_min:
            raise CaseError(
                f"{load.place}: v_min = {load.v_min:g}: the power flow's voltage there is"
                f" {voltage[load.bus]:.4f} pu, where the"
                " load would be an impedance already; lower v_min, or mend the power flow"
            )


def polish(system: System) -> System:
    """Return the system with its algebraic variables solved once more, all together.

    Raises
    ------
    InitialisationError
        Where they are not determined.
    """
    x, y = system.x0, system.y0
    # Two Newton steps: the start is good to 1e-11, the first squares that, the second confirms.
    for _ in range(2):
        w = system.buffer(x, y)
        try:
            lu = splu(system.jacobian(w)[system.n :, system.n :].tocsc())
        except RuntimeError as error:
            raise InitialisationError(
                f"{system.name}: the algebraic equations are singular at the start; does a bus"
                " have nothing that fixes its voltage, or a device a variable that nothing determines?"
            ) from error
        y = y - lu.solve(system.residual(w)[system.n :])
    return system.with_start(x, y)


def check_residual(system: System) -> None:
    """Raise InitialisationError naming the worst equation where that is above `RESIDUAL`."""
    residual = np.concatenate([system.f(system.x0, system.y0), system.g(system.x0, system.y0)])
    names = (*system.names_x, *system.names_g)
    error = np.where(np.isfinite(residual), np.abs(residual), np.inf)
    worst = int(np.argmax(error))
    if error[worst] > RESIDUAL:
        raise InitialisationError(
            f"{system.name}: {names[worst]} has the residual {error[worst]:.3g} at the start, above"
            f" {RESIDUAL:g}; the power flow"
            " and the devices do not describe one equilibrium"
        )

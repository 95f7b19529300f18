"""The equilibrium of plants, found on their components' own equations.

Given is the power flow's voltage and current at the terminals; unknown are the states, algebraic variables
and set-points of all devices of a plant jointly (a stabiliser with an output changes its exciter's
set-point), and what samples write, which no sample changes at rest. Newton with the Jacobian by complex step.
Limiters are open during the solution and looked at afterwards (`psmr.network.start.limits`): a limit that
would be active is an error with a name, not a singular matrix. Plants of one structure are solved together,
as arrays.

Parameters that are set by the start of a plant: a zero in the data stands for "the value at the start".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import InitialisationError, warn
from psmr.dae.declare.component import Component, NumericMath, parameters_of, rows_of
from psmr.dae.declare.device import Device
from psmr.dae.declare.sampled_forms import TURNING
from psmr.devices.converters.bridge import AveragedBridge, PhasorBridge
from psmr.devices.placement import placement
from psmr.network.powerflow.power_balance import STEP

TOLERANCE = 1e-11
"""Residual at which Newton takes its last step; a tenth of what `build` promises for the whole system."""
ROUNDING = 100 * float(np.finfo(float).eps)
"""What rounding leaves of a residual, for variables of order one, per largest derivative of the equation."""
ITERATIONS = 50


def without_code(plant: StartingPlant) -> StartingPlant:
    """Return a plant in which set-points stand for what code gives, a phasor for the voltage of a bridge."""
    codes = {device.name for device in plant.devices if device.code is not None}
    if not codes:
        return plant
    return replace(plant, devices=tuple(_without(d, codes) for d in plant.devices if d.name not in codes))


def _without(device: Device, codes: set[str]) -> Device:
    wires = {port: x for port, x in device.connections.items() if x.rpartition(".")[0] not in codes}
    bridge = issubclass(device.component, AveragedBridge)
    return replace(device, component=PhasorBridge if bridge else device.component, connections=wires)


class OpenLimits(NumericMath):
    """The mathematical functions without limiters, and with open dead bands of regulators."""

    opened = True

    @staticmethod
    def clip(x: Any, lower: Any, upper: Any) -> Any:
        """Return x as it is."""
        return x


@dataclass(frozen=True)
class Terminal:
    """What guesses may look at: voltage, current into the bus (system base), signals guessed so far."""

    voltage: Any
    current: Any
    signals: Mapping[str, Any]


@dataclass(frozen=True)
class StartingPlant:
    """Devices that share a bus, with the power flow's voltage and their current, pu on the system base.

    The current is what they send into the bus: that of a generator, or of a motor, where it is negative.
    `far` has the voltages of the other buses that they read, by name, `flows` other values that they read, by
    full name: the currents into branches. The angles turn at `turning` in rad/s: 0 at nominal frequency.
    """

    name: str
    devices: tuple[Device, ...]
    voltage: complex
    current: complex
    far: Mapping[str, complex] = field(default_factory=dict)
    flows: Mapping[str, float] = field(default_factory=dict)
    turning: float = 0.0

    def structure(self) -> tuple[Any, ...]:
        """Return what two plants have in common that can be solved together."""
        order = {device.name: str(i) for i, device in enumerate(self.devices)}
        return tuple(
            (
                d.component,
                tuple((port, *_relative(target, order)) for port, target in sorted(d.connections.items())),
            )
            for d in self.devices
        )

    def at(self, target: str) -> float:
        """Return one of `flows`, or the part of a bus's voltage that ``"bus.v_re"`` names."""
        if target in self.flows:
            return self.flows[target]
        bus, _, part = target.rpartition(".")
        voltage = self.far.get(bus, self.voltage)
        return voltage.real if part == "v_re" else voltage.imag


def _relative(target: str, order: Mapping[str, str]) -> tuple[str, str]:
    device, variable = target.split(".")
    return order.get(device, "bus"), variable


def set_points(device: Device) -> tuple[str, ...]:
    """Return the held inputs of a device that initialisation solves for."""
    component = device.component
    return tuple(i for i in component.inputs if i not in device.connections and i not in component.optional)


def _unknowns(device: Device) -> tuple[str, ...]:
    return (*device.component.states, *device.component.algebraic, *set_points(device))


def solve_plants(plants: Sequence[StartingPlant]) -> dict[str, float]:
    """Return states, algebraic variables and set-points of all plants by full name.

    Raises InitialisationError where the set-points of a plant do not match its equations in number, or no
    equilibrium is found: with device, variable and residual.
    """
    start, failures = attempt_plants(plants)
    if failures:
        raise next(iter(failures.values()))
    return start


def attempt_plants(
    plants: Sequence[StartingPlant],
) -> tuple[dict[str, float], dict[str, InitialisationError]]:
    """Return what `solve_plants` does, for every plant that has an equilibrium, and why the others have none.

    The second dictionary has the error of each other plant by its name.
    """
    groups: dict[tuple[Any, ...], list[StartingPlant]] = {}
    for plant in plants:
        plant = without_code(plant)
        plant = replace(plant, devices=tuple(device.at_rest for device in plant.devices))
        groups.setdefault(plant.structure(), []).append(plant)
    start: dict[str, float] = {}
    failures: dict[str, InitialisationError] = {}
    for group in groups.values():
        try:
            start |= _solve_group(group)
        except InitialisationError:
            # One by one: a plant without an equilibrium ends the iteration for all that are solved with it.
            for plant in group:
                try:
                    start |= _solve_group([plant])
                except InitialisationError as error:
                    failures[plant.name] = error
    return start, failures


def _solve_group(plants: Sequence[StartingPlant]) -> dict[str, float]:
    """Return the solution for plants of one structure by full name: Newton on all of them at once."""
    problem = _Group(plants)
    with np.errstate(all="ignore"):
        values = _newton(problem)
    start: dict[str, float] = {}
    for plant, row in zip(plants, values, strict=True):
        names = [f"{device.name}.{v}" for device in plant.devices for v in _unknowns(device)]
        start.update(zip(names, map(float, row), strict=True))
    return start


def _newton(problem: _Group) -> Reals:
    """Return (plants, unknowns)."""
    x = problem.guess()
    last = np.zeros(len(problem.plants), dtype=bool)
    for _ in range(ITERATIONS):
        residual, jacobian = problem.linearise(x)
        done = np.abs(residual).max(axis=1) <= TOLERANCE
        if (last | ~np.isfinite(residual).all(axis=1)).all():
            break
        last = done
        try:
            x = x - np.linalg.solve(jacobian, residual[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            break
    problem.check(*problem.linearise(x))
    return x


class _Group:
    """Equations of plants of one structure, as arrays: a row per plant, a column per perturbed unknown."""

    def __init__(self, plants: Sequence[StartingPlant]) -> None:
        self.plants = plants
        self.devices = plants[0].devices
        self.places = [(k, v) for k, device in enumerate(self.devices) for v in _unknowns(device)]
        self.rows = [
            (k, r) for k, d in enumerate(self.devices) for r in (*d.component.states, *rows_of(d.component))
        ]
        own = {place: i for i, place in enumerate(self.places)}
        self.kept = [
            (row, own[place])
            for row, place in enumerate(self.rows)
            if place[1] in self.devices[place[0]].component.kept
        ]
        self.voltage = np.array([plant.voltage for plant in plants])
        self.current = np.array([plant.current for plant in plants])
        self.turning = np.array([plant.turning for plant in plants])
        self.parameters = [
            SimpleNamespace(
                **{n: np.array([p.devices[k].parameters[n] for p in plants]) for n in parameters_of(kind)}
            )
            for k, kind in enumerate(device.component for device in self.devices)
        ]
        names = {device.name for device in self.devices}
        self.outside = {
            (k, port): np.array([p.at(p.devices[k].connections[port]) for p in plants])
            for k, device in enumerate(self.devices)
            for port in device.component.inputs
            if port in device.connections and device.connections[port].rpartition(".")[0] not in names
        }
        wanted = len(self.rows) + 2
        if len(self.places) != wanted:
            free = [f"{d.name}.{s}" for d in self.devices for s in set_points(d)]
            raise InitialisationError(
                f"{plants[0].name}: {len(free)} set-points ({', '.join(free) or 'none'}) for the 2"
                " conditions of the power flow;"
                f" {'remove' if len(self.places) < wanted else 'add'} a device that provides one of them"
            )

    def guess(self) -> Reals:
        """Return (plants, unknowns): every device's own guess, the source of current first."""
        signals: dict[str, Any] = {}
        found: dict[tuple[int, str], Any] = {}
        order = sorted(range(len(self.devices)), key=lambda k: not self.devices[k].component.outputs)
        for k in order:
            values = self.devices[k].component.guess(
                Terminal(self.voltage, self.current, signals), self.parameters[k]
            )
            found.update({(k, name): value for name, value in values.items()})
            signals.update(values)
        columns = [np.broadcast_to(found.get(place, 0.0), self.voltage.shape) for place in self.places]
        return np.stack(columns, axis=1).astype(float)

    def linearise(self, x: Reals) -> tuple[Reals, Reals]:
        """Return (plants, equations) residuals and (plants, equations, unknowns) Jacobian by complex step."""
        size = x.shape[1]
        shifted = np.repeat(x[:, :, None], size + 1, axis=2).astype(complex)
        shifted[:, range(size), range(size)] += 1j * STEP
        values = {place: shifted[:, i] for i, place in enumerate(self.places)}
        rows = self._evaluate(values)
        stacked = np.stack(rows, axis=1)
        residual, jacobian = stacked[:, :, -1].real, stacked[:, :, :-1].imag / STEP
        for row, column in self.kept:
            # What a sample leaves as it is may have any value at rest: it keeps that of the guess.
            jacobian[:, row, column] += ~jacobian[:, row].any(axis=1)
        return residual, jacobian

    def _evaluate(self, values: Mapping[tuple[int, str], Any]) -> list[Any]:
        shape = next(iter(values.values())).shape
        order = {device.name: k for k, device in enumerate(self.devices)}
        rows: list[Any] = []
        injected = {"i_re": -self.current.real[:, None], "i_im": -self.current.imag[:, None]}
        for k, device in enumerate(self.devices):
            component: type[Component] = device.component
            v = {name: value for (owner, name), value in values.items() if owner == k}
            for port in component.inputs:
                if (k, port) in self.outside:
                    v[port] = self.outside[k, port][:, None]
                elif port in device.connections:
                    owner, name = device.connections[port].split(".")
                    v[port] = values[order[owner], name]
                elif port in component.optional:
                    v[port] = component.optional[port]
            p = SimpleNamespace(**{name: value[:, None] for name, value in vars(self.parameters[k]).items()})
            derivatives, residuals, injections = component.equations(
                OpenLimits, SimpleNamespace(**v, **{TURNING: self.turning[:, None]}, t=0.0), p
            )
            angles = (component.units.get(state) == "rad" for state in component.states)
            rates = [
                rate - self.turning[:, None] if angle else rate
                for rate, angle in zip(derivatives, angles, strict=True)
            ]
            rows += [*rates, *residuals]
            for port, value in zip(component.outputs, injections, strict=True):
                # Rates of currents, of a stator with dynamics, are no condition.
                injected[port] = injected.get(port, 0.0) + value
        return [np.broadcast_to(row, shape) for row in (*rows, injected["i_re"], injected["i_im"])]

    def check(self, residual: Reals, jacobian: Reals) -> None:
        """Raise InitialisationError for the plant with the largest residual, if that is too large."""
        error = np.where(np.isfinite(residual), np.abs(residual), np.inf)
        allowed = np.fmax(10 * TOLERANCE, ROUNDING * np.abs(jacobian).max(axis=2))
        worst, row = (int(i) for i in np.unravel_index(int(np.argmax(error / allowed)), error.shape))
        if error[worst, row] > allowed[worst, row]:
            plant = self.plants[worst]
            if row < len(self.rows):
                k, name = self.rows[row]
                where = f"{plant.devices[k].name}.{name}"
            else:
                where = f"{plant.name}: current at its bus"
            power = plant.voltage * np.conj(plant.current)
            own = plant.devices[0].parameters
            share = ""
            if {"s_n", "s_base"} <= own.keys():
                share = (
                    f" ({100 * abs(power) * own['s_base'] / own['s_n']:.3g} % of s_n = {own['s_n']:g} MVA)"
                )
            raise InitialisationError(
                f"{where}: residual {error[worst, row]:.3g} at the start, no equilibrium found; the power"
                f" flow asks {plant.name} for S = {power:.4f} pu{share} at V = {abs(plant.voltage):.4f}"
                " pu; check the parameters of its devices and the dispatch"
            )


def decide(plants: Sequence[StartingPlant], start: Mapping[str, float]) -> list[StartingPlant]:
    """Return the plants with the parameters that their start decides (`Placement.at_start`).

    What changed has to be solved again. Warns (PsmrWarning) of every such parameter of a case,
    with its value.

    `plants`: with their equilibrium for the parameters as they are; `start`: states, algebraic variables and
    set-points of that equilibrium, by full name.
    """
    return [replace(plant, devices=tuple(_decided(d, start) for d in plant.devices)) for plant in plants]


def _decided(device: Device, start: Mapping[str, float]) -> Device:
    component = device.component
    own = {v: start[f"{device.name}.{v}"] for v in (*component.states, *component.algebraic)}
    found = placement(component).at_start(own, device.parameters)
    for name, value in found.items():
        if name in placement(component).memory:
            continue
        warn(
            f"{device.name}.{name} = {device.parameters[name]:g} stands for the value that holds the start:"
            f" {value:.6g}"
        )
    return replace(device, parameters={**device.parameters, **found}) if found else device

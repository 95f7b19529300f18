"""Where a plant with a controller in a file comes to rest: found by letting the code run.

Nothing is known of what such code computes, so that no equation can be solved for its rest. The plant starts
from the power flow, the code from its own start (most ramp from zero), and both run together until what they
do is constant in the frame that turns with the grid. The network is held as it is in the power flow, as a
voltage behind a reactance, with which a regulator of voltage finds its rest as well.
Then the set-points of the code are moved until the plant gives the power of the power flow (Broyden's method
on their effect, which is first taken to be that of their names), and it runs on.

It begins from stored values where there are any, of an earlier rest. The run of the case goes on from the
states that the code has there; its own time counts on. What is
continuous starts at the equilibrium of its equations with the outputs that belong to the power flow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from psmr.base.arrays import Reals
from psmr.base.errors import InitialisationError, first_few, nearest, warn
from psmr.base.files import write_texts
from psmr.base.modules import draw
from psmr.dae.declare.component import Component, NumericMath, Parameter, Terms, own_variables, positive
from psmr.dae.declare.device import Device
from psmr.dae.declare.sampling import samplings
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System
from psmr.devices.converters.bridge import AveragedBridge, from_phases
from psmr.devices.dynamic_network.breaker_poles import phase_values
from psmr.integrate.run.integrate import integrate
from psmr.integrate.schemes.one_step import SingleRate
from psmr.network.start.equilibrium import StartingPlant
from psmr.sampled.code import ControllerCode, messages_of

AT_REST = 1e-5
"""Largest change in pu, over the last part of the run, of what is at rest."""

REACHED = 1e-5
"""Largest deviation in pu of the plant's rating of its power from that of the power flow."""

SETTLED = 0.05
"""Largest change, in parts of the power that is missing, at which it is known which way to move."""

LONG_ENOUGH = 0.25
"""Time in s over which nothing changes where a plant is at rest."""

PATIENCE = 3.0
"""Time in s that a plant may stand still far from its power, before its set-points are moved for that."""

FAR = 0.05
"""Part of its rating by which a plant is far from its power: it has not begun, its set-points are right."""

AT_MOST = 60.0
"""Time in s of the code within which it has to come to rest."""

REACTANCE = 0.05
"""Of the network during the start, in pu of the plant's rating."""

FINEST = 5e-5
"""Step in s at most, where the code works on instantaneous values."""

EFFECTS: Mapping[str, complex] = {"p_ref": 1, "q_ref": 1j, "v_ref": 1j}
"""What a set-point does to the power in pu of the plant's rating, as a first guess."""

TIME = "time in s"
"""The row of its own time in a file with the values of a controller at rest."""

REST = "came to rest"
"""What the device of a controller says of its start (`Device.data`)."""


class Terminal(Component):
    """A bus at a voltage behind a reactance: 0 = sum of currents into the bus - (v - e)/(j x)."""

    algebraic = ("v_re", "v_im")
    rows = ("i_im", "i_re")
    inputs = ("e_re", "e_im")

    x = Parameter("pu", "reactance of the network", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current that the network takes."""
        return (), ((v.v_re - v.e_re) / p.x, -(v.v_im - v.e_im) / p.x), ()


def codes_of(plant: StartingPlant) -> list[Device]:
    """Return the controllers in files of a plant."""
    return [device for device in plant.devices if device.code is not None]


def code_of(device: Device) -> ControllerCode:
    """Return the code of a device that is a controller in a file."""
    assert isinstance(device.code, ControllerCode)
    return device.code


def run_to_rest(
    plants: Sequence[StartingPlant], start: Mapping[str, float], folder: Path = Path()
) -> tuple[list[StartingPlant], dict[str, float]]:
    """Return the plants and the start with every controller in a file at rest.

    `start` has the equilibrium of `without_code`; what does not come to rest is drawn into a file in a
    folder.

    Raises InitialisationError where a plant does not come to rest, or not at its power; SimulationError where
    its code gives up.
    """
    found, values = list(plants), dict(start)
    for k, plant in enumerate(plants):
        if codes_of(plant):
            found[k], own = _Run(plant, values, folder).rest()
            for words in messages_of(found[k].devices):
                warn(f"{words} (at its start)")
            values |= own
            devices = {device.name for device in plant.devices}
            known = {
                f"{d.name}.{n}" for d in found[k].devices for n in (*own_variables(d.component), *d.held)
            }
            # Set-points stood for what code gives.
            values = {n: x for n, x in values.items() if n in known or n.partition(".")[0] not in devices}
    return found, values


def _common(times: Sequence[float]) -> float:
    """Return the least time that is a multiple of all."""
    parts = [Fraction(t).limit_denominator(10**9) for t in times]
    up = math.lcm(*(part.numerator for part in parts))
    return float(Fraction(up, math.gcd(*(part.denominator for part in parts))))


class _Search:
    """How far to move set-points for a power that is missing: Newton's method, their effect is learnt.

    What has a dead band does not answer at first where it is moved back: that much is moved beside.
    """

    def __init__(self, names: Sequence[str], base: float) -> None:
        effects = [EFFECTS.get(name.rpartition(".")[2], 0j) * base for name in names]
        self.effect = np.array([(x.real, x.imag) for x in map(complex, effects)]).T.reshape(2, -1)
        self.missing, self.moved, self.back, self.slack = np.zeros(2), np.zeros(len(names)), False, 0.0

    @property
    def begun(self) -> bool:
        """Whether anything has been moved."""
        return bool(self.moved.any())

    def move(self, missing: complex) -> Reals:
        """Return by how much to move the set-points, after a look at what the last move did."""
        now = np.array([missing.real, missing.imag])
        if self.begun:
            self._learn(self.missing - now)
        step = np.linalg.pinv(self.effect, rcond=1e-6) @ now
        self.back = bool(self.moved @ step < 0)
        size = float(np.linalg.norm(step))
        if self.back and size:
            step = step * (1 + self.slack / size)
        self.missing, self.moved = now, step
        return step

    def _learn(self, changed: Reals) -> None:
        expected, size = self.effect @ self.moved, float(np.linalg.norm(self.moved))
        answered = float(changed @ expected / (expected @ expected))
        if self.back or answered < 0.1:
            self.slack = max(0.0, 1 - answered) * size + (0.0 if self.back else self.slack)
        else:  # Broyden
            self.effect = self.effect + np.outer(changed - expected, self.moved) / size**2


class _Run:
    """A plant and its code at the terminal."""

    def __init__(self, plant: StartingPlant, start: dict[str, float], folder: Path) -> None:
        self.plant, self.start, self.folder = plant, start, folder
        self.codes = codes_of(plant)
        p = self.codes[0].parameters
        self.base, self.f_n = p["s_n"] / p["s_base"], p["f_n"]
        self.power = complex(plant.voltage * np.conj(plant.current))
        self.set_points = [
            f"{d.name}.{port}" for d in self.codes for port in d.component.inputs
            if port not in d.connections and port not in d.component.optional
        ]  # fmt: skip
        self.taken = dict(self._taken())
        self.begun, self.system = 0.0, self._system()
        self.t = self.begun
        self.scheme = SingleRate("TM", min(self._steps()), newton="very dishonest")
        periods = [d.parameters["T"] for d in self.codes]
        self.length = _common([*periods, 1 / self.f_n])
        self.length *= max(1, math.ceil(LONG_ENOUGH / self.length))
        self.search = _Search(self.set_points, self.base)

    def _steps(self) -> Iterator[float]:
        for device in self.codes:
            period = device.parameters["T"]
            yield period / max(1, math.ceil(period / FINEST)) if self.instantaneous else period

    @property
    def instantaneous(self) -> bool:
        """Whether a bridge of the plant has its voltage in phases."""
        return any(issubclass(device.component, AveragedBridge) for device in self.plant.devices)

    def _taken(self) -> Iterator[tuple[str, float]]:
        """Yield the outputs of code that others take, and what they are at the equilibrium."""
        names = {device.name for device in self.codes}
        for device in self.plant.devices:
            if issubclass(device.component, AveragedBridge):
                d, q = (self.start[f"{device.name}.{part}"] for part in ("e_d", "e_q"))
                phases = phase_values(NumericMath, self.f_n, 0.0, d, q, 0.0)
                own = dict(zip(("e_a", "e_b", "e_c"), phases, strict=True))
            else:
                own = {}
            for port, source in device.connections.items():
                if source.rpartition(".")[0] in names and device.name not in names:
                    yield source, own[port] if port in own else self.start[f"{device.name}.{port}"]

    def _system(self) -> System:
        """Return the plant at its terminal, with its code at the code's own start."""
        plant, own = self.plant, {device.name for device in self.plant.devices}
        bus = next(
            x.rpartition(".")[0] for d in plant.devices for p, x in d.connections.items() if p == "i_re"
        )
        x = REACTANCE / self.base
        source = plant.voltage - 1j * x * plant.current
        start = {f"{bus}.v_re": plant.voltage.real, f"{bus}.v_im": plant.voltage.imag}
        start |= {f"{bus}.e_re": source.real, f"{bus}.e_im": source.imag}
        devices = []
        for device in plant.devices:
            kept = {port: x for port, x in device.connections.items() if x.rpartition(".")[0] in (bus, *own)}
            for port in device.connections.keys() - kept.keys():
                target = device.connections[port]
                start[f"{device.name}.{port}"] = self._far(device, target)
            devices.append(replace(device, connections=kept))
            start |= {k: value for k, value in self.start.items() if k.startswith(f"{device.name}.")}
            start = {f"{device.name}.{k}": x for k, x in device.component.optional.items()} | start
        values = {"p_ref": self.power.real / self.base, "q_ref": self.power.imag / self.base}
        values["v_ref"] = abs(plant.voltage)
        for name in self.set_points:
            start[name] = values.get(name.rpartition(".")[2], 0.0)
        for device in self.codes:
            start |= self._own_start(device, start)
        terminal, self.bus, self.x = Device(bus, Terminal, {"x": x}), bus, x
        names = [
            f"{d.name}.{n}" for d in (terminal, *devices) for n in (*own_variables(d.component), *d.held)
        ]
        return assemble([terminal, *devices], {name: start[name] for name in names}, name=plant.name)

    def _far(self, device: Device, target: str) -> float:
        """Return what a variable of another device is at the start, which a device of the plant reads."""
        owner, _, part = target.rpartition(".")
        if target in self.start:
            return self.start[target]
        if target in self.plant.flows or (owner in self.plant.far and part in ("v_re", "v_im")):
            return self.plant.at(target)
        known = (*self.start, *(f"{bus}.{x}" for bus in self.plant.far for x in ("v_re", "v_im")))
        raise InitialisationError(
            f"{device.name} reads {target}, of which nothing is known at the start{nearest(target, known)};"
            " wire it to the voltage of a bus or to a variable of a generator"
        )

    def _own_start(self, device: Device, start: Mapping[str, float]) -> dict[str, float]:
        """Return what a controller keeps and gives once it is initialised with what it reads."""
        component = device.component
        names = [f"{device.name}.{name}" for name in component.sampled_outputs]
        outputs = [self.taken.get(name, 0.0) for name in names]
        v = {
            port: start.get(
                device.connections.get(port, f"{device.name}.{port}"), component.optional.get(port, 0.0)
            )
            for port in component.inputs
        }
        reads = component.reads(
            NumericMath, SimpleNamespace(**v, t=0.0), SimpleNamespace(**device.parameters)
        )
        values = code_of(device).live.initialize(0.0, np.array(reads, float), np.array(outputs))
        first, *later = samplings(component)
        found = dict(zip(first.names, map(float, values), strict=True))
        for name in (name for sampling in later for name in sampling.names):
            found[name] = found[component.releases[name]]
        points = {n.partition(".")[2] for n in self.set_points if n.startswith(f"{device.name}.")}
        found |= self._stored(device, {*found, *points})
        return {f"{device.name}.{name}": value for name, value in found.items()}

    def _stored(self, device: Device, names: set[str]) -> dict[str, float]:
        """Return the values of a controller at an earlier rest, and begin there; none without a file."""
        path = Path(code_of(device).file.start or ".")
        if not path.is_file():
            return {}
        try:
            rows = dict(line.rsplit(",", 1) for line in path.read_text(encoding="utf-8").splitlines()[1:])
            found = {name: float(value) for name, value in rows.items()}
            self.begun = found.pop(TIME)
        except (OSError, ValueError, KeyError) as error:
            found, why = {}, f" ({error})"
        else:
            why = "" if all(map(math.isfinite, found.values())) else " (what is no number)"
        if why or found.keys() != names:
            other = first_few(sorted(names ^ found.keys()), 3)
            raise InitialisationError(
                f"{device.name}: {path}: has not the values of this controller{why or f': {other}'}; delete"
                " it to have it written at rest"
            )
        code_of(device).live.later = self.begun
        return found

    def _store(self, device: Device, values: Mapping[str, float]) -> None:
        """Write the values of a controller at rest, where a file is named for them that is not there yet."""
        path = code_of(device).file.start
        if path and not Path(path).exists():
            own = {n.partition(".")[2]: x for n, x in values.items() if n.startswith(f"{device.name}.")}
            rows = [f"{name},{value!r}" for name, value in ({TIME: self.t} | own).items()]
            write_texts({Path(path): "\n".join(["variable,value", *rows, ""])})

    def rest(self) -> tuple[StartingPlant, dict[str, float]]:
        """Return the plant, and the values of its code at rest with the power of the power flow."""
        still = 0.0
        while self.t - self.begun < AT_MOST:
            t, rows = self._march()
            change, missing = np.ptp(rows, axis=0).max(), self.power - complex(*rows[-1, :2])
            if change > max(AT_REST, SETTLED * abs(missing)):
                still = 0.0
                continue
            still += self.length
            if abs(missing) <= REACHED * self.base:
                if change <= AT_REST:
                    return self._rested(float(change), abs(missing))
            elif self.search.begun or still >= PATIENCE or abs(missing) <= FAR * self.base:
                moved = self.search.move(missing)
                if not moved.any():
                    break
                w0, still = self.system.w0.copy(), 0.0
                w0[[self.system.index(name) for name in self.set_points]] += moved
                self.system = replace(self.system, w0=w0)
        raise self._unsettled(t, rows, still)

    def _march(self) -> tuple[Reals, Reals]:
        """Let the plant run on; return times of samples in s, and what must be constant then in rows."""
        path = integrate(self.system, self.scheme, self.length)
        slowest = max(device.parameters["T"] for device in self.codes)
        part = path.t / slowest
        behind = np.append(np.diff(part) > 1e-6, True)  # the last of the rows of an instant
        chosen = np.flatnonzero(behind & (np.abs(part - np.rint(part)) < 1e-6))[:-1]
        (span,) = path.spans
        assert span.sampled is not None
        parts = path.x, path.y, span.sampled.values
        last = np.concatenate([part[-1] for part in parts])
        self.system = replace(self.system, w0=np.concatenate([last, self.system.w0[last.size :]]))
        t = self.t + path.t[chosen]
        rows = self._signals(path.t[chosen], [part[chosen] for part in parts])
        self.t += self.length
        for device in self.codes:
            code_of(device).live.later = self.t
        return t, rows

    @property
    def names(self) -> tuple[str, ...]:
        """What must be constant, a name for each column."""
        return ("p", "q", *self.others, *self.system.names_x)

    def _signals(self, t: Reals, parts: Sequence[Reals]) -> Reals:
        """Return (K, names) what must be constant at times t, of all variables at samples."""
        system = self.system
        names = (*system.names_x, *system.names_y, *system.names_u[: system.s])
        columns = dict(zip(names, (column for part in parts for column in part.T), strict=True))
        v = columns[f"{self.bus}.v_re"] + 1j * columns[f"{self.bus}.v_im"]
        e = complex(*(system.w0[system.index(f"{self.bus}.e_{part}")] for part in ("re", "im")))
        power = v * np.conj((v - e) / (1j * self.x))
        given = {name: columns[name] for name in self.taken}
        for name in [name for name in given if name.endswith(".e_a")]:
            own = name[:-1]
            phases = tuple(given.pop(f"{own}{phase}") for phase in "abc")
            given |= dict(
                zip((f"{own}d", f"{own}q"), from_phases(NumericMath, self.f_n, t, phases), strict=True)
            )
        self.others = tuple(given)
        return np.column_stack([power.real, power.imag, *given.values(), parts[0]])

    def _rested(self, change: float, missing: float) -> tuple[StartingPlant, dict[str, float]]:
        system = self.system
        names = (*system.names_u[: system.s], *self.set_points)
        values = {name: float(system.w0[system.index(name)]) for name in names}
        for device in self.codes:
            self._store(device, values)
        # What acts at once is what the equilibrium has: the first sample gives it anew.
        values |= {name: value for name, value in self.taken.items() if not name[:-1].endswith(".e_")}
        words = f"ran for {self.t - self.begun:.4g} s to be at rest within {change:.1e} pu"
        words += f", its power within {missing:.1e} pu"
        done = {
            device.name: replace(
                device, code=code_of(device).started(self.t), data={**device.data, REST: words}
            )
            for device in self.codes
        }
        devices = tuple(done.get(device.name, device) for device in self.plant.devices)
        return replace(self.plant, devices=devices), values

    def _unsettled(self, t: Reals, rows: Reals, still: float) -> InitialisationError:
        """Return the error of a plant that does not rest at its power, its last part drawn into a file."""
        names, change = self.names, np.ptp(rows, axis=0)
        path = self.folder / f"{self.plant.name}-start.svg"
        title = f"{self.plant.name}: the last {self.length:g} s of {self.t:g} s"
        write_texts({path: draw("sampled.start_figure", t, dict(zip(names, rows.T, strict=True)), title)})
        what = f"{', '.join(d.name for d in self.codes)} of {self.plant.name}"
        if still or change.max() <= AT_REST:
            power = complex(*rows[-1, :2])
            words = (
                f"is at rest with S = {power:.6f} pu and the power flow asks for {self.power:.6f} pu: its"
                f" set-points ({', '.join(self.set_points) or 'none'}) do not lead there"
            )
        else:
            order = np.argsort(-change)[:4]
            moving = first_few([f"{names[k]} by {change[k]:.3g} pu" for k in order if change[k] > AT_REST], 4)
            words = (
                f"does not come to rest within {self.t:g} s: in the last {self.length:g} s {moving} changes"
            )
        return InitialisationError(
            f"{what}: {words}; see {path}, and its parameters, the wires of its ports and the dispatch"
        )

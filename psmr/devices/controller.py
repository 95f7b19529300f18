"""A controller that is code from elsewhere: what it reads of its plant, in its units, and what it gives.

Voltages and currents of phases are those at the instant of the sample, of phasors that turn at nominal
frequency, with the zero sequence of a bus in a region that has one; per unit they are per peak value. What is
no quantity of the terminal is a variable of another device of the plant, or a set-point, by its name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from psmr.base.errors import InputError, nearest, shown
from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.dae.declare.derived import derived
from psmr.dae.declare.samples import Samples
from psmr.devices.blocks import machine_to_network, rotate
from psmr.devices.converters.bridge import BRIDGE, GRID
from psmr.devices.dynamic_network.breaker_poles import phase_values
from psmr.devices.machines.textbook import F_N, S_BASE, S_N

ROOT_2, ROOT_3 = float(np.sqrt(2)), float(np.sqrt(3))

NETWORK, MACHINE, LOOP = "network", "machine", "loop"
"""Frames of the currents i_d, i_q of a plant: the network, a rotor (`delta`), a locked loop (`theta`)."""

UNITS: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "phase voltage": {
        "pu": lambda p: 1.0,
        "kV": lambda p: p.v_base * ROOT_2 / ROOT_3,
        "V": lambda p: 1e3 * p.v_base * ROOT_2 / ROOT_3,
    },
    "phase current": {
        "pu": lambda p: 1.0,
        "kA": lambda p: ROOT_2 / ROOT_3 * p.s_n / p.v_base,
        "A": lambda p: 1e3 * ROOT_2 / ROOT_3 * p.s_n / p.v_base,
    },
    "voltage": {"pu": lambda p: 1.0, "kV": lambda p: p.v_base, "V": lambda p: 1e3 * p.v_base},
    "power": dict.fromkeys(("MW", "Mvar", "MVA"), lambda p: p.s_n)
    | dict.fromkeys(("kW", "kvar", "kVA"), lambda p: 1e3 * p.s_n)
    | {"pu": lambda p: 1.0},
    "speed": {"pu": lambda p: 1.0, "Hz": lambda p: p.f_n, "rad/s": lambda p: 2 * np.pi * p.f_n},
    "angle": {"rad": lambda p: 1.0, "deg": lambda p: 180 / np.pi},
    "time": {"s": lambda p: 1.0},
    "other": {"pu": lambda p: 1.0},
}
"""What a value per unit is times, by the kind of a signal and its unit."""

PHASES = "abc"
KINDS = {
    **{f"{name}_{x}": "phase voltage" for x in PHASES for name in "ve"},
    **{f"{name}_{x}": "phase current" for x in PHASES for name in ("i", "i_o")},
    **dict.fromkeys(("v", "v_ref"), "voltage"),
    **dict.fromkeys(("p", "q", "p_ref", "q_ref"), "power"),
    **{"omega": "speed", "angle": "angle", "t": "time"},
}
"""Kinds of the signals that have one; v is the magnitude at the terminal, i of a bridge, i_o behind it."""

_TERM = re.compile(
    r"(?P<signal>[A-Za-z_][\w.-]*)(\s+(?P<factor>[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?))?(\s+(?P<unit>\S+))?"
)


@dataclass(frozen=True)
class Wire:
    """What one value of a port is: a signal in a unit, times a factor; of a constant the factor alone."""

    signal: str
    factor: float
    unit: str = "pu"

    @property
    def kind(self) -> str:
        """The kind of the signal, a key of `UNITS`."""
        return KINDS.get(self.signal, "other")

    def size(self, p: Any) -> Any:
        """Return what the port has where the signal is 1 pu."""
        return self.factor * UNITS[self.kind][self.unit](p)

    def per_unit(self, p: Any) -> Any:
        """Return what the signal is per unit where the port has 1."""
        return self.factor / UNITS[self.kind][self.unit](p)


def wire(given: object, declared: str = "") -> Wire:
    """Return what a table says of a port: a number, or ``"signal unit"``, ``"signal factor unit"``.

    `declared` is the unit by the port's own description, of a unit of FMI: what holds where the table gives
    none. Raises InputError for what is neither, and for two units or one that the signal cannot have.
    """
    if isinstance(given, int | float) and not isinstance(given, bool):
        if not math.isfinite(given):
            raise InputError(f"{given!r}: must be a finite number")
        return Wire("", float(given))
    found = _TERM.fullmatch(given.strip()) if isinstance(given, str) else None
    if found is None:
        raise InputError(f'{shown(given)}: must be a number, or a signal and its unit, as in "v_a kV"')
    signal, declared = found["signal"], "pu" if declared == "1" else declared
    unit = found["unit"] or declared or {"angle": "rad", "t": "s"}.get(signal, "pu")
    made = Wire(signal, float(found["factor"] or 1.0), unit)
    if made.factor == 0.0 or not math.isfinite(made.factor):
        raise InputError(f"{shown(given)}: the factor must be finite and not zero")
    if not found["factor"] and declared in UNITS[made.kind] and unit != declared:
        raise InputError(
            f"{shown(given)}: the port is in {declared} by its description; drop the unit or give a factor"
        )
    if unit not in UNITS[made.kind]:
        known = UNITS[made.kind]
        raise InputError(
            f"{shown(given)}: {signal} has no unit {shown(unit)}{nearest(unit, known)}; known:"
            f" {', '.join(known)}"
        )
    return made


def port_of(signal: str) -> str:
    """Return the input that reads a signal: its name, of another device with an underscore for the dot."""
    return signal.replace(".", "_").replace("-", "_")


class Controller(Component):
    """A controller that is external code; `wired` makes the class of one from its table of ports."""

    role = "code"
    shared = ("s_n",)
    memory = ("v_base",)
    samples = Samples(period="T", offset="T_0", delay="T_d")
    inputs = ("v_re", "v_im")
    sampled_outputs = ("y",)

    T = Parameter("s", "time between samples", positive)
    T_0 = Parameter("s", "time of the first sample", nonnegative, default=0.0)
    T_d = Parameter("s", "computing delay", nonnegative, default=0.0)
    s_n = S_N
    s_base = S_BASE
    f_n = F_N
    v_base = Parameter("kV", "nominal voltage of the bus, line to line; 0: unknown", nonnegative, default=0.0)

    @staticmethod
    def reads(m: Any, v: Any, p: Any) -> Terms:
        """Return nothing: see `wired`."""
        return ()


@derived
def wired(
    component: type[Component],
    wires: tuple[Wire, ...],
    frame: str,
    terminal: tuple[str, str],
    states: tuple[str, ...],
    outputs: tuple[str, ...],
) -> tuple[str, Mapping[str, Any]]:
    """Return the class of a controller whose ports read these wires.

    `frame`: of the plant's currents; `terminal`: which of them flow into the bus; `states`, `outputs`: what
    its code keeps and gives.
    """
    signals = tuple(dict.fromkeys(w.signal for w in wires if w.signal not in ("", "t")))
    needed = [_inputs(signal, frame, terminal) for signal in signals]
    inputs = tuple(dict.fromkeys(name for names in needed for name in names))

    def reads(m: Any, v: Any, p: Any) -> Terms:
        known = _Signals(m, v, p, frame, terminal)
        return tuple(w.factor if not w.signal else known.value(w.signal) * w.size(p) for w in wires)

    return "wired", {
        "inputs": inputs,
        "optional": {"v_0": 0.0} if "v_0" in inputs else {},
        "sampled_states": states,
        "sampled_outputs": outputs,
        "reads": staticmethod(reads),
    }


def _inputs(signal: str, frame: str, terminal: tuple[str, str]) -> tuple[str, ...]:
    """Return the inputs from which a signal is found."""
    voltage, turned = ("v_re", "v_im"), {MACHINE: ("delta",), LOOP: ("theta",)}.get(frame, ())
    stem, _, phase = signal.rpartition("_")
    if phase in tuple(PHASES) and stem in ("v", "i", "i_o"):
        return (*voltage, "v_0") if stem == "v" else (*(GRID if stem == "i_o" else BRIDGE), *turned)
    if signal in ("v", "angle"):
        return voltage
    return (*voltage, *terminal, *turned) if signal in ("p", "q") else (port_of(signal),)


class _Signals:
    """Signals at the instant of a sample, per unit."""

    def __init__(self, m: Any, v: Any, p: Any, frame: str, terminal: tuple[str, str]) -> None:
        self.m, self.v, self.p, self.frame, self.terminal = m, v, p, frame, terminal

    def value(self, signal: str) -> Any:
        """Return a signal; for phases those of phasors that have turned since t = 0."""
        m, v = self.m, self.v
        stem, _, phase = signal.rpartition("_")
        if phase in tuple(PHASES) and stem in ("v", "i", "i_o"):
            if stem == "v":
                z = v.v_re, v.v_im, v.v_0
            else:
                z = (*self._current(GRID if stem == "i_o" else BRIDGE), 0.0)
            return phase_values(m, self.p.f_n, v.t, *z)[PHASES.index(phase)]
        if signal in ("p", "q"):
            i_re, i_im = self._current(self.terminal)
            return v.v_re * i_re + v.v_im * i_im if signal == "p" else v.v_im * i_re - v.v_re * i_im
        if signal == "v":
            return m.sqrt(v.v_re**2 + v.v_im**2)
        return m.atan2(v.v_im, v.v_re) if signal == "angle" else getattr(v, port_of(signal))

    def _current(self, names: tuple[str, str]) -> tuple[Any, Any]:
        """Return a current of the plant in the frame of the network."""
        d, q = (getattr(self.v, name) for name in names)
        if self.frame == NETWORK:
            return d, q
        if self.frame == MACHINE:
            return machine_to_network(self.m, d, q, self.v.delta)
        return rotate(self.m, d, q, -self.v.theta)

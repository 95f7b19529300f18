"""What a stabiliser measures, by the input codes of the PSS/E models.

A stabiliser is declared with open signals. A device has those of its codes: what they read of the machine and
of the bus becomes its inputs, and a signal that is a derivative brings the state of a filter s/(1 + s t_f).
Source: PSS/E, Model Library, input codes of IEEEST, ST2CUT and PSS2A.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Parameter, positive, whole
from psmr.devices.blocks import machine_frame, phasor_frequency, washout
from psmr.devices.diagram import BlockDiagram
from psmr.devices.machines.textbook import F_N
from psmr.devices.placement import placement

_CODES = "1 speed, 2 bus frequency, 3 electrical and 4 accelerating power, 5 bus voltage, 6 its derivative"
CODE = Parameter("code", f"{_CODES}, 0 none", whole(0, 6))
PLACE = Parameter(
    "number", "bus of a bus's signal (codes 2, 5, 6), 0 for the machine's", whole(0, 999999), 0.0
)
FILTER = Parameter("s", "time constant of the filter of a derivative (codes 2 and 6)", positive, default=0.04)
"""PSS/E has this filter for a bus's frequency; 0.04 s is the default of its dynamic solution parameters."""


BUS = ("u_re", "u_im")
"""The voltage that a bus's signal is measured at: that of the machine's bus, or of another one."""
POWER = ("v_re", "v_im", "delta", "i_d", "i_q")
"""What the electrical power depends on."""

Phasor = tuple[Any, Any]


def electrical_power(m: Any, v: Any) -> Any:
    """Return the machine's electrical power at its terminals in pu on its base."""
    v_d, v_q = machine_frame(m, v.v_re, v.v_im, v.delta)
    return v_d * v.i_d + v_q * v.i_q


def machine_power(b: Any, v: Any) -> Any:
    """Return the electrical power in a block diagram."""
    return b.named("p_e", electrical_power(b, v), "electrical power at the terminals")


def bus_frequency(b: Any, v: Any, p: Any, at: Phasor, state: str) -> Any:
    """Return the deviation of the bus's frequency in pu: s/(1 + s t_f) on the voltage's angle."""
    x = b.held(state, lambda: np.angle(at[0] + 1j * at[1]))
    deviation, slope = phasor_frequency(b, *at, x, p.t_f, p.f_n)
    b.state(state, slope)
    return deviation


def voltage_derivative(b: Any, v: Any, p: Any, at: Phasor, state: str) -> Any:
    """Return the derivative of the magnitude of the bus's voltage in pu/s: s/(1 + s t_f)."""
    x = b.held(state, lambda: np.abs(at[0] + 1j * at[1]))
    change, slope = washout(b.sqrt(at[0] ** 2 + at[1] ** 2), x, p.t_f)
    b.state(state, slope)
    return change / p.t_f


@dataclass(frozen=True)
class Signal:
    """A measured signal.

    Attributes
    ----------
    inputs
        What it reads.
    read
        From blocks, variables, parameters, the voltage at the bus and the name of its state: its value.
    state, unit
        Name and unit of its state, empty for none.
    """

    inputs: tuple[str, ...]
    read: Callable[[Any, Any, Any, Phasor, str], Any]
    state: str = ""
    unit: str = "pu"


SIGNALS: tuple[Signal, ...] = (
    Signal((), lambda b, v, p, at, state: 0),
    Signal(("omega",), lambda b, v, p, at, state: v.omega - 1),
    Signal(BUS, bus_frequency, "x_theta", "rad"),
    Signal(POWER, lambda b, v, p, at, state: machine_power(b, v)),
    Signal((*POWER, "t_m"), lambda b, v, p, at, state: v.t_m - machine_power(b, v)),
    Signal(BUS, lambda b, v, p, at, state: b.sqrt(at[0] ** 2 + at[1] ** 2)),
    Signal(BUS, voltage_derivative, "x_v"),
)
"""The signal of each code."""


def misplaced(p: Mapping[str, float], code: str, bus: str) -> str | None:
    """Return the objection to a bus of a signal that is not a bus's."""
    if p[bus] and p[code] and SIGNALS[int(p[code])].inputs != BUS:
        return (
            f"{bus} = {p[bus]:g} and {code} = {p[code]:g}: {bus} must be 0, the signal is the machine's own"
        )
    return None


class Stabiliser(BlockDiagram, part=True):
    """A power system stabiliser, whose output is the signal v_s."""

    role = "stabiliser"


class Measuring(Stabiliser, part=True):
    """A stabiliser that measures signals by input codes: open ones in its declaration, as inputs u.

    Its first structural parameters are the codes.
    """

    codes: ClassVar[Mapping[str, int]] = {}
    inputs: ClassVar[tuple[str, ...]] = ("u", "v_re", "v_im")
    structural: ClassVar[tuple[str, ...]] = ("input",)

    @classmethod
    def measured(cls, b: Any, v: Any, p: Any, port: str = "u") -> Any:
        """Return a signal: the open one, or that of its code."""
        if port not in cls.codes:
            return getattr(v, port)
        signal = SIGNALS[cls.codes[port]]
        place = "v" if b.at_rest else port
        at = (getattr(v, f"{place}_re"), getattr(v, f"{place}_im")) if signal.inputs == BUS else (None, None)
        return signal.read(b, v, p, at, _state(signal, port))

    @classmethod
    def shape(cls, *choice: int) -> Mapping[str, Any]:
        """Return the attributes for the input codes."""
        ports = [name for name in cls.inputs if name in ("u", "u_1", "u_2")]
        codes = dict(zip(ports, choice, strict=False))
        return cls.with_signals(codes, cls.states)

    @classmethod
    def with_signals(
        cls, codes: Mapping[str, int], states: tuple[str, ...], **more: Any
    ) -> Mapping[str, Any]:
        """Return the attributes with the signals of codes; states of derivatives come behind `states`."""
        inputs, units = cls.inputs, dict(cls.units)
        for port, code in codes.items():
            signal = SIGNALS[code]
            reads = (f"{port}_re", f"{port}_im") if signal.inputs == BUS else signal.inputs
            inputs = tuple(dict.fromkeys((*reads, *(name for name in inputs if name != port))))
            if signal.state:
                states = (*states, _state(signal, port))
                units[_state(signal, port)] = signal.unit
        buses = {name: at for name, at in placement(cls).buses.items() if set(at) <= set(inputs)}
        own = {"codes": codes, "states": states, "inputs": inputs, "units": units, "buses": buses, **more}
        made = type(cls.__name__, (cls,), own)
        return {name: value for name, value in vars(made).items() if not name.startswith("_")}


def _state(signal: Signal, port: str) -> str:
    return signal.state and signal.state + port.removeprefix("u")


class OneSignal(Measuring, part=True):
    """A stabiliser with one input code."""

    buses = {"bus": ("u_re", "u_im")}

    f_n = F_N
    input = replace(CODE, default=1.0)
    bus = PLACE

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to a bus of a signal that is the machine's."""
        return misplaced(p, "input", "bus")


class TwoSignals(Measuring, part=True):
    """A stabiliser with two input codes."""

    inputs: ClassVar[tuple[str, ...]] = ("u_1", "u_2")
    buses = {"bus_1": ("u_1_re", "u_1_im"), "bus_2": ("u_2_re", "u_2_im")}
    structural: ClassVar[tuple[str, ...]] = ("input_1", "input_2")

    f_n = F_N
    input_1 = CODE
    bus_1 = PLACE
    input_2 = CODE
    bus_2 = PLACE

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to buses of signals that are the machine's."""
        return misplaced(p, "input_1", "bus_1") or misplaced(p, "input_2", "bus_2")

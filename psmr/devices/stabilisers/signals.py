"""What a stabiliser measures, by the input codes of the PSS/E models.

A stabiliser is declared with open signals. A device has those of its codes: what they read of the machine and
of the bus becomes its inputs, and a signal that is a derivative brings the state of a filter s/(1 + s t_f).
Source: PSS/E, Model Library, input codes of IEEEST, ST2CUT and PSS2A.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Component, NumericMath, Parameter, Terms, positive, whole
from psmr.devices.blocks import machine_frame, phasor_frequency, washout
from psmr.devices.diagram import BlockDiagram
from psmr.devices.placement import placement

Read = Callable[[Any, Any, Any, Any], tuple[Any, Terms]]

_CODES = "1 speed, 2 bus frequency, 3 electrical and 4 accelerating power, 5 bus voltage, 6 its derivative"
CODE = Parameter("code", f"{_CODES}, 0 none", whole(0, 6))
PLACE = Parameter(
    "number", "bus of a bus's signal (codes 2, 5, 6), 0 for the machine's", whole(0, 999999), 0.0
)
FILTER = Parameter("s", "time constant of the filter of a derivative (codes 2 and 6)", positive, default=0.04)
"""PSS/E has this filter for a bus's frequency; 0.04 s is the default of its dynamic solution parameters."""


BUS = ("u_re", "u_im")
"""The voltage that a bus's signal is measured at: that of the machine's bus, or of another one."""


@dataclass(frozen=True)
class Signal:
    """A measured signal.

    Attributes
    ----------
    inputs
        What it reads.
    read
        From functions, variables, parameters and the state: its value, and the derivative of its state.
    state
        Name of its state, empty for none.
    unit
        Unit of the state.
    rest
        The state's value at rest, from the voltage at the bus.
    """

    inputs: tuple[str, ...]
    read: Read
    state: str = ""
    unit: str = "pu"
    rest: Callable[[Any], Any] = np.abs


def none(m: Any, v: Any, p: Any, x: Any) -> tuple[Any, Terms]:
    """Return zero: the stabiliser has no such input."""
    return 0, ()


def speed(m: Any, v: Any, p: Any, x: Any) -> tuple[Any, Terms]:
    """Return the deviation of the rotor's speed in pu."""
    return v.omega - 1, ()


def bus_frequency(m: Any, v: Any, p: Any, x: Any) -> tuple[Any, Terms]:
    """Return the deviation of the bus's frequency in pu: s/(1 + s t_f) on the voltage's angle."""
    deviation, slope = phasor_frequency(m, v.u_re, v.u_im, x, p.t_f, p.f_n)
    return deviation, (slope,)


def electrical_power(m: Any, v: Any, p: Any, x: Any) -> tuple[Any, Terms]:
    """Return the machine's electrical power at its terminals in pu on its base."""
    v_d, v_q = machine_frame(m, v.v_re, v.v_im, v.delta)
    return v_d * v.i_d + v_q * v.i_q, ()


def machine_power(b: Any, v: Any, p: Any) -> Any:
    """Return the electrical power in a block diagram."""
    return b.named("p_e", electrical_power(b, v, p, None)[0], "electrical power at the terminals")


def accelerating_power(m: Any, v: Any, p: Any, x: Any) -> tuple[Any, Terms]:
    """Return the turbine's torque without the electrical power, in pu on the machine's base."""
    return v.t_m - electrical_power(m, v, p, x)[0], ()


def bus_voltage(m: Any, v: Any, p: Any, x: Any) -> tuple[Any, Terms]:
    """Return the magnitude of the bus's voltage in pu."""
    return m.sqrt(v.u_re**2 + v.u_im**2), ()


def voltage_derivative(m: Any, v: Any, p: Any, x: Any) -> tuple[Any, Terms]:
    """Return the derivative of the magnitude of the bus's voltage in pu/s: s/(1 + s t_f)."""
    change, slope = washout(m.sqrt(v.u_re**2 + v.u_im**2), x, p.t_f)
    return change / p.t_f, (slope,)


POWER = ("v_re", "v_im", "delta", "i_d", "i_q")
"""What the electrical power depends on."""
SIGNALS: tuple[Signal, ...] = (
    Signal((), none),
    Signal(("omega",), speed),
    Signal(BUS, bus_frequency, "x_theta", "rad", np.angle),
    Signal(POWER, electrical_power),
    Signal((*POWER, "t_m"), accelerating_power),
    Signal(BUS, bus_voltage),
    Signal(BUS, voltage_derivative, "x_v"),
)
"""The signal of each code."""


def known(terminal: Any) -> SimpleNamespace:
    """Return the variables that a signal may read, as they are guessed so far."""
    bus = {"v_re": np.real(terminal.voltage), "v_im": np.imag(terminal.voltage)}
    return SimpleNamespace(**bus | dict(terminal.signals))


class Stabiliser(BlockDiagram, part=True):
    """A power system stabiliser, whose output is the signal v_s."""

    role = "stabiliser"


class Measuring(Stabiliser, part=True):
    """A stabiliser that measures signals by input codes; its first structural parameters are the codes."""

    inputs: ClassVar[tuple[str, ...]] = ("u", "v_re", "v_im")
    structural: ClassVar[tuple[str, ...]] = ("input",)

    @classmethod
    def shape(cls, *choice: int) -> Mapping[str, Any]:
        """Return the attributes for the input codes."""
        ports = (name for name in cls.inputs if name in ("u", "u_1", "u_2"))
        return with_signals(cls, dict(zip(ports, choice, strict=False)))


def with_signals(
    component: type[Component], codes: Mapping[str, int], own: Mapping[str, Any] | None = None
) -> Mapping[str, Any]:
    """Return the attributes of `component` where its inputs `codes` are the signals of these codes.

    `own` has the attributes that are not those of `component`.
    """
    names = ("states", "inputs", "units", "lags", "equations", "guess")
    parts: Mapping[str, Any] = {name: getattr(component, name) for name in names} | dict(own or {})
    for port, code in codes.items():
        parts = _measured(parts, port, SIGNALS[code])
    read = parts["inputs"]
    buses = {name: ports for name, ports in placement(component).buses.items() if set(ports) <= set(read)}
    return {**parts, "buses": buses} | {name: staticmethod(parts[name]) for name in ("equations", "guess")}


def misplaced(p: Mapping[str, float], code: str, bus: str) -> str | None:
    """Return the objection to a bus of a signal that is not a bus's."""
    if p[bus] and p[code] and SIGNALS[int(p[code])].inputs != BUS:
        return (
            f"{bus} = {p[bus]:g} and {code} = {p[code]:g}: {bus} must be 0, the signal is the machine's own"
        )
    return None


def _measured(parts: Mapping[str, Any], port: str, signal: Signal) -> Mapping[str, Any]:
    """Return the attributes with one signal in place of the input `port`."""
    # The functions themselves stand in the closures, so that the hash of the kernels sees them.
    inner, first_guess, read, rest = parts["equations"], parts["guess"], signal.read, signal.rest
    state = signal.state and signal.state + port.removeprefix("u")
    re, im = f"{port}_re", f"{port}_im"
    at_bus = signal.inputs == BUS

    def value(m: Any, v: Any, p: Any, x: Any) -> tuple[Any, Terms]:
        """Return the signal and the derivative of its state, with the voltage at the bus that it is of."""
        there = {"u_re": getattr(v, re), "u_im": getattr(v, im)} if at_bus else {}
        return read(m, SimpleNamespace(**vars(v) | there), p, x)

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the equations with the signal, and the derivative of its state at the end."""
        u, slopes = value(m, v, p, getattr(v, state) if state else None)
        derivatives, residuals, injections = inner(m, SimpleNamespace(**vars(v) | {port: u}), p)
        return (*derivatives, *slopes), residuals, injections

    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the guess for the signal that the machine's own guess and its bus give."""
        own = {state: rest(terminal.voltage)} if state else {}
        v = known(terminal)
        here = SimpleNamespace(**vars(v) | {re: v.v_re, im: v.v_im})
        u = value(NumericMath, here, p, own.get(state))[0]
        return {**first_guess(replace(terminal, signals={**terminal.signals, port: u}), p), **own}

    reads = (re, im) if at_bus else signal.inputs
    read_already = [name for name in parts["inputs"] if name != port]
    return {
        **parts,
        "states": (*parts["states"], *((state,) if state else ())),
        "units": {**parts["units"], **({state: signal.unit} if state else {})},
        "inputs": tuple(dict.fromkeys((*reads, *read_already))),
        "equations": equations,
        "guess": guess,
    }

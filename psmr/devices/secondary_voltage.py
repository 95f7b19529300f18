"""Secondary voltage control: a regulator of a pilot bus, and the reactive loops of units that follow it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import (
    Component,
    Parameter,
    Terms,
    crossed,
    nonnegative,
    positive,
    whole,
)
from psmr.dae.declare.derived import derived
from psmr.dae.declare.samples import Samples
from psmr.devices.areas import NO_LIMIT
from psmr.devices.blocks import machine_frame
from psmr.devices.machines.textbook import S_BASE, S_N

OF_MACHINE = ("v_re", "v_im", "delta", "i_d", "i_q")
OF_CONVERTER = ("q_e",)
"""What a unit's reactive power is found from: the current of a machine, or what a converter has itself."""


class SecondaryVoltageControl(Component):
    """A regulator of the voltage of a pilot bus: PI, whose output is the reactive power it asks units for.

    ::

        v_set - |v| -> k_p + k_i/s, limits [least, most] -> level                        pu on s_base

    The limits, which hold the integral, are those at which every unit is at its own. At rest the level is 0
    and v_set the voltage of the power flow. Sources: J. P. Paul, J. Y. Léost and J. M. Tesseron, Survey of
    the Secondary Voltage Control in France, IEEE Trans. Power Systems (1987); P. Lagonotte and others,
    Structural Analysis of the Electrical System: Application to Secondary Voltage Control in France, IEEE
    Trans. Power Systems (1989).
    """

    role = "voltage_control"
    states: ClassVar[tuple[str, ...]] = ("integral",)
    algebraic: ClassVar[tuple[str, ...]] = ("v", "level")
    inputs = ("v_re", "v_im", "v_set")
    limits: ClassVar[Mapping[str, tuple[str | None, str | None]]] = {"integral": ("least", "most")}
    buses: ClassVar[Mapping[str, tuple[str, str]]] = {"bus": ("v_re", "v_im")}
    memory = ("least", "most")

    bus = Parameter("number", "pilot bus", whole(1, 999_999))
    k_p = Parameter("pu per pu", "proportional gain", nonnegative, 0.0)
    k_i = Parameter("pu per pu s", "integral gain", positive)
    least = Parameter("pu", "level at which every unit is at its lower limit", default=-NO_LIMIT)
    most = Parameter("pu", "level at which every unit is at its upper limit", default=NO_LIMIT)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the integral, and the residuals of voltage and level."""
        error = v.v_set - v.v
        level = m.min(m.max(v.integral + p.k_p * error, p.least), p.most)
        return (p.k_i * error,), (m.sqrt(v.v_re**2 + v.v_im**2) - v.v, level - v.level), ()


class SampledVoltageControl(SecondaryVoltageControl):
    """A `SecondaryVoltageControl` that computes at samples, every T from T_0 on, and holds in between.

    ::

        integral += k_i T (v_set - |v|),   level = integral + k_p (v_set - |v|),   both in [least, most]

    Sources: those of `SecondaryVoltageControl`, whose regulators in France go by 10 s.
    """

    states = ()
    algebraic = ("v",)
    limits: ClassVar[Mapping[str, tuple[str | None, str | None]]] = {}
    sampled_states = ("integral",)
    sampled_outputs = ("level",)
    samples = Samples(period="T", offset="T_0")

    T = Parameter("s", "cycle", positive, 10.0)
    T_0 = Parameter("s", "first cycle", nonnegative, 0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residual of the voltage."""
        return (), (m.sqrt(v.v_re**2 + v.v_im**2) - v.v,), ()

    @staticmethod
    def sample(m: Any, v: Any, p: Any) -> tuple[Terms, Terms]:
        """Return the integral and the level."""
        error = v.v_set - v.v
        integral = m.min(m.max(v.integral + p.k_i * p.T * error, p.least), p.most)
        return (integral,), (m.min(m.max(integral + p.k_p * error, p.least), p.most),)


class ReactiveParticipation(Component):
    """A unit's part in a secondary voltage control: its reactive loop moves the reference of its voltage.

    ::

        asked = q_0 + part level, limits [q_min, q_max]                                  pu on s_base
        (asked - q) s_base/s_n -> k_q/s, limits [-dv_max, dv_max] -> x
        reference = set_point + x

    q is the reactive power of the unit, q_0 that at the start. Sources: those of `SecondaryVoltageControl`.
    """

    role = "reactive_participation"
    states = ("x_q",)
    algebraic = ("reference",)
    inputs: ClassVar[tuple[str, ...]] = (*OF_MACHINE, "level", "set_point")
    limits: ClassVar[Mapping[str, tuple[str | None, str | None]]] = {"x_q": ("dv_min", "dv_max")}
    shared = ("s_n",)

    s_n, s_base = S_N, S_BASE
    q_0 = Parameter("pu", "reactive power at the start")
    part = Parameter("1", "part of the reactive power that is asked for", positive)
    q_max = Parameter("Mvar", "largest reactive power that it is asked for", default=NO_LIMIT)
    q_min = Parameter("Mvar", "smallest reactive power that it is asked for", default=-NO_LIMIT)
    k_q = Parameter("pu per pu s", "integral gain of the reactive loop", positive, 0.02)
    dv_max = Parameter("pu", "largest rise of the reference", positive, 0.1)
    dv_min = Parameter("pu", "largest fall of the reference, below 0", default=-0.1)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to limits that cross, or that do not contain the start."""
        if p["dv_min"] >= 0:
            return f"dv_min = {p['dv_min']:g}: must be < 0"
        return crossed(p, ("q_min", "q_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of x, and the residual of the reference."""
        return _follows(m, v, p, v.reference, of_machine(m, v))


def of_machine(m: Any, v: Any) -> Any:
    """Return the reactive power of a machine, in pu of its rating."""
    v_d, v_q = machine_frame(m, v.v_re, v.v_im, v.delta)
    return v_q * v.i_d - v_d * v.i_q


def _follows(m: Any, v: Any, p: Any, reference: Any, q: Any) -> tuple[Terms, Terms, Terms]:
    asked = m.min(m.max(p.q_0 + p.part * v.level, p.q_min / p.s_base), p.q_max / p.s_base)
    rate = p.k_q * (asked * p.s_base / p.s_n - q)
    if getattr(m, "opened", False):
        # At rest any x gives the power: the start is without.
        rate = -v.x_q
    return (rate,), (v.set_point + v.x_q - reference,), ()


@derived
def following(
    component: type[Component], reference: str, measured: tuple[str, ...]
) -> tuple[str, Mapping[str, Any]]:
    """Return the class of a participation that offers what a device reads, and reads the power of a unit."""

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        q = v.q_e if measured == OF_CONVERTER else of_machine(m, v)
        return _follows(m, v, p, getattr(v, reference), q)

    names = {"algebraic": (reference,), "inputs": (*measured, "level", "set_point")}
    return f"{reference}_{len(measured)}", {**names, "equations": staticmethod(equations)}

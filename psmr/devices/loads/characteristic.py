"""Loads of the standard library that are polynomials of the voltage and linear in the frequency."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Parameter, Terms, positive
from psmr.devices.blocks import phasor_frequency
from psmr.devices.loads.zip import StaticLoad, demand
from psmr.devices.machines import F_N


class LoadCharacteristic(StaticLoad):
    """The load characteristic IEEL without its parts that follow the frequency.

    ::

        P = p (a_1 V^n_1 + a_2 V^n_2 + a_3 V^n_3) / (the same at v_0)
        Q = q (a_4 V^n_4 + a_5 V^n_5 + a_6 V^n_6) / (the same at v_0)

    V is the voltage in pu. What the load draws in the power flow it draws at the start: the sums are divided
    by their value at the power flow's voltage, so that the parts need not add up to 1. P is p while the load
    does not ramp; a load trip multiplies it. Below the voltage `v_min` both powers go on as those of the
    impedances they are at `v_min`. Per unit on the system base. Source: PSS/E, Model Library, IEELBL; IEEE
    Task Force on Load Representation, Standard Load Models for Power Flow and Dynamic Performance
    Simulation, IEEE Trans. Power Systems 10(3), 1995.
    """

    role = "characteristic"

    v_0 = Parameter("pu", "voltage of the power flow", positive)
    a_1 = Parameter("1", "first part of the active power", default=1.0)
    a_2 = Parameter("1", "second part of the active power", default=0.0)
    a_3 = Parameter("1", "third part of the active power", default=0.0)
    a_4 = Parameter("1", "first part of the reactive power", default=1.0)
    a_5 = Parameter("1", "second part of the reactive power", default=0.0)
    a_6 = Parameter("1", "third part of the reactive power", default=0.0)
    n_1 = Parameter("1", "exponent of the voltage in the first part of P", default=0.0)
    n_2 = Parameter("1", "exponent of the voltage in the second part of P", default=0.0)
    n_3 = Parameter("1", "exponent of the voltage in the third part of P", default=0.0)
    n_4 = Parameter("1", "exponent of the voltage in the first part of Q", default=0.0)
    n_5 = Parameter("1", "exponent of the voltage in the second part of Q", default=0.0)
    n_6 = Parameter("1", "exponent of the voltage in the third part of Q", default=0.0)
    v_min = Parameter("pu", "voltage below which both powers are those of impedances", positive, default=0.7)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to parts that cancel each other: there is no power that they are parts of."""
        for sides in ((1, 2, 3), (4, 5, 6)):
            parts = [f"a_{k}" for k in sides]
            if sum(p[name] for name in parts) <= 0:
                said = " + ".join(parts)
                return f"{said} = {sum(p[name] for name in parts):g}: must be > 0; they are parts of a power"
        return None

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current into the bus, -(g + j b) v with the admittance that belongs to the voltage."""
        return (), (), drawn(m, v, p, 1, 1)


class FrequencyCharacteristic(LoadCharacteristic):
    """The load characteristic IEEL, whose powers follow voltage and frequency of the bus.

    ::

        P = p (a_1 V^n_1 + a_2 V^n_2 + a_3 V^n_3) (1 + a_7 f) / (the same at v_0)
        Q = q (a_4 V^n_4 + a_5 V^n_5 + a_6 V^n_6) (1 + a_8 f) / (the same at v_0)
        f = s/(1 + s t_f) of the phase of the bus voltage, in pu of the nominal frequency

    The time constant t_f stands for the filter that PSS/E has in its bus frequencies, four of its steps by
    default; a record does not give it. Otherwise as `LoadCharacteristic`. Source: PSS/E, Model Library,
    IEELBL.
    """

    role = "characteristic"
    states = ("angle",)
    units = {"angle": "rad"}

    f_n = F_N
    a_7 = Parameter("1", "change of the active power with the frequency, in pu of both", default=0.0)
    a_8 = Parameter("1", "change of the reactive power with the frequency, in pu of both", default=0.0)
    t_f = Parameter("s", "time constant of the measured frequency", positive, default=0.02)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivative of the measured angle and the current into the bus."""
        f, d_angle = phasor_frequency(m, v.v_re, v.v_im, v.angle, p.t_f, p.f_n)
        return (d_angle,), (), drawn(m, v, p, 1 + p.a_7 * f, 1 + p.a_8 * f)


def drawn(m: Any, v: Any, p: Any, with_p: Any, with_q: Any) -> Terms:
    """Return the current into the bus of a characteristic whose powers are multiplied by two factors."""
    active, reactive = demand(p)
    square = m.max(v.v_re**2 + v.v_im**2, p.v_min**2)
    g = active * with_p * _by_square(square, p, (1, 2, 3)) / (_by_square(p.v_0**2, p, (1, 2, 3)) * p.v_0**2)
    b = reactive * with_q * _by_square(square, p, (4, 5, 6)) / (_by_square(p.v_0**2, p, (4, 5, 6)) * p.v_0**2)
    return -(g * v.v_re + b * v.v_im), -(g * v.v_im - b * v.v_re)


def _by_square(square: Any, p: Any, parts: tuple[int, ...]) -> Any:
    """Return the sum of the parts a V^n over V^2."""
    terms = (getattr(p, f"a_{k}") * square ** (getattr(p, f"n_{k}") / 2 - 1) for k in parts)
    return sum(terms)

"""Loads whose power is a power of the voltage at their bus."""

from __future__ import annotations

from typing import Any

from psmr.dae.component import Component, Parameter, Terms, positive


class ExponentialLoad(Component):
    """A load whose P and Q each follow a power of the voltage.

    P = p (V/v_0)^exponent_p, Q = q (V/v_0)^exponent_q. The exponents 0, 1 and 2 are constant power, current
    and impedance; measured exponents lie between and beyond them. Below the voltage `v_min` both go on as the
    impedances they are at `v_min`, continuously, as the parts of `ZipLoad` do. A load trip multiplies p and
    q. Per unit on the system base. Source: Kundur (1994), section 7.1, static load models.
    """

    inputs = ("v_re", "v_im")
    outputs = ("i_re", "i_im")

    p = Parameter("pu", "active power at the voltage v_0")
    q = Parameter("pu", "reactive power at the voltage v_0")
    v_0 = Parameter("pu", "voltage to which p and q belong, from the power flow", positive)
    exponent_p = Parameter("1", "exponent of the voltage in the active power")
    exponent_q = Parameter("1", "exponent of the voltage in the reactive power")
    v_min = Parameter("pu", "voltage below which both powers are those of impedances", positive, default=0.7)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current into the bus, -(g + j b) v with the admittance that belongs to the voltage."""
        square = m.max(v.v_re**2 + v.v_im**2, p.v_min**2) / p.v_0**2
        g = p.p / p.v_0**2 * square ** (p.exponent_p / 2 - 1)
        b = -p.q / p.v_0**2 * square ** (p.exponent_q / 2 - 1)
        return (), (), (-(g * v.v_re - b * v.v_im), -(g * v.v_im + b * v.v_re))

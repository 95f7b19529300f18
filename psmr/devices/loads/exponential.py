"""Loads whose power is a power of the voltage at their bus."""

from __future__ import annotations

from typing import Any

from psmr.dae.declare.component import Parameter, Terms, positive
from psmr.devices.loads.zip import StaticLoad, demand


class ExponentialLoad(StaticLoad):
    """A load whose P and Q each follow a power of the voltage.

    The active power is P (V/v_0)^exponent_p, the reactive power Q (V/v_0)^exponent_q.
    The exponents 0, 1 and 2 are constant power, current and impedance; measured exponents lie
    between and beyond them. Below the voltage `v_min` both powers go on as those of the impedances
    they are at `v_min`, continuously, as the parts of `ZipLoad` do. Per unit on the
    system base. Source: Kundur (1994), section 7.1, static load models.
    """

    v_0 = Parameter("pu", "voltage to which p and q belong, from the power flow", positive)
    exponent_p = Parameter("1", "exponent of the voltage in the active power")
    exponent_q = Parameter("1", "exponent of the voltage in the reactive power")
    v_min = Parameter("pu", "voltage below which both powers are those of impedances", positive, default=0.7)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current into the bus, -(g + j b) v with the admittance that belongs to the voltage."""
        active, reactive = demand(p)
        square = m.max(v.v_re**2 + v.v_im**2, p.v_min**2) / p.v_0**2
        g = active / p.v_0**2 * square ** (p.exponent_p / 2 - 1)
        b = -reactive / p.v_0**2 * square ** (p.exponent_q / 2 - 1)
        return (), (), (-(g * v.v_re - b * v.v_im), -(g * v.v_im + b * v.v_re))

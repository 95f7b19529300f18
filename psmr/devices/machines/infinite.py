"""A voltage source that keeps its voltage and angle: what is large against everything else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.devices.machines.textbook import S_BASE, S_N


class InfiniteBus(Component):
    """An ideal voltage behind an impedance: e exp(j delta) = v + (r_a + j x_d1) i, with e and delta held.

    It has no states and gives any power at nominal frequency. In PSS/E files it is a GENCLS with H = 0.
    Source: Kundur (1994), section 12.2.
    """

    role = "machine"
    inputs = ("v_re", "v_im", "e", "delta")
    outputs = ("i_re", "i_im")
    units = {"delta": "rad"}

    s_n = S_N
    s_base = S_BASE
    r_a = Parameter("pu on machine base", "resistance", nonnegative, default=0.0)
    x_d1 = Parameter("pu on machine base", "reactance", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current into the bus."""
        i_re, i_im = behind_impedance(m, v, p)
        base = p.s_n / p.s_base
        return (), (), (base * i_re, base * i_im)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the source itself: it has a closed form."""
        i = terminal.current * p.s_base / p.s_n
        e = terminal.voltage + (p.r_a + 1j * p.x_d1) * i
        return {"delta": np.angle(e), "e": np.abs(e)}


def behind_impedance(m: Any, v: Any, p: Any) -> tuple[Any, Any]:
    """Return (i_re, i_im) of the voltage e exp(j delta) behind r_a + j x_d1, per unit on the machine base."""
    d_re, d_im = v.e * m.cos(v.delta) - v.v_re, v.e * m.sin(v.delta) - v.v_im
    square = p.r_a**2 + p.x_d1**2
    return (p.r_a * d_re + p.x_d1 * d_im) / square, (p.r_a * d_im - p.x_d1 * d_re) / square

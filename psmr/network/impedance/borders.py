"""What takes the place of the other side where a system is cut at a bus."""

from __future__ import annotations

from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms


class CurrentSource(Component):
    """A constant current into a bus, and what is injected beside it: the plant, seen from the grid."""

    inputs = ("i_re", "i_im")
    outputs = ("at_re", "at_im")
    optional = {"i_re": 0.0, "i_im": 0.0}

    constant_re = Parameter("pu", "real part of the constant current", default=0.0)
    constant_im = Parameter("pu", "imaginary part of the constant current", default=0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the current into the bus."""
        return (), (), (p.constant_re + v.i_re, p.constant_im + v.i_im)


class IdealVoltage(Component):
    """An ideal voltage at a bus, whatever current it takes: the grid, seen from the plant.

    i_re + j i_im is the current that it feeds into the bus: what flows from the grid into the plant.
    """

    algebraic = ("i_re", "i_im")
    inputs = ("v_re", "v_im", "e_re", "e_im")
    outputs = ("at_re", "at_im")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residuals of the voltage, and the current into the bus."""
        return (), (v.e_re - v.v_re, v.e_im - v.v_im), (v.i_re, v.i_im)

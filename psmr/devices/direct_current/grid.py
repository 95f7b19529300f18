"""DC buses and lines: voltages in pu of a common base, currents in pu of the system base over it.

    c v' = sum of the currents into a bus,    l i' = v_i - v_j - r i of a line

Constants are in pu: a capacitance in s is its time constant with the base impedance. A line between
line-commutated converters carries no current backwards: their valves conduct one way. Source: Kundur (1994),
section 10.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive

ONE_WAY, BOTH_WAYS = 0.0, -1e6


class DcBus(Component):
    """A DC bus with a capacitance: i is the sum of the currents into it."""

    states: ClassVar[tuple[str, ...]] = ("v",)
    algebraic: ClassVar[tuple[str, ...]] = ("i",)
    rows: ClassVar[tuple[str, ...]] = ("balance",)

    c = Parameter("s", "capacitance", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the rate of the voltage, and the balance to which devices add their currents."""
        return (v.i / p.c,), (-v.i,), ()


class DcNode(Component):
    """A DC bus without capacitance: the converter or the lines there give its voltage."""

    algebraic: ClassVar[tuple[str, ...]] = ("v",)
    rows: ClassVar[tuple[str, ...]] = ("balance",)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the balance to which devices add their currents."""
        return (), (0,), ()


class DcLine(Component):
    """A DC line with resistance and inductance; i flows from bus i to bus j."""

    states = ("i",)
    inputs = ("v_i", "v_j")
    outputs = ("i_i", "i_j")
    lags: ClassVar[Mapping[str, tuple[str, ...]]] = {"i": ("l",)}
    limits = {"i": ("i_min", None)}

    r = Parameter("pu", "resistance", nonnegative)
    l = Parameter("s", "inductance", nonnegative, default=0.0)  # noqa: E741  # the field's letter
    i_min = Parameter("pu", "current that valves let through at least", default=BOTH_WAYS)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the rate of the current, and the currents into both buses."""
        return ((v.v_i - v.v_j - p.r * v.i) / p.l,), (), (-v.i, v.i)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a line without impedance."""
        return None if p["r"] or p["l"] else "r = l = 0: the DC line has no impedance; give it its resistance"

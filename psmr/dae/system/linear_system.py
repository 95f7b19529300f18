"""A linearised DAE as a system, so that an integrator can be held against its step operator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from psmr.dae.declare.component import Component, Parameter
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System


class _State(Component):
    """A state without a derivative of its own; terms add it."""

    states = ("value",)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (0,), (), ()


class _Algebraic(Component):
    """An algebraic variable with an empty equation; terms fill it."""

    algebraic = ("value",)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (), (0,), ()


class Term(Component):
    """One entry of the Jacobian."""

    inputs = ("of",)
    outputs = ("row",)
    a = Parameter(unit="1/s or pu", doc="entry of the Jacobian")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return what is added to the row."""
        return (), (), (p.a * v.of,)


def linear_system(linear: LinearDae) -> System:
    """Return x' = fx x + fy y, 0 = gx x + gy y as a system that starts at zero and keeps the names."""
    n, m = linear.n, linear.m
    carriers = [Device(f"x{i}", _State, {}) for i in range(n)] + [
        Device(f"y{j}", _Algebraic, {}) for j in range(m)
    ]
    entries = sparse.coo_array(linear.jacobian())
    terms = [
        Device(
            f"term{k}",
            Term,
            {"a": float(a)},
            {"of": f"{carriers[column].name}.value", "row": f"{carriers[row].name}.value"},
        )
        for k, (row, column, a) in enumerate(zip(entries.row, entries.col, entries.data, strict=True))
    ]
    system = assemble([*carriers, *terms], name="linearised")
    return replace(
        system,
        names_x=linear.names_x,
        names_y=linear.names_y,
        names_g=linear.names_g,
        together=np.asarray(linear.groups),
    )

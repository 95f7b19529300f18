"""The speed-sensitive stabiliser of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.devices.blocks import washout


class STAB1(Component):
    """Stabiliser on the machine's speed: a washout and two lead-lags.

    ::

        omega - 1 -> k_t s t/(1 + s t) -> (1 + s t1_t3 t_3)/(1 + s t_3) -> (1 + s t2_t4 t_4)/(1 + s t_4)
        -> limits [-h_lim, h_lim] -> v_s

    The record has the quotients K/T, T1/T3 and T2/T4. Source: PSS/E, Model Library, STAB1.
    """

    role = "stabiliser"
    records = ("STAB1 k_t t t1_t3 t_3 t2_t4 t_4 h_lim",)
    states = ("w", "x_3", "x_4")
    algebraic = ("v_s",)
    inputs = ("omega",)
    lags = {"x_3": ("t_3",), "x_4": ("t_4",)}

    k_t = Parameter("pu voltage per pu speed", "gain K by the washout's time constant T")
    t = Parameter("s", "time constant of the washout", positive)
    t1_t3 = Parameter("1", "first lead by first lag", nonnegative)
    t_3 = Parameter("s", "first lag", nonnegative)
    t2_t4 = Parameter("1", "second lead by second lag", nonnegative)
    t_4 = Parameter("s", "second lag", nonnegative)
    h_lim = Parameter("pu", "limit of the output on both sides", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of washout and lead-lags, and the limited output."""
        washed, d_w = washout(p.k_t * (v.omega - 1), v.w, p.t)
        first = v.x_3 + p.t1_t3 * (washed - v.x_3)
        second = v.x_4 + p.t2_t4 * (first - v.x_4)
        derivatives = (d_w, (washed - v.x_3) / p.t_3, (first - v.x_4) / p.t_4)
        return derivatives, (m.clip(second, -p.h_lim, p.h_lim) - v.v_s,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the state of rest: the speed has no deviation."""
        return {"w": 0.0, "x_3": 0.0, "x_4": 0.0, "v_s": 0.0}

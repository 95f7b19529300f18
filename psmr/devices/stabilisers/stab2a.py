"""The stabiliser on electrical power of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import lag, washout
from psmr.devices.stabilisers.signals import POWER, electrical_power, known


class STAB2A(Component):
    """Stabilising unit on the machine's electrical power: three washouts, a lag beside a gain, two lags.

    ::

        -p_e -> (k_2 s t_2/(1 + s t_2))^3 -> w      w (k_4 + k_3/(1 + s t_3)) -> (k_5/(1 + s t_5))^2
        -> limits [-h_lim, h_lim] -> v_s

    p_e is the power at the terminals in pu on the machine's base. Source: PSS/E, Model Library, STAB2A (the
    power sensitive stabilising unit of ASEA).
    """

    role = "stabiliser"
    records = ("STAB2A k_2 t_2 k_3 t_3 k_4 k_5 t_5 h_lim",)
    states = ("w_1", "w_2", "w_3", "x_3", "x_4", "x_5")
    algebraic = ("v_s",)
    inputs = POWER
    lags = {"x_3": ("t_3",), "x_4": ("t_5",), "x_5": ("t_5",)}

    k_2 = Parameter("1", "gain of each washout")
    t_2 = Parameter("s", "time constant of each washout", positive)
    k_3 = Parameter("1", "gain of the lag")
    t_3 = Parameter("s", "time constant of the lag", nonnegative)
    k_4 = Parameter("1", "gain beside the lag")
    k_5 = Parameter("pu voltage per pu power", "gain of each lag at the output (their product has the unit)")
    t_5 = Parameter("s", "time constant of each lag at the output", nonnegative)
    h_lim = Parameter("pu", "limit of the output on both sides", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of washouts and lags, and the limited output."""
        power, _ = electrical_power(m, v, p, None)
        first, d_1 = washout(-p.k_2 * power, v.w_1, p.t_2)
        second, d_2 = washout(p.k_2 * first, v.w_2, p.t_2)
        third, d_3 = washout(p.k_2 * second, v.w_3, p.t_2)
        lags = (
            lag(p.k_3 * third, v.x_3, p.t_3),
            lag(p.k_5 * (v.x_3 + p.k_4 * third), v.x_4, p.t_5),
            lag(p.k_5 * v.x_4, v.x_5, p.t_5),
        )
        return (d_1, d_2, d_3, *lags), (m.clip(v.x_5, -p.h_lim, p.h_lim) - v.v_s,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the power at rest: it stops at the first washout."""
        return {"w_1": -p.k_2 * electrical_power(NumericMath, known(terminal), p, None)[0]}

"""Power system stabilisers: they give the exciter a signal `v_s`."""

from __future__ import annotations

from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.devices.blocks import lead_lag, washout


class PssSpeed(Component):
    """Stabiliser on the machine's speed: gain, washout, one lead-lag, limits on the output.

    ::

        k (omega - 1) -> s t_w/(1 + s t_w) -> (1 + s t_1)/(1 + s t_2) -> limits [v_s_min, v_s_max] -> v_s

    Source: Kundur (1994), chapter 12; IEEE Std 421.5-2016, type PSS1A with one lead-lag.
    Speed and voltage in per unit.
    """

    role = "stabiliser"
    states = ("x_w", "x_l")
    algebraic = ("v_s",)
    inputs = ("omega",)

    k = Parameter("pu voltage per pu speed", "gain")
    t_w = Parameter("s", "time constant of the washout", positive)
    t_1 = Parameter("s", "lead time constant", nonnegative)
    t_2 = Parameter("s", "lag time constant", positive)
    v_s_min = Parameter("pu", "lower limit of the output")
    v_s_max = Parameter("pu", "upper limit of the output")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of washout and lead-lag, and the limited output."""
        washed, d_w = washout(p.k * (v.omega - 1), v.x_w, p.t_w)
        led, d_l = lead_lag(washed, v.x_l, p.t_1, p.t_2)
        return (d_w, d_l), (m.clip(led, p.v_s_min, p.v_s_max) - v.v_s,), ()

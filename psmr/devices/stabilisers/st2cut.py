"""The stabilisers with two inputs and a voltage cut-off of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import (
    Component,
    Parameter,
    Terms,
    crossed,
    improper,
    nonnegative,
    nonpositive,
    positive,
)
from psmr.devices.blocks import lag, lead_lag, washout
from psmr.devices.machines.textbook import F_N
from psmr.devices.stabilisers.signals import CODE, FILTER, PLACE, misplaced, with_signals


class TwoSignals(Component):
    """What both stabilisers with two inputs share: lags, washout, three lead-lags, limits."""

    states = ("x_1", "x_2", "x_w", "x_3", "x_4", "x_5")
    algebraic = ("v_s",)
    inputs = ("u_1", "u_2", "v_re", "v_im")
    buses = {"bus_1": ("u_1_re", "u_1_im"), "bus_2": ("u_2_re", "u_2_im")}
    structural = ("input_1", "input_2")
    lags = {"x_1": ("t_1",), "x_2": ("t_2",), "x_3": ("t_6",), "x_4": ("t_8",), "x_5": ("t_10",)}
    integrals = {"x_1": "k_1", "x_2": "k_2"}

    f_n = F_N
    input_1 = CODE
    bus_1 = PLACE
    input_2 = CODE
    bus_2 = PLACE
    k_1 = Parameter("pu voltage per pu of the signal", "gain of the first signal")
    k_2 = Parameter("pu voltage per pu of the signal", "gain of the second signal")
    t_1 = Parameter("s", "lag of the first signal", nonnegative)
    t_2 = Parameter("s", "lag of the second signal", nonnegative)
    t_3 = Parameter("s", "numerator of the washout", nonnegative)
    t_4 = Parameter("s", "time constant of the washout", positive)
    t_5 = Parameter("s", "first lead", nonnegative)
    t_6 = Parameter("s", "first lag", nonnegative)
    t_7 = Parameter("s", "second lead", nonnegative)
    t_8 = Parameter("s", "second lag", nonnegative)
    t_9 = Parameter("s", "third lead", nonnegative)
    t_10 = Parameter("s", "third lag", nonnegative)
    l_s_max = Parameter("pu", "upper limit of the output")
    l_s_min = Parameter("pu", "lower limit of the output")
    t_f = FILTER

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to leads without their lags and to crossed limits."""
        if wrong := crossed(p, ("l_s_min", "l_s_max")):
            return wrong
        if wrong := misplaced(p, "input_1", "bus_1") or misplaced(p, "input_2", "bus_2"):
            return wrong
        return improper(p, ("t_5", "t_6"), ("t_7", "t_8"), ("t_9", "t_10"))

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the signals at rest: they stop at the washout."""
        x_1, x_2 = p.k_1 * terminal.signals["u_1"], p.k_2 * terminal.signals["u_2"]
        return {"x_1": x_1, "x_2": x_2, "x_w": x_1 + x_2}


def shaped(m: Any, v: Any, p: Any) -> tuple[Terms, Any]:
    """Return the derivatives of lags, washout and lead-lags, and the output within its limits."""
    washed, d_w = washout(v.x_1 + v.x_2, v.x_w, p.t_4)
    first, d_3 = lead_lag(p.t_3 / p.t_4 * washed, v.x_3, p.t_5, p.t_6)
    second, d_4 = lead_lag(first, v.x_4, p.t_7, p.t_8)
    third, d_5 = lead_lag(second, v.x_5, p.t_9, p.t_10)
    d_1, d_2 = lag(p.k_1 * v.u_1, v.x_1, p.t_1), lag(p.k_2 * v.u_2, v.x_2, p.t_2)
    return (d_1, d_2, d_w, d_3, d_4, d_5), m.clip(third, p.l_s_min, p.l_s_max)


class ST2CUT(TwoSignals):
    """Stabilising model on the sum of two signals: washout, three lead-lags, limits, voltage cut-off.

    ::

        u_1 -> k_1/(1 + s t_1) -> x_1      u_2 -> k_2/(1 + s t_2) -> x_2
        x_1 + x_2 -> s t_3/(1 + s t_4) -> (1 + s t_5)/(1 + s t_6) -> (1 + s t_7)/(1 + s t_8)
        -> (1 + s t_9)/(1 + s t_10) -> limits [l_s_min, l_s_max] -> v_s,
        and v_s = 0 where |v| - v_0 is outside [v_cl, v_cu]

    u_1 and u_2 are the signals of the codes `input_1` and `input_2`, v_0 is the voltage at the start. A limit
    v_cl or v_cu of zero is none. Source: PSS/E, Model Library, ST2CUT.
    """

    role = "stabiliser"
    records = (
        "ST2CUT input_1 bus_1 input_2 bus_2 k_1 k_2 t_1 t_2 t_3 t_4 t_5 t_6 t_7 t_8 t_9 t_10 l_s_max "
        "l_s_min v_cu v_cl",
    )

    v_0 = Parameter("pu", "bus voltage at the start, from the power flow", positive)
    v_cu = Parameter("pu", "rise of the bus voltage above which there is no output, 0 for none", nonnegative)
    v_cl = Parameter("pu", "fall of the bus voltage below which there is no output, 0 for none", nonpositive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of lags, washout and lead-lags, and the output."""
        derivatives, output = shaped(m, v, p)
        rise = m.sqrt(v.v_re**2 + v.v_im**2) - p.v_0
        low = m.where(m.ge(p.v_cl, 0), output, m.where(m.ge(rise, p.v_cl), output, 0))
        high = m.where(m.le(p.v_cu, 0), low, m.where(m.le(rise, p.v_cu), low, 0))
        return derivatives, (high - v.v_s,), ()

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the attributes for two input codes."""
        return with_signals(ST2CUT, dict(zip(("u_1", "u_2"), choice, strict=True)))


class IEE2ST(TwoSignals):
    """IEEE stabilising model on the sum of two signals: `ST2CUT` with a cut-off at two voltages.

    ::

        u_1 -> k_1/(1 + s t_1) -> x_1      u_2 -> k_2/(1 + s t_2) -> x_2
        x_1 + x_2 -> s t_3/(1 + s t_4) -> (1 + s t_5)/(1 + s t_6) -> (1 + s t_7)/(1 + s t_8)
        -> (1 + s t_9)/(1 + s t_10) -> limits [l_s_min, l_s_max] -> v_s,
        and v_s = 0 where |v| is outside [v_cl, v_cu]

    A limit v_cl or v_cu of zero is none. Source: PSS/E, Model Library, IEE2ST; for its parameters PowerWorld.
    """

    role = "stabiliser"
    records = (
        "IEE2ST input_1 bus_1 input_2 bus_2 k_1 k_2 t_1 t_2 t_3 t_4 t_5 t_6 t_7 t_8 t_9 t_10 l_s_max "
        "l_s_min v_cu v_cl",
    )

    v_cu = Parameter("pu", "bus voltage above which there is no output, 0 for none", nonnegative)
    v_cl = Parameter("pu", "bus voltage below which there is no output, 0 for none", nonnegative)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of lags, washout and lead-lags, and the output."""
        derivatives, output = shaped(m, v, p)
        square = v.v_re**2 + v.v_im**2
        low = m.where(m.ge(square, p.v_cl**2), output, 0)
        high = m.where(m.le(p.v_cu, 0), low, m.where(m.le(square, p.v_cu**2), low, 0))
        return derivatives, (high - v.v_s,), ()

    @staticmethod
    def shape(*choice: int) -> Mapping[str, Any]:
        """Return the attributes for two input codes."""
        return with_signals(IEE2ST, dict(zip(("u_1", "u_2"), choice, strict=True)))

"""The bus-fed static excitation system for machines that give no field current."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, improper, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag, washout
from psmr.devices.exciters.compensator import regulated_voltage


class StaticExciter(Component):
    """Bus-fed static excitation system: EXST1 without the regulation of the rectifier (k_c = 0).

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m - feedback -> limits [v_i_min, v_i_max]
        -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a) -> v_a -> limits [|v| v_r_min, |v| v_r_max] -> v_f
        feedback = s k_f/(1 + s t_f) v_f

    It reads no field current, which the two-axis machine does not give; EXST1 needs one. Source: IEEE
    Committee Report, Excitation System Models for Power System Stability Studies (1981), type ST1.
    """

    role = "exciter"
    states = ("v_m", "x_l", "v_a", "x_f")
    algebraic = ("v_f",)
    inputs: ClassVar[tuple[str, ...]] = ("v_re", "v_im", "v_s", "v_ref")
    optional = {"v_s": 0.0}
    lags = {"v_m": ("t_r",), "x_l": ("t_b",), "v_a": ("t_a",)}

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    v_i_max = Parameter("pu", "upper limit of the voltage error", positive)
    v_i_min = Parameter("pu", "lower limit of the voltage error")
    t_c = Parameter("s", "lead time constant", nonnegative)
    t_b = Parameter("s", "lag time constant", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the field voltage at rated bus voltage")
    v_r_min = Parameter("pu", "lower limit of the field voltage at rated bus voltage")
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag and to crossed limits."""
        limits = (("v_i_min", "v_i_max"), ("v_r_min", "v_r_max"))
        return crossed(p, *limits) or improper(p, ("t_c", "t_b"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lag, regulator and feedback, and the field voltage."""
        return bus_fed(m, v, p, 0, v.v_f)

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f = terminal.signals.get("v_f", 1.0)
        v_m = np.abs(terminal.voltage)
        signals = {"v_a": v_f, "x_f": v_f, "v_f": v_f}
        return signals | {"v_m": v_m, "x_l": v_f / p.k_a, "v_ref": v_m + v_f / p.k_a}


def bus_fed(m: Any, v: Any, p: Any, drop: Any, fed_back: Any) -> tuple[Terms, Terms, Terms]:
    """Return the equations of a bus-fed exciter with rate feedback of `fed_back`.

    `drop` is what the rectifier takes off the ceiling.
    """
    magnitude = m.sqrt(v.v_re**2 + v.v_im**2)
    washed, d_f = washout(fed_back, v.x_f, p.t_f)
    error = m.clip(v.v_ref + v.v_s - v.v_m - p.k_f / p.t_f * washed, p.v_i_min, p.v_i_max)
    led, d_l = lead_lag(error, v.x_l, p.t_c, p.t_b)
    limited = m.clip(v.v_a, magnitude * p.v_r_min - drop, magnitude * p.v_r_max - drop)
    return (
        (lag(regulated_voltage(m, v), v.v_m, p.t_r), d_l, lag(p.k_a * led, v.v_a, p.t_a), d_f),
        (limited - v.v_f,),
        (),
    )

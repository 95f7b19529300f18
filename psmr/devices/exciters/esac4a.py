"""The alternator with a controlled rectifier of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, improper, nonnegative, positive
from psmr.devices.blocks import lag, lead_lag
from psmr.devices.exciters.compensator import regulated_voltage


class ESAC4A(Component):
    """Alternator with controlled rectifier, IEEE types AC4 (1981), AC4A (1992) and AC4C (2016).

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m -> limits [v_i_min, v_i_max] -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [v_r_min, v_r_max - k_c i_f] -> v_f

    The limits hold without windup; i_f is the field current of the machine. The gates of limiters are left
    out: OEL and UEL, the first two numbers of AC4C, which place them, change nothing. Source: IEEE Std
    421.5-2005, type AC4A; IEEE Std 421.5-2016, type AC4C; PSS/E, Model Library, ESAC4A, EXAC4; the orders of
    the values are those of records of PSS/E 36 in InterPSS' public test data.
    """

    role = "exciter"
    records = tuple(
        f"{model} t_r v_i_max v_i_min t_c t_b k_a t_a v_r_max v_r_min k_c"
        for model in ("AC4C -oel -uel", "ESAC4A", "EXAC4")
    )
    states = ("v_m", "x_l", "v_r")
    algebraic = ("v_f", "v_r_high")
    inputs = ("v_re", "v_im", "v_s", "i_f", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"v_r": ("v_r_min", "v_r_high")}
    lags = {"v_m": ("t_r",), "x_l": ("t_b",), "v_r": ("t_a",)}

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    v_i_max = Parameter("pu", "upper limit of the voltage error", positive)
    v_i_min = Parameter("pu", "lower limit of the voltage error")
    t_c = Parameter("s", "lead time constant before the regulator", nonnegative)
    t_b = Parameter("s", "lag time constant before the regulator", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the field voltage without field current")
    v_r_min = Parameter("pu", "lower limit of the field voltage")
    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag and to crossed limits."""
        return improper(p, ("t_c", "t_b")) or crossed(p, ("v_i_min", "v_i_max"), ("v_r_min", "v_r_max"))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lag and regulator; the field voltage and its limit."""
        error = m.clip(v.v_ref + v.v_s - v.v_m, p.v_i_min, p.v_i_max)
        led, d_l = lead_lag(error, v.x_l, p.t_c, p.t_b)
        derivatives = (lag(regulated_voltage(m, v), v.v_m, p.t_r), d_l, lag(p.k_a * led, v.v_r, p.t_a))
        return derivatives, (v.v_r - v.v_f, p.v_r_max - p.k_c * v.i_f - v.v_r_high), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, v_m = terminal.signals.get("v_f", 1.0), np.abs(terminal.voltage)
        error = v_f / p.k_a
        high = p.v_r_max - p.k_c * terminal.signals.get("i_f", 1.0)
        found = {"v_m": v_m, "x_l": error, "v_r": v_f, "v_f": v_f, "v_r_high": high}
        return found | {"v_ref": v_m + error}

"""The simplified brushless excitation system of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Parameter, Terms, crossed, improper, nonnegative
from psmr.devices.blocks import lag, lead_lag, washout
from psmr.devices.exciters.compensator import regulated_voltage
from psmr.devices.exciters.dc import DirectCurrent, exciter_slope, guess_direct_current


class ESAC5A(DirectCurrent):
    """Brushless excitation system, IEEE type AC5A (1992).

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m - feedback -> k_a/(1 + s t_a),
        limits [v_r_min, v_r_max] -> v_r      v_r -> 1/(k_e + S_E(v_f) + s t_e), at least 0 -> v_f
        v_r -> s k_f/(1 + s t_f) (1 + s t_f3)/(1 + s t_f2) -> feedback

    The exciter has no brushes, so the feedback is of what drives it. With k_e = 0 the constant of the
    exciter is the one with which v_r is v_r_max / 10 at the start. Source: IEEE Std 421.5-2005, type AC5A;
    PSS/E, Model Library, ESAC5A, whose TF1 is t_f; the place of the feedback is that of InterPSS and ANDES,
    the order of the values that of a record of PSS/E 36 in InterPSS' public test data.
    """

    role = "exciter"
    records = ("ESAC5A t_r k_a t_a v_r_max v_r_min k_e t_e k_f t_f t_f2 t_f3 e_1 se_1 e_2 se_2",)
    states = ("v_m", "v_r", "v_f", "x_f", "x_f2")
    limits = {"v_r": ("v_r_min", "v_r_max"), "v_f": ("v_f_min", None)}
    lags = {"v_m": ("t_r",), "v_r": ("t_a",), "x_f2": ("t_f2",)}

    t_f2 = Parameter("s", "second lag time constant of the feedback", nonnegative)
    t_f3 = Parameter("s", "lead time constant of the feedback", nonnegative)
    v_f_min = Parameter("pu", "lower limit of the field voltage: the diodes", default=0.0)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag, to crossed limits and to an impossible saturation curve."""
        return (
            improper(p, ("t_f3", "t_f2")) or crossed(p, ("v_r_min", "v_r_max")) or DirectCurrent.conflict(p)
        )

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulator, exciter and both parts of the feedback."""
        washed, d_f = washout(v.v_r, v.x_f, p.t_f)
        feedback, d_f2 = lead_lag(p.k_f / p.t_f * washed, v.x_f2, p.t_f3, p.t_f2)
        regulated = lag(p.k_a * (v.v_ref + v.v_s - v.v_m - feedback), v.v_r, p.t_a)
        measured = lag(regulated_voltage(m, v), v.v_m, p.t_r)
        return (measured, regulated, exciter_slope(m, v, p), d_f, d_f2), (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        found = guess_direct_current(terminal, p)
        return found | {"x_f": found["v_r"]}

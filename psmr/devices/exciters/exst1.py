"""The bus-fed static excitation system of the standard library."""

from __future__ import annotations

from typing import Any

from psmr.dae.declare.component import Parameter, Terms, nonnegative
from psmr.devices.exciters.static_exciter import StaticExciter, bus_fed


class EXST1(StaticExciter):
    """Bus-fed static excitation system, IEEE type ST1 (1981), with the rectifier's limits on v_f.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m - feedback -> limits [v_i_min, v_i_max]
        -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a) -> v_a
        v_a -> limits [|v| v_r_min - k_c i_f, |v| v_r_max - k_c i_f] -> v_f
        feedback = s k_f/(1 + s t_f) v_a

    i_f is the field current of the machine. The feedback is of the regulator's output before the rectifier's
    limits, as a trace of PSS/E through a fault has it (docs/benchmarks/psse.md). Source: IEEE Committee
    Report, Excitation System Models for Power System Stability Studies (1981), type ST1; PSS/E, Model
    Library, EXST1.
    """

    role = "exciter"
    records = ("EXST1 t_r v_i_max v_i_min t_c t_b k_a t_a v_r_max v_r_min k_c k_f t_f",)
    inputs = ("v_re", "v_im", "v_s", "i_f", "v_ref")

    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lag, regulator and feedback, and the field voltage."""
        return bus_fed(m, v, p, p.k_c * v.i_f, v.v_a)

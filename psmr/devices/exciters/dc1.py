"""The direct-current exciters of type DC1 that are not `IEEEX1` by name, and type 2 (1968)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Parameter, Terms, nonnegative
from psmr.devices.blocks import lag, washout
from psmr.devices.exciters.compensator import regulated_voltage
from psmr.devices.exciters.compound import NO_LIMIT
from psmr.devices.exciters.dc import (
    IEEEX1,
    DirectCurrent,
    exciter_slope,
    guess_direct_current,
)


class EXDC1(IEEEX1):
    """IEEE type DC1 excitation system (1981): the equations of `IEEEX1`.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [v_r_min, v_r_max] -> v_r      v_r -> 1/(k_e + S_E(v_f) + s t_e) -> v_f
        feedback = s k_f/(1 + s t_f) v_f

    Source: IEEE Committee Report, Excitation System Models for Power System Stability Studies (1981), type
    DC1. The PSS/E library has this name no more; public files have records of it with the sixteen values of
    IEEEX1 in their order.
    """

    role = "exciter"
    records = ("EXDC1 t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f -switch e_1 se_1 e_2 se_2",)


class ESDC1A(IEEEX1):
    """IEEE type DC1A excitation system (1992), without underexcitation limiter: `IEEEX1` with a floor of v_f.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [v_r_min, v_r_max] -> v_r
        v_r -> 1/(k_e + S_E(v_f) + s t_e), limits [v_f_min, v_f_max] -> v_f
        feedback = s k_f/(1 + s t_f) v_f

    Source: IEEE Std 421.5-2005, type DC1A; PSS/E, Model Library, ESDC1A. Its data sheet has the floor of zero
    as OpenIPSL reproduces it; PowerSimulationsDynamics.jl has none. Type DC1C of IEEE Std 421.5-2016 is the
    same, without its limiters' gates, which OEL and UEL place, the first two numbers of its record; the order
    of its values is that of PowerWorld and of a record of PSS/E 36 in InterPSS' public test data.
    """

    role = "exciter"
    records = (
        "DC1C -oel -uel t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f e_1 se_1 e_2 se_2 "
        "v_f_max v_f_min",
        "ESDC1A t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f -switch e_1 se_1 e_2 se_2",
    )
    limits = {"v_r": ("v_r_min", "v_r_max"), "v_f": ("v_f_min", "v_f_max")}

    v_f_min = Parameter("pu", "lower limit of the field voltage", default=0.0)
    v_f_max = Parameter("pu", "upper limit of the field voltage", default=NO_LIMIT)


class IEEET2(DirectCurrent):
    """IEEE type 2 excitation system (1968): a rotating rectifier, with the feedback taken before the exciter.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m - feedback -> k_a/(1 + s t_a),
        limits [v_r_min, v_r_max] -> v_r      v_r -> 1/(k_e + S_E(v_f) + s t_e) -> v_f
        feedback = s k_f/((1 + s t_f)(1 + s t_f2)) v_r

    Source: IEEE Committee Report, Computer Representation of Excitation Systems (1968), type 2; PSS/E, Model
    Library, IEEET2.
    """

    role = "exciter"
    records = ("IEEET2 t_r k_a t_a v_r_max v_r_min k_e t_e k_f t_f t_f2 e_1 se_1 e_2 se_2",)
    states = ("v_m", "v_r", "v_f", "x_f", "x_f2")
    lags = {"v_m": ("t_r",), "v_r": ("t_a",), "x_f2": ("t_f2",)}

    t_f2 = Parameter("s", "second time constant of the rate feedback", nonnegative)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulator, exciter and both lags of the feedback."""
        washed, d_f = washout(v.v_r, v.x_f, p.t_f)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            lag(p.k_a * (v.v_ref + v.v_s - v.v_m - v.x_f2), v.v_r, p.t_a),
            exciter_slope(m, v, p),
            d_f,
            lag(p.k_f / p.t_f * washed, v.x_f2, p.t_f2),
        )
        return derivatives, (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        found = guess_direct_current(terminal, p)
        return found | {"x_f": found["v_r"]}

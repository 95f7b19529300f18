"""The excitation systems with a rotating direct-current exciter of the standard library.

The direct-current exciters of type DC1 that are not `IEEEX1` by name, and type 2 (1968).

The excitation systems with a rotating exciter whose regulator is fed from the machine's own terminals.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, improper, nonnegative, positive
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import lag, lead_lag, quadratic_saturation, saturation_conflict, washout
from psmr.devices.exciters.compensator import regulated_voltage
from psmr.devices.exciters.compound import NO_LIMIT


class DirectCurrent(Component):
    """Parameters, inputs and limits of the direct-current exciters."""

    inputs: ClassVar[tuple[str, ...]] = ("v_re", "v_im", "v_s", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"v_r": ("v_r_min", "v_r_max")}
    lags = {"v_m": ("t_r",), "v_r": ("t_a",)}

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    k_e = Parameter("pu", "constant of the exciter (1: separately excited; 0: v_r starts at v_r_max / 10)")
    t_e = Parameter("s", "time constant of the exciter", positive)
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)
    e_1 = Parameter("pu", "first field voltage of the saturation curve", nonnegative)
    se_1 = Parameter("1", "saturation at e_1", nonnegative)
    e_2 = Parameter("pu", "second field voltage of the saturation curve", nonnegative)
    se_2 = Parameter("1", "saturation at e_2", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to an impossible saturation curve."""
        return saturation_conflict(p, p["e_1"], "se_1", p["e_2"], "se_2")

    @staticmethod
    def at_start(v: Mapping[str, float], p: Mapping[str, float]) -> Mapping[str, float]:
        """Return for k_e = 0 the constant with which v_r is a tenth of its upper limit, as PSS/E has it.

        PSS/E's traces of IEEEX1, ESDC1A and ESDC2A are met so (docs/benchmarks/psse.md).
        """
        if p["k_e"] != 0 or v["v_f"] == 0:
            return {}
        saturated = exciter_current(NumericMath, v["v_f"], SimpleNamespace(**p))
        return {"k_e": (0.1 * p["v_r_max"] - float(saturated)) / v["v_f"]}


def _voltage_error(m: Any, v: Any, p: Any) -> tuple[Any, Any, Any]:
    """Return (error less rate feedback, derivative of the transducer, derivative of the feedback)."""
    washed, d_f = washout(v.v_f, v.x_f, p.t_f)
    error = v.v_ref + v.v_s - v.v_m - p.k_f / p.t_f * washed
    return error, lag(regulated_voltage(m, v), v.v_m, p.t_r), d_f


def exciter_slope(m: Any, v: Any, p: Any) -> Any:
    """Return the derivative of the field voltage that the regulator's voltage v_r drives."""
    return (v.v_r - exciter_current(m, v.v_f, p)) / p.t_e


def exciter_current(m: Any, v_f: Any, p: Any) -> Any:
    """Return the regulator's voltage that holds the field voltage v_f."""
    return p.k_e * v_f + quadratic_saturation(m, v_f, p.e_1, p.se_1, p.e_2, p.se_2)


def guess_direct_current(terminal: Any, p: Any) -> dict[str, Any]:
    """Return the equilibrium of transducer, regulator and exciter for the field voltage of the machine."""
    v_f = terminal.signals.get("v_f", 1.0)
    v_r, v_m = exciter_current(NumericMath, v_f, p), np.abs(terminal.voltage)
    return {"v_m": v_m, "v_r": v_r, "v_f": v_f, "x_f": v_f, "v_ref": v_m + v_r / p.k_a}


class IEEET1(DirectCurrent):
    """IEEE type 1 excitation system (1968): regulator, self-excited exciter with saturation, rate feedback.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m - feedback -> k_a/(1 + s t_a),
        limits [v_r_min, v_r_max] -> v_r      v_r -> 1/(k_e + S_E(v_f) + s t_e) -> v_f
        feedback = s k_f/(1 + s t_f) v_f

    S_E(v_f) v_f = b (v_f - a)^2 above a, through the two given points. Source: IEEE Committee Report,
    Computer Representation of Excitation Systems (1968), type 1; PSS/E, Model Library, IEEET1.
    """

    role = "exciter"
    records = ("IEEET1 t_r k_a t_a v_r_max v_r_min k_e t_e k_f t_f -switch e_1 se_1 e_2 se_2",)
    states = ("v_m", "v_r", "v_f", "x_f")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulator, exciter and rate feedback."""
        error, d_m, d_f = _voltage_error(m, v, p)
        return (d_m, lag(p.k_a * error, v.v_r, p.t_a), exciter_slope(m, v, p), d_f), (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        return guess_direct_current(terminal, p)


class IEEEX1(DirectCurrent):
    """IEEE type DC1 excitation system (1981): as `IEEET1`, with a lead-lag before the regulator.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [v_r_min, v_r_max] -> v_r      v_r -> 1/(k_e + S_E(v_f) + s t_e) -> v_f
        feedback = s k_f/(1 + s t_f) v_f

    Source: IEEE Committee Report, Excitation System Models for Power System Stability Studies (1981), type
    DC1; PSS/E, Model Library, IEEEX1.
    """

    role = "exciter"
    records: ClassVar[tuple[str, ...]] = (
        "IEEEX1 t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f -switch e_1 se_1 e_2 se_2",
    )
    states = ("v_m", "x_l", "v_r", "v_f", "x_f")
    lags = {"v_m": ("t_r",), "x_l": ("t_b",), "v_r": ("t_a",)}

    t_b = Parameter("s", "lag time constant before the regulator", nonnegative)
    t_c = Parameter("s", "lead time constant before the regulator", nonnegative)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to a lead without its lag and to an impossible saturation curve."""
        return improper(p, ("t_c", "t_b")) or DirectCurrent.conflict(p)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, lead-lag, regulator, exciter and rate feedback."""
        error, d_m, d_f = _voltage_error(m, v, p)
        led, d_l = lead_lag(error, v.x_l, p.t_c, p.t_b)
        return (d_m, d_l, lag(p.k_a * led, v.v_r, p.t_a), exciter_slope(m, v, p), d_f), (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        found = guess_direct_current(terminal, p)
        return found | {"x_l": found["v_r"] / p.k_a}


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


class EXDC2(IEEEX1):
    """IEEE type DC2 excitation system (1981): as `IEEEX1`, with a regulator fed from the terminals.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [|v| v_r_min, |v| v_r_max] -> v_r      v_r -> 1/(k_e + S_E(v_f) + s t_e) -> v_f
        feedback = s k_f/(1 + s t_f) v_f

    v_r_low and v_r_high are the limits as they move with the voltage. Source: IEEE Committee Report,
    Excitation System Models for Power System Stability Studies (1981), type DC2; PSS/E, Model Library, EXDC2.
    """

    role = "exciter"
    records = ("EXDC2 t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f -switch e_1 se_1 e_2 se_2",)
    algebraic = ("v_r_low", "v_r_high")
    limits = {"v_r": ("v_r_low", "v_r_high")}

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of `IEEEX1`, and the regulator's limits."""
        derivatives, _, _ = IEEEX1.equations(m, v, p)
        magnitude = m.sqrt(v.v_re**2 + v.v_im**2)
        return derivatives, (magnitude * p.v_r_min - v.v_r_low, magnitude * p.v_r_max - v.v_r_high), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        magnitude = np.abs(terminal.voltage)
        limits = {"v_r_low": magnitude * p.v_r_min, "v_r_high": magnitude * p.v_r_max}
        return {**IEEEX1.guess(terminal, p), **limits}


class ESDC2A(EXDC2):
    """IEEE type DC2A excitation system (1992), without underexcitation limiter: the equations of `EXDC2`.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [|v| v_r_min, |v| v_r_max] -> v_r      v_r -> 1/(k_e + S_E(v_f) + s t_e) -> v_f
        feedback = s k_f/(1 + s t_f) v_f

    Source: IEEE Std 421.5-1992, type DC2A; PSS/E, Model Library, ESDC2A.
    """

    role = "exciter"
    records = ("ESDC2A t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f -switch e_1 se_1 e_2 se_2",)


class DC2C(EXDC2):
    """IEEE type DC2C excitation system (2016), without its limiters' gates: `EXDC2` with limits of v_f.

    ::

        |v| -> 1/(1 + s t_r) -> v_m
        v_ref + v_s - v_m - feedback -> (1 + s t_c)/(1 + s t_b) -> k_a/(1 + s t_a),
        limits [|v| v_r_min, |v| v_r_max] -> v_r
        v_r -> 1/(k_e + S_E(v_f) + s t_e), limits [v_f_min, v_f_max] -> v_f
        feedback = s k_f/(1 + s t_f) v_f

    OEL and UEL, the record's first two numbers, which place the gates, change nothing. Source: IEEE Std
    421.5-2016, type DC2C; the order of the values is that of PowerWorld and of a record of PSS/E 36 in
    InterPSS' public test data.
    """

    role = "exciter"
    records = (
        "DC2C -oel -uel t_r k_a t_a t_b t_c v_r_max v_r_min k_e t_e k_f t_f e_1 se_1 e_2 se_2 "
        "v_f_max v_f_min",
    )
    limits = {"v_r": ("v_r_low", "v_r_high"), "v_f": ("v_f_min", "v_f_max")}

    v_f_min = Parameter("pu", "lower limit of the field voltage", default=0.0)
    v_f_max = Parameter("pu", "upper limit of the field voltage", default=NO_LIMIT)

"""Excitation systems: they read the voltage of the bus and give the machine its field voltage `v_f`.

The compound-fed static exciter of 1968 of the standard library, IEEE type 3.

The bus-fed static excitation system of Ontario Hydro in the standard library.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import exponential_saturation, lag, remaining, washout
from psmr.devices.exciters.compensator import regulated_voltage
from psmr.devices.exciters.compound import Potential, potential_at_start, potential_now
from psmr.devices.exciters.static import EXST1


def _regulator(m: Any, v: Any, p: Any, v_m: Any) -> tuple[Any, Any, Any]:
    """Return the derivatives of (v_r, r_f, v_f) for a measured voltage v_m (Sauer and Pai, chapter 4)."""
    feedback = (p.k_f / p.t_f) * v.v_f - v.r_f
    return (
        lag(p.k_a * (v.v_ref + v.v_s - v_m - feedback), v.v_r, p.t_a),
        lag((p.k_f / p.t_f) * v.v_f, v.r_f, p.t_f),
        (v.v_r - (p.k_e + exponential_saturation(m, v.v_f, p.a_x, p.b_x)) * v.v_f) / p.t_e,
    )


def _regulator_guess(terminal: Any, p: Any) -> dict[str, Any]:
    v_f = terminal.signals.get("v_f", 1.0)
    v_r = (p.k_e + p.a_x * np.exp(p.b_x * v_f)) * v_f
    return {
        "v_f": v_f,
        "r_f": p.k_f / p.t_f * v_f,
        "v_r": v_r,
        "v_ref": np.abs(terminal.voltage) + v_r / p.k_a,
    }


class _Type1(Component):
    """Parameters, inputs and limits that both forms of the type 1 exciter share."""

    inputs = ("v_re", "v_im", "v_s", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"v_r": ("v_r_min", "v_r_max")}

    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", positive)
    k_e = Parameter("pu", "constant of the exciter (1 where separately excited)")
    t_e = Parameter("s", "time constant of the exciter", positive)
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)
    a_x = Parameter("pu", "saturation S_E = a_x exp(b_x v_f)", nonnegative)
    b_x = Parameter("1/pu", "exponent of the saturation", nonnegative)
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    v_r_max = Parameter("pu", "upper limit of the regulator's output")


class ExciterType1(_Type1):
    """IEEE type 1 exciter (DC1A without lead-lag) with a voltage transducer and a non-windup limit on v_r.

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m - feedback -> k_a/(1 + s t_a) -> v_r (limited)
        v_r -> 1/(k_e + S_E(v_f) + s t_e) -> v_f      feedback = s k_f/(1 + s t_f) v_f = k_f/t_f v_f - r_f

    Source: Sauer and Pai (1998), chapter 4; IEEE Std 421.5-1992, type DC1A, for the
    transducer and the place of the stabiliser's signal v_s. Per unit: voltage on the bus base; v_f = 1 gives
    rated voltage on the open stator.
    """

    role = "exciter"
    states = ("v_m", "v_r", "r_f", "v_f")

    t_r = Parameter("s", "time constant of the voltage transducer", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulator, rate feedback and exciter."""
        return (lag(regulated_voltage(m, v), v.v_m, p.t_r), *_regulator(m, v, p, v.v_m)), (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        return _regulator_guess(terminal, p) | {"v_m": np.abs(terminal.voltage)}


class ExciterType1Direct(_Type1):
    """IEEE type 1 exciter as in the textbooks: the voltage acts on the regulator without a transducer.

    Everything else is as in `ExciterType1`. Source: Sauer and Pai (1998), chapter 4, and the case of
    its chapter 7.
    """

    role = "exciter"
    states = ("v_r", "r_f", "v_f")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of regulator, rate feedback and exciter."""
        return _regulator(m, v, p, regulated_voltage(m, v)), (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        return _regulator_guess(terminal, p)


class IEEET3(Potential):
    """Compound-fed static exciter, IEEE type 3 (1968).

    ::

        |v| -> 1/(1 + s t_r) -> v_m      v_ref + v_s - v_m - feedback -> k_a/(1 + s t_a),
        limits [v_r_min, v_r_max] -> v_r
        u = |k_p v + j k_i i|      v_b = sqrt(u^2 - (0.78 i_f)^2), 0 where u < 0.78 i_f
        v_r + v_b -> limits [0, v_b_max] -> 1/(k_e + s t_e) -> v_f      feedback = s k_f/(1 + s t_f) v_f

    i_f is the field current of the machine. Source: IEEE Committee Report, Computer Representation of
    Excitation Systems (1968), type 3; PSS/E, Model Library, IEEET3; for the order of its values OpenIPSL's
    verification script.
    """

    role = "exciter"
    records = ("IEEET3 t_r k_a t_a v_r_max v_r_min t_e k_f t_f k_p k_i v_b_max k_e",)
    states = ("v_m", "v_r", "v_f", "x_f")
    limits = {"v_r": ("v_r_min", "v_r_max")}
    lags = {"v_m": ("t_r",), "v_r": ("t_a",)}

    x_l = Parameter("pu on machine base", "reactance of the potential source", nonnegative, 0.0)
    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)
    k_a = Parameter("pu", "gain of the regulator", positive)
    t_a = Parameter("s", "time constant of the regulator", nonnegative)
    v_r_max = Parameter("pu", "upper limit of the regulator's output")
    v_r_min = Parameter("pu", "lower limit of the regulator's output")
    t_e = Parameter("s", "time constant of the exciter", positive)
    k_f = Parameter("pu", "gain of the rate feedback", nonnegative)
    t_f = Parameter("s", "time constant of the rate feedback", positive)
    v_b_max = Parameter("pu", "upper limit of the exciter's input", positive)
    k_e = Parameter("pu", "constant of the exciter", positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducer, regulator, exciter and rate feedback."""
        washed, d_f = washout(v.v_f, v.x_f, p.t_f)
        error = v.v_ref + v.v_s - v.v_m - p.k_f / p.t_f * washed
        driven = m.clip(v.v_r + remaining(m, potential_now(m, v, p), DROP * v.i_f), 0, p.v_b_max)
        derivatives = (
            lag(regulated_voltage(m, v), v.v_m, p.t_r),
            lag(p.k_a * error, v.v_r, p.t_a),
            (driven - p.k_e * v.v_f) / p.t_e,
            d_f,
        )
        return derivatives, (), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the equilibrium for the field voltage that the machine needs."""
        v_f, i_f = terminal.signals.get("v_f", 1.0), terminal.signals.get("i_f", 1.0)
        v_m = np.abs(terminal.voltage)
        v_r = p.k_e * v_f - remaining(NumericMath, potential_at_start(terminal, p), DROP * i_f)
        return {"v_m": v_m, "v_r": v_r, "v_f": v_f, "x_f": v_f, "v_ref": v_m + v_r / p.k_a}


DROP = 0.78
"""Commutating reactance of the rectifier in pu of field current, which the report fixes."""


class OEX12T(EXST1):
    """Bus-fed static excitation system, IEEE type ST1 (1981), of Ontario Hydro without its limiters.

    The equations are those of EXST1. The record has limiters of the terminal voltage and of the field current
    besides, for which no public description gives the equations: it is read where their values are zero
    (VTMAX, VTMIN, LIMOUT, IFLMT, KIFL, ETLMT, KETL, TL1, TL2, VOMX, VOMN), the ceiling is in proportion to
    the terminal voltage (ACON = 0, BCON = 1) and VEMAX, VEMIN are out of reach, as in every public record.
    ETMIN, the least terminal voltage of the supply, changes nothing: the ceiling falls with the voltage.
    Source: IEEE Committee Report, Excitation System Models for Power System Stability Studies (1981), type
    ST1; PSS/E, Model Library, OEX12T; for the order of its values the reader of DSPSS (PETSc).
    """

    role = "exciter"
    records = (
        "OEX12T t_r v_i_max v_i_min t_c t_b k_a t_a v_r_max v_r_min k_c k_f t_f -et_min vt_max=0 vt_min=0 "
        "limout=0 acon=0 bcon=1 ve_max=99.9 ve_min=-99.9 iflmt=0 kifl=0 etlmt=0 ketl=0 tl_1=0 tl_2=0 "
        "vo_max=0 vo_min=0",
    )

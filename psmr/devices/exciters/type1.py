"""Excitation systems: they read the voltage of the bus and give the machine its field voltage `v_f`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.devices.blocks import exponential_saturation, lag
from psmr.devices.exciters.compensator import regulated_voltage


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

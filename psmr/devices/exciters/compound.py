"""The power source of compound excitation systems: terminal voltage and current behind a rectifier."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Component, Parameter, nonnegative, positive, whole
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import machine_frame, rectified


class Potential(Component):
    """Inputs and parameters of the power source before its rectifier; the machine gives its currents."""

    inputs: ClassVar[tuple[str, ...]] = ("v_re", "v_im", "v_s", "delta", "i_d", "i_q", "i_f", "v_ref")
    optional = {"v_s": 0.0}

    k_p = Parameter("pu", "gain of the potential circuit", positive)
    theta_p = Parameter("rad", "angle of the potential circuit", default=0.0)
    k_i = Parameter("pu", "gain of the current circuit", nonnegative)
    x_l = Parameter("pu on machine base", "reactance of the potential source", nonnegative)


NO_LIMIT = 999.0
"""A voltage in pu that no source reaches."""


class ExciterSource(Potential):
    """Inputs and parameters of the source that feeds an exciter's regulator."""

    sw_1 = Parameter("code", "source: 1 the terminals, 2 a constant voltage k_p", whole(1, 2), 1.0)
    k_i = Parameter("pu", "gain of the current circuit", nonnegative, 0.0)
    x_l = Parameter("pu on machine base", "reactance of the potential source", nonnegative, 0.0)
    k_c1 = Parameter("pu", "regulation of the source's rectifier", nonnegative, 0.0)
    v_b_max = Parameter("pu", "upper limit of the source's voltage", positive, NO_LIMIT)


class Compound(Potential):
    """Inputs and parameters of the power source behind its rectifier."""

    k_c = Parameter("pu", "regulation of the rectifier", nonnegative)
    v_b_max = Parameter("pu", "upper limit of the source's voltage", positive)


def potential(m: Any, v_dq: tuple[Any, Any], i_dq: tuple[Any, Any], p: Any) -> Any:
    """Return v_e = |K v + j (k_i + K x_l) i| with K = k_p e^(j theta_p), v and i in one frame."""
    a, b = p.k_p * m.cos(p.theta_p), p.k_p * m.sin(p.theta_p)
    (v_d, v_q), (i_d, i_q) = v_dq, i_dq
    # j (k_i + (a + j b) x_l) = -b x_l + j (k_i + a x_l)
    c, d = -b * p.x_l, p.k_i + a * p.x_l
    re = a * v_d - b * v_q + c * i_d - d * i_q
    im = a * v_q + b * v_d + c * i_q + d * i_d
    return m.sqrt(re**2 + im**2)


def potential_now(m: Any, v: Any, p: Any) -> Any:
    """Return v_e from a device's variables."""
    return potential(m, machine_frame(m, v.v_re, v.v_im, v.delta), (v.i_d, v.i_q), p)


def potential_at_start(terminal: Any, p: Any) -> Any:
    """Return v_e for a guess."""
    signals = terminal.signals
    v_dq = machine_frame(np, terminal.voltage.real, terminal.voltage.imag, signals.get("delta", 0.0))
    return potential(NumericMath, v_dq, (signals.get("i_d", 0.0), signals.get("i_q", 0.0)), p)


def exciter_source(m: Any, u: Any, v_fe: Any, p: Any) -> Any:
    """Return min(u F_EX(k_c1 v_fe/u), v_b_max), where u is k_p with sw_1 = 2 and v_fe the exciter's current.

    Source: IEEE Std 421.5-2016, types AC7C, AC8C and DC4C.
    """
    source = m.where(m.ge(p.sw_1, 2), p.k_p, u)
    return m.min(rectified(m, source, p.k_c1 * v_fe), p.v_b_max)


def source_now(m: Any, v: Any, p: Any) -> Any:
    """Return the voltage v_b = min(v_e F_EX(k_c i_f/v_e), v_b_max) of the source.

    Source: IEEE Std 421.5-2016, types ST3 and ST4.
    """
    return m.min(rectified(m, potential_now(m, v, p), p.k_c * v.i_f), p.v_b_max)


def source_at_start(terminal: Any, p: Any) -> Any:
    """Return the voltage of the source for a guess."""
    drop = p.k_c * terminal.signals.get("i_f", 1.0)
    return np.minimum(rectified(NumericMath, potential_at_start(terminal, p), drop), p.v_b_max)

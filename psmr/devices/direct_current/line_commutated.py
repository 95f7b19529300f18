"""Line-commutated converters: a rectifier that regulates current, an inverter that regulates one of three.

With the AC voltage v, V_d0 = k v. The order of the angle is a PI regulator's output between its limits,

    alpha = clip(x - k_p e),  x' = -k_i e  of the rectifier,  e = (i_ord - i) / i_n,
    beta  = clip(x + k_p e),  x' =  k_i e  of the inverter, the largest of
            e_i = (i_ord - margin i_n - i) / i_n,  and behind a lag t_m
            e_v = k_v (v_d - v_ord) / v_n,   e_g = gamma_min - gamma,

so that an inverter whose voltage is too high, whose margin is too small or whose current is too low advances
its firing: one regulator, whose error says which of the three it holds. beta is what is ordered, gamma what
is left of it: cos(gamma) = cos(beta) + 2 d_x I / V_d0.

Commutation fails where gamma would be below `gamma_fail`: the valves then stay in conduction, the DC side is
short-circuited (v_d = 0) and no current flows on the AC side. The order advances to `beta_fail` meanwhile.
Commutation succeeds again where gamma at this order has been above `gamma_fail` for `t_recover`. This is the
angle criterion for averaged converters: C. V. Thio, J. B. Davies, K. L. Kent, Commutation failures in HVDC
transmission systems, IEEE Trans. Power Delivery 11 (1996). Source of the rest: Kundur (1994), section 10.4.
A blocked rectifier retards its firing to
`alpha_block`, which takes the energy out of the line.

The voltage is written with the cosines of both angles of a commutation, v_d = V_d0 (cos a + cos(a + u)) / 2 -
d_r I, which is the same, and stays within V_d0 where a commutation takes up to half a turn. Below `v_low` of
AC voltage the resistance d_r fades.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.dae.declare.component import Action, Component, Parameter, Terms, crossed, nonnegative, positive
from psmr.devices.direct_current.bridges import arccosine, reactive_power

RADIANS = 0.017453292519943295
_DARK = 1e-3
"""AC voltage in pu below which a converter counts as without one."""
_EDGE = 1 - 1e-6
"""Largest cosine of the angle at which a commutation ends: 0.08 degrees from none, and from half a turn."""


def _resistive(m: Any, p: Any, ac: Any) -> Any:
    """Return the resistance that lowers its voltage; it fades below v_low, where no power is to be had."""
    part = m.min(ac / p.v_low, 1)
    return p.d_r * part * part


def _within(m: Any, cosine: Any) -> Any:
    """Return the cosine of an angle within half a turn: a commutation that does not end sooner ends there."""
    return m.max(m.min(cosine, _EDGE), -_EDGE)


def magnitude(m: Any, v: Any) -> Any:
    """Return the AC voltage of a converter."""
    return m.sqrt(v.v_re * v.v_re + v.v_im * v.v_im)


def injection(m: Any, v: Any, p: Any, power: Any, reactive: Any) -> Terms:
    """Return the AC current of a converter that takes a power; none where there is no voltage."""
    square = m.max(v.v_re * v.v_re + v.v_im * v.v_im, _DARK * _DARK)
    return (
        -(power * v.v_re + reactive * v.v_im) / square,
        -(power * v.v_im - reactive * v.v_re) / square,
    )


class LineCommutated(Component):
    """What a rectifier and an inverter have in common: transformer, bridges, and the terminals."""

    states: ClassVar[tuple[str, ...]] = ("x",)
    outputs = ("i_re", "i_im", "i_d")

    k = Parameter("1", "no-load DC voltage per AC voltage, both in pu", positive)
    d_x = Parameter("pu", "fall of the DC voltage by commutation, per current", nonnegative)
    d_r = Parameter("pu", "fall of the DC voltage by resistances, per current", nonnegative, default=0.0)
    i_n = Parameter("pu", "rated DC current", positive)
    k_p = Parameter("rad", "proportional gain of the regulator", nonnegative, default=1.0)
    k_i = Parameter("rad/s", "integral gain of the regulator", positive, default=60.0)
    v_low = Parameter("pu", "AC voltage below which its resistance fades", positive, default=0.05)


class Rectifier(LineCommutated):
    """A rectifier that regulates its current; alpha is its firing angle.

    ::

        alpha = clip(x - k_p (i_ord - i) / i_n, alpha_min, alpha_max); at alpha_block where it is blocked
        v_d = k v cos(alpha) - (d_x + d_r) i, written with both angles of a commutation
        p_ac + j q_ac: what it takes from its bus; p_ac = v_d i
    """

    role = "dc_converter"
    algebraic = ("i", "alpha", "p_ac", "q_ac")
    inputs = ("v_re", "v_im", "v_d", "i_ord", "on")
    optional = {"on": 1.0}
    limits = {"x": ("alpha_min", "alpha_max")}
    units = {"alpha": "rad", "x": "rad"}
    memory = ("k", "d_x", "d_r", "i_n")

    alpha_min = Parameter("rad", "smallest firing angle", positive, default=5 * RADIANS)
    alpha_max = Parameter("rad", "largest firing angle", positive, default=150 * RADIANS)
    alpha_block = Parameter("rad", "firing angle while it is blocked", positive, default=120 * RADIANS)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the regulator, voltage and powers, and the currents into both buses."""
        error = (v.i_ord - v.i) / p.i_n
        ordered = m.clip(v.x - p.k_p * error, p.alpha_min, p.alpha_max)
        alpha = v.on * ordered + (1 - v.on) * p.alpha_block
        ac = magnitude(m, v)
        no_load, d_r = p.k * ac, _resistive(m, p, ac)
        begin = m.cos(v.alpha)
        end = _within(m, begin - 2 * p.d_x * v.i / m.max(no_load, _DARK))
        volts = no_load * (begin + end) / 2 - d_r * v.i
        reactive = reactive_power(m, v.alpha, arccosine(m, end), no_load, v.i, d_r)
        return (
            # A blocked one has its regulator at the largest angle, from which it starts again.
            (m.where(m.ge(v.on, 0.5), -p.k_i * error, p.k_i * (p.alpha_max - v.x)),),
            (volts - v.v_d, alpha - v.alpha, v.v_d * v.i - v.p_ac, reactive - v.q_ac),
            (*injection(m, v, p, v.p_ac, v.q_ac), v.i),
        )

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to limits that cross."""
        return crossed(p, ("alpha_min", "alpha_max"))


def _would_be(m: Any, v: Any, p: Any) -> Any:
    """Return the cosine of the margin angle of an inverter by its order, whether or not it commutates."""
    return m.cos(v.beta) + 2 * p.d_x * v.i / m.max(p.k * magnitude(m, v), _DARK)


class Inverter(LineCommutated):
    """An inverter that holds voltage, margin angle or current; beta is what is ordered, gamma what is left.

    ::

        e' = (max(e_v, e_g) - e) / t_m
        beta = clip(x + k_p max(e_i, e), beta_min, beta_max)
        cos(gamma) = cos(beta) + 2 d_x i / (k v)
        v_d = k v cos(gamma) - (d_x + d_r) i; 0 where commutation fails, and where it is bypassed
        p_ac + j q_ac: what it takes from its bus; p_ac = -v_d i
    """

    role = "dc_converter"
    states = ("x", "e")
    algebraic = ("i", "beta", "gamma", "p_ac", "q_ac")
    inputs = ("v_re", "v_im", "v_d", "i_ord", "v_ord", "shorted")
    optional = {"shorted": 0.0}
    limits = {"x": ("beta_min", "beta_max")}
    lags: ClassVar[Mapping[str, tuple[str, ...]]] = {"e": ("t_m",)}
    units = {"beta": "rad", "gamma": "rad", "x": "rad"}
    memory = ("k", "d_x", "d_r", "i_n", "failed")

    k_v = Parameter("1", "weight of the voltage error, per rated voltage", positive, default=1.0)
    v_n = Parameter("pu", "rated DC voltage", positive, default=1.0)
    margin = Parameter("1", "current margin, of the rated current", positive, default=0.1)
    gamma_min = Parameter("rad", "margin angle that it holds at least", positive, default=15 * RADIANS)
    gamma_fail = Parameter("rad", "margin angle below which commutation fails", positive, 8 * RADIANS)
    beta_min = Parameter("rad", "smallest angle of advance", positive, default=10 * RADIANS)
    beta_max = Parameter("rad", "largest angle of advance", positive, default=110 * RADIANS)
    beta_fail = Parameter("rad", "angle of advance while commutation fails", positive, default=60 * RADIANS)
    t_recover = Parameter("s", "time with margin after which it commutates again", nonnegative, default=0.02)
    t_advance = Parameter("s", "time constant to beta_fail", positive, default=0.005)
    t_m = Parameter("s", "lag of the measured voltage and margin, a cycle", nonnegative, default=0.02)
    failed = Parameter("1", "whether commutation fails", default=0.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the regulator, voltage and powers, and the currents into both buses."""
        shorted = m.max(p.failed, v.shorted)
        of_current = (v.i_ord - p.margin * p.i_n - v.i) / p.i_n
        of_voltage = p.k_v * (v.v_d - v.v_ord) / p.v_n
        error = m.max(of_current, v.e)
        # While it is shorted its voltage and current say nothing.
        beta = m.clip(v.x + (1 - shorted) * p.k_p * error, p.beta_min, p.beta_max)
        ac = magnitude(m, v)
        no_load, d_r = p.k * ac * (1 - shorted), _resistive(m, p, ac) * (1 - shorted)
        begin = m.cos(v.beta)
        end = _within(m, _would_be(m, v, p))
        volts = no_load * (begin + end) / 2 - d_r * v.i
        reactive = reactive_power(m, v.gamma, v.beta, no_load, v.i, d_r)
        return (
            (
                m.where(m.ge(shorted, 0.5), (p.beta_fail - v.x) / p.t_advance, p.k_i * error),
                (m.max(of_voltage, p.gamma_min - v.gamma) - v.e) / p.t_m,
            ),
            (
                volts - v.v_d,
                beta - v.beta,
                arccosine(m, end) - v.gamma,
                -v.v_d * v.i - v.p_ac,
                reactive - v.q_ac,
            ),
            (*injection(m, v, p, v.p_ac, v.q_ac), -v.i),
        )

    actions = (
        Action(
            "commutation fails",
            lambda m, v, p: m.min(_would_be(m, v, p) - m.cos(p.gamma_fail), 0.5 - p.failed),
            effect=lambda v, p: {"failed": 1.0},
            kind="commutation",
        ),
        Action(
            "commutates again",
            lambda m, v, p: m.min(m.cos(p.gamma_fail) - _would_be(m, v, p), p.failed - 0.5),
            lambda p: p.t_recover,
            lambda v, p: {"failed": 0.0},
            kind="recovery",
        ),
    )

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to limits that cross."""
        return crossed(p, ("beta_min", "beta_max"), ("gamma_fail", "gamma_min"))

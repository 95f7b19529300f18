"""Typical data of plants, per unit on their own rating: ranges that `psmr.add_dynamics` draws from.

The ranges lie inside those of P. Kundur, Power System Stability and Control (1994), tables 3.2 (inertia) and
4.2 (reactances, time constants, resistances), and near the plants that P. M. Anderson and A. A. Fouad, Power
System Control and Stability, print in appendix D. Controls have the values with which the standard models are
commonly shown: Kundur, chapters 8, 9 and 12; IEEE Std 421.5-2005, annex H; PES-TR1 (2013).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

Draw = Callable[[float, float], float]
"""Draws a number between two."""

Values = dict[str, float]
"""Parameters of a device."""

Range = tuple[float, float]


@dataclass(frozen=True)
class Machine:
    """Ranges of a kind of machine; those that GENSAL does not have are None.

    The subtransient and the quadrature reactances are drawn as fractions, so that they are always in order:
    x_2 of x_d1, x_q1 of x_q, x_q of x_d.
    """

    type: str
    h: Range
    x_d: Range
    x_q_of_x_d: Range
    x_d1: Range
    x_2_of_x_d1: Range
    t_d01: Range
    t_d02: Range
    t_q02: Range
    r_a: Range
    x_q1_of_x_q: Range | None = None
    t_q01: Range | None = None


STEAM = Machine(
    "GENROU",
    h=(2.5, 6.0),
    x_d=(1.6, 2.2),
    x_q_of_x_d=(0.93, 0.98),
    x_d1=(0.22, 0.31),
    x_2_of_x_d1=(0.70, 0.80),
    t_d01=(5.0, 9.0),
    t_d02=(0.025, 0.05),
    t_q02=(0.03, 0.05),
    r_a=(0.0015, 0.004),
    x_q1_of_x_q=(0.24, 0.36),
    t_q01=(0.5, 1.5),
)
GAS = Machine(
    "GENROU",
    h=(3.0, 6.0),
    x_d=(1.5, 2.1),
    x_q_of_x_d=(0.93, 0.98),
    x_d1=(0.22, 0.28),
    x_2_of_x_d1=(0.70, 0.78),
    t_d01=(4.0, 8.0),
    t_d02=(0.025, 0.05),
    t_q02=(0.03, 0.05),
    r_a=(0.002, 0.005),
    x_q1_of_x_q=(0.22, 0.34),
    t_q01=(0.5, 1.2),
)
HYDRO = Machine(
    "GENSAL",
    h=(2.0, 4.0),
    x_d=(0.8, 1.3),
    x_q_of_x_d=(0.60, 0.70),
    x_d1=(0.25, 0.38),
    x_2_of_x_d1=(0.70, 0.80),
    t_d01=(4.0, 8.5),
    t_d02=(0.03, 0.05),
    t_q02=(0.04, 0.09),
    r_a=(0.002, 0.005),
)
CONDENSER = Machine(
    "GENSAL",
    h=(1.2, 2.2),
    x_d=(1.2, 1.5),
    x_q_of_x_d=(0.60, 0.70),
    x_d1=(0.28, 0.40),
    x_2_of_x_d1=(0.70, 0.80),
    t_d01=(6.0, 9.0),
    t_d02=(0.03, 0.05),
    t_q02=(0.04, 0.09),
    r_a=(0.002, 0.005),
)
KINDS: Mapping[str, Machine] = {"steam": STEAM, "gas": GAS, "hydro": HYDRO, "condenser": CONDENSER}


def machine(kind: Machine, s_n: float, draw: Draw) -> Values:
    """Return the parameters of a machine of a kind."""
    x_d, x_d1 = draw(*kind.x_d), draw(*kind.x_d1)
    x_q = x_d * draw(*kind.x_q_of_x_d)
    x_2 = x_d1 * draw(*kind.x_2_of_x_d1)
    # Anderson and Fouad: 0.03 to 0.15 at rated flux, and about three to four times that at 1.2.
    s_10 = draw(0.05, 0.12)
    values = {
        "s_n": s_n,
        "h": draw(*kind.h),
        "d": 0.0,
        "r_a": draw(*kind.r_a),
        "x_d": x_d,
        "x_q": x_q,
        "x_d1": x_d1,
        "x_2": x_2,
        "x_l": x_2 * draw(0.65, 0.8),
        "t_d01": draw(*kind.t_d01),
        "t_d02": draw(*kind.t_d02),
        "t_q02": draw(*kind.t_q02),
        "s_10": s_10,
        "s_12": s_10 * draw(3.0, 4.0),
    }
    if kind.x_q1_of_x_q and kind.t_q01:
        values |= {"x_q1": x_q * draw(*kind.x_q1_of_x_q), "t_q01": draw(*kind.t_q01)}
    return values


def sexs(draw: Draw) -> Values:
    """Return a slow regulator: transient gain about 10 (Kundur, section 8.5, transient gain reduction)."""
    return {"t_a": 1.0, "t_b": 10.0, "k": draw(80.0, 150.0), "t_e": 0.05, "e_min": -4.0, "e_max": 6.0}


def exst1(draw: Draw) -> Values:
    """Return a static exciter, half of the gain of Kundur's example 12.6; it comes with `ieeest`."""
    limits = {"v_i_max": 0.5, "v_i_min": -0.5, "v_r_max": 6.5, "v_r_min": -5.5}
    gains = {"k_a": draw(80.0, 150.0), "k_c": 0.04, "k_f": 0.0}
    return limits | gains | {"t_r": 0.01, "t_c": 0.0, "t_b": 0.0, "t_a": 0.02, "t_f": 1.0}


def esst4b(draw: Draw) -> Values:
    """Return a static exciter with a PI regulator (IEEE Std 421.5-2005, annex H, ST4B)."""
    gain = draw(2.5, 3.5)
    regulator = {"t_r": 0.01, "k_pr": gain, "k_ir": gain, "v_r_max": 1.0, "v_r_min": -0.87, "t_a": 0.01}
    inner = {"k_pm": 1.0, "k_im": 0.0, "v_m_max": 1.0, "v_m_min": -0.87, "k_g": 0.0}
    source = {"k_p": draw(6.5, 8.0), "k_i": 0.0, "v_b_max": 10.0, "k_c": 0.05, "x_l": 0.0, "theta_p": 0.0}
    return regulator | inner | source


def ieeest(draw: Draw) -> Values:
    """Return the stabiliser of Kundur's example 12.6 with a smaller gain, without the filter."""
    filtered = dict.fromkeys(("a_1", "a_2", "a_3", "a_4", "a_5", "a_6"), 0.0)
    leads = {"t_1": 0.05, "t_2": 0.02, "t_3": 3.0, "t_4": 5.4, "t_5": 10.0, "t_6": 10.0}
    limits = {"l_s_max": 0.1, "l_s_min": -0.1, "v_cu": 0.0, "v_cl": 0.0}
    return filtered | leads | limits | {"k_s": draw(8.0, 15.0)}


def tgov1(draw: Draw) -> Values:
    """Return a steam turbine with reheater (PES-TR1)."""
    t_3 = draw(6.0, 9.0)
    lags = {"t_1": draw(0.2, 0.5), "t_2": t_3 * draw(0.25, 0.32), "t_3": t_3}
    return {"r": draw(0.04, 0.06), "v_max": 1.05, "v_min": 0.0, "d_t": 0.0} | lags


def ieesgo(draw: Draw) -> Values:
    """Return a steam turbine with reheater and crossover (IEEE Committee Report 1973)."""
    governor = {"t_1": draw(0.1, 0.25), "t_2": 0.0, "t_3": draw(0.1, 0.2), "k_1": 1 / draw(0.04, 0.06)}
    stages = {"t_4": draw(0.2, 0.4), "t_5": draw(6.0, 9.0), "t_6": draw(0.3, 0.5), "k_2": 0.7, "k_3": 0.6}
    return governor | stages | {"p_max": 1.05, "p_min": 0.0}


def hygov(draw: Draw) -> Values:
    """Return a hydro turbine; reset and temporary droop after Kundur, section 9.1, for its water time."""
    t_w = draw(1.0, 2.0)
    droop = {"r_perm": draw(0.04, 0.05), "r_temp": draw(0.4, 0.6), "t_r": 5.0 * t_w, "t_w": t_w}
    gate = {"t_f": 0.05, "t_g": 0.5, "velm": 0.2, "g_max": 1.0, "g_min": 0.0}
    return droop | gate | {"a_t": 1.2, "d_turb": 0.5, "q_nl": 0.08}


def gast(draw: Draw) -> Values:
    """Return a gas turbine (PES-TR1)."""
    lags = {"t_1": 0.4, "t_2": 0.1, "t_3": 3.0}
    return {"r": draw(0.04, 0.06), "a_t": 1.05, "k_t": 2.0, "v_max": 1.05, "v_min": 0.0, "d_turb": 0.0} | lags


def converter(s_n: float) -> Values:
    """Return what both forms of the grid-following converter share: the values of cases/wscc9/SOURCE.md."""
    loop = {"kp_pll": 0.25, "ki_pll": 6.6, "dw_min": -0.1, "dw_max": 0.1}
    power = {"t_p": 0.005, "kp_p": 0.2, "ki_p": 20.0}
    return {"s_n": s_n, "t_i": 0.0005, "i_max": 1.2, "k_aw": 100.0} | loop | power


def holds_power(s_n: float) -> Values:
    """Return a converter that holds active and reactive power."""
    return converter(s_n) | {"t_q": 0.005, "kp_q": 0.2, "ki_q": 20.0}


def holds_voltage(s_n: float) -> Values:
    """Return a converter that holds active power and voltage."""
    return converter(s_n) | {"t_v": 0.005, "kp_v": 2.0, "ki_v": 5.0}

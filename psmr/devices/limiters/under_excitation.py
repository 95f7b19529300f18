"""Under-excitation limiters: UEL1 with a circle, UEL2 and UEL2C with a polygon of IEEE Std 421.5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from psmr.dae.declare.component import Parameter, nonnegative, positive, whole
from psmr.devices.blocks import machine_frame
from psmr.devices.limiters.limiter import (
    NEAR,
    STATOR,
    Limiter,
    active,
    lead_and_lag,
    limits_of,
    reactive,
)

POINTS = range(1, 12)
"""Points of a polygon of the reactive over the active power, from 0 in the standard."""


class UnderExcitationLimiter(Limiter, part=True):
    """What all share: a PI regulator and two lead-lags behind it."""

    role = "under_excitation_limiter"
    inputs: ClassVar[tuple[str, ...]] = STATOR

    k_ui = Parameter("pu/s", "integral gain", nonnegative)
    k_ul = Parameter("pu", "proportional gain", nonnegative)
    v_ui_max, v_ui_min = limits_of("the regulator")
    t_u1, t_u2 = lead_and_lag("the first lead-lag")
    t_u3, t_u4 = lead_and_lag("the second lead-lag")

    @classmethod
    def regulated(cls, b: Any, error: Any) -> Any:
        """Return the output of the regulator, which rests at its lower limit."""
        return b.pi("x_i", error, "k_ul", "k_ui", ("v_ui_min", "v_ui_max"))


class UEL1(UnderExcitationLimiter):
    """Under-excitation limiter with a circle in the plane of the powers, IEEE type UEL1 (UEL1C of 2016).

    i and v are phasors of the machine. The signal of the exciter's stabilising circuit, which k_uf would
    take off, is left out: it is zero at rest. Source: IEEE Std 421.5-2005 and 2016, type UEL1; PSS/E,
    Model Library, UEL1; PowerWorld and Dynawo; the order of the record is that of PowerWorld.
    """

    records = tuple(
        f"{name} k_ur k_uc -k_uf v_ur_max v_uc_max k_ui k_ul v_ui_max v_ui_min t_u1 t_u2 t_u3 t_u4 v_ul_max "
        "v_ul_min"
        for name in ("UEL1C", "UEL1")
    )

    k_ur = Parameter("pu", "radius of the circle", positive)
    k_uc = Parameter("pu", "centre of the circle", positive)
    v_ur_max = Parameter("pu", "upper limit of the radius", positive)
    v_uc_max = Parameter("pu", "upper limit of the distance", positive)
    v_ul_max, v_ul_min = limits_of("the signal")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect circle, regulator and lead-lags."""
        v_d, v_q = machine_frame(b, v.v_re, v.v_im, v.delta)
        distance = b.sqrt((p.k_uc * v_d + v.i_q) ** 2 + (p.k_uc * v_q - v.i_d) ** 2)
        distance = b.named("v_uc", b.min(distance, p.v_uc_max), "min(|k_uc v - j i|, v_uc_max)")
        radius = b.named("v_ur", b.min(p.k_ur * b.magnitude(v.v_re, v.v_im), p.v_ur_max))
        led = b.lead_lag("x_1", cls.regulated(b, b.named("e", distance - radius)), "t_u1", "t_u2")
        led = b.lead_lag("x_2", led, "t_u3", "t_u4")
        b.output("v_uel", b.limit(led, "v_ul_min", "v_ul_max"))


def _polygon() -> dict[str, Parameter]:
    """Return the points of the polygon; from the third on one at p = 0 is none."""
    found: dict[str, Parameter] = {}
    for k in POINTS:
        default = None if k <= 2 else 0.0
        found[f"p_{k}"] = Parameter("pu on machine base", f"active power of point {k}", default=default)
        found[f"q_{k}"] = Parameter("pu on machine base", f"reactive power of point {k}", default=default)
    return found


EXPONENT = whole(0, 2)


def _to(b: Any, x: Any, exponent: Any) -> Any:
    """Return x to an exponent of 0, 1 or 2."""
    return b.where(b.ge(exponent, 1.5), x**2, b.where(b.ge(exponent, 0.5), x, 1))


class UEL2(UnderExcitationLimiter):
    """Under-excitation limiter with a polygon of the reactive over the active power, IEEE type UEL2.

    The polygon holds at rated voltage: the active power is divided by |v|^k_1, the reactive power of the
    polygon multiplied by |v|^k_2; it is taken at |p| where q_quad is 0. Signals of the exciter's
    stabilising circuit (k_uf) and of its reference (k_fb) are left out. Source: IEEE Std 421.5-2005, type
    UEL2; PSS/E, Model Library, UEL2; PowerWorld, whose list has the order of the record.
    """

    records: ClassVar[tuple[str, ...]] = (
        "UEL2 k_1 k_2 q_quad t_uv t_up t_uq k_ui k_ul v_ui_max v_ui_min -k_uf -k_fb -t_ul t_u1 t_u2 t_u3 "
        "t_u4 " + " ".join(f"p_{k} q_{k}" for k in POINTS) + " v_ul_max v_ul_min",
    )

    k_1 = Parameter("1", "exponent of the voltage of the active power", EXPONENT)
    k_2 = Parameter("1", "exponent of the voltage of the reactive power", EXPONENT)
    q_quad = Parameter("code", "third quadrant: 0 the mirror of the fourth, 1 as given", whole(0, 1), 0.0)
    t_uv = Parameter("s", "time constant of the voltage", nonnegative)
    t_up = Parameter("s", "time constant of the active power", nonnegative)
    t_uq = Parameter("s", "time constant of the reactive power", nonnegative)
    v_ul_max, v_ul_min = limits_of("the signal")
    locals().update(_polygon())

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Object to points that do not go on."""
        points = [p[f"p_{k}"] for k in POINTS if k <= 2 or p[f"p_{k}"] != 0]
        wrong = next((k for k in range(1, len(points)) if points[k] <= points[k - 1]), None)
        return None if wrong is None else f"p_{wrong + 1} = {points[wrong]:g}: must be above p_{wrong}"

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, float]:
        """Return the voltage, by which powers are divided."""
        return {"v_m": np.abs(terminal.voltage)}

    @classmethod
    def bias(cls, b: Any, p: Any, magnitude: Any) -> Any:
        """Return the voltage that the exponents are of."""
        return magnitude

    @classmethod
    def limit(cls, b: Any, v: Any, p: Any) -> Any:
        """Return the least reactive power."""
        u = cls.bias(b, p, b.lag("v_m", b.magnitude(v.v_re, v.v_im), "t_uv"))
        at = b.lag("p_m", active(b, v) / _to(b, u, p.k_1), "t_up")
        at = b.where(b.ge(p.q_quad, 1), at, b.abs(at))
        points = [(getattr(p, f"p_{k}"), getattr(p, f"q_{k}")) for k in POINTS]
        return b.named("q_lim", b.polygon(at, points) * _to(b, u, p.k_2), "polygon of p_m, times u^k_2")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect polygon, regulator and lead-lags."""
        error = cls.limit(b, v, p) - b.lag("q_m", reactive(b, v), "t_uq")
        led = b.lead_lag("x_1", cls.regulated(b, b.named("e", error)), "t_u1", "t_u2")
        led = b.lead_lag("x_2", led, "t_u3", "t_u4")
        b.output("v_uel", b.limit(led, "v_ul_min", "v_ul_max"))


class UEL2C(UEL2):
    """Under-excitation limiter with a polygon, IEEE type UEL2C: `UEL2` with a bias and a gain that adjusts.

    u is |v| above 1 pu, |v|/v_bias below v_bias, 1 between; with v_bias < 0 it is |v|. The error is
    divided by k_fix (sw_1 = 1) or, behind t_adj, by the cosine of the load angle (2). Source: IEEE Std
    421.5-2016, type UEL2C, as Dynawo and InterPSS have it, which differ: Dynawo multiplies by the factor.
    The order of the record is that of InterPSS' tests.
    """

    records = (
        "UEL2C k_1 k_2 q_quad sw_1 t_uv t_up t_uq k_ui k_ul v_ui_max v_ui_min -k_uf -k_fb -t_ul "
        "t_u1 t_u2 t_u3 t_u4 "
        + " ".join(f"p_{k} q_{k}" for k in POINTS)
        + " v_ul_max v_ul_min v_bias k_fix t_adj t_qref "
        "v_uel_max2 v_uel_min2 v_uel_max1 v_uel_min1 x_q",
    )

    sw_1 = Parameter("code", "gain: 1 fixed, 2 by the load angle", whole(1, 2), 1.0)
    v_bias = Parameter("pu", "voltage below which the limit comes down with it")
    k_fix = Parameter("1", "factor by which the error is divided", positive, 1.0)
    t_adj = Parameter("s", "time constant of the gain by the load angle", nonnegative)
    t_qref = Parameter("s", "time constant of the limit", nonnegative)
    v_uel_max2, v_uel_min2 = limits_of("the first lead-lag")
    v_uel_max1, v_uel_min1 = limits_of("the second lead-lag")
    x_q = Parameter("pu on machine base", "reactance of the q axis", positive)

    @classmethod
    def bias(cls, b: Any, p: Any, magnitude: Any) -> Any:
        """Return the voltage that the exponents are of."""
        low = b.where(b.le(magnitude, p.v_bias), magnitude / b.where(b.le(p.v_bias, 0), 1, p.v_bias), 1)
        u = b.where(b.ge(magnitude, 1), magnitude, low)
        return b.named("u", b.where(b.ge(p.v_bias, 0), u, magnitude), "v_m, v_m/v_bias, or 1 between")

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect polygon, gain, regulator and lead-lags."""
        q_lim = b.lag("q_lim_m", cls.limit(b, v, p), "t_qref")
        axis = (v.v_re**2 + v.v_im**2) / p.x_q + reactive(b, v)
        cosine = axis / b.sqrt(axis**2 + active(b, v) ** 2 + NEAR)
        gain = b.lag("gain", b.named("c", cosine, "cosine of the load angle"), "t_adj")
        divisor = b.where(b.ge(p.sw_1, 2), b.max(gain, 0.1), p.k_fix)
        error = (q_lim - b.lag("q_m", reactive(b, v), "t_uq")) / divisor
        regulated = cls.regulated(b, b.named("e", error))
        led = b.lead_lag("x_1", regulated, "t_u1", "t_u2", ("v_uel_min2", "v_uel_max2"))
        led = b.lead_lag("x_2", led, "t_u3", "t_u4", ("v_uel_min1", "v_uel_max1"))
        b.output("v_uel", b.limit(led, "v_ul_min", "v_ul_max"))

"""The multi-band stabiliser of the standard library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Parameter, Terms, crossed, improper, nonnegative, positive
from psmr.dae.declare.mathematics import NumericMath
from psmr.devices.blocks import lag, lead_lag
from psmr.devices.stabilisers.signals import POWER, electrical_power, known

BANDS = {"l": "low", "i": "intermediate", "h": "high"}
NOTCHES = ("l1", "l2", "h1", "h2")

_BLOCKS = ((1, 2), (3, 4), (5, 6)), ((7, 8), (9, 10), (11, 12))
"""Leads and lags of the two branches of a band, by the numbers of their time constants."""


def _of_band(x: str) -> dict[str, Parameter]:
    """Return the parameters of a band in the order of the record."""
    found: dict[str, Parameter] = {}
    for sign, blocks in zip(("positive", "negative"), _BLOCKS, strict=True):
        what = f"{sign} branch of the {BANDS[x]} band"
        first = blocks[0][0]
        found[f"k_{x}{1 if first == 1 else 2}"] = Parameter("1", f"gain of the {what}")
        found[f"k_{x}{first + 10}"] = Parameter("1", f"gain at rest of the first block, {what}")
        for lead, after in blocks:
            found[f"t_{x}{lead}"] = Parameter("s", f"lead, {what}", nonnegative)
            found[f"t_{x}{after}"] = Parameter("s", f"lag, {what}", nonnegative)
    return found | {
        f"k_{x}": Parameter("pu", f"gain of the {BANDS[x]} band"),
        f"v_{x}_max": Parameter("pu", f"upper limit of the {BANDS[x]} band"),
        f"v_{x}_min": Parameter("pu", f"lower limit of the {BANDS[x]} band"),
    }


def _of_notches(x: str) -> dict[str, Parameter]:
    """Return the parameters of the two notches in front of a band."""
    found: dict[str, Parameter] = {}
    for k in (1, 2):
        found[f"b_{x}{k}"] = Parameter(
            "rad/s", f"width of notch {k}, {BANDS[x]} band, 0 for none", nonnegative
        )
        found[f"w_{x}{k}"] = Parameter(
            "rad/s", f"angular frequency of notch {k}, {BANDS[x]} band", nonnegative
        )
    return found


_GIVEN: dict[str, Parameter] = {
    "c_li": Parameter("s^2", "numerator of the speed's transducer, coefficient of s^2", nonnegative),
    "d_li": Parameter("s", "numerator of the speed's transducer, coefficient of s"),
    "a_li": Parameter("s^2", "denominator of the speed's transducer, coefficient of s^2", nonnegative),
    "b_li": Parameter("s", "denominator of the speed's transducer, coefficient of s", nonnegative),
    **_of_notches("l"),
    "t_h": Parameter("s", "lag of the power's transducer", nonnegative),
    "a_h": Parameter("s^2", "denominator of the power's transducer, coefficient of s^2", positive),
    "b_h": Parameter("s", "denominator of the power's transducer, coefficient of s", nonnegative),
    "m": Parameter("s", "twice the inertia constant, by which power becomes speed", positive),
    **_of_notches("h"),
    **{name: given for x in BANDS for name, given in _of_band(x).items()},
    "v_st_max": Parameter("pu", "upper limit of the output"),
    "v_st_min": Parameter("pu", "lower limit of the output"),
}
"""All values of the record, in its order."""

_LAGS = tuple((f"x_{x}{lead}", f"t_{x}{after}") for x in BANDS for side in _BLOCKS for lead, after in side)


class PSS4B(Component):
    """Stabiliser of three bands of frequency: speed in two of them, speed from the power in the highest.

    ::

        omega - 1 -> (1 + d_li s + c_li s^2)/(1 + b_li s + a_li s^2) -> N_l1 -> N_l2 -> u_l = u_i
        -p_e -> 1/(1 + s t_h) -> s^2/(1 + b_h s + a_h s^2) -> 1/(1 + s m) -> N_h1 -> N_h2 -> u_h
        N_x = (s^2 + w_x^2)/(s^2 + b_x s + w_x^2)

        u_l -> k_l1 (k_l11 + s t_l1)/(1 + s t_l2) -> (1 + s t_l3)/(1 + s t_l4) -> (1 + s t_l5)/(1 + s t_l6)
        less u_l -> k_l2 (k_l17 + s t_l7)/(1 + s t_l8) -> ... -> (1 + s t_l11)/(1 + s t_l12)
        times k_l -> limits [v_l_min, v_l_max] -> v_l, and the same with i and h
        v_l + v_i + v_h -> limits [v_st_min, v_st_max] -> v_s

    p_e is the power at the terminals in pu on the machine's base; its sign is that of IEC 61970-302,
    PssIEEE4B, which names the sign in IEEE Std 421.5-2005 an error. A notch without width is none. Source:
    IEEE Std 421.5-2005, type PSS4B; InterPSS, PSS4B, for the coefficients of the transducers, the order of
    the record and the lag m, which is an integrator in the standard.
    """

    role = "stabiliser"
    records = (f"PSS4B {' '.join(_GIVEN)}",)
    states = (
        "f_1",
        "f_2",
        "x_h",
        "g_1",
        "g_2",
        "x_m",
        *(f"{z}_{x}" for x in NOTCHES for z in ("z", "y")),
        *(name for name, _ in _LAGS),
    )
    algebraic = ("v_s",)
    inputs = ("omega", *POWER)
    units = {"f_2": "pu/s", "g_2": "pu/s", **{f"z_{x}": "pu s" for x in NOTCHES}}
    lags = {
        "f_1": ("b_li", "a_li"),
        "f_2": ("a_li",),
        "x_h": ("t_h",),
        **{name: (constant,) for name, constant in _LAGS},
    }
    # A notch without width passes everything: what it takes out, y, stays zero.
    integrals = {f"{z}_{x}": f"b_{x}" for x in NOTCHES for z in ("z", "y")}

    locals().update(_GIVEN)

    @staticmethod
    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to leads without their lags, crossed limits and notches without a frequency."""
        for x in NOTCHES:
            if p[f"b_{x}"] > 0 == p[f"w_{x}"]:
                return f"w_{x} = 0 and b_{x} = {p[f'b_{x}']:g}: w_{x} must be > 0 where the notch has a width"
        bands = ((f"v_{x}_min", f"v_{x}_max") for x in (*BANDS, "st"))
        first = ("d_li", "b_li") if p["a_li"] == 0 else ("c_li", "a_li")
        pairs = ((f"t_{x}{a}", f"t_{x}{b}") for x in BANDS for side in _BLOCKS for a, b in side)
        return crossed(p, *bands) or improper(p, ("c_li", "a_li"), first, *pairs)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives of transducers, notches and bands, and the output.

        f_2 and g_2 are the derivatives of f_1 and g_1.
        """
        power, _ = electrical_power(m, v, p, None)
        d_f = (v.omega - 1 - v.f_1 - p.b_li * v.f_2) / p.a_li
        d_g = (v.x_h - v.g_1 - p.b_h * v.g_2) / p.a_h
        derivatives = [v.f_2, d_f, lag(-power, v.x_h, p.t_h), v.g_2, d_g, lag(d_g, v.x_m, p.m)]
        low, d_low = _notched(v, p, v.f_1 + p.d_li * v.f_2 + p.c_li * d_f, "l")
        high, d_high = _notched(v, p, v.x_m, "h")
        derivatives += [*d_low, *d_high]
        total = 0.0
        for x, u in zip(BANDS, (low, low, high), strict=True):
            output, slopes = _through(m, v, p, u, x)
            total, derivatives = total + output, [*derivatives, *slopes]
        return tuple(derivatives), (m.clip(total, p.v_st_min, p.v_st_max) - v.v_s,), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the power at rest: it stops at its transducer, and the speed is that of the network."""
        power = electrical_power(NumericMath, known(terminal), p, None)[0]
        return {"x_h": -power, "g_1": -power}


def _notched(v: Any, p: Any, u: Any, x: str) -> tuple[Any, Terms]:
    """Return a signal behind the two notches of a band, and the derivatives of their states.

    A notch takes out what a resonance lets pass: y = b s/(s^2 + b s + w^2) u, z its integral.
    """
    derivatives: list[Any] = []
    for k in (1, 2):
        y, z = getattr(v, f"y_{x}{k}"), getattr(v, f"z_{x}{k}")
        width, omega = getattr(p, f"b_{x}{k}"), getattr(p, f"w_{x}{k}")
        u = u - y
        derivatives += [y, width * u - omega**2 * z]
    return u, tuple(derivatives)


def _through(m: Any, v: Any, p: Any, u: Any, x: str) -> tuple[Any, Terms]:
    """Return what a band makes of its signal, within its limits, and the derivatives of its six states."""

    def of(name: str) -> Any:
        return getattr(p, name)

    derivatives, branches = [], []
    for gain, blocks in zip((1, 2), _BLOCKS, strict=True):
        y = of(f"k_{x}{gain}") * u
        for lead, after in blocks:
            held = getattr(v, f"x_{x}{lead}")
            y, slope = lead_lag(y, held, of(f"t_{x}{lead}"), of(f"t_{x}{after}"))
            y = y + (of(f"k_{x}{lead + 10}") - 1) * held if lead == blocks[0][0] else y
            derivatives.append(slope)
        branches.append(y)
    difference = of(f"k_{x}") * (branches[0] - branches[1])
    return m.clip(difference, of(f"v_{x}_min"), of(f"v_{x}_max")), tuple(derivatives)

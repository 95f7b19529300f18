"""A line whose waves travel: what leaves one end arrives at the other a travel time later.

Sources: Bergeron's method as in Dommel, Digital computer solution of electromagnetic transients in single-
and multiphase networks, IEEE Trans. Power Apparatus and Systems 88, 1969; losses lumped as in Dommel, EMTP
Theory Book (1986), section 4.2.1.2.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from psmr.base.errors import InputError
from psmr.dae.declare.component import Component, Parameter, Terms, nonnegative, positive
from psmr.devices.machines.textbook import F_N
from psmr.devices.network import in_or_out

_ENDS = ("i", "j")
_WAVES = tuple(f"b_{part}_{end}" for end in _ENDS for part in ("re", "im"))


class TravellingWaveLine(Component):
    """A line on which waves travel without distortion, its resistance lumped: a quarter, half, a quarter.

    i_k = v_k / Z - rho ((1 + H) / 2 b_m(t - tau) + (1 - H) / 2 b_k(t - tau))     (into the line at end k)
    b_k = v_k / Z + H i_k,   Z = z_c + r / 4,   H = (z_c - r / 4) / (z_c + r / 4)

    m is the other end and rho = exp(-j w0 tau), since the frame has turned in the meantime. Without
    resistance H = 1. Each end has a conductance g / 2 to ground as well. Out of service it has no current.
    """

    instantaneous = True
    algebraic = ("current_re_i", "current_im_i", "current_re_j", "current_im_j", *_WAVES)
    inputs = ("v_re_i", "v_im_i", "v_re_j", "v_im_j", *(f"{wave}_late" for wave in _WAVES))
    outputs = ("i_re_i", "i_im_i", "i_re_j", "i_im_j")
    delays = {f"{wave}_late": "tau" for wave in _WAVES}

    f_n = F_N
    z_c = Parameter("pu", "characteristic impedance", positive)
    tau = Parameter("s", "travel time", positive)
    r = Parameter("pu", "series resistance, lumped", nonnegative, default=0.0)
    g = Parameter("pu", "shunt conductance", default=0.0)
    status = Parameter("1", "1 in service, 0 out of service", in_or_out, default=1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the residuals of currents and waves, and the currents into both buses."""
        angle = 2 * math.pi * p.f_n * p.tau
        c, s = m.cos(angle), m.sin(angle)
        z, h = p.z_c + p.r / 4, (p.z_c - p.r / 4) / (p.z_c + p.r / 4)
        currents: list[Any] = []
        waves: list[Any] = []
        injections: list[Any] = []
        for k, other in (("i", "j"), ("j", "i")):
            v_k, i_k, b_k = (_of(v, name, k) for name in ("v", "current", "b"))
            far, near = _of(v, "b", other, "_late"), _of(v, "b", k, "_late")
            b_re, b_im = ((1 + h) / 2 * far[n] + (1 - h) / 2 * near[n] for n in (0, 1))
            arrives = c * b_re + s * b_im, c * b_im - s * b_re
            for n in (0, 1):
                currents.append(i_k[n] - p.status * (v_k[n] / z - arrives[n]))
                waves.append(b_k[n] - p.status * (v_k[n] / z + h * i_k[n]))
                injections.append(-i_k[n] - p.status * p.g / 2 * v_k[n])
        return (), (*currents, *waves), tuple(injections)


def _of(v: Any, name: str, end: str, late: str = "") -> tuple[Any, Any]:
    return getattr(v, f"{name}_re_{end}{late}"), getattr(v, f"{name}_im_{end}{late}")


def own_waves(name: str) -> dict[str, str]:
    """Return the connections by which a line of that name reads its own waves."""
    return {f"{wave}_late": f"{name}.{wave}" for wave in _WAVES}


def wave_values(name: str, r: float, x: float, b: float, g: float, f_n: float) -> dict[str, float]:
    """Return the parameters of the travelling-wave line that is a pi of r, x, b and g at f_n in Hz, exactly.

    Equal voltages at both ends see half the shunt admittance of the pi, opposite ones that and twice its
    series admittance; both are found by Newton's method from the line without losses. What of the losses does
    not fit the lumped resistances is the conductance.

    Raises InputError for a line without inductance or charging, or one that is none of this kind.
    """
    from scipy.optimize import root  # slow to import, for these lines alone

    if not (x > 0 and b > 0 and x * b < 4):
        raise InputError(
            f"{name}: x = {x:g} and b = {b:g}: waves travel on a line with inductance and charging alone, "
            "shorter than half a wave; leave it out of travelling_waves"
        )
    even = complex(g, b) / 2
    odd = even + 2 / complex(r, x)
    angle = math.acos(1 - x * b / 2)
    z_c = x / math.sin(angle)

    def off(values: Any) -> list[float]:
        r_l, z_l, turned, g_l = values[0] * x, values[1] * z_c, values[2] * angle, values[3] * b
        own = _admittances(r_l, z_l, turned)
        parts = (own[0] + g_l / 2) / abs(even) - even / abs(even), (own[1] + g_l / 2 - odd) / abs(odd)
        return [part for z in parts for part in (z.real, z.imag)]

    found = root(off, [r / x, 1.0, 1.0, g / b], tol=1e-14)
    worst = max(map(abs, off(found.x)))
    r_l, z_l, turned, g_l = found.x * np.array([x, z_c, angle, b])
    if worst > 1e-12 or min(z_l, turned) <= 0 or r_l < -1e-12 * x:
        raise InputError(
            f"{name}: no line with lumped losses is r = {r:g}, x = {x:g}, b = {b:g}, g = {g:g} at {f_n:g} Hz "
            "(its losses are too large for that); leave it out of travelling_waves"
        )
    return {"z_c": z_l, "tau": turned / (2 * math.pi * f_n), "r": max(r_l, 0.0), "g": g_l}


def _admittances(r: float, z_c: float, angle: float) -> tuple[complex, complex]:
    """Return i / v at each end for equal and for opposite voltages at both."""
    z, h, rho = z_c + r / 4, (z_c - r / 4) / (z_c + r / 4), cmath.exp(-1j * angle)
    return (1 - rho) / (z * (1 + rho * h)), (1 + rho * h) / (z * (1 - rho * h**2))


def waves_at_rest(p: dict[str, float], v: tuple[complex, complex], f_n: float) -> tuple[complex, ...]:
    """Return i_i, i_j, b_i and b_j at rest for the voltages at both ends."""
    even, odd = _admittances(p["r"], p["z_c"], 2 * math.pi * f_n * p["tau"])
    mean, half = (v[0] + v[1]) / 2, (v[0] - v[1]) / 2
    i = even * mean + odd * half, even * mean - odd * half
    z, h = p["z_c"] + p["r"] / 4, (p["z_c"] - p["r"] / 4) / (p["z_c"] + p["r"] / 4)
    return (*i, *(v[k] / z + h * i[k] for k in (0, 1)))

"""How a composite load starts: from the power at its bus to the tap, the feeder and the end uses."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psmr.base.errors import CaseError
from psmr.dae.declare.component import NumericMath
from psmr.devices.loads.composite import air_conditioner, static_parts, three_phase
from psmr.devices.loads.composite.feeder import LEAST_VOLTAGE, shares

ITERATIONS = 60
"""Most iterations for the feeder's susceptance."""

TOLERANCE = 1e-13
"""Reactive power in pu that may be missing; the joint solution of the start takes the rest."""

STALLED = 1e-9
"""Reactive power in pu that may be missing where the iterations come no nearer."""

LOADING = 0.8
"""Load of the substation over its base where a record gives 0."""


def base_of(mva: float, mw: float) -> float:
    """Return the base of the substation in MVA for a load in MW."""
    if mva > 0:
        return mva
    return abs(mw / (mva or LOADING))


def start(p: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Return the parameters that the start decides, and the variables at rest.

    `p` has the parameters of the composite load with the power flow's v_0, p_0, q_0 in pu. The variables are
    those with the bus at the angle 0. Raises CaseError where the load takes no power, the load bus would be
    below 0.95 pu without a feeder, a motor cannot take its power, or no susceptance of the feeder makes up
    for the reactive power.
    """
    q = SimpleNamespace(**p)
    if q.p_0 <= 0:
        raise CaseError(f"p = {q.p_0:g} pu: must be > 0; it says what the motors drive")
    q.s_mva = base_of(q.mva, q.p_0 * q.s_base)
    current = np.conj((q.p_0 + 1j * q.q_0) / q.v_0)
    high = q.v_0 - 1j * q.x_xf * q.s_base / q.s_mva * q.tfixhs**2 * current
    q.tap = _tap(q, high, current)
    a = q.tap * q.tfixls / q.tfixhs
    low, into = a * high, current / a
    b_f, q.shrink, u = _feeder(q, low, into)
    q.p_load, q.v_l = _delivered(q, low, into, u, b_f).real, abs(u)
    decided = {name: float(getattr(q, name)) for name in ("s_mva", "tap", "shrink", "p_load", "v_l")}
    u = complex(u)
    values = {"u_re": u.real, "u_im": u.imag, "v_m": abs(u), "v_y": abs(u), "angle": float(np.angle(u))}
    for k in three_phase.LETTERS:
        own, torque, _ = three_phase.at_rest(q, k, u)
        values |= own
        decided[f"t_0_{k}"] = torque
    single = _air_conditioners(q, abs(u))
    heat = float((q.lf_d / q.pf_d / abs(u)) ** 2 * q.r_stall)
    values |= {"theta_1": heat, "theta_2": heat, "p_s": _static(q)[0], "b_f": float(b_f)}
    return decided | single, values


def guess(terminal: Any, p: Any) -> dict[str, Any]:
    """Return the variables at rest of one load, or of several given as arrays."""
    voltage, given = np.asarray(terminal.voltage), vars(p)
    count = voltage.size
    found = []
    for i in range(count):
        own = {name: float(np.broadcast_to(x, count)[i]) for name, x in given.items()}
        found.append(_turned(start(own)[1], float(np.angle(voltage.flat[i]))))
    if not voltage.ndim:
        return dict(found[0])
    return {name: np.array([one[name] for one in found]) for name in found[0]}


def _turned(values: Mapping[str, float], angle: float) -> dict[str, float]:
    """Return the variables with the bus at an angle."""
    turned = dict(values) | {"angle": values["angle"] + angle}
    for re in values:
        if "_re" in re:
            im = re.replace("_re", "_im")
            phasor = complex(values[re], values[im]) * np.exp(1j * angle)
            turned |= {re: float(phasor.real), im: float(phasor.imag)}
    return turned


def positions(q: Any) -> NDArray[np.float64]:
    """Return the taps between t_min and t_max."""
    first, last = (int(np.ceil(round(t, 9))) for t in ((q.t_min - 1) / q.step, (q.t_max - 1) / q.step))
    last -= 1 + last * q.step > q.t_max + 1e-9
    return 1 + np.arange(first, last + 1) * q.step


def _tap(q: Any, high: complex, current: complex) -> float:
    """Return the tap with which the regulated voltage is nearest to the middle of its band."""
    if q.x_xf == 0:
        return 1.0
    compensating = (q.r_cmp + 1j * q.x_cmp) * q.s_base / q.s_mva
    taps = positions(q)
    a = taps * q.tfixls / q.tfixhs
    regulated = np.abs(a * high - compensating * current / a)
    return float(taps[np.argmin(np.abs(regulated - (q.v_min + q.v_max) / 2))])


def _load_bus(q: Any, low: complex, into: complex, b_f: float) -> tuple[float, complex]:
    """Return how much of the feeder is there, and the voltage at its end."""
    flow = into - 1j * (q.b_ss * q.s_mva / q.s_base + shares(NumericMath, q, b_f)[0]) * low
    drop = (q.r_fdr + 1j * q.x_fdr) * q.s_base / q.s_mva * flow
    if abs(low - drop) >= LEAST_VOLTAGE:
        return 1.0, low - drop
    if abs(low) < LEAST_VOLTAGE:
        raise CaseError(
            f"the low side of the substation is at {abs(low):.4f} pu at the start: the load bus is to be at"
            f" {LEAST_VOLTAGE:g} pu or above; lower x_xf, raise t_max, or correct the power flow"
        )
    # |low - k drop|^2 = least^2, the root below 1
    square, both = abs(drop) ** 2, (low * np.conj(drop)).real
    k = (both - np.sqrt(both**2 - square * (abs(low) ** 2 - LEAST_VOLTAGE**2))) / square
    return float(k), low - k * drop


def _delivered(q: Any, low: complex, into: complex, u: complex, b_f: float) -> complex:
    """Return the power in pu that the end uses take: what the feeder brings less the shunt at its end."""
    at_low, at_load = shares(NumericMath, q, b_f)
    flow = into - 1j * (q.b_ss * q.s_mva / q.s_base + at_low) * low
    return complex(u * np.conj(flow - 1j * at_load * u))


def _feeder(q: Any, low: complex, into: complex) -> tuple[float, float, complex]:
    """Return the feeder's susceptance, how much of its impedance is there, and the load bus's voltage."""

    def lacking(b_f: float) -> tuple[float, float, complex]:
        shrink, u = _load_bus(q, low, into, b_f)
        power = _delivered(q, low, into, u, b_f)
        return power.imag - _reactive(q, u, power.real), shrink, u

    previous, value = 0.0, lacking(0.0)[0]
    b_f = -value / abs(low) ** 2
    for _ in range(ITERATIONS):
        now, shrink, u = lacking(b_f)
        if abs(now) <= TOLERANCE or (now == value and abs(now) <= STALLED):
            return b_f, shrink, u
        if now == value:
            break
        b_f, previous, value = b_f - now * (b_f - previous) / (now - value), b_f, now
    raise CaseError(
        f"no susceptance of the feeder makes up for the reactive power q = {q.q_0:g} pu of the power flow"
    )


def _share(q: Any, name: str) -> float:
    return getattr(q, name) / max(q.fm_a + q.fm_b + q.fm_c + q.fm_d + q.f_el, 1.0)


def _static(q: Any) -> tuple[float, float]:
    """Return P and Q of the static load."""
    left = 1 - sum(_share(q, name) for name in ("fm_a", "fm_b", "fm_c", "fm_d", "f_el"))
    power = max(left, 0.0) * q.p_load
    return power, power * static_parts.tangent(q.pf_s)


def _reactive(q: Any, u: complex, power: float) -> float:
    """Return the reactive power in pu of all end uses that take a power at a voltage."""
    q.p_load = power
    total = _static(q)[1] + _share(q, "f_el") * power * static_parts.tangent(q.pf_el)
    total += _share(q, "fm_d") * power * static_parts.tangent(q.pf_d)
    for k in three_phase.LETTERS:
        part = _share(q, f"fm_{k}") * power
        current = three_phase.at_rest(q, k, u)[2]
        total += part / getattr(q, f"lf_{k}") * (u * np.conj(current)).imag
    return float(total)


def _air_conditioners(q: Any, voltage: float) -> dict[str, float]:
    """Return p_run, q_run and v_x of motor D."""
    more_p, more_q = air_conditioner.above_run(NumericMath, q, voltage)
    p_run, q_run = q.lf_d - more_p, q.lf_d * static_parts.tangent(q.pf_d) - more_q
    conductance = q.r_stall / (q.r_stall**2 + q.x_stall**2)

    def above(v: float) -> float:
        return float(conductance * v**2 - p_run - air_conditioner.above_run(NumericMath, q, v)[0])

    low, high = 0.0, float(min(air_conditioner.stalling(q), air_conditioner.breaking(q)))
    if high <= 0 or above(high) <= 0:
        return {"p_run": float(p_run), "q_run": float(q_run), "v_x": max(high, 1e-3)}
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) < 0 else (low, middle)
    return {"p_run": float(p_run), "q_run": float(q_run), "v_x": high}

"""The three-phase motors of a composite load: two cages in subtransient form, a load torque, two relays.

With voltages and currents as phasors, the current i into the motor, w_n = 2 pi f_n and per unit on the
motor's own base::

    i = (u - E'')/(ra + j lpp)
    dE'/dt  = (-E' + j (ls - lp) i)/tpo - j w_n slip E'
    dE''/dt = (-E' + j (ls - lp) i)/tpo + (E' - E'' + j (lp - lpp) i)/tppo - j w_n slip E''
    2 h dslip/dt = t_0 (1 - slip)^etrq - Re(E'' conj(i))

With lpp = lp the motor has one cage. A relay k: below vtr_k for ttr_k the part ftr_k is off, above vrc_k for
trc_k it is on again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psmr.base.errors import CaseError
from psmr.dae.declare.component import Action, Parameter, fraction, nonnegative, positive
from psmr.devices.loads.cages import LEAST_SPEED, slip_at
from psmr.devices.loads.motors import PU

LETTERS = ("a", "b", "c")


def parameters(k: str) -> dict[str, Parameter]:
    """Return the parameters of motor k."""
    of = f"of motor {k.upper()}"
    found = {
        "lf": Parameter("1", f"load {of} over its base", positive),
        "ra": Parameter(PU, f"stator resistance {of}", nonnegative),
        "ls": Parameter(PU, f"synchronous reactance {of}", positive),
        "lp": Parameter(PU, f"transient reactance {of}", positive),
        "lpp": Parameter(PU, f"subtransient reactance {of}, that of lp for one cage", positive),
        "tpo": Parameter("s", f"transient open-circuit time constant {of}", positive),
        "tppo": Parameter("s", f"subtransient open-circuit time constant {of}", positive),
        "h": Parameter("s", f"inertia constant {of}", positive),
        "etrq": Parameter("1", f"exponent of the speed in the load torque {of}", nonnegative),
    }
    for n in "12":
        found |= {
            f"vtr{n}": Parameter("pu", f"voltage of trip {n} {of}, 0 for none", nonnegative, 0.0),
            f"ttr{n}": Parameter("s", f"time of trip {n} {of}", nonnegative, 0.0),
            f"ftr{n}": Parameter("1", f"part that trip {n} {of} takes", fraction, 0.0),
            f"vrc{n}": Parameter("pu", f"voltage at which trip {n} {of} comes back", nonnegative, 10.0),
            f"trc{n}": Parameter("s", f"time before trip {n} {of} comes back", nonnegative, 0.0),
        }
    return {f"{name}_{k}": value for name, value in found.items()}


def decided(k: str) -> dict[str, Parameter]:
    """Return what the start and the relays of motor k set."""
    return {
        f"t_0_{k}": Parameter(PU, f"load torque of motor {k.upper()} at synchronous speed", default=0.0),
        **{
            f"off{n}_{k}": Parameter("1", f"1 while trip {n} of motor {k.upper()} is off", default=0.0)
            for n in "12"
        },
    }


def states(k: str) -> tuple[str, ...]:
    """Return the states of motor k."""
    return tuple(f"{name}_{k}" for name in ("slip", "e1_re", "e1_im", "e2_re", "e2_im"))


def conflict(p: Mapping[str, float], k: str) -> str | None:
    """Object to reactances that are not in order, and to more off than there is."""
    if not p[f"ls_{k}"] > p[f"lp_{k}"] >= p[f"lpp_{k}"]:
        return (
            f"ls_{k} = {p[f'ls_{k}']:g}, lp_{k} = {p[f'lp_{k}']:g}, lpp_{k} = {p[f'lpp_{k}']:g}: must fall"
            " from ls over lp to lpp"
        )
    return None


def motor(m: Any, v: Any, p: Any, k: str, u: tuple) -> tuple[tuple, tuple]:
    """Return the derivatives of motor k and its current (re, im) on its own base, all of it on line."""
    slip, a_re, a_im, b_re, b_im = (getattr(v, name) for name in states(k))
    ra, ls, lp, lpp, tpo, tppo, h, etrq, t_0 = (
        getattr(p, f"{name}_{k}") for name in ("ra", "ls", "lp", "lpp", "tpo", "tppo", "h", "etrq", "t_0")
    )
    d_re, d_im, square = u[0] - b_re, u[1] - b_im, ra**2 + lpp**2
    i_re, i_im = (ra * d_re + lpp * d_im) / square, (ra * d_im - lpp * d_re) / square
    turn = 2 * np.pi * p.f_n * slip
    first = (-a_re - (ls - lp) * i_im) / tpo, (-a_im + (ls - lp) * i_re) / tpo
    second = (a_re - b_re - (lp - lpp) * i_im) / tppo, (a_im - b_im + (lp - lpp) * i_re) / tppo
    load = t_0 * m.max(1 - slip, LEAST_SPEED) ** etrq
    derivatives = (
        (load - (b_re * i_re + b_im * i_im)) / (2 * h),
        first[0] + turn * a_im,
        first[1] - turn * a_re,
        first[0] + second[0] + turn * b_im,
        first[1] + second[1] - turn * b_re,
    )
    return derivatives, (i_re, i_im)


def on_line(m: Any, p: Any, k: str) -> Any:
    """Return the part of motor k that is on line."""
    off = sum(getattr(p, f"ftr{n}_{k}") * getattr(p, f"off{n}_{k}") for n in "12")
    return m.max(1 - off, 0)


def actions(k: str, voltage: Any) -> tuple[Action, ...]:
    """Return what the relays of motor k do; ``voltage(m, v, p)`` is that of the load bus."""
    return tuple(action for n in "12" for action in _relay(k, n, voltage))


def _relay(k: str, n: str, voltage: Any) -> tuple[Action, Action]:
    def of(p: Any, name: str) -> Any:
        return getattr(p, f"{name}{n}_{k}")

    def used(p: Any) -> Any:
        return (of(p, "vtr") > 0) & (of(p, "ftr") > 0) & (getattr(p, f"fm_{k}") > 0)

    return (
        Action(
            f"trip {n} of motor {k.upper()}",
            lambda m, v, p: m.min(of(p, "vtr") - voltage(m, v, p), 0.5 - of(p, "off")),
            lambda p: of(p, "ttr"),
            lambda v, p: {f"off{n}_{k}": 1.0},
            used,
            protects=True,
            kind="trip",
        ),
        Action(
            f"motor {k.upper()} is back after trip {n}",
            lambda m, v, p: m.min(voltage(m, v, p) - of(p, "vrc"), of(p, "off") - 0.5),
            lambda p: of(p, "trc"),
            lambda v, p: {f"off{n}_{k}": 0.0},
            used,
        ),
    )


def impedance(p: Any, k: str, slip: Any) -> Any:
    """Return the complex impedance of motor k at a slip, pu on its base."""
    ra, ls, lp, lpp, tpo, tppo = (
        getattr(p, f"{name}_{k}") for name in ("ra", "ls", "lp", "lpp", "tpo", "tppo")
    )
    turn = 2j * np.pi * p.f_n * slip
    return ra + 1j * (lpp + (ls - lp) / (1 + turn * tpo) + (lp - lpp) / (1 + turn * tppo))


def steady_slip(p: Any, k: str, voltage: float) -> float:
    """Return the slip at which motor k takes its load on the running branch; NaN where there is none."""
    wanted = getattr(p, f"lf_{k}") / voltage**2
    return slip_at(lambda slip: (1 / impedance(p, k, slip)).real, wanted)


def at_rest(p: Any, k: str, u: complex) -> tuple[dict[str, float], float, complex]:
    """Return the states of motor k at rest, its torque at synchronous speed, and its current on its base."""
    slip = steady_slip(p, k, abs(u))
    if np.isnan(slip) and getattr(p, f"fm_{k}") == 0:
        slip = 0.0  # no part of the load: it idles
    if np.isnan(slip):
        raise CaseError(
            f"motor {k.upper()}: lf_{k} = {getattr(p, f'lf_{k}'):g}: it cannot take that at {abs(u):.4f} pu,"
            " the voltage of the load bus; lower it, or correct the motor's reactances"
        )
    current = u / impedance(p, k, slip)
    turn = 2j * np.pi * p.f_n * slip
    ls, lp, lpp = (getattr(p, f"{name}_{k}") for name in ("ls", "lp", "lpp"))
    a = 1j * (ls - lp) * current / (1 + turn * getattr(p, f"tpo_{k}"))
    b = a + 1j * (lp - lpp) * current / (1 + turn * getattr(p, f"tppo_{k}"))
    torque = (b * np.conj(current)).real / (1 - slip) ** getattr(p, f"etrq_{k}")
    values = (slip, a.real, a.imag, b.real, b.imag)
    return dict(zip(states(k), map(float, values), strict=True)), float(torque), complex(current)

"""The scalar test equation x' = lambda x + mu x(t - tau) with complex coefficients, and where it is stable.

On the unit circle, z = e^{j phi}, the trapezoidal rule with tau = m h has

    j Omega = lambda + mu e^{-j m phi},   Omega = (2 / h) tan(phi / 2),

the characteristic equation of the system at s = j Omega, but for its delay: that is
m phi / Omega = tau atan(Omega h / 2) / (Omega h / 2). The rule is stable where the system is that has this
shorter delay.

The theta method, from the trapezoidal rule (1/2) to backward Euler (1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from psmr.base.arrays import Reals
from psmr.base.errors import SchemeError
from psmr.dae.declare.component import Component, Parameter
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.eigenvalues import modes
from psmr.dae.system.system import System
from psmr.integrate.run.integrate import integrate
from psmr.integrate.schemes.one_step import OneStep, SingleRate, tableau_program
from psmr.integrate.schemes.scheme import Scheme
from psmr.integrate.step.program import Program
from psmr.integrate.tableaux import Tableau
from psmr.pencil.operator.step_operator import step_operator


@dataclass(frozen=True, repr=False)
class ThetaMethod(OneStep):
    """x(t+h) = x(t) + h ((1 - theta) f(t) + theta f(t+h)).

    Parameters
    ----------
    theta
        Weight of the end of the step, more than 0 and at most 1; A-stable from 1/2 on.

    Raises
    ------
    SchemeError
        For a theta out of range.
    """

    theta: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.theta <= 1.0:
            raise SchemeError(f"theta = {self.theta:g}: must be more than 0 and at most 1", field="theta")

    @property
    def order(self) -> int:
        """See `Scheme`."""
        return 2 if self.theta == 0.5 else 1

    def program(self, h: float, before: tuple[float, ...] = ()) -> Program:
        """See `Scheme`."""
        weights = np.array([1.0 - self.theta, self.theta])
        rows = np.vstack([np.zeros(2), weights])
        return tableau_program(Tableau("theta", rows, weights, np.array([0.0, 1.0]), self.order))


OMEGA, MU = 7.0, 1.0
"""An undamped oscillation in rad/s, and the gain of its delayed feedback in 1/s."""
TAU = 0.29
"""A delay in s just beyond the least stable one, 0.262 s."""
PARTS = (1, 2, 4, 8)
"""Steps in a delay."""


class ScalarEquation(Component):
    """x' = lambda x + mu x(t - tau), real and imaginary part."""

    states = ("x_re", "x_im")
    inputs = ("late_re", "late_im")
    lambda_re = Parameter("1/s", "coefficient of x, real part")
    lambda_im = Parameter("1/s", "coefficient of x, imaginary part")
    mu_re = Parameter("1/s", "coefficient of the delayed x, real part")
    mu_im = Parameter("1/s", "coefficient of the delayed x, imaginary part")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """See `Component`."""
        return (
            (
                p.lambda_re * v.x_re - p.lambda_im * v.x_im + p.mu_re * v.late_re - p.mu_im * v.late_im,
                p.lambda_im * v.x_re + p.lambda_re * v.x_im + p.mu_im * v.late_re + p.mu_re * v.late_im,
            ),
            (),
            (),
        )


def scalar_equation(coefficient: complex, delayed: complex, tau: float) -> System:
    """Return the test equation with lambda and mu in 1/s and a delay in s."""
    parameters = {
        "lambda_re": coefficient.real,
        "lambda_im": coefficient.imag,
        "mu_re": delayed.real,
        "mu_im": delayed.imag,
    }
    reads = {"late_re": "S.x_re", "late_im": "S.x_im"}
    return assemble([Device("S", ScalarEquation, parameters, reads, delays=dict.fromkeys(reads, tau))])


def oscillator(tau: float) -> System:
    """Return the oscillation whose feedback damps it from tau = pi / 2 / (OMEGA - MU) on."""
    return scalar_equation(1j * OMEGA, complex(MU), tau)


def exact_growth(system: System) -> float:
    """Return the largest real part of the system's modes in 1/s."""
    return float(modes(system.linearise())["real"].max())


def growth_by_delay() -> dict[str, tuple[Reals, Reals]]:
    """Return (K,) delays in s and the oscillator's growth there in 1/s, exactly and by scheme."""
    made: dict[str, Callable[[System, float], float]] = {
        "exact": lambda system, t: exact_growth(system),
        "TM, h = τ": lambda system, t: growth(system, SingleRate("TM", t)),
        "TM, h = τ/2": lambda system, t: growth(system, SingleRate("TM", t / 2)),
        "TM, h = τ/4": lambda system, t: growth(system, SingleRate("TM", t / 4)),
        "θ = 0.52, h = τ": lambda system, t: growth(system, ThetaMethod(t, theta=0.52)),
        "BEM, h = τ/4": lambda system, t: growth(system, SingleRate("BEM", t / 4)),
    }
    tau = np.linspace(0.05, 0.6, 45)
    systems = [(oscillator(t), t) for t in tau.tolist()]
    return {words: (tau, np.array([of(*pair) for pair in systems])) for words, of in made.items()}


def growth(system: System, scheme: Scheme) -> float:
    """Return how fast the fastest-growing numerical mode grows, in 1/s."""
    radius = np.abs(np.linalg.eigvals(step_operator(system.linearise(), scheme))).max()
    return math.log(radius) / scheme.step


def boundaries() -> pd.DataFrame:
    """Return the least stable delay of the oscillator, and the largest of x' = -x(t - tau), by step.

    Both are, times their frequency, pi / 2 exactly, and 2 m tan(pi / (4 m)) by the trapezoidal rule.
    """
    rows = []
    for m in PARTS:
        least = _boundary(oscillator, m, 0.2, 0.4)
        largest = _boundary(lambda tau: scalar_equation(0j, complex(-1.0), tau), m, 1.0, 3.0)
        rows.append(
            {
                "h / tau": 1.0 / m,
                "2 m tan(pi/4m)": 2.0 * m * math.tan(math.pi / (4.0 * m)),
                "oscillator, least (w - mu) tau": (OMEGA - MU) * least,
                "x' = -b x(t - tau), largest b tau": largest,
            }
        )
    return pd.DataFrame(rows)


def _boundary(system: Callable[[float], System], parts: int, low: float, high: float) -> float:
    """Return the delay in s at which the trapezoidal rule with so many steps in it changes its stability."""
    from scipy.optimize import brentq

    return brentq(lambda tau: growth(system(tau), SingleRate("TM", tau / parts)), low, high, xtol=1e-13)  # type: ignore[no-any-return]


def thetas() -> pd.DataFrame:
    """Return the growth of the oscillator late by `TAU` in 1/s, by theta and step."""
    system = oscillator(TAU)
    return pd.DataFrame(
        {"theta": theta} | {f"h = tau/{m}": growth(system, ThetaMethod(TAU / m, theta=theta)) for m in PARTS}
        for theta in (0.5, 0.51, 0.52, 0.55, 0.6, 1.0)
    )


def delay_independent(samples: int = 60) -> float:
    """Return the largest growth in 1/s by the trapezoidal rule of equations with abs(mu) < -Re(lambda).

    They are stable for every delay; tau is 1 s, and steps from a fifth of it up to the whole.
    """
    rng, found = np.random.default_rng(1), []
    for _ in range(samples):
        coefficient = complex(-(10.0 ** rng.uniform(-1.0, 3.0)), rng.normal(0.0, 10.0))
        gain = -coefficient.real * rng.uniform(0.9, 0.999) * np.exp(2j * np.pi * rng.uniform())
        system = scalar_equation(coefficient, complex(gain), 1.0)
        found.append(growth(system, SingleRate("TM", 1.0 / rng.uniform(1.0, 5.0))))
    return max(found)


class Simulated(NamedTuple):
    """A run of the oscillator.

    Its largest difference from the powers of its step operator, relative to the largest x, and by what x has
    grown.
    """

    difference: float
    grown: float


def simulated(parts: int, steps: int = 200) -> Simulated:
    """Return a run by the trapezoidal rule from x = 1, which was constant before, against the operator."""
    system, scheme = oscillator(TAU), SingleRate("TM", TAU / parts)
    operator = step_operator(system.linearise(), scheme)
    begin = parts + 1  # from here on the operator's past is the run's
    run = integrate(system, scheme, (begin + steps) * scheme.step, start=([1.0, 0.0], []))
    # The instant at which the constant past ends is a stop of the run, and may stand twice.
    kept = np.concatenate([np.diff(run.t) > 0.5 * scheme.step, [True]])
    x = run.x[kept]
    ages = len(operator) // 2
    state = np.concatenate([x[begin - age] for age in range(ages)])
    off = 0.0
    for k in range(steps):
        state = operator @ state
        off = max(off, float(np.abs(state[:2] - x[begin + k + 1]).max()))
    return Simulated(off / float(np.abs(x).max()), float(np.hypot(*x[-1]) / np.hypot(*x[0])))

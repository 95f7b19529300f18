"""What Kuznetsov and Krasnikov say beyond their tables: long runs, limit points, closed curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psmr.numerics.run.integrate import integrate
from psmr.numerics.schemes.adaptive import Adaptive
from psmr.numerics.schemes.arc_length import ArcLength
from psmr.papers.systems.van_der_pol import van_der_pol

Reals = NDArray[np.float64]

# Van der Pol at t = 2 s: Hairer and Wanner's "exact results", which the paper's reference 9 has.
EXACT_END = (1.706167732170483, -0.8928097010247975)
END, END_TOLERANCE, END_LONGEST, MOST_STEPS = 2.0, 1e-4, 1e3, 2_000_000


@dataclass(frozen=True)
class LongRun:
    """Van der Pol's equation along the arc to t = 2 s: points, share that turned back, and (y1, y2) there."""

    t: float
    steps: int
    rejected: int
    chatter: float
    end: tuple[float, float]


@dataclass(frozen=True)
class Circle:
    """The circle y² + t² = 1, y' = -t/y, from (t, y) = (0, 1), along its arc.

    Attributes
    ----------
    t_largest, y_least
        What the run reaches.
    gap
        Distance from the start after an arc of 2 pi.
    """

    t_largest: float
    y_least: float
    gap: float


def to_the_end() -> LongRun:
    """Run van der Pol's equation to t = 2 s: Adams along the arc, tolerance 1e-4, steps up to 1e3."""
    method = Adaptive("Adams", END_TOLERANCE, END_TOLERANCE)
    run = integrate(van_der_pol(), ArcLength(method, END_LONGEST, most_steps=MOST_STEPS), END, every=False)
    counters = run.counters
    return LongRun(
        t=float(run.t[-1]),
        steps=counters.steps,
        rejected=counters.rejected,
        chatter=float(counters.chatter),
        end=(float(run.x[-1, 0]), float(run.x[-1, 1])),
    )


def limit_point(homogeneous: bool, h: float = 1e-3) -> Circle:
    """Follow the circle y' = -t/y with Runge-Kutta 4 along the arc, steps of h.

    Parameters
    ----------
    homogeneous
        False: equation (13), dt/dλ = 1/sqrt(1 + f²) > 0 always. True: (dy, dt) along (-t, y), the same
        direction where f is finite, with the sign of dt free.
    h
        Step along the arc.
    """

    def field(z: Reals) -> Reals:
        y, t = z
        if homogeneous:
            return np.array([-t, y]) / np.hypot(t, y)
        f = -t / y if y != 0.0 else -np.inf * np.sign(t)
        if np.isinf(f):
            return np.array([np.sign(f), 0.0])
        return np.array([f, 1.0]) / np.hypot(1.0, f)

    z = np.array([1.0, 0.0])
    points = [z]
    for _ in range(round(2.0 * np.pi / h)):
        k1 = field(z)
        k2 = field(z + h / 2 * k1)
        k3 = field(z + h / 2 * k2)
        k4 = field(z + h * k3)
        z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        points.append(z)
    path = np.array(points)
    rest = 2.0 * np.pi - h * round(2.0 * np.pi / h)
    last = z + rest * field(z)
    gap = float(np.hypot(last[0] - 1.0, last[1]))
    return Circle(float(path[:, 1].max()), float(path[:, 0].min()), gap)


def conditions(count: int = 200, size: int = 3) -> Reals:
    """Return (count, 2) condition numbers of the matrix of (11), along the arc and in a random direction.

    Rows belong to random right-hand sides f of several decades; the direction is a random unit vector.
    """
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(count):
        f = rng.standard_normal(size) * 10.0 ** rng.uniform(-2, 4)
        A = np.hstack([np.eye(size), -f[:, None]])
        tangent = np.append(f, 1.0) / np.sqrt(1.0 + f @ f)
        other = rng.standard_normal(size + 1)
        other /= np.linalg.norm(other)
        rows.append([np.linalg.cond(np.vstack([A, direction])) for direction in (tangent, other)])
    return np.array(rows)

"""The paper's examples (Edsberg's, van der Pol's, a boundary layer), the runs on them, and their tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from psmr.base.arrays import Reals
from psmr.dae.declare.component import Component, Parameter, positive
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System
from psmr.integrate.run.integrate import integrate
from psmr.integrate.run.trajectory import Trajectory
from psmr.integrate.schemes.one_step import SingleRate
from psmr.papers.catalogue import Results
from psmr.papers.kuznetsov_krasnikov.arc_length import Adaptive, ArcLength

EPSILON = 0.003125  # s, of the boundary layer


class Edsberg(Component):
    """y' = -2 k y^2."""

    states = ("y",)
    units = {"y": "1"}
    k = Parameter(unit="1/s", doc="rate constant", check=positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the right-hand side of (14)."""
        return (-2 * p.k * v.y**2,), (), ()


def edsberg(k: float = 1e3, y: float = 10.0) -> System:
    """Return Edsberg's problem from its start."""
    return assemble([Device("D", Edsberg, {"k": k})], {"D.y": y}, "Edsberg")


def edsberg_exact(t: Reals | float, k: float = 1e3, y: float = 10.0) -> Reals:
    """Return the solution y / (1 + 2 k y t), which is 10 / (1 + 20 k t) from y = 10."""
    return np.asarray(y / (1.0 + 2.0 * k * y * np.asarray(t)))


class VanDerPol(Component):
    """y1' = y2, epsilon y2' = (1 - y1^2) y2 - y1."""

    states = ("y1", "y2")
    units = {"y1": "1", "y2": "1/s"}
    epsilon = Parameter(unit="1", doc="small parameter, 1 / mu^2", check=positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the right-hand sides."""
        return (v.y2, ((1 - v.y1**2) * v.y2 - v.y1) / p.epsilon), (), ()


def van_der_pol(epsilon: float = 1e-6, y1: float = 2.0, y2: float = -0.66) -> System:
    """Return the equation from the paper's start, which is next to the slow manifold y2 = y1 / (1 - y1^2)."""
    start = {"vdp.y1": y1, "vdp.y2": y2}
    return assemble([Device("vdp", VanDerPol, {"epsilon": epsilon})], start, "van der Pol")


class BoundaryLayer(Component):
    """epsilon x' + (1 + t) x = 2.5 (1 + t), example 3 read as first order."""

    states = ("x",)
    units = {"x": "1"}
    epsilon = Parameter(unit="s", doc="small parameter", check=positive)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the right-hand side."""
        return ((2.5 - v.x) * (1 + v.t) / p.epsilon,), (), ()


def boundary_layer(epsilon: float = EPSILON, x: float = -1.0) -> System:
    """Return the boundary layer from its start."""
    return assemble([Device("D", BoundaryLayer, {"epsilon": epsilon})], {"D.x": x}, "boundary layer")


def layer_exact(t: Reals | float, epsilon: float = EPSILON, x: float = -1.0) -> Reals:
    """Return the solution 2.5 + (x - 2.5) exp(-(t + t^2 / 2) / epsilon)."""
    t = np.asarray(t, dtype=float)
    return np.asarray(2.5 + (x - 2.5) * np.exp(-(t + 0.5 * t**2) / epsilon))


# Table 1: method, h, error as printed (text), steps as printed. BP is Euler along the arc, E along time.
TABLE_1 = (
    ("BP", 0.2, "0.127", 256),
    ("BP", 0.05, "0.029", 294),
    ("BP", 0.01, "0.0053", 586),
    ("BP", 0.005, "0.0025", 935),
    ("E", 0.005, "∞", 200),
    ("E", 0.004, "1.950", 250),
    ("E", 0.002, "0.584", 500),
    ("E", 0.001, "0.239", 1000),
    ("E", 0.0001, "0.020", 10000),
)
# Van der Pol, example 2: end in s, tolerances, the longest step along the arc (unit: that of y2 and of t
# together), and an end beyond where the paper's program overflowed.
VDP_END, TOLERANCES, LONGEST, FARTHER = 0.01, (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8), 1.0, 0.05
# Van der Pol at t = 2 s: Hairer and Wanner's "exact results", which the paper's reference 9 has.
EXACT_END = (1.706167732170483, -0.8928097010247975)
END, END_TOLERANCE, END_LONGEST, MOST_STEPS = 2.0, 1e-4, 1e3, 2_000_000
# Example 1: end in s and accuracy.
EDSBERG_END, EDSBERG_TOLERANCE = 1.0, 1e-10
# The comparison with VODE gives up here; nothing needs half as many.
MOST_CALLS = 300_000


def table_one() -> tuple[dict[tuple[str, float], Trajectory], pd.DataFrame]:
    """Return the runs by (method, h), and Table 1: largest error, steps, share of steps that turned back."""
    runs, rows = {}, []
    for method, h, printed, steps in TABLE_1:
        scheme = ArcLength("FEM", h) if method == "BP" else SingleRate("FEM", h)
        run = runs[method, h] = integrate(boundary_layer(), scheme, 1.0)
        error = float(np.abs(run.x[:, 0] - layer_exact(run.t)).max())
        turned = run.counters.chatter if method == "BP" else np.nan
        rows.append((method, h, printed, error, steps, run.counters.steps, turned))
    ours = [f"{what}, {whose}" for what in ("error", "steps") for whose in ("paper", "ours")]
    return runs, pd.DataFrame(rows, columns=["method", "h", *ours, "turned back"])


def both_ways(system: Callable[[], System], method: Adaptive, end: float) -> tuple[Trajectory, Trajectory]:
    """Return runs along time and along the arc."""
    return integrate(system(), method, end), integrate(system(), ArcLength(method, LONGEST), end)


def _compared(method: Adaptive, system: Callable[[], System], end: float, wanted: Reals) -> dict[str, Any]:
    """Return a row of evaluations and errors of psmr's method, along time and along the arc."""
    runs = both_ways(system, method, end)
    found = [(run.counters.residuals["step"], float(np.abs(run.x[-1] - wanted).max())) for run in runs]
    return _row(f"psmr {method.method}", method.rtol, found, runs[1].counters.chatter)


def _row(name: str, tolerance: float, found: list[tuple[int, float]], turned: float) -> dict[str, Any]:
    """Return a row from evaluations and error, along time and along the arc."""
    (calls, error), (calls_arc, error_arc) = found
    return {
        "method": name,
        "tolerance": tolerance,
        "evaluations, time": calls,
        "evaluations, arc": calls_arc,
        "ratio": calls / calls_arc,
        "error, time": error,
        "error, arc": error_arc,
        "turned back": turned,
    }


def van_der_pol_table() -> pd.DataFrame:
    """Return evaluations along time and along the arc by tolerance, of three programs."""
    wanted, rows = _van_der_pol_exact(), []
    for tolerance in TOLERANCES:
        for name in ("Adams", "RK54"):
            method = Adaptive(name, tolerance, tolerance, tolerance=min(tolerance, 1e-10))
            rows.append(_compared(method, van_der_pol, VDP_END, wanted))
        vode = [_vode(tolerance, wanted, arc) for arc in (False, True)]
        rows.append(_row("scipy VODE-Adams", tolerance, vode, np.nan))
    return pd.DataFrame(rows).sort_values(["method", "tolerance"], ascending=[True, False], ignore_index=True)


def edsberg_table() -> pd.DataFrame:
    """Return evaluations of example 1 along time and along the arc at the paper's accuracy."""
    wanted, tolerance = edsberg_exact(EDSBERG_END), EDSBERG_TOLERANCE
    methods = [Adaptive(name, tolerance, tolerance) for name in ("Adams", "RK54")]
    return pd.DataFrame([_compared(method, edsberg, EDSBERG_END, wanted) for method in methods])


def farther() -> tuple[Trajectory, Trajectory]:
    """Return runs of van der Pol's equation to t = 0.05 s, along time and along the arc."""
    return both_ways(van_der_pol, Adaptive("Adams", 1e-4, 1e-4), FARTHER)


def multipliers() -> dict[float, float]:
    """Return by h what a step of Euler along the arc multiplies a small deviation with, example 3 at t = 1 s.

    Near x = 2.5 the right-hand side is small and dλ = dt, so that the step is Euler's with s = -(1 + t) / ε.
    """
    return {h: 1.0 - 2.0 * h / EPSILON for method, h, _, _ in TABLE_1 if method == "BP"}


@dataclass(frozen=True)
class Work:
    """Van der Pol to t = 0.01 s: time along time over that along the arc, and the mean step the other way."""

    tolerance: float
    time_ratio: float
    step_ratio: float


def time_and_step(tolerance: float = 1e-4, runs: int = 5) -> Work:
    """Return time and mean step along time over those along the arc: van der Pol, Adams, runs in turn."""
    method = Adaptive("Adams", tolerance, tolerance, tolerance=1e-10)
    found = [both_ways(van_der_pol, method, VDP_END) for _ in range(runs)]
    seconds = np.median([[run.counters.seconds for run in pair] for pair in found], axis=0)
    steps = [run.counters.steps for run in found[-1]]
    return Work(tolerance, float(seconds[0] / seconds[1]), steps[0] / steps[1])


def to_the_end() -> Trajectory:
    """Run van der Pol's equation to t = 2 s: Adams along the arc, tolerance 1e-4, steps up to 1e3."""
    scheme = ArcLength(Adaptive("Adams", END_TOLERANCE, END_TOLERANCE), END_LONGEST, most_steps=MOST_STEPS)
    return integrate(van_der_pol(), scheme, END, every=False)


@dataclass(frozen=True)
class Circle:
    """The circle y² + t² = 1, y' = -t/y, from (t, y) = (0, 1), along its arc: what the run reaches.

    `gap` is the distance from the start after an arc of 2 pi.
    """

    t_largest: float
    y_least: float
    gap: float


def limit_point(homogeneous: bool, h: float = 1e-3) -> Circle:
    """Follow the circle y' = -t/y with Runge-Kutta 4 along the arc, steps of h.

    By equation (13) dt/dλ = 1/sqrt(1 + f²) > 0 always; `homogeneous`, (dy, dt) along (-t, y), is the same
    direction where f is finite, with the sign of dt free.
    """

    def field(z: Reals) -> Reals:
        y, t = z
        if homogeneous:
            return np.array([-t, y]) / np.hypot(t, y)
        f = -t / y if y != 0.0 else -np.inf * np.sign(t)
        if np.isinf(f):
            return np.array([np.sign(f), 0.0])
        return np.array([f, 1.0]) / np.hypot(1.0, f)

    z, count = np.array([1.0, 0.0]), round(2.0 * np.pi / h)
    points = [z]
    for _ in range(count):
        k1 = field(z)
        k2 = field(z + h / 2 * k1)
        k3 = field(z + h / 2 * k2)
        k4 = field(z + h * k3)
        z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        points.append(z)
    path, last = np.array(points), z + (2.0 * np.pi - h * count) * field(z)
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


def claims_table(r: Results) -> pd.DataFrame:
    """Return the numbers of what the paper says beyond its tables: quantity and value."""
    more = r.conditions[:, 1] / r.conditions[:, 0]
    plain, arc = r.farther
    rows = {
        "condition number, random direction over that along the arc: least": more.min(),
        "the same: median": np.median(more),
        "the same: largest": more.max(),
        "circle by (13): largest t": r.transformed.t_largest,
        "circle by (13): least y": r.transformed.y_least,
        "circle by (13): distance from the start after 2 pi": r.transformed.gap,
        "circle, sign of dt free: least y": r.homogeneous.y_least,
        "circle, sign of dt free: distance from the start after 2 pi": r.homogeneous.gap,
        f"van der Pol at {r.work.tolerance:g}: time along time over along the arc": r.work.time_ratio,
        "van der Pol: mean step in t along the arc over along time": r.work.step_ratio,
        "van der Pol along the arc: end in s": r.end.t[-1],
        "van der Pol along the arc: steps": r.end.counters.steps,
        "van der Pol along the arc: y1": r.end.x[-1, 0],
        "van der Pol along the arc: y2": r.end.x[-1, 1],
        "van der Pol along time beyond 0.03 s: end in s": plain.t[-1],
        "van der Pol to this end: steps along time": plain.counters.steps,
        "van der Pol to this end: steps along the arc": arc.counters.steps,
    }
    return pd.DataFrame([(k, float(v)) for k, v in rows.items()], columns=["quantity", "value"])


def _van_der_pol_field(t: float, y: Reals) -> Reals:
    return np.array([y[1], ((1.0 - y[0] ** 2) * y[1] - y[0]) / 1e-6])


def _van_der_pol_exact() -> Reals:
    """Return (y1, y2) at the end, by scipy's Radau at a relative tolerance of 1e-12."""
    from scipy.integrate import solve_ivp

    tight = {"rtol": 1e-12, "atol": 1e-13, "t_eval": [VDP_END]}
    return np.asarray(solve_ivp(_van_der_pol_field, (0.0, VDP_END), [2.0, -0.66], "Radau", **tight).y[:, -1])


def _vode(tolerance: float, wanted: Reals, arc: bool) -> tuple[int, float]:
    """Return (evaluations until t >= 0.01 s, error there) of VODE's Adams formulas with functional iteration.

    Along the arc it follows the field (13). Its last step may pass the end; the error is then taken by linear
    interpolation of the last step.
    """
    from scipy.integrate import ode

    calls = 0

    def counted(s: float, z: Reals) -> Reals:
        nonlocal calls
        calls += 1
        if not arc:
            return _van_der_pol_field(s, z)
        rate = np.append(_van_der_pol_field(float(z[-1]), z[:-1]), 1.0)
        return np.asarray(rate / np.sqrt(rate @ rate))

    options = {"method": "adams", "with_jacobian": False, "nsteps": 1, "max_step": LONGEST}
    solver = ode(counted).set_integrator("vode", rtol=tolerance, atol=tolerance, **options)
    solver.set_initial_value([2.0, -0.66, 0.0] if arc else [2.0, -0.66], 0.0)

    def point() -> tuple[float, Reals]:
        return (float(solver.y[-1]), solver.y[:-1].copy()) if arc else (float(solver.t), solver.y.copy())

    before = now = point()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one step at a time, VODE warns that one step was not enough
        while now[0] < VDP_END and calls < MOST_CALLS:
            solver.integrate(1e6 if arc else VDP_END, step=True)
            before, now = now, point()
    share = (VDP_END - before[0]) / (now[0] - before[0])
    return calls, float(np.abs(before[1] + share * (now[1] - before[1]) - wanted).max())

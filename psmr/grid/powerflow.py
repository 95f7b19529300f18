"""Newton power flow in polar coordinates on sparse matrices.

Loads draw their given power whatever the voltage; generators hold power and voltage (pv), power (pq), or
voltage and angle (slack). Source of the Jacobian: R. D. Zimmerman, AC Power Flows, Generalized OPF Costs and
their Derivatives using Complex Matrix Notation, MATPOWER Technical Note 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.errors import PowerFlowError
from psmr.grid.case import Case
from psmr.grid.rows import admittance
from psmr.grid.tables import GeneratorRow

Reals = NDArray[np.float64]
Complexes = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class PowerFlow:
    """A solved power flow, per unit on the system base; rows in the order of the case's tables.

    Attributes
    ----------
    v, angle
        (buses,) voltage magnitudes in pu and angles in rad.
    p, q
        (generators,) injected power of each generator in pu.
    mismatch
        Largest absolute power mismatch in pu.
    iterations
        Newton iterations taken.
    at_limit
        Names of the generators whose reactive power is held at a limit.
    """

    case: Case = field(repr=False)
    v: Reals
    angle: Reals
    p: Reals
    q: Reals
    mismatch: float
    iterations: int
    at_limit: tuple[str, ...] = ()

    @property
    def voltage(self) -> Complexes:
        """(buses,) complex voltages in pu."""
        return self.v * np.exp(1j * self.angle)

    def buses(self) -> pd.DataFrame:
        """Return a row per bus: v in pu, angle in degrees."""
        names = pd.Index([bus.name for bus in self.case.buses], name="bus")
        return pd.DataFrame({"v": self.v, "angle_deg": np.degrees(self.angle)}, index=names)

    def generators(self) -> pd.DataFrame:
        """Return a row per generator: bus, p in MW, q in Mvar."""
        names = pd.Index([g.name for g in self.case.generators], name="generator")
        power = {"p_mw": self.p * self.case.base_mva, "q_mvar": self.q * self.case.base_mva}
        return pd.DataFrame({"bus": [g.bus for g in self.case.generators], **power}, index=names)


@dataclass
class _Problem:
    """What the power flow prescribes at each bus; reactive limits change `pv` and `q`."""

    case: Case
    y: sparse.csc_matrix
    at: NDArray[np.intp]
    p: Reals
    q: Reals
    slack: NDArray[np.bool_]
    pv: NDArray[np.bool_]
    v_set: Reals


def power_flow(
    case: Case, reactive_limits: bool = False, tolerance: float = 1e-10, iterations: int = 30
) -> PowerFlow:
    """Solve the power flow of a case.

    Parameters
    ----------
    case
        The case; every island of it has one slack bus.
    reactive_limits
        Whether a pv bus whose generators would leave their reactive limits turns into a pq bus (and back).
        The slack's limits are not looked at.
    tolerance
        Largest power mismatch in pu at which the iteration stops, after one more step that squares it.
    iterations
        Most Newton iterations.

    Raises
    ------
    PowerFlowError
        Where the iteration does not converge, with the largest mismatch and its bus.
    """
    problem = _pose(case)
    v, angle = np.where(problem.slack | problem.pv, problem.v_set, 1.0), _start_angles(problem)
    used = 0
    held: dict[int, int] = {}
    seen: set[tuple[tuple[int, int], ...]] = set()
    while True:
        v, angle, mismatch, count = _newton(problem, v, angle, tolerance, iterations)
        used += count
        if not reactive_limits or not _switch(problem, v, angle, held, tolerance):
            break
        state = tuple(sorted(held.items()))
        if state in seen:
            raise PowerFlowError(
                f"{case.name}: the buses at a reactive limit alternate and no set of them is consistent; "
                "check q_min_mvar and q_max_mvar, or solve without reactive limits"
            )
        seen.add(state)
    p, q = _share(problem, v, angle)
    names = tuple(
        g.name
        for g, bus in zip(case.generators, problem.at, strict=True)
        if bus in held and g.control != "pq"
    )
    return PowerFlow(case, v, angle, p, q, mismatch, used, names)


def _pose(case: Case) -> _Problem:
    place = {bus.number: i for i, bus in enumerate(case.buses)}
    size = len(case.buses)
    at = np.array([place[g.bus] for g in case.generators], dtype=np.intp)
    p, q, v_set = np.zeros(size), np.zeros(size), np.ones(size)
    slack, pv = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    for load in case.loads:
        p[place[load.bus]] -= load.p_mw / case.base_mva
        q[place[load.bus]] -= load.q_mvar / case.base_mva
    for bus, g in zip(at, case.generators, strict=True):
        p[bus] += g.p_mw / case.base_mva
        if g.control == "pq":
            q[bus] += g.q_mvar / case.base_mva
        else:
            v_set[bus] = g.v
            slack[bus] |= g.control == "slack"
            pv[bus] |= g.control == "pv"
    return _Problem(case, admittance(case), at, p, q, slack, pv & ~slack, v_set)


def _start_angles(problem: _Problem) -> Reals:
    """Return the angles at which no active power flows, by the linear (DC) power flow.

    In each island that is the slack's angle, and behind a phase shift that much more or less: from equal
    angles the iteration would not get past 30 degrees.
    """
    size = len(problem.p)
    angle = np.zeros(size)
    _, island = sparse.csgraph.connected_components(abs(problem.y), directed=False)
    for bus, g in zip(problem.at, problem.case.generators, strict=True):
        if g.control == "slack":
            angle[island == island[bus]] = np.radians(g.angle_deg)
    shifting = [row for row in problem.case.transformers if row.status and row.shift_deg]
    free = ~problem.slack
    if not shifting or not free.any():
        return angle
    place = {bus.number: i for i, bus in enumerate(problem.case.buses)}
    branches = [row for row in problem.case.branches if row.status]
    ends = np.array([(place[row.from_bus], place[row.to_bus]) for row in branches])
    # Without the sign of x, so that the matrix is definite; without flows only loops feel the weights.
    b = np.array([1 / abs(row.x) for row in branches])
    shift = np.radians([getattr(row, "shift_deg", 0.0) for row in branches])
    rows = np.arange(len(branches))
    incidence = sparse.csc_matrix(
        (np.r_[np.ones(rows.size), -np.ones(rows.size)], (np.r_[rows, rows], ends.T.ravel())),
        shape=(rows.size, size),
    )
    matrix = (incidence.T @ sparse.diags(b) @ incidence).tocsc()[free][:, free]
    angle[free] += splu(matrix.tocsc()).solve((incidence.T @ (b * shift))[free])
    return angle


def _injected(problem: _Problem, v: Reals, angle: Reals) -> Complexes:
    voltage = v * np.exp(1j * angle)
    return voltage * np.conj(problem.y @ voltage)


def _newton(
    problem: _Problem, v: Reals, angle: Reals, tolerance: float, iterations: int
) -> tuple[Reals, Reals, float, int]:
    """Return (v, angle, largest mismatch, iterations) for the bus types the problem has now."""
    v, angle = np.where(problem.pv | problem.slack, problem.v_set, v), angle.copy()
    free_angle, free_v = np.flatnonzero(~problem.slack), np.flatnonzero(~(problem.slack | problem.pv))

    def mismatch(v: Reals, angle: Reals) -> Reals:
        s = _injected(problem, v, angle)
        return np.concatenate([(s.real - problem.p)[free_angle], (s.imag - problem.q)[free_v]])

    error = mismatch(v, angle)
    last = False
    for count in range(iterations + 1):
        largest = float(np.abs(error).max(initial=0.0))
        if last or error.size == 0:
            return v, angle, largest, count
        last = largest <= tolerance
        if count == iterations and not last:
            break
        try:
            step = splu(_jacobian(problem, v, angle, free_angle, free_v)).solve(-error)
        except RuntimeError:
            step = np.full(error.size, np.nan)
        if not np.isfinite(step).all():
            raise PowerFlowError(
                _complaint(problem, error, free_angle, free_v, count, "the Jacobian is singular")
            )
        # Halve the step while it makes things worse: far from the solution a full one can leave for good.
        for scale in 0.5 ** np.arange(8):
            new_v, new_angle = v.copy(), angle.copy()
            new_angle[free_angle] += scale * step[: free_angle.size]
            new_v[free_v] += scale * step[free_angle.size :]
            new_error = mismatch(new_v, new_angle)
            if last or np.linalg.norm(new_error) < np.linalg.norm(error):
                break
        v, angle, error = new_v, new_angle, new_error
    raise PowerFlowError(_complaint(problem, error, free_angle, free_v, iterations, "no convergence"))


def _jacobian(
    problem: _Problem, v: Reals, angle: Reals, free_angle: NDArray[np.intp], free_v: NDArray[np.intp]
) -> sparse.csc_matrix:
    unit = np.exp(1j * angle)
    voltage = v * unit
    current = problem.y @ voltage
    by_v = sparse.diags(voltage) @ (problem.y @ sparse.diags(unit)).conj() + sparse.diags(
        current.conj() * unit
    )
    by_angle = 1j * sparse.diags(voltage) @ (sparse.diags(current) - problem.y @ sparse.diags(voltage)).conj()
    by_v, by_angle = by_v.tocsr(), by_angle.tocsr()
    return sparse.bmat(
        [
            [by_angle.real[free_angle][:, free_angle], by_v.real[free_angle][:, free_v]],
            [by_angle.imag[free_v][:, free_angle], by_v.imag[free_v][:, free_v]],
        ],
        format="csc",
    )


def _complaint(
    problem: _Problem,
    error: Reals,
    free_angle: NDArray[np.intp],
    free_v: NDArray[np.intp],
    count: int,
    what: str,
) -> str:
    worst = int(np.argmax(np.where(np.isfinite(error), np.abs(error), np.inf)))
    active = worst < free_angle.size
    bus = problem.case.buses[free_angle[worst] if active else free_v[worst - free_angle.size]]
    size = abs(error[worst]) * problem.case.base_mva
    return (
        f"{problem.case.source or problem.case.name}: power flow: {what} after {count} iterations;"
        " largest mismatch "
        f"{size:.4g} {'MW' if active else 'Mvar'} at {bus.name}; check the loads and branches there, or"
        " reduce the loading"
    )


def _limits(problem: _Problem, bus: int) -> tuple[float, float, list[GeneratorRow]]:
    group = [
        g for b, g in zip(problem.at, problem.case.generators, strict=True) if b == bus and g.control == "pv"
    ]
    base = problem.case.base_mva
    return sum(g.q_min_mvar for g in group) / base, sum(g.q_max_mvar for g in group) / base, group


def _switch(problem: _Problem, v: Reals, angle: Reals, held: dict[int, int], tolerance: float) -> bool:
    """Change pv buses outside their limits to pq and back where the voltage allows it; say if any did."""
    s = _injected(problem, v, angle)
    changed = False
    for bus in map(int, np.flatnonzero(problem.pv)):
        low, high, _ = _limits(problem, bus)
        needed = s[bus].imag - problem.q[bus]
        side = 1 if needed > high + tolerance else -1 if needed < low - tolerance else 0
        if side:
            problem.q[bus] += high if side > 0 else low
            problem.pv[bus], held[bus], changed = False, side, True
    for bus, side in list(held.items()):
        if side * (v[bus] - problem.v_set[bus]) > tolerance:
            low, high, _ = _limits(problem, bus)
            problem.q[bus] -= high if side > 0 else low
            problem.pv[bus], changed = True, True
            del held[bus]
    return changed


def _share(problem: _Problem, v: Reals, angle: Reals) -> tuple[Reals, Reals]:
    """Return p and q of each generator; what a bus leaves open is shared in proportion to the ratings."""
    case = problem.case
    s = _injected(problem, v, angle)
    p = np.array([g.p_mw for g in case.generators]) / case.base_mva
    q = np.array([g.q_mvar if g.control == "pq" else 0.0 for g in case.generators]) / case.base_mva
    load_q = np.zeros(len(v))
    load_p = np.zeros(len(v))
    place = {bus.number: i for i, bus in enumerate(case.buses)}
    for load in case.loads:
        load_p[place[load.bus]] += load.p_mw / case.base_mva
        load_q[place[load.bus]] += load.q_mvar / case.base_mva
    for bus in np.unique(problem.at):
        here = np.flatnonzero(problem.at == bus)
        for control, value, total in (
            (("slack",), p, s[bus].real + load_p[bus]),
            (("slack", "pv"), q, s[bus].imag + load_q[bus]),
        ):
            takers = [i for i in here if case.generators[i].control in control]
            if takers:
                weight = np.array([case.generators[i].rating_mva or 1.0 for i in takers])
                value[takers] += (total - value[here].sum()) * weight / weight.sum()
    return p, q

"""The balance of power at every bus and its solution by Newton, in polar coordinates on sparse matrices.

Source of the Jacobian: R. D. Zimmerman, AC Power Flows, Generalized OPF Costs and their Derivatives using
Complex Matrix Notation, MATPOWER Technical Note 2.

The power that loads draw as a function of the voltage, by their components' own equations.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.arrays import Complexes, Reals
from psmr.base.errors import PowerFlowError, first_few
from psmr.dae.declare.component import Component, NumericMath
from psmr.network.case.case import Case
from psmr.network.case.row import LoadRow
from psmr.network.case.rows import admittance, columns, load_component, load_parameters


@dataclass(frozen=True, eq=False)
class LoadPower:
    """The loads of a case for its power flow, at low voltage, too, what they draw in a run.

    `size`: number of buses.
    `at`: (loads,) position of each load's bus.
    `given`: (loads,) complex power in pu that each is given.
    `groups`: component, positions among the loads, and parameters as arrays of those that are no devices.
    `at_own`: (loads,) whether the power belongs to the voltage of the power flow itself, whatever it turns
        out to be: it is constant above `below`, and that of devices always.
    `below`: (loads,) voltage in pu below which the power falls: that of the parts of constant power or
        current.
    `scale`: (loads,) multiple of all this that they draw.
    """

    size: int
    at: NDArray[np.intp]
    given: Complexes
    groups: tuple[tuple[type[Component], NDArray[np.intp], SimpleNamespace], ...]
    at_own: NDArray[np.bool_]
    below: Reals
    scale: Reals

    @classmethod
    def of(cls, case: Case) -> LoadPower:
        """Return the loads of a case."""
        at = np.array([case.places[row.bus] for row in case.loads], dtype=np.intp)
        base = case.base_mva
        given = np.array([complex(row.p_mw, row.q_mvar) / base for row in case.loads], dtype=complex)
        follows = np.array([row.device is None for row in case.loads], dtype=bool)
        kinds: dict[type[Component], list[int]] = {}
        for i in np.flatnonzero(follows):
            kinds.setdefault(load_component(case.loads[i]), []).append(int(i))
        groups = tuple(
            (kind, np.array(rows), columns(kind, [load_parameters(case.loads[i], case, 1.0) for i in rows]))
            for kind, rows in kinds.items()
        )
        at_own = np.array([row.v_0 is None for row in case.loads], dtype=bool)
        below = np.array([_falls_below(row) for row in case.loads])
        return cls(len(case.buses), at, given, groups, at_own, below, np.ones(len(at)))

    def each(self, v: Reals) -> tuple[Complexes, Complexes]:
        """Return (loads,) complex powers at (buses,) voltage magnitudes, and their derivatives, in pu."""
        power, slope = self.given.astype(complex), np.zeros(len(self.at), dtype=complex)
        follows = ~self.at_own | (v[self.at] < self.below)
        for component, rows, p in self.groups:
            shifted = v[self.at[rows]] + 1j * STEP
            terminal = SimpleNamespace(v_re=shifted, v_im=0.0 * shifted, t=0.0)
            here = SimpleNamespace(**{**vars(p), "v_0": np.where(self.at_own[rows], shifted, p.v_0)})
            i_re, i_im = component.equations(NumericMath, terminal, here)[2]
            active, reactive = -shifted * i_re, shifted * i_im
            now = follows[rows]
            power[rows[now]] = (active.real + 1j * reactive.real)[now]
            slope[rows[now]] = ((active.imag + 1j * reactive.imag) / STEP)[now]
        return np.multiply(power, self.scale), np.multiply(slope, self.scale)

    def reduced(self, v: Reals) -> NDArray[np.intp]:
        """Return the positions of the loads that draw less than they would because their voltage is low."""
        return np.flatnonzero(v[self.at] < self.below)

    def drawn(self, v: Reals) -> tuple[Complexes, Complexes]:
        """Return (buses,) complex powers drawn and their derivatives with respect to the voltage, in pu."""
        power, slope = self.each(v)
        total, total_slope = np.zeros(self.size, dtype=complex), np.zeros(self.size, dtype=complex)
        np.add.at(total, self.at, power)
        np.add.at(total_slope, self.at, slope)
        return total, total_slope


def _falls_below(row: LoadRow) -> float:
    """Return the voltage in pu below which a load draws less than its constant power or current."""
    if row.device is not None or row.impedance or not (row.p_mw or row.q_mvar):
        return 0.0
    power = row.exponential or row.p_zip[2] > 0 or row.q_zip[2] > 0
    current = not row.exponential and (row.p_zip[1] > 0 or row.q_zip[1] > 0)
    return max(row.v_min if power else 0.0, row.v_min_current if current else 0.0)


Indices = NDArray[np.intp]

STEP = 1e-30
"""Complex step: far below the roundoff of the real part, far above underflow."""

DEAD = 1e-3
"""A bus below this voltage in pu is dead: at zero volts every power balance holds, whatever the network."""


SHOWN = 5
"""Most loads in a message."""

ROUNDING = 8 * float(np.finfo(float).eps)
"""What rounding leaves of a bus's balance, per sum of the terms that cancel in it."""


@dataclass
class Balance:
    """What the power flow prescribes at each bus; reactive limits change `pv` and `q`.

    `y`: (buses, buses) admittance matrix in pu.
    `at`: (generators,) position of each generator's bus.
    `p`, `q`: (buses,) injected power in pu, without what generators that hold a voltage give.
    `slack`, `pv`: (buses,) whether voltage and angle are held, or generators hold a voltage.
    `v_set`: (buses,) voltages in pu that the generators of a bus hold, 1 elsewhere.
    `controlled`: (buses,) position of the bus whose voltage those of a pv bus hold: the bus itself, or
        another one.
    `share`: (buses,) what a pv bus gives of the reactive power for that, relative to the others that do.
    `q_low`, `q_high`: (buses,) limits in pu of all that the generators give that hold the voltage of a pv
        bus.
    """

    case: Case
    loads: LoadPower
    y: sparse.csc_matrix
    at: Indices
    p: Reals
    q: Reals
    slack: NDArray[np.bool_]
    pv: NDArray[np.bool_]
    v_set: Reals
    controlled: Indices
    share: Reals
    q_low: Reals
    q_high: Reals

    @classmethod
    def of(cls, case: Case) -> Balance:
        """Return what the rows of a case prescribe."""
        size, base = len(case.buses), case.base_mva
        at = np.array([case.places[g.bus] for g in case.generators], dtype=np.intp)
        p, q, v_set = np.zeros(size), np.zeros(size), np.ones(size)
        q_low, q_high = np.zeros(size), np.zeros(size)
        slack, pv = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
        controlled, share = np.arange(size), np.ones(size)
        for bus, g in zip(at, case.generators, strict=True):
            p[bus] += g.p_mw / base
            if g.control == "pq":
                q[bus] += g.q_mvar / base
                continue
            v_set[bus] = g.v
            slack[bus] |= g.control == "slack"
            if g.control == "pv":
                pv[bus] = True
                controlled[bus], share[bus] = case.places[g.control_bus or g.bus], g.share
                q_low[bus] += g.q_min_mvar / base
                q_high[bus] += g.q_max_mvar / base
        pv &= ~slack
        loads = LoadPower.of(case)
        y = admittance(case)
        return cls(case, loads, y, at, p, q, slack, pv, v_set, controlled, share, q_low, q_high)

    @property
    def free_angle(self) -> Indices:
        """Positions of the buses whose angle is unknown."""
        return np.flatnonzero(~self.slack)

    @property
    def free_v(self) -> Indices:
        """Positions of the buses whose voltage is unknown."""
        return np.flatnonzero(~self.held)

    @property
    def held(self) -> NDArray[np.bool_]:
        """(buses,) whether something holds the voltage of a bus."""
        held = self.slack.copy()
        held[self.controlled[self.pv]] = True
        return held

    def with_held(self, v: Reals) -> Reals:
        """Return (buses,) voltages with those that are held at what they are held at."""
        v = v.copy()
        v[self.controlled[self.pv]] = self.v_set[self.pv]
        v[self.slack] = self.v_set[self.slack]
        return v

    def reactive_rows(self) -> sparse.csr_matrix:
        """Return what the balance of reactive power asks for, as sums of the balances of buses.

        (free_v, buses): a row with 1 for a bus of given power; for each pv bus but the first of those that
        control one voltage, its own balance less the first's, each divided by its share.
        """
        given = np.flatnonzero(~(self.slack | self.pv))
        groups: dict[int, list[int]] = {}
        for bus in np.flatnonzero(self.pv):
            groups.setdefault(int(self.controlled[bus]), []).append(int(bus))
        pairs = np.array([(bus, first) for first, *rest in groups.values() for bus in rest], dtype=np.intp)
        pairs = pairs.reshape(-1, 2)
        rows = np.arange(given.size + len(pairs))
        shared = rows[given.size :]
        own, first = pairs.T
        value = np.concatenate([np.ones(given.size), 1 / self.share[own], -1 / self.share[first]])
        at = (np.concatenate([rows, shared]), np.concatenate([given, own, first]))
        return sparse.csr_matrix((value, at), shape=(rows.size, len(self.p)))


def demand(balance: Balance, v: Reals, angle: Reals) -> Complexes:
    """Return what generators have to inject at each bus, for the network and the loads."""
    voltage = v * np.exp(1j * angle)
    return voltage * np.conj(balance.y @ voltage) + balance.loads.drawn(v)[0]


def solve(
    balance: Balance, v: Reals, angle: Reals, tolerance: float, iterations: int
) -> tuple[Reals, Reals, float, int]:
    """Return (v, angle, largest mismatch, iterations) for the bus types the balance has now.

    A line of 1e-7 pu carries the difference of two powers of 1e7 pu: its buses need only be balanced to what
    rounding leaves of that.
    """
    v, angle = balance.with_held(v), angle.copy()
    free_angle, free_v, reactive = balance.free_angle, balance.free_v, balance.reactive_rows()

    def mismatch(v: Reals, angle: Reals) -> Reals:
        s = demand(balance, v, angle)
        return np.concatenate([(s.real - balance.p)[free_angle], reactive @ (s.imag - balance.q)])

    strength = np.abs(balance.y)
    error = mismatch(v, angle)
    last = False
    for count in range(iterations + 1):
        largest = float(np.abs(error).max(initial=0.0))
        if last or error.size == 0:
            if v[free_v].min(initial=1.0) < DEAD:
                raise PowerFlowError(_complaint(balance, v, error, count, "a voltage collapsed"))
            return v, angle, largest, count
        powers = v * (strength @ v)
        rounding = ROUNDING * np.concatenate([powers[free_angle], abs(reactive) @ powers])
        last = bool((np.abs(error) <= np.maximum(tolerance, rounding)).all())
        if count == iterations and not last:
            break
        try:
            step = splu(jacobian(balance, v, angle)).solve(-error)
        except RuntimeError:
            step = np.full(error.size, np.nan)
        if not np.isfinite(step).all():
            raise PowerFlowError(_complaint(balance, v, error, count, "the Jacobian is singular"))
        # No voltage more than halves in a step: at zero volts every power balance holds.
        dv = step[free_angle.size :]
        most = float(np.min(0.5 * v[free_v] / np.maximum(-dv, 1e-30), initial=1.0))
        # Halve the step while it makes things worse: far from the solution a full one can leave for good.
        for scale in most * 0.5 ** np.arange(8):
            new_v, new_angle = v.copy(), angle.copy()
            new_angle[free_angle] += scale * step[: free_angle.size]
            new_v[free_v] += scale * dv
            new_error = mismatch(new_v, new_angle)
            if last or np.linalg.norm(new_error) < np.linalg.norm(error):
                break
        v, angle, error = new_v, new_angle, new_error
    raise PowerFlowError(_complaint(balance, v, error, iterations, "no convergence"))


def derivatives(
    balance: Balance, v: Reals, angle: Reals, loads: bool = True
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """Return the derivatives of `demand` with respect to all angles and all voltages.

    They are complex: real parts belong to active, imaginary parts to reactive power. Without `loads` those of
    the network alone.
    """
    unit = np.exp(1j * angle)
    voltage = v * unit
    current = balance.y @ voltage
    slope = balance.loads.drawn(v)[1] if loads else 0.0
    by_v = sparse.diags(voltage) @ (balance.y @ sparse.diags(unit)).conj() + sparse.diags(
        current.conj() * unit + slope
    )
    by_angle = 1j * sparse.diags(voltage) @ (sparse.diags(current) - balance.y @ sparse.diags(voltage)).conj()
    return by_angle.tocsr(), by_v.tocsr()


def jacobian(balance: Balance, v: Reals, angle: Reals, loads: bool = True) -> sparse.csc_matrix:
    """Return the Jacobian of the balance: rows P at free angles and `reactive_rows`, columns what is free."""
    free_angle, free_v, reactive = balance.free_angle, balance.free_v, balance.reactive_rows()
    by_angle, by_v = derivatives(balance, v, angle, loads)
    return sparse.bmat(
        [
            [by_angle.real[free_angle][:, free_angle], by_v.real[free_angle][:, free_v]],
            [reactive @ by_angle.imag[:, free_angle], reactive @ by_v.imag[:, free_v]],
        ],
        format="csc",
    )


def _complaint(balance: Balance, v: Reals, error: Reals, count: int, what: str) -> str:
    """Return where the iteration stands when it gives up, and what to look at."""
    case, slack = balance.case, balance.slack
    reactive = balance.reactive_rows()
    at = np.concatenate([balance.free_angle, reactive.indices[reactive.indptr[:-1]]])
    worst = int(np.argmax(np.where(np.isfinite(error), np.abs(error), np.inf)))
    unit = "MW" if worst < np.count_nonzero(~slack) else "Mvar"
    low = int(np.argmin(v))
    loads = [case.loads[i].name for i in balance.loads.reduced(v)]
    below = f"; loads of constant power or current below v_min: {first_few(loads, SHOWN)}"
    return (
        f"{case.source or case.name}: power flow: {what} after {count} iterations; largest"
        f" mismatch {abs(error[worst]) * case.base_mva:.4g} {unit} at {case.buses[at[worst]].name}, lowest"
        f" voltage {v[low]:.3g} pu at {case.buses[low].name}{below if loads else ''}; check the loads and"
        " branches there, or reduce the loading"
    )

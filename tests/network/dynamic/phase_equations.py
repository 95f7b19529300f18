"""Three-phase networks in phase quantities, written and integrated without psmr: a reference.

`Phases` integrates every inductance and capacitance as such, with the coupling between phases that its
zero-sequence data say, by DOP853 at 1e-11: nothing turns there and nothing is a phasor.
"""

import functools
import itertools

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import psmr

W = 2 * np.pi * 60
# What DOP853 reads between its points is of a lower order than its points.
MOST = 2e-5
SHIFT = -2 * np.pi / 3 * np.arange(3)
MEAN = np.ones((3, 3)) / 3
Z0, B0 = 3.0, 0.6
"""Zero-sequence impedance and charging of the lines in parts of the positive-sequence ones."""


def phases(t, phasor):
    """Return (3,) or (K, 3) phase values, in pu of their peaks, of phasors in the frame at 60 Hz."""
    t, phasor = np.asarray(t)[..., None], np.asarray(phasor)[..., None]
    return (phasor * np.exp(1j * (W * t + SHIFT))).real


def coupled(positive, zero):
    """Return the (3, 3) matrix of phases with these values in the positive and zero sequence."""
    return positive * (np.eye(3) - MEAN) + zero * MEAN


class Branch:
    """Resistance and inductance between two buses, a source or the ground, with coupling between phases.

    z and z_0 are r + j x in the positive and zero sequence; z_0 None: no zero-sequence current.
    """

    def __init__(self, first, second, z, z_0, source=None):
        self.first, self.second, self.source, self.open = first, second, source, set()
        self.z, self.grounded = z, z_0 is not None
        self.inverse = coupled(1 / z.imag, 1 / z_0.imag if z_0 else 0.0)
        self.ratio = coupled(z.real / z.imag, z_0.real / z_0.imag if z_0 else 0.0)

    def rate(self, across, i):
        """Return di/dt for the voltages across it; where phases are open, L di/dt + r i has theirs free."""
        if not self.open:
            return W * (self.inverse @ across - self.ratio @ i)
        closed = sorted({0, 1, 2} - self.open)
        if self.grounded:
            found, inductance = np.zeros(3), np.linalg.inv(self.inverse)
        elif len(closed) == 2:  # in series
            k, j = closed
            rate = W * ((across[k] - across[j]) / self.z.imag / 2 - self.z.real / self.z.imag * i[k])
            return np.array([rate * (n == k) - rate * (n == j) for n in range(3)])
        else:
            return np.zeros(3)
        if closed:
            free = (across - inductance @ self.ratio @ i)[closed]
            found[closed] = W * np.linalg.solve(inductance[np.ix_(closed, closed)], free)
        return found

    def drawn(self, across, i):
        """Return the currents from the first bus."""
        return i


class InductiveFault(Branch):
    """A fault through r + j x from a bus to ground, or between two phases; not there while it is not `on`.

    Two phases and the ground are a star with `joint` in each phase; its current i_g is kept in all places.
    """

    joint = 1e-3

    def __init__(self, bus, phases, z):
        self.first, self.second, self.source, self.z, self.phases = bus, None, None, z, phases
        self.open, self.own = set(), ["abc".index(k) for k in phases.removesuffix("g")]
        self.on = False

    def _point(self, v, i):
        closed = [k for k in self.own if k not in self.open]
        return closed, np.mean(v[closed]) - self.joint * i[0] / len(closed)

    def drawn(self, across, i):
        found = np.zeros(3)
        if not self.on:
            return found
        if self.phases in ("abg", "bcg", "cag"):
            closed, point = self._point(across, i)
            found[closed] = (across[closed] - point) / self.joint
        elif len(self.own) == 2:
            found[self.own] = i[0], -i[0]
        else:
            found[self.own] = i[self.own]
        return np.where([k in self.open for k in range(3)], 0.0, found)

    def rate(self, across, i):
        if not self.on:
            return np.zeros(3)
        if self.phases in ("abg", "bcg", "cag"):
            across = np.full(3, self._point(across, i)[1])
        elif len(self.own) == 2:
            across = np.full(3, across[self.own[0]] - across[self.own[1]])
        return W * (across - self.z.real * i) / self.z.imag


class Phases:
    """Branches and the charge of buses, (positive, zero) susceptances; `fault` has (3, 3) conductances."""

    def __init__(self, branches, charge):
        self.branches, self.charge = branches, dict(charge)
        self.buses = sorted(charge)
        self.place = {bus: k for k, bus in enumerate(self.buses)}
        self.fault, self.waiting = {}, {}

    def with_fault(self, x, fault):
        """Return the state with a fault as a further branch, without current."""
        self.branches.append(fault)
        return np.insert(x, 3 * (len(self.branches) - 1), np.zeros(3))

    def volts(self, x):
        return x[3 * len(self.branches) :].reshape(-1, 3)

    def rates(self, t, x):
        i, v = x[: 3 * len(self.branches)].reshape(-1, 3), self.volts(x)
        into, di = np.zeros_like(v), np.zeros_like(i)
        for k, branch in enumerate(self.branches):
            a, b = branch.first, branch.second
            v_a = phases(t, branch.source) if a is None else v[self.place[a]]
            di[k] = branch.rate(v_a - (0.0 if b is None else v[self.place[b]]), i[k])
            if a is not None:
                into[self.place[a]] -= branch.drawn(v_a, i[k])
            if b is not None:
                into[self.place[b]] += i[k]
        for bus, g in self.fault.items():
            into[self.place[bus]] -= g @ v[self.place[bus]]
        dv = [W * np.linalg.solve(coupled(*self.charge[bus]), into[k]) for k, bus in enumerate(self.buses)]
        return np.concatenate([di.ravel(), np.ravel(dv)])

    def run(self, x, plan, t_end):
        """Integrate to t_end, doing plan's (time, action(network, x)); return what gives x(t).

        What is in `waiting`, {name: (value(x), action(network, x))}, is done at the first zero of its value.
        """
        found, t = [], 0.0
        instants = [*plan, (t_end, None)]
        while t < t_end:
            while instants[0][0] <= t:
                instants.pop(0)[1](self, x)
            end = instants[0][0]
            solution = solve_ivp(
                self._linear(), (t, end), x, method="DOP853", rtol=1e-11, atol=1e-13, dense_output=True,
                max_step=MOST,
            ).sol  # fmt: skip
            first = min(
                ((z, name) for name in self.waiting if (z := self._zero(solution, t, end, name))),
                default=None,
            )
            at = end if first is None else first[0]
            x = solution(at)
            found.append((at, solution))
            if first is not None:
                self.waiting.pop(first[1])[1](self, x)
            t = at
        return lambda t: next(solution for end, solution in found if t <= end)(t)

    def _zero(self, solution, begin, end, name):
        """Return the first zero after `begin` of what is waited for, None without one."""
        value = self.waiting[name][0]
        times = np.linspace(begin, end, max(3, int((end - begin) / 1e-4)))
        times[0] += 1e-7
        signs = np.sign([value(solution(t)) for t in times])
        for a, b in itertools.pairwise(np.flatnonzero(signs)):
            if signs[a] != signs[b]:
                return brentq(lambda t: value(solution(t)), times[a], times[b], xtol=1e-15)
        return None

    def _linear(self):
        # Linear, with sources of one frequency: d x / dt = A x + c cos W t + s sin W t.
        zero = np.zeros(3 * (len(self.branches) + len(self.buses)))
        c, s = self.rates(0.0, zero), self.rates(np.pi / 2 / W, zero)
        matrix = np.array([self.rates(0.0, unit) - c for unit in np.eye(len(zero))]).T
        return functools.partial(_rates, matrix, c, s)


def _rates(matrix, c, s, t, x):
    return matrix @ x + c * np.cos(W * t) + s * np.sin(W * t)


TURNING = {"type": "ClassicalMachine", "h": 1e6, "d": 0.0}
"""A machine that no fault moves; unlike an infinite bus it has a nominal frequency."""


def made(buses, lines, loads, sources, transformers=(), grounded=(), rigid=False, links=(), reactors=()):
    return psmr.make_case(
        "network",
        sequence=[
            *(
                {"element": f"line{a}-{b}", "r0": Z0 * r, "x0": Z0 * x, "b0": B0 * c}
                for a, b, r, x, c in lines
            ),
            *({"element": f"G{n}", "x0": x / 2, "r0": r} for n, _, _, r, x in sources),
            *(
                {"element": f"transformer{a}-{b}", "connection": "Dyn", "x0": x, "r0": r}
                for a, b, r, x in transformers
            ),
            *(
                {"element": f"transformer{a}-{b}", "connection": "YNyn", "x0": Z0 * x, "r0": Z0 * r}
                for a, b, r, x in links
            ),
            *({"element": f"shunt{n}", "connection": "YN" if n in grounded else "Y"} for n, _ in reactors),
            *({"element": f"load{n}", "connection": "YN" if n in grounded else "Y"} for n, _, _ in loads),
        ],
        base_mva=100.0,
        frequency_hz=60.0,
        buses=[{"number": n} for n in buses],
        lines=[dict(zip(("from", "to", "r", "x", "b"), row, strict=True)) for row in lines],
        transformers=[
            dict(zip(("from", "to", "r", "x"), row, strict=True)) for row in (*transformers, *links)
        ],
        shunts=[{"bus": n, "b_mvar": -q} for n, q in reactors],
        loads=[{"bus": n, "p_mw": p, "q_mvar": q, "model": "impedance", "v_0": 1.0} for n, p, q in loads],
        generators=[
            {
                **({"control": "slack"} if k == 0 else {"control": "pv", "p_mw": p}),
                **{"name": f"G{n}", "bus": n, "v": v},
                "machine": {"s_n": 100.0, "r_a": r, "x_d1": x}
                | (TURNING if rigid else {"type": "InfiniteBus"}),
            }
            for k, (n, v, p, r, x) in enumerate(sources)
        ],
    )


THREE = {
    "buses": (1, 2, 3),
    "lines": [(1, 2, 0.02, 0.2, 0.1), (2, 3, 0.01, 0.1, 0.06), (1, 3, 0.03, 0.25, 0.12)],
    "loads": [(2, 80.0, 30.0), (3, 60.0, 20.0)],
    "grounded": (3,),
    "sources": [(1, 1.03, 0.0, 0.005, 0.1)],
}
FIVE = {
    "buses": (1, 2, 3, 4, 5),
    "lines": [*THREE["lines"], (4, 5, 0.01, 0.1, 0.08)],
    "links": [(2, 4, 0.002, 0.08), (3, 5, 0.003, 0.1)],
    "reactors": [(4, 25.0), (5, 30.0)],
    "loads": [(2, 80.0, 30.0), (3, 60.0, 20.0), (5, 40.0, 15.0)],
    "grounded": (3, 4),
    "sources": THREE["sources"],
}
"""Two transformers between buses with capacitance, reactors with and without a grounded neutral."""

NINE = {
    "buses": tuple(range(1, 10)),
    "lines": [
        *[(4, 5, 0.010, 0.085, 0.176), (4, 6, 0.017, 0.092, 0.158), (5, 7, 0.032, 0.161, 0.306)],
        *[(6, 9, 0.039, 0.170, 0.358), (7, 8, 0.0085, 0.072, 0.149), (8, 9, 0.0119, 0.1008, 0.209)],
    ],
    "transformers": [(1, 4, 0.0, 0.0576), (2, 7, 0.0, 0.0625), (3, 9, 0.0, 0.0586)],
    "loads": [(5, 125.0, 50.0), (6, 90.0, 30.0), (8, 100.0, 35.0)],
    "sources": [(1, 1.04, 0.0, 0.002, 0.06), (2, 1.025, 163.0, 0.003, 0.12), (3, 1.025, 85.0, 0.004, 0.18)],
}


def reference(grid, system):
    """Return the network in phase quantities and where each voltage is, at the start of a system."""
    value = dict(zip((*system.names_x, *system.names_y, *system.names_u), system.w0[:-1], strict=True))
    charge = {}
    branches, currents = [], []
    for a, b, r, x, c in grid["lines"]:
        branches.append(Branch(a, b, complex(r, x), Z0 * complex(r, x)))
        currents.append(_of(value, f"line{a}-{b}.i"))
        for bus in (a, b):
            charge[bus] = charge.get(bus, np.zeros(2)) + np.array([c, B0 * c]) / 2
    joined = {a: (b, complex(r, x)) for a, b, r, x in grid.get("transformers", ())}
    for n, _, _, r, x in grid["sources"]:
        e = value[f"G{n}.e"] * np.exp(1j * value[f"G{n}.delta"])
        if n in joined:
            # Behind a bus without charging the transformer's impedance is in series with the source's; its
            # delta is a short circuit of the zero sequence.
            bus, z_t = joined[n]
            branches.append(Branch(None, bus, complex(r, x) + z_t, z_t, e))
        else:
            branches.append(Branch(None, n, complex(r, x), complex(r, x / 2), e))
        currents.append(_of(value, f"G{n}.i_l"))
    for n, p, q in grid["loads"]:
        z = 1.0 / complex(p / 100, -q / 100)
        branches.append(Branch(n, None, z, z if n in grid.get("grounded", ()) else None))
        currents.append(_of(value, f"load{n}.i_l"))
    for a, b, r, x in grid.get("links", ()):
        branches.append(Branch(a, b, complex(r, x), Z0 * complex(r, x)))
        currents.append(_of(value, f"transformer{a}-{b}.i"))
    for n, q in grid.get("reactors", ()):
        z = complex(0.0, 100.0 / q)
        branches.append(Branch(n, None, z, z if n in grid.get("grounded", ()) else None))
        currents.append(_of(value, f"shunt{n}.i_l"))
    network = Phases(branches, charge)
    volts = [_of(value, f"bus{bus}.v") for bus in network.buses]
    return network, np.concatenate([phases(0.0, z) for z in (*currents, *volts)])


def _of(value, name):
    return complex(value[f"{name}_re"], value[f"{name}_im"])

"""Networks with their own dynamics against equations in phase quantities, written and integrated otherwise.

`Phases` integrates every inductance and capacitance of a balanced three-phase network as such, in abc, with
DOP853 at 1e-11: nothing turns there and nothing is a phasor.
"""

import functools

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import psmr

W = 2 * np.pi * 60
# What DOP853 reads between its points is of a lower order than its points.
MOST = 2e-5
SHIFT = -2 * np.pi / 3 * np.arange(3)


def phases(t, phasor):
    """Return (3,) or (K, 3) phase values, in pu of their peaks, of phasors in the frame at 60 Hz."""
    t, phasor = np.asarray(t)[..., None], np.asarray(phasor)[..., None]
    return (phasor * np.exp(1j * (W * t + SHIFT))).real


class Phases:
    """Sources behind r + j x, lines of one pi, transformers and loads r + j x, in phase quantities.

    `branches` are (bus or None for ground, bus or None, r, x, tap at the first, source or None); `charge` is
    b of each bus. Buses without charging are eliminated by what flows through them: branches in series.
    """

    def __init__(self, branches, charge):
        self.branches, self.charge = branches, dict(charge)
        self.buses = sorted(charge)
        self.place = {bus: k for k, bus in enumerate(self.buses)}
        self.fault = {}
        self.open = set()

    def rates(self, t, x):
        count = len(self.branches)
        i, v = x[: 3 * count].reshape(-1, 3), x[3 * count :].reshape(-1, 3)
        into = np.zeros_like(v)
        di = np.zeros_like(i)
        for k, (a, b, r, x_k, source) in enumerate(self.branches):
            if k in self.open:
                continue
            v_a = phases(t, source) if a is None else v[self.place[a]]
            v_b = 0.0 if b is None else v[self.place[b]]
            di[k] = W / x_k * (v_a - v_b - r * i[k])
            if a is not None:
                into[self.place[a]] -= i[k]
            if b is not None:
                into[self.place[b]] += i[k]
        for bus, g in self.fault.items():
            into[self.place[bus]] -= g @ v[self.place[bus]]
        dv = W * into / np.array([self.charge[bus] for bus in self.buses])[:, None]
        return np.concatenate([di.ravel(), dv.ravel()])

    def run(self, x, spans, changes):
        """Integrate over the spans, making changes(k, self, x) before span k; return what gives x(t)."""
        found = []
        for k, (a, b) in enumerate(spans):
            changes(k, self, x)
            # Linear, with sources of one frequency: d x / dt = A x + c cos W t + s sin W t.
            zero = np.zeros_like(x)
            c, s = self.rates(0.0, zero), self.rates(np.pi / 2 / W, zero)
            matrix = np.array([self.rates(0.0, unit) - c for unit in np.eye(len(x))]).T
            rates = functools.partial(_linear, matrix, c, s)
            solution = solve_ivp(
                rates, (a, b), x, method="DOP853", rtol=1e-11, atol=1e-13, dense_output=True, max_step=MOST
            )
            found.append(solution.sol)
            x = solution.y[:, -1].copy()
        return lambda t: found[next(k for k, (_, b) in enumerate(spans) if t <= b)](t)


def _linear(matrix, c, s, t, x):
    return matrix @ x + c * np.cos(W * t) + s * np.sin(W * t)


def made(buses, lines, loads, sources, transformers=()):
    return psmr.make_case(
        "network",
        base_mva=100.0,
        frequency_hz=60.0,
        buses=[{"number": n} for n in buses],
        lines=[dict(zip(("from", "to", "r", "x", "b"), row, strict=True)) for row in lines],
        transformers=[dict(zip(("from", "to", "r", "x"), row, strict=True)) for row in transformers],
        loads=[{"bus": n, "p_mw": p, "q_mvar": q, "model": "impedance", "v_0": 1.0} for n, p, q in loads],
        generators=[
            {
                **({"control": "slack"} if k == 0 else {"control": "pv", "p_mw": p}),
                **{"name": f"G{n}", "bus": n, "v": v},
                "machine": {"type": "InfiniteBus", "s_n": 100.0, "r_a": r, "x_d1": x},
            }
            for k, (n, v, p, r, x) in enumerate(sources)
        ],
    )


THREE = {
    "buses": (1, 2, 3),
    "lines": [(1, 2, 0.02, 0.2, 0.1), (2, 3, 0.01, 0.1, 0.06), (1, 3, 0.03, 0.25, 0.12)],
    "loads": [(2, 80.0, 30.0), (3, 60.0, 20.0)],
    "sources": [(1, 1.03, 0.0, 0.005, 0.1)],
}
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
        branches.append((a, b, r, x, None))
        currents.append(_of(value, f"line{a}-{b}.i"))
        for bus in (a, b):
            charge[bus] = charge.get(bus, 0.0) + c / 2
    source = {n: (r, x) for n, _, _, r, x in grid["sources"]}
    joined = {}
    for a, b, r, x in grid.get("transformers", ()):
        joined[a] = (b, r, x)
    for n, (r, x) in source.items():
        # Behind a bus without charging the transformer's impedance is in series with the source's.
        bus, r_t, x_t = joined.get(n, (n, 0.0, 0.0))
        e = value[f"G{n}.e"] * np.exp(1j * value[f"G{n}.delta"])
        branches.append((None, bus, r + r_t, x + x_t, e))
        currents.append(_of(value, f"G{n}.i_l"))
    for n, p, q in grid["loads"]:
        z = 1.0 / complex(p / 100, -q / 100)
        branches.append((n, None, z.real, z.imag, None))
        currents.append(_of(value, f"load{n}.i_l"))
    made_of = Phases(branches, charge)
    volts = [_of(value, f"bus{bus}.v") for bus in made_of.buses]
    start = np.concatenate([phases(0.0, z) for z in (*currents, *volts)])
    return made_of, start


def _of(value, name):
    return complex(value[f"{name}_re"], value[f"{name}_im"])


SPANS = ((0.0, 0.01), (0.01, 0.04), (0.04, 0.08))


def fault(bus):
    def changes(k, network, x):
        network.fault = {bus: np.eye(3) / 0.02} if k == 1 else {}

    return psmr.Fault(bus, *SPANS[1], r=0.02, x=0.0), changes


def between_phases(bus, phases):
    """A fault between two phases: nothing flows to ground, and nothing in the zero sequence."""
    k, j = ("abc".index(phase) for phase in phases)
    pair = np.zeros((3, 3))
    pair[[k, j], [k, j]], pair[[k, j], [j, k]] = 1.0, -1.0

    def changes(k, network, x):
        network.fault = {bus: pair / 0.02} if k == 1 else {}

    return psmr.Fault(bus, *SPANS[1], r=0.02, x=0.0, phases=phases), changes


def opening(grid, k_line):
    """The line opens and closes again: first without its current and charging, then without current."""
    a, b, _, _, c = grid["lines"][k_line]

    def changes(k, network, x):
        if k == 1:
            network.open = {k_line}
            x[3 * k_line : 3 * k_line + 3] = 0.0
        elif k == 2:
            network.open = set()
        for bus in (a, b) if k else ():
            network.charge[bus] += (-1 if k == 1 else 1) * c / 2

    return psmr.LineTrip(f"{a}-{b}", *SPANS[1]), changes


CASES = {
    "3 buses, fault": (THREE, fault(2)),
    "3 buses, opening and energisation": (THREE, opening(THREE, 2)),
    "3 buses, ab": (THREE, between_phases(2, "ab")),
    "3 buses, bc": (THREE, between_phases(2, "bc")),
    "3 buses, ca": (THREE, between_phases(3, "ca")),
    "9 buses, bc": (NINE, between_phases(5, "bc")),
    "9 buses, fault": (NINE, fault(5)),
    "9 buses, opening and energisation": (NINE, opening(NINE, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_phase_quantities_are_those_of_equations_in_abc(name):
    grid, (event, changes) = CASES[name]
    system = psmr.build(made(**grid), dynamic=psmr.Region("all"))
    network, start = reference(grid, system)
    solution = network.run(start, SPANS, changes)
    count = len(network.buses)
    run = psmr.simulate(
        system, psmr.VariableStep(1e-9, method="ESDIRK43"), SPANS[-1][1], [event], certify=False
    )
    # Points that are not at an instant of an event.
    t = np.linspace(0.0, SPANS[-1][1], 203)[1:-1]
    names = [f"bus{bus}.v_{part}" for bus in network.buses for part in ("re", "im")]
    found = run.at(t, names).to_numpy()
    ours = np.stack([phases(t, found[:, 2 * k] + 1j * found[:, 2 * k + 1]) for k in range(count)], 1)
    wanted = np.array([solution(q)[-3 * count :].reshape(-1, 3) for q in t])
    moved = np.abs(wanted - np.stack([phases(t, z) for z in _at_rest(system, network)], 1)).max()
    assert moved > 0.1
    assert np.abs(ours - wanted).max() < 1e-6


def _at_rest(system, network):
    value = dict(zip((*system.names_x, *system.names_y), system.w0[: system.n + system.m], strict=True))
    return [np.full(201, _of(value, f"bus{bus}.v")) for bus in network.buses]

"""Critical clearing times against the equal-area criterion and against published ones."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import psmr
from psmr import ClearingTime
from tests.internals import DeviceRow, Start

CASES = Path(__file__).parents[2] / "cases"


def clearing_time(system, events, t_end, precision, longest):
    """The critical clearing time of one fault, without a folder."""
    start = Start(system, psmr.VariableStep(1e-6), tuple(events), (), t_end, lambda run: None)
    values, _ = ClearingTime(precision, longest).of(start)
    assert values["bounded"]
    return values["critical_clearing_time"]


def at_infinite_bus(name, base_mva, buses, lines, transformers, machine, p, v, e_b, at):
    """One classical machine at bus 1 and an infinite bus."""
    source = {"type": "InfiniteBus", "s_n": base_mva, "x_d1": 1e-6}
    return psmr.build(
        psmr.make_case(
            name,
            base_mva=base_mva,
            frequency_hz=60.0,
            buses=[{"number": number} for number in buses],
            transformers=transformers,
            lines=lines,
            generators=[
                {
                    "name": "G",
                    "bus": 1,
                    "control": "pv",
                    "p_mw": p * base_mva,
                    "v": v,
                    "machine": {"type": "ClassicalMachine", "s_n": base_mva, "d": 0.0, **machine},
                },
                {"name": "E", "bus": at, "control": "slack", "v": e_b, "machine": source},
            ],
        )
    )  # fmt: skip


def kundur_13_1():
    """Kundur (1994), example 13.1: a machine, a transformer and two circuits at an infinite bus.

    Data as in the example Test/Dynamic_Kundur.dss of dss-extensions/electricdss-tst (BSD licence): 2220 MVA,
    x'd 0.3, h 3.5 s, transformer 0.15, circuits 0.5 and 0.93, P 0.9 at 1.0 pu, infinite bus 0.90081 pu.
    """
    return at_infinite_bus(
        "Kundur, example 13.1", 2220.0, (1, 2, 3),
        [{"name": "one", "from": 2, "to": 3, "x": 0.5}, {"name": "two", "from": 2, "to": 3, "x": 0.93}],
        [{"from": 1, "to": 2, "x": 0.15}],
        {"h": 3.5, "x_d1": 0.3}, 0.9, 1.0, 0.90081, 3,
    )  # fmt: skip


def glover_11_6():
    """Glover, Sarma, Overbye, Power System Analysis and Design, examples 11.3 and 11.6.

    Its swing equation stands in Ex11_7.sce of FOSSEE/Scilab-TBC-Uploads (3872): 1.0 less 0.9152 sin delta
    during the fault, 2.1353 sin delta after it, h 3 s, 0.4179 rad before it; clearing at 1.95 rad is stable
    and at 2.09 rad is not, which is 0.34 s and 0.36 s there (Euler's method, steps of 0.02 s).
    """
    p, q = 1.0, math.tan(math.acos(0.95))  # delivered to the infinite bus at 1.0 pu
    v = abs(1.0 + 1j * (0.1 + 1.0 / (1.0 / 0.2 + 1.0 / 0.3)) * (p - 1j * q))
    return at_infinite_bus(
        "Glover, example 11.6", 100.0, (1, 2, 3, 4),
        [
            {"name": "1-2", "from": 2, "to": 4, "x": 0.2},
            {"name": "1-3", "from": 2, "to": 3, "x": 0.1},
            {"name": "2-3", "from": 3, "to": 4, "x": 0.2},
        ],
        [{"from": 1, "to": 2, "x": 0.1}],
        {"h": 3.0, "x_d1": 0.3}, p, v, 1.0, 4,
    )  # fmt: skip


def equal_area(e, e_b, x_before, x_after, power, h, f_n):
    """The critical clearing time in s where nothing flows during the fault."""
    first, second = e * e_b / x_before, e * e_b / x_after
    start, end = math.asin(power / first), math.pi - math.asin(power / second)
    angle = math.acos(power / second * (end - start) + math.cos(end))
    return math.sqrt(4.0 * h * (angle - start) / (2.0 * math.pi * f_n * power))


def test_kundur_13_1_by_the_equal_area_criterion():
    system = kundur_13_1()
    e, start = (system.w0[system.index(f"G.{name}")] for name in ("e", "delta"))
    # The book has E' = 1.1626 at 41.77 degrees.
    assert e == pytest.approx(1.1626, abs=2e-4)
    assert math.degrees(start) == pytest.approx(41.77, abs=0.02)
    parallel = 1.0 / (1.0 / 0.5 + 1.0 / 0.93)
    expected = equal_area(e, 0.90081, 0.45 + parallel, 0.45 + 0.5, 0.9, 3.5, 60.0)
    fault = psmr.Fault(2, 0.1, 0.2, trip="two", x=1e-7)
    found = clearing_time(system, [fault], 5.0, 1e-4, 0.2)
    assert found <= expected < found + 1e-4
    assert expected == pytest.approx(0.087, abs=5e-4)  # the book, from a simulation


def test_glover_11_6_within_the_published_bracket():
    system = glover_11_6()
    assert system.w0[system.index("G.delta")] == pytest.approx(0.4179, abs=1e-4)
    e = system.w0[system.index("G.e")]
    assert e / 0.6 == pytest.approx(2.1353, abs=1e-4)
    found = clearing_time(system, [psmr.Fault(3, 0.1, 0.2, trip="1-3", x=1e-7)], 5.0, 1e-4, 0.5)
    assert 0.34 <= found <= 0.36
    # To the digit: equal areas give the angle, the swing equation of the fault the time.
    delta_0, end = 0.4179, math.pi - math.asin(1.0 / 2.1353)
    area = (end - delta_0) + 2.1353 * math.cos(end) - 0.9152 * math.cos(delta_0)
    angle = math.acos(area / (2.1353 - 0.9152))
    crossing = lambda t, x: x[0] - angle  # noqa: E731
    crossing.terminal = True
    swing = solve_ivp(
        lambda t, x: (x[1], math.pi * 60.0 / 3.0 * (1.0 - 0.9152 * math.sin(x[0]))),
        (0.0, 1.0), (delta_0, 0.0), events=crossing, rtol=1e-10, atol=1e-12,
    )  # fmt: skip
    assert found == pytest.approx(float(swing.t_events[0][0]), abs=3e-4)


# Anderson and Fouad, Power System Control and Stability, figures 2.18 and 2.19: h in s on 100 MVA, x'd in pu.
MACHINES = {"G1": (23.64, 0.0608), "G2": (6.4, 0.1198), "G3": (3.01, 0.1813)}


@pytest.fixture(scope="module")
def classical_wscc9():
    """The nine-bus system of Anderson and Fouad: classical machines, loads of constant impedance."""
    case = psmr.read_case(CASES / "wscc9" / "sauer-pai.toml", loads="impedance")
    rows = [
        replace(
            row,
            devices=(
                DeviceRow(
                    row.name,
                    "machine",
                    "ClassicalMachine",
                    {"s_n": 100.0, "h": MACHINES[row.name][0], "d": 0.0, "x_d1": MACHINES[row.name][1]},
                ),
            ),
        )
        for row in case.generators
    ]
    return case, psmr.build(replace(case, generators=tuple(rows)))


def reduced(case, system, trip=None, fault=None):
    """The admittance between the internal nodes of the machines, by elimination of all buses."""
    numbers = [bus.number for bus in case.buses]
    place = {number: k for k, number in enumerate(numbers)}
    order = len(numbers) + len(MACHINES)
    y = np.zeros((order, order), complex)

    def join(i, j, x):
        y[np.ix_([i, j], [i, j])] += np.array([[1, -1], [-1, 1]]) / x

    for branch in (*case.lines, *case.transformers):
        if branch.name != trip:
            i, j = place[branch.from_bus], place[branch.to_bus]
            join(i, j, complex(branch.r, branch.x))
            y[[i, j], [i, j]] += 0.5j * getattr(branch, "b", 0.0)
    for load in case.loads:
        k = place[load.bus]
        v = complex(*(system.w0[system.index(f"bus{load.bus}.v_{part}")] for part in ("re", "im")))
        y[k, k] += complex(load.p_mw, -load.q_mvar) / 100.0 / abs(v) ** 2
    for k, row in enumerate(case.generators):
        join(len(numbers) + k, place[row.bus], 1j * MACHINES[row.name][1])
    if fault is not None:
        y[place[fault], place[fault]] += 1e7
    n = len(numbers)
    return y[n:, n:] - y[n:, :n] @ np.linalg.solve(y[:n, :n], y[:n, n:])


def loses_step(case, system, bus, trip, clearing, t_end):
    """Whether the machines part, by the swing equations of the reduced network alone."""
    e = np.array([system.w0[system.index(f"{name}.e")] for name in MACHINES])
    delta = np.array([system.w0[system.index(f"{name}.delta")] for name in MACHINES])
    h = np.array([inertia for inertia, _ in MACHINES.values()])
    torque = np.array([system.w0[system.index(f"{name}.t_m")] for name in MACHINES])

    def motion(y):
        def rates(t, x):
            phasors = e * np.exp(1j * x[:3])
            power = (phasors * np.conj(y @ phasors)).real
            return np.concatenate([2 * np.pi * 60.0 * x[3:], (torque - power) / (2.0 * h)])

        return rates

    x = np.concatenate([delta, np.zeros(3)])
    for y, length in (
        (reduced(case, system, fault=bus), clearing),
        (reduced(case, system, trip), t_end - clearing),
    ):
        found = solve_ivp(motion(y), (0.0, length), x, rtol=1e-9, atol=1e-9, method="DOP853")
        if np.ptp(found.y[:3], axis=0).max() > math.pi:
            return True
        x = found.y[:, -1]
    return False


@pytest.mark.parametrize(("bus", "line"), [(7, "line5-7"), (9, "line6-9")])
def test_wscc9_with_classical_machines(classical_wscc9, bus, line):
    case, system = classical_wscc9
    found = clearing_time(system, [psmr.Fault(bus, 0.1, 0.2, trip=line, x=1e-7)], 3.0, 1e-3, 0.5)
    assert not loses_step(case, system, bus, line, found, 2.9)
    assert loses_step(case, system, bus, line, found + 1e-3, 2.9)

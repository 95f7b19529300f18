"""Reactive limits as a complementarity problem: closed forms, many random systems, and consistency."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from psmr import Case, read_case
from psmr.errors import PowerFlowError, PsmrWarning
from tests.internals import (
    Balance,
    BusRow,
    GeneratorRow,
    LineRow,
    LoadRow,
    keeps_limits,
    limit_residual,
    power_flow,
    power_flow_jacobian,
)

POWER = (0.0, 0.0, 1.0)


def ring(seed: int, size: int = 12) -> Case:
    """A ring with chords, half of its buses generators of narrow limits and various set-points."""
    rng = np.random.default_rng(seed)
    ends = [(i, (i + 1) % size) for i in range(size)] + [(i, (i + 5) % size) for i in range(0, size, 3)]
    lines = tuple(
        LineRow(i + 1, j + 1, float(rng.uniform(0.05, 0.2)), 0.01, circuit=k + 1)
        for k, (i, j) in enumerate(ends)
    )
    loads = tuple(
        LoadRow(i + 1, float(rng.uniform(10, 60)), float(rng.uniform(0, 40)), POWER, POWER)
        for i in range(1, size, 2)
    )
    generators = [GeneratorRow("G1", 1, "slack", v=1.02)]
    for i in range(2, size, 2):
        low = float(rng.uniform(-30, 10))
        limits = {"q_min_mvar": low, "q_max_mvar": low + float(rng.uniform(0, 25))}
        v = float(rng.uniform(0.96, 1.06))
        generators.append(GeneratorRow(f"G{i + 1}", i + 1, "pv", float(rng.uniform(10, 60)), v=v, **limits))
    buses = tuple(BusRow(i + 1) for i in range(size))
    return Case("ring", 100.0, 60.0, buses, lines=lines, loads=loads, generators=tuple(generators))


@pytest.mark.parametrize("seed", range(25))
def test_every_bus_is_consistent(seed):
    """Between limits at the set-point, at the upper one below it, at the lower one above it."""
    case = ring(seed)
    flow = power_flow(case, reactive_limits=True)
    for g, q in zip(case.generators[1:], flow.generators()["q_mvar"].to_numpy()[1:], strict=True):
        v = flow.v[g.bus - 1]
        assert g.q_min_mvar - 1e-6 <= q <= g.q_max_mvar + 1e-6
        if q > g.q_min_mvar + 1e-6:
            assert v <= g.v + 1e-9
        if q < g.q_max_mvar - 1e-6:
            assert v >= g.v - 1e-9
        assert (g.name in flow.at_limit) == (abs(v - g.v) > 1e-9)
    assert flow.mismatch < 1e-10


def test_one_machine_at_its_limit_closed_form():
    """Q = 20 Mvar and no P behind X = 0.1 from 1 pu: V^2 - V = 0.02."""
    case = Case(
        *("two", 100.0, 60.0, (BusRow(1), BusRow(2))),
        lines=(LineRow(1, 2, 0.1),),
        generators=(
            GeneratorRow("G1", 1, "slack"),
            GeneratorRow("G2", 2, "pv", v=1.05, q_min_mvar=-20.0, q_max_mvar=20.0),
        ),
    )
    flow = power_flow(case, reactive_limits=True)
    assert flow.v[1] == pytest.approx((1 + np.sqrt(1.08)) / 2, abs=1e-12)
    low = replace(case, generators=(case.generators[0], replace(case.generators[1], v=0.95)))
    assert power_flow(low, reactive_limits=True).v[1] == pytest.approx((1 + np.sqrt(0.92)) / 2, abs=1e-12)


def test_derivatives_of_the_limit_equation():
    rng = np.random.default_rng(1)
    balance = Balance.of(ring(3))
    at = np.flatnonzero(balance.pv)
    low, high = balance.q_low[at], balance.q_high[at]
    q, v, step = rng.normal(size=at.size), 0.1 * rng.normal(size=at.size), 1e-6
    for mu in (0.0, 0.1):
        _, by_q, by_v = limit_residual(low, high, q, v, mu)
        ends = [limit_residual(low, high, q + side * step, v, mu)[0] for side in (1, -1)]
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(by_q, abs=1e-5)
        ends = [limit_residual(low, high, q, v + side * step, mu)[0] for side in (1, -1)]
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(by_v, abs=1e-4)


def test_limits_that_cannot_be_kept_name_the_case():
    """The one generator beside a load beyond what the line carries cannot be held at its limit."""
    case = Case(
        *("short of reactive power", 100.0, 60.0, (BusRow(1), BusRow(2))),
        lines=(LineRow(1, 2, 0.1),),
        loads=(LoadRow(2, 0.0, 400.0, POWER, POWER, v_min=0.1),),
        generators=(GeneratorRow("G1", 1, "slack"), GeneratorRow("G2", 2, "pv", q_max_mvar=100.0)),
    )
    with pytest.raises(PowerFlowError, match=r"no voltages keep all limits .*--no-reactive-limits"):
        power_flow(case, reactive_limits=True)


def test_a_stored_solution_says_whether_limits_were_kept():
    case = ring(4)
    for limits in (True, False):
        flow = power_flow(case, reactive_limits=limits)
        buses = tuple(
            replace(bus, v=float(v), angle_deg=float(np.degrees(angle)))
            for bus, v, angle in zip(case.buses, flow.v, flow.angle, strict=True)
        )
        stored = replace(case, buses=buses)
        assert keeps_limits(Balance.of(stored), flow.v, flow.angle) is limits
        again = power_flow(stored)
        assert again.reactive_limits is limits
        assert again.stored.largest < 1e-8


def test_the_jacobian_is_that_of_the_unlimited_balance():
    balance = Balance.of(ring(0))
    free = balance.free_angle.size + balance.free_v.size
    assert power_flow_jacobian(balance, np.ones(12), np.zeros(12)).shape == (free, free)


def test_machines_of_fixed_reactive_power_do_not_alternate():
    """Limits of no width hold from either side; sets of buses that were tried in turn alternated here."""
    case = read_case(Path(__file__).parent / "two_area_qt_eq_qb.raw")
    holding = tuple(replace(g, control="pv") if g.control == "pq" else g for g in case.generators)
    with pytest.warns(PsmrWarning, match="low-voltage side .* the one that the file stores"):
        flow = power_flow(replace(case, generators=holding), reactive_limits=True)
    assert flow.at_limit == ("G2", "G3", "G4")
    assert flow.generators()["q_mvar"].to_list()[1:] == pytest.approx([300.0, 550.0, -100.0])
    assert flow.stored.largest < 5e-4

"""Generators that hold the voltage of another bus: closed forms, shares and limits."""

from dataclasses import replace

import numpy as np
import pytest

from psmr import Case
from psmr.errors import CaseError
from tests.internals import BusRow, GeneratorRow, LineRow, LoadRow, power_flow

POWER = (0.0, 0.0, 1.0)


def fan(*members: GeneratorRow, q_mvar: float = 60.0) -> Case:
    """A slack, a load bus 4 behind x = 0.1, and generators at buses 2 and 3 behind x = 0.05 from there."""
    return Case(
        *("fan", 100.0, 60.0, tuple(BusRow(k) for k in (1, 2, 3, 4))),
        lines=(LineRow(1, 4, 0.1), LineRow(2, 4, 0.05), LineRow(3, 4, 0.05)),
        loads=(LoadRow(4, 80.0, q_mvar, POWER, POWER),),
        generators=(GeneratorRow("G1", 1, "slack", v=1.02), *members),
    )


def member(bus: int, share: float, p_mw: float = 0.0, **limits: float) -> GeneratorRow:
    return GeneratorRow(f"G{bus}", bus, "pv", p_mw, v=1.01, control_bus=4, share=share, **limits)


def test_one_generator_closed_form():
    """No active power: V2 - V4 = x Q2 / V2, Q2 at bus 4 is 0.6 - 0.1 pu from the slack, V4 = 1.01."""
    case = fan(member(2, 100.0), q_mvar=60.0)
    case = replace(case, loads=(LoadRow(4, 0.0, 60.0, POWER, POWER),))
    flow = power_flow(case)
    v4 = 1.01
    sent = v4 * (1.02 - v4) / 0.1  # Mvar from the slack, at bus 4
    v2 = v4 + 0.05 * (0.6 - sent) / v4
    assert flow.v == pytest.approx([1.02, v2, v4, v4], abs=1e-12)
    assert flow.q[1] == pytest.approx(v2 * (v2 - v4) / 0.05, abs=1e-10)


def test_shares_are_those_of_the_whole():
    flow = power_flow(fan(member(2, 75.0, 20.0), member(3, 25.0, 30.0)))
    assert flow.v[3] == pytest.approx(1.01, abs=1e-12)
    assert flow.q[1] == pytest.approx(3 * flow.q[2], abs=1e-10)
    own = fan(*(GeneratorRow(f"G{b}", b, "pv", p, v=float(flow.v[b - 1])) for b, p in ((2, 20.0), (3, 30.0))))
    assert power_flow(own).voltage == pytest.approx(flow.voltage, abs=1e-10)


def test_one_at_its_limit_leaves_the_rest_to_the_other():
    free = power_flow(fan(member(2, 50.0), member(3, 50.0)))
    flow = power_flow(fan(member(2, 50.0, q_max_mvar=10.0), member(3, 50.0)), reactive_limits=True)
    assert free.q[1] > 0.2
    assert (flow.q[1], flow.at_limit) == (pytest.approx(0.1, abs=1e-9), ("G2",))
    assert flow.v[3] == pytest.approx(1.01, abs=1e-12)
    assert flow.q[2] > free.q[2] + 0.1


@pytest.mark.parametrize(("side", "q"), [("q_max_mvar", 5.0), ("q_min_mvar", 90.0)])
def test_all_at_their_limits_let_the_voltage_go(side, q):
    flow = power_flow(fan(member(2, 50.0, **{side: q}), member(3, 50.0, **{side: q})), reactive_limits=True)
    assert flow.generators()["q_mvar"].to_list()[1:] == pytest.approx([q, q], abs=1e-7)
    assert flow.at_limit == ("G2", "G3")
    assert (flow.v[3] < 1.01) == (side == "q_max_mvar")


def test_one_alone_at_its_limit_lets_the_voltage_go():
    flow = power_flow(fan(member(2, 50.0, q_max_mvar=5.0)), reactive_limits=True)
    assert (flow.q[1], flow.v[3] < 1.01) == (pytest.approx(0.05, abs=1e-9), True)


def test_beside_a_generator_at_the_bus_itself():
    """The local plant gives its share as well."""
    local = GeneratorRow("G4", 4, "pv", v=1.01, share=100.0)
    flow = power_flow(fan(member(2, 50.0), local))
    assert flow.v[3] == pytest.approx(1.01, abs=1e-12)
    assert flow.q[2] == pytest.approx(2 * flow.q[1], abs=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_groups_are_consistent(seed):
    """Members between their limits give equal parts of their shares; else the voltage is not held."""
    rng = np.random.default_rng(seed)
    limits = [sorted(rng.uniform(-20, 45, 2)) for _ in range(2)]
    members = [
        member(b, float(rng.uniform(20, 80)), float(rng.uniform(0, 40)), q_min_mvar=low, q_max_mvar=high)
        for b, (low, high) in zip((2, 3), limits, strict=True)
    ]
    flow = power_flow(fan(*members), reactive_limits=True)
    q = flow.generators()["q_mvar"].to_numpy()[1:]
    levels = [q[k] / m.share for k, m in enumerate(members)]
    free = [k for k, (low, high) in enumerate(limits) if low + 1e-6 < q[k] < high - 1e-6]
    assert all(low - 1e-6 <= x <= high + 1e-6 for x, (low, high) in zip(q, limits, strict=True))
    if free:
        assert flow.v[3] == pytest.approx(1.01, abs=1e-9)
    for k, (low, high) in enumerate(limits):
        if q[k] > high - 1e-6:
            assert flow.v[3] <= 1.01 + 1e-9
            assert not free or levels[free[0]] >= levels[k] - 1e-9
        if q[k] < low + 1e-6:
            assert flow.v[3] >= 1.01 - 1e-9 or free
            assert not free or levels[free[0]] <= levels[k] + 1e-9


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ((replace(member(2, 50.0), control_bus=9),), "control_bus = 9: there is no bus"),
        (
            (replace(member(2, 50.0), control_bus=1, v=1.02),),
            r"control_bus = 1: G1, a slack, holds that voltage",
        ),
        (
            (member(2, 50.0), replace(member(3, 50.0), v=1.0)),
            r"v = 1\.0: G2 holds bus 4 at 1\.01; one voltage",
        ),
        (
            (
                replace(member(2, 50.0), rating_mva=50),
                replace(member(2, 50.0), name="G2-2", control_bus=3, rating_mva=50),
            ),
            "control_bus = 3: must be that of G2 at the same bus, 4",
        ),
    ],
)
def test_what_cannot_be_regulated(rows, words):
    with pytest.raises(CaseError, match=words):
        fan(*rows)


def test_only_a_pv_generator_regulates():
    with pytest.raises(CaseError, match='control_bus = 4: must be left out but for control = "pv"'):
        GeneratorRow("G1", 1, "slack", control_bus=4)

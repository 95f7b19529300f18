"""Quasi-steady state: closed forms with fast states at rest, where that ends, and hours of tap changers."""

import numpy as np
import pytest

import partitioning
import psmr
from psmr.errors import SchemeError, SimulationError
from tests.systems import tapping


class Pair(psmr.Component):
    """x' = z - 2 x, and z' = 100 (x - z) within a limit."""

    states = ("x", "z")
    limits = {"z": (None, "z_max")}
    z_max = psmr.Parameter("1", "upper limit of z", default=1e3)

    @staticmethod
    def equations(m, v, p):
        return (v.z - 2 * v.x, 100 * (v.x - v.z)), (), ()


class Fold(psmr.Component):
    """x' = -0.1, and z' = 100 (x - z^2): z = sqrt(x) until x = 0."""

    states = ("x", "z")

    @staticmethod
    def equations(m, v, p):
        return (-0.1 + 0.0 * v.x, 100 * (v.x - v.z**2)), (), ()


class Spiral(psmr.Component):
    """x' = 0.01, and two states that turn at 20 rad/s and grow by 10 (x - 1)."""

    states = ("x", "a", "b")

    @staticmethod
    def equations(m, v, p):
        grow = 10 * (v.x - 1)
        return (0.01 + 0.0 * v.x, grow * v.a - 20 * v.b, 20 * v.a + grow * v.b), (), ()


def run_of(component, t_end, start, fast=None, **values):
    system = psmr.assemble(
        [psmr.Device("D", component, values)], {f"D.{name}": value for name, value in start.items()}
    )
    split = None
    if fast is not None:
        split = partitioning.by_hand(system.linearise(), fast=[f"D.{name}" for name in fast])
    return psmr.simulate(system, psmr.QuasiSteadyState(split, 1e-6), t_end, certify=False)


def test_the_slow_state_follows_the_reduced_equation():
    run = run_of(Pair, 5.0, {"x": 1.0, "z": 3.0})
    np.testing.assert_allclose(run["D.x"], np.exp(-run.t), atol=1e-5)
    np.testing.assert_allclose(run["D.z"], run["D.x"], rtol=1e-7)  # from the first point on
    assert len(run.t) < 80


def test_a_state_at_rest_is_at_its_limit():
    run = run_of(Pair, 5.0, {"x": 1.0, "z": 0.5}, fast=["z"], z_max=0.5)
    x, t = run["D.x"].to_numpy(), run.t
    exact = np.where(t < np.log(3) / 2, 0.25 + 0.75 * np.exp(-2 * t), 0.5 * np.exp(-(t - np.log(3) / 2)))
    np.testing.assert_allclose(x, exact, atol=1e-4)
    np.testing.assert_allclose(run["D.z"], np.minimum(x, 0.5), atol=1e-6)


def test_a_run_ends_where_the_equilibrium_does():
    with pytest.raises(SimulationError, match="no equilibrium from here on") as raised:
        run_of(Fold, 20.0, {"x": 1.0, "z": 1.0}, fast=["z"])
    t = float(str(raised.value).split()[2])
    assert t == pytest.approx(10.0, abs=1e-2)
    assert "psmr.VariableStep" in str(raised.value)


def test_a_run_ends_where_what_rests_leaves_its_equilibrium():
    with pytest.raises(SimulationError, match=r"leave their equilibrium since .* at 3.18 Hz"):
        run_of(Spiral, 300.0, {"x": 0.5, "a": 0.0, "b": 0.0}, fast=["a", "b"])


def test_the_operator_has_the_reduced_modes():
    system = psmr.assemble([psmr.Device("D", Pair, {})], {"D.x": 0.0, "D.z": 0.0})
    scheme = psmr.QuasiSteadyState().on(system).at_step(2.0)
    modes = np.sort(np.abs(np.linalg.eigvals(psmr.step_operator(system.linearise(), scheme))))
    exact = abs(scheme.method.stability_function(np.array([-2.0]))[0])
    np.testing.assert_allclose(modes, [0.0, exact], atol=1e-14)


def test_nothing_rests_that_is_not_damped():
    system = psmr.assemble([psmr.Device("D", Spiral, {})], {"D.x": 1.0, "D.a": 0.0, "D.b": 0.0})
    with pytest.raises(SchemeError, match="no choice of states has a stable equilibrium"):
        psmr.QuasiSteadyState().on(system)


def test_taps_move_as_in_a_run_with_swings():
    """The first tap moves and the end of 800 s of a growing load, at a fraction of the steps."""
    system = tapping.system()
    ramp = [psmr.LoadRamp(bus="*", start=20.0, end=700.0, factor=1.05)]
    quasi, full = (
        psmr.simulate(system, scheme, 800.0, ramp, certify=False)
        for scheme in (psmr.QuasiSteadyState(), psmr.VariableStep(1e-4))
    )
    moves = [[change for change in run.changes if "tap" in str(change)] for run in (quasi, full)]
    assert len(moves[0]) == len(moves[1]) > 3
    assert [str(change) for change in moves[0]] == [str(change) for change in moves[1]]
    for ours, theirs in zip(*moves, strict=True):
        assert ours.t == pytest.approx(theirs.t, abs=0.5)
    assert quasi["bus104.v"].iloc[-1] == pytest.approx(full["bus104.v"].iloc[-1], abs=1e-5)
    assert quasi["G39.omega"].iloc[-1] == pytest.approx(full["G39.omega"].iloc[-1], abs=1e-6)
    assert 4 * len(quasi.t) < len(full.t)


@pytest.mark.slow
def test_machines_are_limited_as_in_a_run_with_swings():
    """The Nordic system, point A: to the end of the equilibrium, where the full model loses synchronism.

    A limiter of field current takes over with a gain of 35 at once around a field voltage at rest.
    """
    system = psmr.build(psmr.case("nordic"))
    trip = [psmr.LineTrip("4032-4044", 1.1)]
    end = [psmr.AngleSpread(180.0)]
    with pytest.raises(SimulationError, match="a voltage collapse looks like this") as raised:
        psmr.simulate(system, psmr.QuasiSteadyState(), 200.0, trip, certify=False, partial=True)
    quasi = raised.value.partial
    full = psmr.simulate(system, psmr.VariableStep(1e-4), 200.0, trip, monitors=end, certify=False)
    ours, theirs = (
        {
            act.device: change.t
            for change in run.changes
            for act in change.acts
            if act.kind == "limiter" and act.value == 1.0
        }
        for run in (quasi, full)
    )
    assert ours == pytest.approx(theirs, abs=4.0)
    assert len(ours) == 7
    assert quasi.t[-1] == pytest.approx(full.t[-1], abs=5.0)

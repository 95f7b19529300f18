"""Backward differentiation formulae: orders, what they make of modes, accuracy, kinks and stability."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import psmr
from psmr import Component, Device, Parameter, assemble
from tests import systems
from tests.disturbances import local_fault, system_of
from tests.internals import FORMULAE, FixedFormula, integrate
from tests.sundials import solver

ORDERS = (1, 2, 3, 4, 5)
MODE = complex(-0.4, 6.0)


class Damped(Component):
    """A swing of 1 Hz with little damping, and an algebraic variable that is read back."""

    states = ("x", "v")
    algebraic = ("y",)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (MODE.real * v.x - v.y, MODE.imag * v.x + MODE.real * v.v), (v.y - MODE.imag * v.v,), ()


def damped():
    """Return the system and its solution from (1, 0)."""
    system = assemble([Device("D", Damped, {}, {})], {"D.x": 1.0})

    def exact(t):
        x = np.exp(MODE * t)
        return np.array([x.real, x.imag, MODE.imag * x.imag])

    return system, exact


def marched(system, exact, order, h, steps):
    """Return (K, n + m) points of steps of one size and order, from exact ones."""
    scheme = psmr.VariableStep(1e-3, "BDF", h_max=h)
    w = system.w0.copy()
    w[: system.n + system.m], w[-1] = exact(0.0), 0.0
    engine = scheme.engine(system, system.parameters, w, False)
    engine.bdf = bdf = engine.bdf._replace(tolerance=1e6, newton=1e-13)
    engine.forget(True)
    engine.begin((steps + 10) * h, w, np.zeros(0))
    bdf.orders[:] = order
    for k in range(order + 2):
        bdf.values[k], bdf.times[k] = exact((k - order - 1) * h), (k - order - 1) * h
    bdf.whole[:] = 0
    bdf.whole[:4] = order + 2, order + 1, order, 0  # points, the youngest, order, steps alike
    bdf.real[:] = 0.0
    bdf.real[0] = h
    piece, _ = engine.advance(steps, w)
    np.testing.assert_allclose(np.diff(piece.t), h, rtol=1e-9)
    return piece.rows


@pytest.mark.parametrize("order", ORDERS)
def test_the_error_falls_with_the_order(order):
    """x' = -x y, y = x^2 from exact points, five steps sizes: states and algebraic variables alike."""
    problem, sizes, errors = systems.quadratic(), 0.08 / 2.0 ** np.arange(5), []
    shift = 1.0  # the points before the start have to be there

    def exact(t):
        return problem.exact(t + shift)

    for h in sizes:
        rows = marched(problem.system, exact, order, h, round(1.0 / h))
        errors.append(np.abs(rows[-1] - exact(round(1.0 / h) * h)).max())
    kept = np.array(errors) > 1e-12
    assert np.polyfit(np.log(sizes[kept]), np.log(np.array(errors)[kept]), 1)[0] == pytest.approx(
        order, abs=0.2
    )


@pytest.mark.parametrize("order", ORDERS)
def test_a_formula_multiplies_a_mode_as_the_pencil_says(order):
    """The ringdown at fixed steps, against the deformation that is reported."""
    (system, exact), h = damped(), 0.05
    rows = marched(system, exact, order, h, 400)
    mode = rows[:, 0] + 1j * rows[:, 1]
    s_hat = np.log(mode[-1] / mode[-2]) / h
    report = psmr.deformation(system.linearise(), FixedFormula(order, h))
    (row,) = report.table.to_dict("records")
    assert row["real_numerical"] + 1j * row["imag_numerical"] == pytest.approx(s_hat, rel=1e-8)
    assert report.stable
    assert row["relative_deformation"] == pytest.approx(abs(s_hat - MODE) / abs(MODE), rel=1e-6)


@pytest.mark.parametrize("order", ORDERS)
def test_the_multiplier_of_what_is_resolved_is_right_to_the_order(order):
    """The error of the principal root is the constant of the formula times z^(q + 1)."""
    z, formula = 1e-2 * np.exp(2.0j), FORMULAE[order - 1]
    off = formula.stability_function(z) - np.exp(z)
    assert abs(off) == pytest.approx(abs(formula.constant) * abs(z) ** (order + 1), rel=0.05)


@pytest.mark.parametrize(("order", "degrees"), [(1, 90), (2, 90), (3, 80), (4, 66), (5, 51)])
def test_modes_decay_within_the_angle_of_the_table(order, degrees):
    """Shampine and Reichelt (1997), table 1."""
    radius = 10.0 ** np.linspace(-2, 4, 200)
    inside = radius * np.exp(1j * np.deg2rad(180 - degrees + 0.6))
    assert np.abs(FORMULAE[order - 1].stability_function(inside)).max() <= 1.0 + 1e-12
    if order > 2:
        outside = radius * np.exp(1j * np.deg2rad(180 - degrees - 2.0))
        assert np.abs(FORMULAE[order - 1].stability_function(outside)).max() > 1.0


def test_the_verdict_sees_a_mode_in_the_wedge():
    """A mode of damping ratio 2 % at h |s| = 1.5: order 5 makes it grow, order 2 does not."""
    linear = damped_at(complex(-0.6, 30.0)).linearise()
    assert not psmr.deformation(linear, FixedFormula(5, 0.05)).stable
    assert psmr.deformation(linear, FixedFormula(2, 0.05)).stable


class Swing(Component):
    """A linear swing with a parameter for each part of its mode."""

    states = ("x", "v")
    a = Parameter(unit="1/s", doc="real part")
    b = Parameter(unit="rad/s", doc="imaginary part")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (p.a * v.x - p.b * v.v, p.b * v.x + p.a * v.v), (), ()


def damped_at(s):
    """Return the system of a mode."""
    return assemble([Device("D", Swing, {"a": s.real, "b": s.imag}, {})], {"D.x": 1.0})


@pytest.mark.parametrize("name", ["wscc9", "new-england"])
def test_the_error_is_proportional_to_the_tolerance(name, wscc9):
    """Within a factor 3 over three decades, of all variables, across a fault and its kinks."""
    if name == "wscc9":
        system, end = psmr.build(psmr.read_case(wscc9 / "wscc9.toml")), 3.0
        changes = psmr.Fault(bus=5, start=0.5, clear=0.6).changes(system)
    else:
        system, bus = system_of(name, 0.0)
        changes, end = local_fault(system, bus).changes, local_fault(system, bus).t_end
    fine = integrate(system, psmr.VariableStep(1e-8), end, changes)
    exact = np.hstack([fine.x[-1], fine.y[-1]])
    tolerances, ratios = np.array([1e-2, 1e-3, 1e-4, 1e-5]), []
    for tolerance in tolerances:
        run = integrate(system, psmr.VariableStep(tolerance, "BDF"), end, changes)
        found = np.hstack([run.x[-1], run.y[-1]])
        ratios.append(np.sqrt(np.mean(((found - exact) / np.maximum(1.0, np.abs(exact))) ** 2)) / tolerance)
    assert max(ratios) < 3**2 * min(ratios)  # c tol / 3 < error < 3 c tol for some c
    assert max(ratios) < 3


def test_it_agrees_with_ida(wscc9):
    """SUNDIALS' own BDF on the same f and g, after a load step."""
    system = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    (change,) = psmr.LoadTrip(bus=5, start=1.0, fraction=0.1).changes(system)
    run = integrate(system, psmr.VariableStep(1e-7, "BDF"), 3.0, [change])
    parameters = [matrix.copy() for matrix in system.parameters]
    for device, name, value in change.parameters:
        group, row, column = system.parameter_place(device, name)
        parameters[group][row, column] = value
    now, (_, at) = replace(system, parameters=tuple(parameters)), np.flatnonzero(run.t == 1.0)
    rates = np.r_[now.f(run.x[at], run.y[at]), np.zeros(now.m)]
    found = solver(now).solve(run.t[at:], np.r_[run.x[at], run.y[at]], rates).y
    np.testing.assert_allclose(np.hstack([run.x[at:], run.y[at:]]), found, atol=1e-6)


def test_a_mode_of_little_damping_does_not_hold_the_step(wscc9):
    """A network of dynamic elements, 60 s after a fault: without order 2 it took four times as many steps."""
    system = psmr.build(psmr.read_case(wscc9 / "wscc9-emt.toml"))
    fault = psmr.Fault(bus=7, start=0.5, clear=0.6, x=0.1)
    run = integrate(system, psmr.VariableStep(1e-3, "BDF"), 60.0, fault.changes(system))
    assert len(run.t) < 1000
    assert np.diff(run.t).max() > 1.0


@pytest.mark.parametrize(("tolerance", "most"), [(1.5e-4, 600), (1e-5, 850)])
def test_order_2_for_long_is_as_accurate_as_the_others(wscc9, tolerance, most):
    """A network of dynamic elements after a fault, which took 780 and 964 steps (8 and 3 tolerances off)."""
    system = psmr.build(psmr.read_case(wscc9 / "wscc9-emt.toml"))
    changes = psmr.Fault(bus=7, start=0.5, clear=0.6, x=0.1).changes(system)
    run, fine = (
        integrate(system, scheme, 5.0, changes)
        for scheme in (psmr.VariableStep(tolerance, "BDF"), psmr.VariableStep(1e-8))
    )
    exact = np.hstack([fine.x[-1], fine.y[-1]])
    off = (np.hstack([run.x[-1], run.y[-1]]) - exact) / np.maximum(1.0, np.abs(exact))
    assert np.sqrt(np.mean(off**2)) < 3.0 * tolerance
    assert run.counters.steps < most


def test_orders_taken_are_counted_and_judged(wscc9):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    scheme = psmr.VariableStep(1e-4, "BDF")
    run = psmr.simulate(system, scheme, 3.0, [psmr.Fault(bus=5, start=0.5, clear=0.6)])
    by_order = run.stats.counters.by_order
    assert sum(by_order) == run.stats.counters.steps
    assert by_order[0] < 15  # the pair begins, three steps a span
    order = int(np.argmax(by_order))
    (median, *_) = run.certificate.at_steps
    judged = psmr.deformation(system.linearise(), FixedFormula(order, median.h))
    assert run.certificate.mode_numerical == pytest.approx(judged.dominant_shown[0])
    assert f"of order {order}" in str(run.stats)


def test_a_step_that_h_max_holds_keeps_its_order(wscc9):
    """At rest any order would do; with order 1 the certificate had twice the damping of a swing."""
    system = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    fault = psmr.Fault(bus=5, start=4.0, clear=4.1)
    run = psmr.simulate(system, psmr.VariableStep(1e-4, "BDF", h_max=0.01), 6.0, [fault])
    assert run.stats.counters.by_order[1] == 0
    assert run.judgement.colour == "green"


def test_what_is_out_of_service_stays_as_it_is(wscc9):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    run = psmr.simulate(
        system, psmr.VariableStep(1e-4, "BDF"), 1.0, [psmr.GeneratorTrip("G3", 0.2)], certify=False
    )
    left = run["G3.delta"].to_numpy()[run.t > 0.2]
    assert (left == left[0]).all()


def test_two_runs_are_equal_and_other_methods_are_untouched():
    system, bus = system_of("new-england", 0.0)
    fault = local_fault(system, bus)
    one, two = (integrate(system, psmr.VariableStep(1e-3, "BDF"), 1.0, fault.changes) for _ in range(2))
    np.testing.assert_array_equal(one.x, two.x)
    assert one.counters.by_order
    assert not integrate(system, psmr.VariableStep(1e-3), 1.0).counters.by_order

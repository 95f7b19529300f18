"""The table of quantities: every entry against its definition, written anew, at points of runs."""

import numpy as np
import pytest

import psmr
from tests.internals import QUANTITIES, Connections, Points, quantity_rate, variable_rates

EPSILON = np.finfo(float).eps
FAULT = psmr.Fault(bus=5, start=0.2, clear=0.3, trip="5-7")


@pytest.fixture(scope="module")
def run(system):
    return psmr.simulate(system, psmr.SingleRate("TM", h=0.01), 0.5, [FAULT], certify=False)


def points_of(run, span):
    rows = span.rows
    return Points.of(Connections(run.system, span), run.t[rows], run.x[rows], run.algebraic()[rows])


def test_powers_and_currents_are_those_of_complex_numbers(run):
    """A power is the product of a voltage and a current: two products and a sum in either arithmetic."""
    for terminal in run.signals.terminals:
        p, q, i = run.values([f"{terminal.device}.{kind}{terminal.end}" for kind in "pqi"]).T
        re, im = (run.names_y.index(f"{terminal.bus}.v_{part}") for part in ("re", "im"))
        v = run.algebraic()[:, re] + 1j * run.algebraic()[:, im]
        size = 100.0 * np.abs(v) * i
        assert np.all(np.abs(np.hypot(p, q) - size) <= 8 * EPSILON * size)


def test_the_frequency_is_the_rate_of_the_angle_to_rounding(run):
    buses = tuple(f"bus{k}" for k in range(1, 10))
    for span in run.spans:
        points = points_of(run, span)
        slopes, n = variable_rates(points.connected, points.t, points.x, points.y), run.system.n
        for bus, values in zip(buses, QUANTITIES["frequency"].values(points, buses).T, strict=True):
            re, im = (run.system.index(f"{bus}.v_{part}") - n for part in ("re", "im"))
            a, b = points.y[:, re], points.y[:, im]
            turn = (a * slopes[:, n + im] - b * slopes[:, n + re]) / (a**2 + b**2)
            assert np.all(np.abs(values - (60.0 + turn / (2 * np.pi))) <= 4 * EPSILON * 60.0)


@pytest.mark.parametrize("name", ["v", "angle", "p", "q", "i", "coi_angle"])
def test_rates_are_those_of_differences(run, name):
    """By a complex step along the movement of all variables: what a small real step gives, nearly."""
    points = points_of(run, run.spans[-1])[:5]
    device = {"coi_angle": "bus5", "v": "bus5", "angle": "bus5"}.get(name, "G2")
    quantity, n, step = QUANTITIES[name], run.system.n, 1e-5
    slopes = variable_rates(points.connected, points.t, points.x, points.y)
    ends = [
        Points.of(points.connected, points.t, points.x + s * slopes[:, :n], points.y + s * slopes[:, n:])
        for s in (step, -step)
    ]
    ahead, behind = (quantity.values(end, (device,)) for end in ends)
    difference = (ahead - behind) / (2 * step)
    found = quantity_rate(quantity, points, (device,))
    assert np.allclose(found, difference, rtol=1e-6, atol=1e-6)


def test_every_entry_of_the_table_is_asked_for_by_name():
    system = psmr.build(psmr.case("wscc9-gfm"))
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.005), 0.02, certify=False)
    computed = [name for name in run.signals if run.signals.computed(name)]
    assert {run.signals.quantity(name)[0].name for name in computed} == set(QUANTITIES)
    assert np.isfinite(run.values(computed)).all()


def test_a_centre_of_forming_converters_is_kept_as_the_run_has_it():
    """Its speed is a mean over a step, which begins with the point before, in whatever pieces points come."""
    system = psmr.build(psmr.case("microgrid"))
    scheme, events = psmr.SingleRate("TM", h=0.002), [psmr.LoadTrip(3, 0.1, 0.5)]
    whole = psmr.simulate(system, scheme, 0.6, events, certify=False)
    kept = psmr.simulate(system, scheme, 0.6, events, certify=False, record=["coi.frequency"])
    assert np.ptp(whole["coi.frequency"]) > 1e-3
    assert np.array_equal(whole["coi.frequency"], kept["coi.frequency"])

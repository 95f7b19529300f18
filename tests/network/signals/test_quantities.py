"""The table of quantities: every entry against its definition, written anew, at points of runs."""

import numpy as np
import pytest

import psmr
from tests.internals import (
    QUANTITIES,
    Connections,
    Points,
    Quantity,
    computed_signals,
    quantity_rate,
    variable_rates,
)

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


# Held where their devices are: limiters, area control, secondary voltage control.
OF_CONTROLS = {"time_left", "schedule", "v_set"}


def test_every_entry_of_the_table_is_asked_for_by_name():
    system = psmr.build(psmr.case("wscc9-gfm"))
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.005), 0.02, certify=False)
    computed = [name for name in run.signals if run.signals.computed(name)]
    assert {run.signals.quantity(name)[0].name for name in computed} == {*QUANTITIES} - OF_CONTROLS
    assert np.isfinite(run.values(computed)).all()
    magnitudes = [name for name in computed if run.signals.quantity(name)[0].magnitude]
    assert (run.values(magnitudes) >= 0.0).all()


def test_a_centre_of_forming_converters_is_kept_as_the_run_has_it():
    """Its speed is a mean over a step, which begins with the point before, in whatever pieces points come."""
    system = psmr.build(psmr.case("microgrid"))
    scheme, events = psmr.SingleRate("TM", h=0.002), [psmr.LoadTrip(3, 0.1, 0.5)]
    whole = psmr.simulate(system, scheme, 0.6, events, certify=False)
    kept = psmr.simulate(system, scheme, 0.6, events, certify=False, record=["coi.frequency"])
    assert np.ptp(whole["coi.frequency"]) > 1e-3
    assert np.array_equal(whole["coi.frequency"], kept["coi.frequency"])


def test_an_entry_of_the_table_serves_everywhere(system, monkeypatch, tmp_path):
    """What runs keep, sums, files, conditions, units and linear outputs have of one more entry as of all."""

    def squared(points, devices):
        return points.variable(devices, "v_re") ** 2 + points.variable(devices, "v_im") ** 2

    def reads(connections, device):
        return [connections.system.index(f"{device}.v_{part}") for part in ("re", "im")]

    def computed(of):
        yield from computed_signals(of)
        yield from ((f"bus{k}.v_squared", "v_squared", f"bus{k}") for k in range(1, 10))

    monkeypatch.setitem(QUANTITIES, "v_squared", Quantity("v_squared", "pu^2", squared, reads, False))
    monkeypatch.setattr("psmr.network.signals.signals.computed_signals", computed)
    events = [FAULT, psmr.When("bus5.v_squared < 0.1", psmr.LineTrip("4-6", 0.05))]
    options = {"t_end": 0.5, "events": events, "certify": False}
    scheme = psmr.SingleRate("TM", h=0.01)
    run = psmr.simulate(system, scheme, **options)
    difference = "bus5.v_squared - bus6.v_squared"
    v = run.values("bus[56].v")
    assert np.allclose(run["bus5.v_squared"], v[:, 0] ** 2, rtol=1e-14)
    assert np.allclose(
        run.values(difference)[:, 0], v[:, 0] ** 2 - v[:, 1] ** 2, rtol=1e-13, atol=8 * EPSILON
    )
    assert any("4-6" in label for _, label in run.instants)
    assert not run.unmet
    kept = psmr.simulate(system, scheme, record=["bus5.v_squared", difference], **options)
    assert np.array_equal(kept["bus5.v_squared"], run["bus5.v_squared"])
    run.to_csv(tmp_path / "signals.csv", "*.v_squared")
    written = np.loadtxt(tmp_path / "signals.csv", delimiter=",", skiprows=1)
    assert np.array_equal(written[:, 1:], run.values("*.v_squared"))
    own = system.state_space("load5.p", ["bus5.v_squared", "bus5.v"])
    gains = own.response([0.5]).values[0, :, 0]
    assert own.output_units == ("pu^2", "pu")
    assert gains[0] == pytest.approx(2.0 * v[0, 0] * gains[1], rel=1e-10)

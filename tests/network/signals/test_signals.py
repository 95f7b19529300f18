"""Signals of devices: exact, and by pattern."""

import numpy as np
import pytest

import psmr
from psmr.errors import InputError

FAULT = psmr.Fault(bus=5, start=0.2, clear=0.3, trip="5-7")
S_BASE = 100.0  # MVA


@pytest.fixture(scope="module")
def run(system):
    # A tolerance that leaves nothing of the network's balance: the sums below are then exact to rounding.
    scheme = psmr.SingleRate("TM", h=0.01, newton="honest", tolerance=1e-12)
    return psmr.simulate(system, scheme, 1.0, [FAULT], certify=False)


def fault_power(run):
    """What the fault takes, in MW: its conductance is that of a pure reactance of 1e-4 pu, none."""
    on = (run.t >= 0.2) & (run.t <= 0.3)
    return np.where(on, run.values("bus5.v")[:, 0] ** 2 / 1e-4 * S_BASE, 0.0)


def test_injections_are_losses(run):
    given, taken = run.values("G?.p").sum(axis=1), run.values("load*.p").sum(axis=1)
    losses = run.values(["*.p_from", "*.p_to"]).sum(axis=1)
    assert np.abs(given - taken - losses).max() < 1e-9 * S_BASE
    assert given[0] == pytest.approx(319.64, abs=0.01)  # the published load flow: 71.64 + 163 + 85 MW
    # Charging is in the lines' own balance; the fault takes reactive power alone while it is on.
    given, taken = run.values("G?.q").sum(axis=1), run.values("load*.q").sum(axis=1)
    lines = run.values(["*.q_from", "*.q_to"]).sum(axis=1)
    step = np.flatnonzero(np.diff(run.t) == 0.0)
    on = np.zeros(len(run.t), dtype=bool)
    on[step[0] + 1 : step[1] + 1] = True
    fault = np.where(on, fault_power(run), 0.0)
    assert np.abs(given - taken - lines - fault).max() < 1e-7 * S_BASE


def test_powers_balance_at_every_bus_whatever_the_tolerance(system):
    events = [psmr.Fault(bus=5, start=0.2, clear=0.3, trip="5-7")]
    run = psmr.simulate(system, psmr.VariableStep(1e-3), 1.0, events, certify=False)
    kept = psmr.simulate(system, psmr.VariableStep(1e-3), 1.0, events, certify=False, record=["*.p*", "*.v"])
    for found in (run, kept):
        at_bus = dict.fromkeys((t.bus for t in run.signals.terminals), 0.0)
        for terminal in run.signals.terminals:
            name = f"{terminal.device}.p{terminal.end}"
            at_bus[terminal.bus] = at_bus[terminal.bus] + terminal.sign * found.values(name)[:, 0]
        worst = {bus: np.abs(power) for bus, power in at_bus.items()}
        # A fault takes power at its bus while it is on.
        on = (run.t >= 0.2) & (run.t <= 0.3)
        worst["bus5"] = worst["bus5"][~on]
        assert max(power.max() for power in worst.values()) < 1e-9 * S_BASE
    # The states are what was integrated; the rest moves by less than the tolerance.
    assert np.abs(run.algebraic() - run.y).max() < 1e-3
    assert np.array_equal(run["bus5.v"], kept["bus5.v"])


def test_points_that_stay_as_they_were_are_told(system, monkeypatch):
    run = psmr.simulate(system, psmr.VariableStep(1e-3), 0.1, certify=False)
    monkeypatch.setattr("psmr.study.record.dense_output._solved", lambda block, w: False)
    with pytest.warns(psmr.errors.PsmrWarning, match=rf"at {len(run.t)} points, the first at t = 0 s"):
        assert np.array_equal(run.algebraic(), run.y)


def test_a_tripped_line_carries_nothing(run):
    after = run.t > 0.3
    assert np.all(run.values(["line5-7.p_from", "line5-7.i_to"])[after] == 0.0)
    assert np.all(run.values("line5-7.i_from")[run.t < 0.2] > 0.1)


def test_power_and_current_belong_together(run):
    p, q, i = run.values(["G2.p", "G2.q", "G2.i"]).T
    assert np.allclose(np.hypot(p, q), run.values("bus2.v")[:, 0] * i * S_BASE, rtol=1e-12)


def test_load_trips_and_ramps_are_seen(system):
    events = [
        psmr.LoadTrip(bus=5, start=0.1, fraction=0.4),
        psmr.LoadRamp(bus=6, start=0.1, end=0.5, factor=1.5),
    ]
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.01), 0.6, events, certify=False)
    before, after = np.flatnonzero(run.t == 0.1)
    trip = run.values(["load5.p", "bus5.v"])
    # Impedances: what is drawn goes with the square of the voltage.
    share = trip[after, 0] / trip[before, 0] * (trip[before, 1] / trip[after, 1]) ** 2
    assert share == pytest.approx(0.6, rel=1e-12)
    ramp = run.values(["load6.p", "bus6.v"])
    middle, end = int(np.abs(run.t - 0.3).argmin()), len(run.t) - 1
    for row, factor in ((middle, 1.25), (end, 1.5)):
        share = ramp[row, 0] / ramp[0, 0] * (ramp[0, 1] / ramp[row, 1]) ** 2
        assert share == pytest.approx(factor, rel=1e-9)


def test_a_tripped_generator_gives_nothing(system):
    run = psmr.simulate(
        system, psmr.SingleRate("TM", h=0.01), 0.3, [psmr.GeneratorTrip("G3", start=0.1)], certify=False
    )
    after = np.flatnonzero(run.t == 0.1)[1]
    assert np.all(run.values(["G3.p", "G3.q", "G3.i"])[after:] == 0.0)
    assert run.values("G3.p")[0, 0] == pytest.approx(85.0, abs=1e-6)


def test_frequency_is_how_fast_the_phase_turns(system):
    def error(h):
        run = psmr.simulate(
            system, psmr.SingleRate("SDIRK2", h=h), 0.5, [psmr.LoadTrip(5, 0.1, 0.5)], certify=False
        )
        rows = run.t > 0.1
        angle, frequency = run.values(["bus5.angle", "bus5.frequency"])[rows].T
        return np.abs(60 + np.gradient(angle, run.t[rows]) / (2 * np.pi) - frequency)[2:-2].max()

    # A central difference of recorded points comes to it with the square of their distance.
    assert error(0.02) / error(0.01) > 3.0
    assert error(0.01) < 1e-3


def test_frequency_follows_a_ramping_load(system):
    ramp = psmr.LoadRamp(bus=5, start=0.1, end=0.5, factor=1.5)
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.005), 0.6, [ramp], certify=False)
    rows = (run.t > 0.1) & (run.t < 0.5)
    angle, frequency = run.values(["bus5.angle", "bus5.frequency"])[rows].T
    turned = 60 + np.gradient(angle, run.t[rows]) / (2 * np.pi)
    # The load that grows turns the angle of its own bus at once, long before any machine moves.
    assert frequency[0] < 60 - 1e-3
    assert np.abs(turned - frequency)[2:-2].max() < 2e-4


def test_names_are_selected_by_pattern(run):
    assert list(run.frame("G*.p").columns) == ["G1.p", "G2.p", "G3.p"]
    with pytest.raises(InputError, match=r"no signal 'G1.pp'; did you mean 'G1.p'"):
        run.frame("G1.pp")
    # What is not asked for is not computed: a whole table holds what was recorded and the bus voltages.
    assert not any(name.endswith(".p") for name in run.frame().columns)


def test_a_pattern_means_phases_where_it_means_nothing_else(fault_run):
    assert set(fault_run.signals.select("bus5.v_*")) == {"bus5.v_re", "bus5.v_im"}
    assert set(fault_run.signals.select("bus[56].v_a")) == {"bus5.v_a", "bus6.v_a"}

"""Parts of the network that are left without a source: dead from then on, and back when a line closes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import partitioning
import psmr
from psmr.errors import InputError
from tests.internals import DeviceRow, RelayRow

TM = psmr.SingleRate("TM", h=0.005, tolerance=1e-12)
LOST = [psmr.Fault(5, 0.1, 0.2, trip="5-7"), psmr.LineTrip("4-5", 0.2)]
BACK = [LOST[0], psmr.LineTrip("4-5", 0.2, reclose=0.5)]


def without(system, run, row, devices):
    """The system without some devices, at a row of a run: what remains, built by itself."""
    names = (*system.names_x, *system.names_y, *system.names_u)
    values = np.concatenate([run.x[row], run.y[row], system.u0])
    start = {n: v for n, v in zip(names, values, strict=True) if n.rpartition(".")[0] not in devices}
    return psmr.assemble([d for d in system.devices if d.name not in devices], start=start)


def rest_alone(system, events, dead, t_end=1.0):
    """Largest difference of states and voltages that remain, and of the energy, from the rest by itself."""
    run = psmr.simulate(system, TM, t_end, events, certify=False)
    row = int(np.flatnonzero(np.diff(run.t) == 0.0)[-1]) + 1
    left = without(system, run, row, dead)
    alone = psmr.simulate(left, TM, t_end - run.t[row], certify=False)
    pairs = [(run.values(name)[row:], alone.values(name)) for name in (*left.names_x, *left.names_y)]
    energies = [
        sum(
            part.parameter(plant, "h") * part.parameter(plant, "s_n") * found.values(f"{plant}.omega") ** 2
            for plant in (d.name for d in part.devices if f"{d.name}.omega" in part.names_x)
        )
        for part, found in ((left, alone), (left, run))
    ]
    assert len(energies[1][row:]) == len(energies[0])
    return max(np.abs(a - b).max() for a, b in [*pairs, (energies[1][row:], energies[0])])


def test_the_rest_runs_on_as_if_built_without_the_dead_part(system):
    """Equal but for rounding: 1e-8 was asked for."""
    assert rest_alone(system, LOST, {"bus5", "load5", "line4-5", "line5-7"}) < 1e-9


def test_a_bus_bar_that_is_dead_has_no_voltage_and_takes_nothing(system):
    run = psmr.simulate(system, psmr.VariableStep(1e-6), 1.0, LOST, certify=False)
    after = np.arange(len(run.t)) > np.flatnonzero(np.diff(run.t) == 0.0)[-1]
    for name in ("bus5.v", "bus5.v_re", "load5.p", "load5.q", "line4-5.p_from", "line5-7.i_to"):
        assert not run.values(name)[after].any()
    # What has no voltage has no angle and no frequency.
    for name in ("bus5.angle", "bus5.frequency"):
        assert (np.isnan(run[name].to_numpy()) == after).all()
    table = run.frame()
    assert list(table.columns[table.isna().any()]) == ["bus5.angle"]


SCHEMES = {
    "TM": psmr.SingleRate("TM", h=0.005),
    "RK4": psmr.SingleRate("RK4", h=0.002),
    "SDIRK2": psmr.SingleRate("SDIRK2", h=0.005),
    "held": lambda split: psmr.Multirate(split, h_slow=0.01, ratio=5, corrections=2),
    "schur": lambda split: psmr.Multirate(split, h_slow=0.01, ratio=5, interface="schur"),
    "manifold": lambda split: psmr.SlowManifold(split, 0.005),
}


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("events", [LOST, BACK])
def test_every_scheme_goes_on_without_the_part_and_with_it_again(system, name, events):
    scheme = SCHEMES[name]
    if callable(scheme):
        scheme = scheme(
            partitioning.by_participation(system.linearise(), delta=20.0, algebraic="participation")
        )
    exact = psmr.simulate(system, psmr.VariableStep(1e-7), 1.0, events, certify=False)
    run = psmr.simulate(system, scheme, 1.0, events, certify=False)
    least = 2e-4 if name in ("held", "schur") else 5e-5
    assert np.abs(run.x[-1] - exact.x[-1]).max() < 50 * least
    assert run.values("bus5.v")[-1] == pytest.approx(exact.values("bus5.v")[-1], abs=least)


def test_what_returns_takes_what_its_data_say(system):
    """A constant admittance: p / v^2 is what it was."""
    run = psmr.simulate(system, psmr.VariableStep(1e-6), 1.0, BACK, certify=False)
    p, v = run.values("load5.p"), run.values("bus5.v")
    assert v[-1] > 0.8
    assert p[-1] / v[-1] ** 2 == pytest.approx(p[0] / v[0] ** 2, rel=1e-9)


def test_a_part_dies_with_the_machine_that_its_relay_trips(system):
    """G3 is alone with its transformer open, and turns ever faster until its relay trips it."""
    case = psmr.case("wscc9")
    settings = {"low": 55.0, "high": 61.0, "pickup": 0.02, "breaker": 0.05}
    fast = RelayRow("of", 3, "G3", DeviceRow("of", "relay", "FrequencyTrip", settings))
    alone = [psmr.LineTrip("3-9", 0.1)]
    scheme = psmr.VariableStep(1e-6)
    run = psmr.simulate(psmr.build(replace(case, relays=(fast,))), scheme, 1.0, alone, certify=False)
    ((t, words),) = run.acted
    assert "G3" in words
    assert 61.0 < 60.0 * run.values("G3.omega")[run.t == t][0] < 62.0
    assert not run.values("bus3.v")[run.t > t].any()
    asked = psmr.simulate(system, scheme, 1.0, [*alone, psmr.GeneratorTrip("G3", t)], certify=False)
    assert not asked.values("bus3.v")[asked.t > t].any()
    for name in ("G1.omega", "G2.delta", "bus9.v"):
        assert run.values(name)[-1] == pytest.approx(asked.values(name)[-1], abs=1e-5)


def test_the_whole_network_may_die(system):
    events = [psmr.GeneratorTrip(name, 0.1 * k) for k, name in enumerate(("G1", "G2", "G3"), start=1)]
    run = psmr.simulate(system, t_end=1.0, events=events, certify=False)
    assert not run.y[-1, [k for k, name in enumerate(run.names_y) if ".v_" in name and "bus" in name]].any()


def test_modes_and_certificate_are_those_of_the_rest(system):
    run = psmr.simulate(system, TM, 1.0, LOST)
    row = int(np.flatnonzero(np.diff(run.t) == 0.0)[-1]) + 1
    rest = without(system, run, row, {"bus5", "load5", "line4-5", "line5-7"})
    found, alone = run.modes(float(run.t[row])), psmr.modes(rest.linearise())
    assert found["real"].to_numpy() == pytest.approx(alone["real"].to_numpy(), abs=1e-7)
    assert run.certificate_after.stable


def test_a_saved_run_and_one_with_a_record_say_the_same(system, tmp_path):
    run = psmr.simulate(system, TM, 1.0, BACK, certify=False)
    some = psmr.simulate(system, TM, 1.0, BACK, certify=False, record=["bus5.*", "load5.p"])
    for other in (run, some):
        other.save(tmp_path / "run.psmr")
        again = psmr.load_run(tmp_path / "run.psmr")
        assert again.outcome == run.outcome
        for name in ("bus5.v", "bus5.angle", "bus5.frequency", "load5.p"):
            assert again.values(name) == pytest.approx(run.values(name), nan_ok=True, abs=1e-9)


def test_an_open_end_joins_nothing(system):
    """The end of a faulted line at bus 5 opens first: with its other line open the bus is then dead."""
    fault = psmr.Fault(line="5-7", at=0.3, start=0.1, clear_from=0.18, clear_to=0.24)
    run = psmr.simulate(system, t_end=0.5, events=[psmr.LineTrip("4-5", 0.05), fault], certify=False)
    assert (run["bus5.v"].to_numpy() == 0.0).sum() == (run.t > 0.18).sum() + 1


def test_what_was_lost_stands_among_the_events_and_in_the_outcome(system):
    """The load of bus 5 is 125 MW (Anderson and Fouad)."""
    run = psmr.simulate(system, psmr.VariableStep(1e-4), 1.0, BACK)
    (part,) = run.outcome.interruptions
    assert (part.t, part.until, part.buses, part.lost, part.every) == (0.2, 0.5, ("bus5",), (), False)
    assert part.p_mw == pytest.approx(125.0)
    words = ("bus5 dead, 125 MW of load lost", "line4-5 reclosed", "bus5 supplied again")
    assert tuple(label for _, label in run.instants[2:]) == words
    assert f"Without supply: {words[0]} (t = 0.2 s to 0.5 s)." in run.outcome.headline
    assert any(words[0] in reason for reason in run.judgement.reasons)


def test_a_blackout_is_red(system):
    events = [psmr.GeneratorTrip(name, 0.1 * k) for k, name in enumerate(("G1", "G2", "G3"), start=1)]
    run = psmr.simulate(system, t_end=1.0, events=events)
    assert run.judgement.colour == "red"
    assert run.judgement.headline == "Blackout at t = 0.3 s: nothing is left that holds the voltage."
    with pytest.raises(psmr.errors.InputError, match=r"no part of the network has supply"):
        run.modes(0.5)


@pytest.mark.parametrize("bus", range(1, 10))
def test_bus_bar_protection_anywhere_leaves_the_rest_as_it_is_by_itself(system, bus):
    """Every branch and plant at the bus trips; where a part has no source then, it is dead as well."""
    ends = {
        "line4-5": {4, 5}, "line5-7": {5, 7}, "line7-8": {7, 8}, "line8-9": {8, 9}, "line6-9": {6, 9},
        "line4-6": {4, 6}, "transformer1-4": {1, 4}, "transformer2-7": {2, 7}, "transformer3-9": {3, 9},
    }  # fmt: skip
    out = {name for name, two in ends.items() if bus in two}
    plant = {f"{kind}{bus}" for kind in ("G", "AVR", "GOV", "PSS")} if bus < 4 else set()
    left = {d.name for d in system.devices}
    dead = {f"bus{bus}", f"load{bus}", *plant, *out} & left
    assert rest_alone(system, [psmr.Fault(bus, 0.1, 0.2, trip="all")], dead, t_end=0.6) < 1e-9


def test_the_critical_clearing_of_a_line_that_opens_at_both_ends():
    """Saadat (1999), example 11.5: fault in the middle of one of two lines, which is opened at both ends.

    98.83 degrees, by the equal-area criterion; 0.4113 s, by integration of the swing equation to there.
    """
    i, v = 0.8 - 0.074j, abs(1 + 0.35j * (0.8 - 0.074j))
    e = 1 + 0.65j * i
    machine = {"type": "ClassicalMachine", "s_n": 100.0, "h": 5.0, "x_d1": 0.3, "d": 0.0}
    source = {"type": "InfiniteBus", "s_n": 100.0, "x_d1": 1e-6}
    case = psmr.make_case(
        "smib", base_mva=100.0, frequency_hz=60.0, buses=[{"number": n} for n in (1, 2, 3, 4)],
        lines=[{"from": a, "to": b, "x": x} for a, b, x in ((2, 3, 0.3), (2, 4, 0.15), (4, 3, 0.15))],
        transformers=[{"from": 1, "to": 2, "x": 0.2}],
        generators=[
            {"name": "G1", "bus": 1, "control": "pv", "p_mw": 80.0, "v": float(v), "machine": machine},
            {"name": "INF", "bus": 3, "control": "slack", "v": 1.0, "machine": source},
        ],
    )  # fmt: skip
    system = psmr.build(case)
    before, during, after = abs(e) / 0.65, abs(e) / 1.8, abs(e) / 0.8
    start, last = np.arcsin(0.8 / before), np.pi - np.arcsin(0.8 / after)
    critical = np.arccos(
        (0.8 * (last - start) + after * np.cos(last) - during * np.cos(start)) / (after - during)
    )
    assert np.degrees(critical) == pytest.approx(98.83, abs=0.01)
    swing = solve_ivp(
        lambda t, y: [y[1], np.pi * 60 / 5 * (0.8 - during * np.sin(y[0]))], [0, 1], [start, 0], rtol=1e-10,
        atol=1e-12, events=lambda t, y: y[0] - critical,
    )  # fmt: skip
    clearing = float(swing.t_events[0][0])
    assert clearing == pytest.approx(0.4113, abs=5e-5)
    scheme = psmr.VariableStep(1e-6)
    for part, kept in ((0.998, True), (1.002, False)):
        fault = psmr.Fault(4, 1.0, 1.0 + part * clearing, trip=["2-4", "4-3"])
        run = psmr.simulate(system, scheme, 8.0, [fault], certify=False)
        assert (run.outcome.lost is None) is kept
        assert run.outcome.interruptions[0].buses == ("bus4",)


def test_a_relay_at_a_bus_that_returns_measures_from_there_on(system):
    """Its filtered angle begins at that of the voltage, which has turned by anything meanwhile: 60 Hz."""
    shed = {"set_1": 59.0, "pickup_1": 0.02, "breaker_1": 0.02, "shed_1": 0.5}
    trip = {"low": 58.5, "high": 61.5, "pickup": 0.01, "breaker": 0.01}
    rows = [
        RelayRow("uf", 5, "load5", DeviceRow("uf", "relay", "UnderFrequencyShedding", shed)),
        RelayRow("of", 5, "G2", DeviceRow("of", "relay", "FrequencyTrip", trip)),
    ]
    with_relays = psmr.build(replace(psmr.case("wscc9"), relays=tuple(rows)))
    run = psmr.simulate(with_relays, psmr.VariableStep(), 1.0, BACK, certify=False)
    assert not run.acted
    first = int(np.flatnonzero(run.t == 0.5)[1])
    assert run["uf.f"].iloc[first] == pytest.approx(60.0, abs=1e-3)
    assert np.ptp(run["uf.f"].to_numpy()[(run.t > 0.2) & (run.t < 0.5)]) == 0.0


def test_an_event_on_what_is_dead_says_that_it_does_nothing(system):
    """A fault at the dead bus, and a trip of its load; the load returns without the part that tripped."""
    events = [*BACK, psmr.LoadTrip(5, 0.3, 0.5), psmr.Fault(5, 0.35, 0.4)]
    run = psmr.simulate(system, psmr.VariableStep(1e-6), 1.0, events, certify=False)
    words = [label for t, label in run.instants if 0.2 < t < 0.5]
    assert words == [
        "50 % of the load at bus5 trips (without effect: it is dead)",
        "fault at bus5 (without effect: it is dead)",
        "fault at bus5 cleared (without effect: it is dead)",
    ]
    p, v = run["load5.p"].to_numpy(), run["bus5.v"].to_numpy()
    assert p[-1] / v[-1] ** 2 == pytest.approx(0.5 * p[0] / v[0] ** 2, rel=1e-9)


def test_matrices_of_a_dead_bus_are_refused_with_what_is_out_of_service():
    system = psmr.build(psmr.case("wscc9"))
    trips = [psmr.LineTrip(line, 0.1) for line in ("4-5", "5-7")]
    found = psmr.simulate(system, psmr.SingleRate("TM", h=0.01), 0.3, events=trips, certify=False)
    assert found.state_space(0.05, "bus5.p", "bus5.v").outputs == ("bus5.v",)
    with pytest.raises(InputError, match=r"no input 'bus5.p'.*; out of service at t = 0.2 s: .*bus5"):
        found.state_space(0.2, "bus5.p", "bus7.v")

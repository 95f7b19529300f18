"""What a run records at an instant: the point before all that happens there, and the point after it."""

import dataclasses

import numpy as np
import pytest

import partitioning
import psmr
from tests.internals import DeviceRow, RelayRow
from tests.programs.robustness.balance import judge, task_of, thrice, unbalance

# Relays that act at once are above their thresholds in the power flow, and say so.
pytestmark = pytest.mark.filterwarnings("ignore:.*above its threshold")

WSCC9 = psmr.case("wscc9")
R, X, B = 0.032, 0.161, 0.306  # line 5-7; Anderson and Fouad, Power System Control and Stability, figure 2.18
SOON = {"curve": 1.0, "i_set": 0.05, "multiplier": 0.05}
SCHEMES = (psmr.VariableStep(1e-6), psmr.SingleRate("TM", 0.01))


def relayed(*relays, case=WSCC9):
    """Return the system of a case with overcurrent relays (bus, branch, settings) that act at once."""
    rows = (
        RelayRow(f"R{k}", bus, name, DeviceRow(f"R{k}", "relay", "OvercurrentRelay", SOON | more))
        for k, (bus, name, more) in enumerate(relays)
    )
    return psmr.build(dataclasses.replace(case, relays=tuple(rows)))


def turned(case, name):
    """Return a case with a line written from its second bus to its first."""
    lines = tuple(
        dataclasses.replace(row, from_bus=row.to_bus, to_bus=row.from_bus) if row.name == name else row
        for row in case.lines
    )
    return dataclasses.replace(case, lines=lines)


def sections(case, name, parts):
    """Return a case with a line in sections of these lengths, with new buses 101, ... between them."""
    whole = next(row for row in case.lines if row.name == name)
    bus = case.bus(whole.to_bus)
    inner = [dataclasses.replace(bus, number=101 + k, name=f"bus{101 + k}") for k in range(len(parts) - 1)]
    ends = [whole.from_bus, *(row.number for row in inner), whole.to_bus]
    lines = [
        dataclasses.replace(
            whole, name=f"{name}-{k + 1}", from_bus=ends[k], to_bus=ends[k + 1],
            r=whole.r * part, x=whole.x * part, b=whole.b * part,
        )
        for k, part in enumerate(parts)
    ]  # fmt: skip
    others = tuple(row for row in case.lines if row is not whole)
    return dataclasses.replace(case, buses=(*case.buses, *inner), lines=(*others, *lines))


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("bus", [5, 7])
def test_a_relay_opens_its_own_end_of_a_line_written_either_way(bus, scheme):
    """The line hangs at its other end and draws Q = -V^2 Im(jb/2 + 1 / (r + jx + 2 / jb)) there."""
    y = 1j * B / 2 + 1 / (R + 1j * X + 2 / (1j * B))
    closed, runs = 12 - bus, []
    for case in (WSCC9, turned(WSCC9, "line5-7")):
        run = psmr.simulate(relayed((bus, "line5-7", {}), case=case), scheme, 0.5, certify=False)
        assert [words for _, words in run.acted] == ["R0: line5-7 opened by overcurrent"]
        row = next(r for r in case.lines if r.name == "line5-7")
        end, opened = ("from", "to") if row.from_bus == closed else ("to", "from")
        after = run.frame([f"bus{closed}.v", f"line5-7.q_{end}", f"line5-7.i_{opened}"]).iloc[-1]
        assert after.iloc[1] == pytest.approx(-100 * after.iloc[0] ** 2 * y.imag, abs=1e-6)
        assert after.iloc[2] == 0.0
        runs.append(run)
    assert runs[0].acted[0][0] == pytest.approx(runs[1].acted[0][0], abs=1e-9)
    times, names = np.linspace(0.2, 0.5, 31), ["G1.p", "G2.omega", "bus5.v", "bus7.v", "bus9.angle"]
    # Steps that follow an error are as long up to rounding, and their dense output as exact as the tolerance.
    np.testing.assert_allclose(*(run.at(times, names) for run in runs), rtol=1e-6, atol=1e-6)


def test_a_relay_at_either_bus_of_a_transformer_takes_it_out():
    ends = []
    for bus in (2, 7):
        run = psmr.simulate(relayed((bus, "transformer2-7", {})), SCHEMES[0], 0.5, certify=False)
        assert [words for _, words in run.acted] == ["R0: transformer2-7 opened by overcurrent"]
        assert run["transformer2-7.i_from"].iloc[-1] == run["transformer2-7.i_to"].iloc[-1] == 0.0
        ends.append(run.frame(["bus7.v", "G1.omega", "G3.p"]).iloc[-1].to_numpy())
    # The relays read the same current: a transformer without tap and magnetising current.
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-5)


@pytest.mark.parametrize("bus", [5, 7])
def test_a_line_of_sections_hangs_at_its_other_end_as_one_without(bus):
    """Three sections, each a pi, are a ladder whose open end is eliminated one section after another."""
    parts = (0.2, 0.5, 0.3)
    own = 1 if bus == 5 else 3
    system = relayed((bus, f"line5-7-{own}", {}), case=sections(WSCC9, "line5-7", parts))
    run = psmr.simulate(system, SCHEMES[0], 0.5, certify=False)
    y = 0j
    for part in parts if bus == 5 else parts[::-1]:
        y = 1j * B * part / 2 + 1 / ((R + 1j * X) * part + 1 / (y + 1j * B * part / 2))
    last, closed = ("line5-7-3.q_to", 7) if bus == 5 else ("line5-7-1.q_from", 5)
    after = run.frame([f"bus{closed}.v", last]).iloc[-1]
    assert after.iloc[1] == pytest.approx(-100 * after.iloc[0] ** 2 * y.imag, abs=1e-6)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_at_the_instant_at_which_an_end_opens_the_line_is_in_or_hangs(scheme):
    """With the whole line out bus 5 would be at 0.9439 pu at that instant; it never is."""
    system = relayed((5, "line5-7", {}))
    event = psmr.When("bus5.v < 0.945", psmr.LoadTrip(8, 0.0, 0.5))
    kept = psmr.Record(["bus5.v"])
    for record in (None, kept):
        run = psmr.simulate(system, scheme, 0.2, [event], certify=False, record=record)
        at = np.flatnonzero(run.t == run.acted[0][0])
        assert len(at) == 2
        np.testing.assert_allclose(run["bus5.v"].iloc[at], [0.99563, 0.94991], atol=1e-5)
        lowest = run.outcome.lowest_voltage
        assert lowest.value == pytest.approx(run["bus5.v"].min(), abs=1e-9)
        assert lowest.value > 0.949
        assert len(run.unmet) == 1


@pytest.mark.parametrize("scheme", [None, psmr.SingleRate("SDIRK2", 0.01)], ids=str)
def test_a_plant_that_a_condition_trips_at_the_instant_of_a_fault_feeds_no_point_after_it(scheme):
    events = [psmr.Fault(3, 0.1, 0.155), psmr.When("bus7.v < 0.7", psmr.GeneratorTrip("G1", 0.0))]
    run = psmr.simulate(psmr.build(WSCC9), scheme, 0.5, events, certify=False)
    assert [words for _, words in run.instants[:2]] == ["fault at bus3", "G1 tripped (bus7.v < 0.7)"]
    assert [np.sum(np.abs(run.t - t) < 1e-9) for t in (0.1, 0.155)] == [2, 2]
    assert unbalance(run).missing < 1e-8


def test_what_is_due_at_the_instant_of_an_event_happens_with_it():
    """The relay of a faulted line opens exactly when a load trips: one instant, two points."""
    settings = {"reach_1": 0.2, "breaker": 0.1}
    row = RelayRow("R", 5, "line5-7", DeviceRow("R", "relay", "DistanceRelay", settings))
    system = psmr.build(dataclasses.replace(WSCC9, relays=(row,)))
    events = [psmr.Fault(line="5-7", at=0.5, start=0.1, clear=0.4), psmr.LoadTrip(8, 0.2, 0.5)]
    run = psmr.simulate(system, psmr.SingleRate("TM", 0.01), 0.5, events, certify=False)
    assert [t for t, _ in run.instants] == pytest.approx([0.1, 0.2, 0.2, 0.4], abs=1e-9)
    assert np.sum(np.abs(run.t - 0.2) < 1e-9) == 2
    assert unbalance(run).missing < 1e-8


def test_a_line_of_which_a_relay_has_opened_one_end_is_taken_out_by_a_trip_and_closed_by_a_reclosing():
    system = relayed((5, "line5-7", {}))
    run = psmr.simulate(system, SCHEMES[0], 0.6, [psmr.LineTrip("5-7", 0.3, reclose=0.4)], certify=False)
    assert not any("without effect" in words for _, words in run.instants)
    hangs, out, back = (
        run.at(t, ["line5-7.i_from", "line5-7.i_to"]).to_numpy()[0] for t in (0.29, 0.39, 0.41)
    )
    assert hangs[0] == 0.0 < hangs[1]
    assert not out.any()
    assert (back > 0.5).all()


def test_a_condition_takes_a_line_out_that_hangs_at_one_end():
    system = relayed((5, "line5-7", {}))
    event = psmr.When("line5-7.i_from < 0.01", psmr.LineTrip("5-7", 0.1))
    run = psmr.simulate(system, SCHEMES[0], 0.5, [event], certify=False)
    assert not any("not done" in words for _, words in run.instants)
    assert run["line5-7.i_to"].iloc[-1] == 0.0


@pytest.mark.parametrize("number", range(15))
def test_every_point_of_runs_with_random_events_relays_and_conditions_is_in_balance(number):
    word, more = judge(task_of(44, number))
    assert word in ("balanced", "refused"), more


def test_an_instant_that_stands_three_times_is_found():
    run = dataclasses.make_dataclass("Run", ["t"])(np.array([0.0, 0.1, 0.1, 0.2, 0.2, 0.2, 0.3]))
    assert thrice(run) == 0.2


def test_a_relay_trips_the_plant_of_a_generator_whose_machine_bears_another_name():
    """The machine of generator G34 is called G34_full; the relay names the generator, as cases do."""
    case = psmr.case("new-england-plants")
    trip = {"low": 0.9, "high": 2.0, "pickup": 0.0, "breaker": 0.0}
    row = RelayRow("R34", 34, "G34", DeviceRow("R34", "relay", "VoltageTrip", trip))
    system = psmr.build(dataclasses.replace(case, relays=(row,)))
    run = psmr.simulate(system, None, 0.3, [psmr.Fault(34, 0.1, 0.2)], certify=False)
    assert run.acted[0][1].startswith("R34: G34_full tripped, voltage below 0.9")
    assert run["G34_full.p"].iloc[-1] == 0.0


def test_a_fault_that_another_one_replaces_leaves_no_admittance_behind():
    """A fault through a resistance comes on a condition, one through a reactance ends it by the clock."""
    at_once = psmr.When("bus4.v < 0.9", psmr.Fault(4, 0.0, 0.3, r=0.5, x=0.5, phases="abc"))
    events = [psmr.Fault(4, 0.1, 0.2), at_once]
    run = psmr.simulate(psmr.build(WSCC9), SCHEMES[0], 0.5, events, certify=False)
    assert unbalance(run).missing < 1e-8
    assert run.system_at(0.25).parameter("bus4", "g_fault") == 0.0


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_a_jump_within_a_divided_step_stands_twice():
    """A fault that a relay leaves behind: the solution that was followed ends within a step in parts.

    The point before the jump is one of those parts, and stood nowhere: all that follows from spans raised.
    """
    relay = {
        "curve": 1.0,
        "i_set": 0.749,
        "multiplier": 0.02,
        "breaker": 0.043,
        "dead_time": 0.0,
        "both": 1.0,
    }
    shed = {"set_1": 0.799, "pickup_1": 0.0, "shed_1": 0.208}
    rows = (
        RelayRow("relay0", 6, "line4-6", DeviceRow("relay0", "relay", "OvercurrentRelay", relay)),
        RelayRow("relay1", 6, "load6", DeviceRow("relay1", "relay", "UnderVoltageShedding", shed)),
    )
    system = psmr.build(dataclasses.replace(psmr.case("wscc9-gfm"), relays=rows))
    split = partitioning.by_participation(system.linearise(), delta=20.0)
    run = psmr.simulate(
        system,
        psmr.Multirate(split, h_slow=0.02, ratio=2),
        2.0,
        [psmr.Fault(6, 0.1, 0.398, phases="bc")],
        certify=False,
    )
    jumps = [span.t for span in run.timeline[1:] if not span.changes]
    assert len(jumps) == 1
    assert np.sum(run.t == jumps[0]) == 2
    assert len(run.spans) == len(run.timeline)
    assert run.outcome.highest_voltage.value > 1.0

"""Angle differences and loss of synchronism, by the definitions of `psmr.study.detectors.angles`."""

import numpy as np
import pytest

import psmr
from tests.internals import Change, LostSynchronism
from tests.study.detectors.made import detected, found, made_points

DELTAS = ("G1.delta", "G2.delta", "G3.delta")


def turned(system, degrees, t=None, changes=(), **kwargs):
    """Return the detectors where G2 moves by degrees(t) against the others."""
    t = np.linspace(0.0, 10.0, len(degrees)) if t is None else t
    start = dict(zip(system.names_x, system.x0, strict=True))
    x, y = made_points(system, t, {"G2.delta": start["G2.delta"] + np.radians(degrees)})
    return detected(system, t, x, y, changes=changes, **kwargs)


@pytest.mark.parametrize("at_once", [1000, 7])
@pytest.mark.parametrize(("most", "lost"), [(179.0, False), (-179.0, False), (181.0, True), (-181.0, True)])
def test_half_a_turn_from_the_start_is_the_limit(system, most, lost, at_once):
    seen = turned(system, most * np.sin(np.linspace(0.0, np.pi, 101)), at_once=at_once)
    assert (seen.angles.lost is not None) == lost
    assert len(found(seen, "angle spread")) == lost


def test_the_limit_is_the_criterion(system):
    degrees = 100.0 * np.sin(np.linspace(0.0, np.pi, 101))
    assert turned(system, degrees, criteria=psmr.Criteria(angle_deg=101.0)).angles.lost is None
    lost = turned(system, degrees, criteria=psmr.Criteria(angle_deg=99.0)).angles.lost
    assert lost.first == ("G2",)
    assert set(lost.second) == {"G1", "G3"}
    assert lost.t == pytest.approx(10.0 * np.arcsin(0.99) / np.pi, abs=0.1)
    assert 99.0 < lost.moved_deg < 101.0


@pytest.mark.parametrize("frame", [0.0, 100.0, -170.0, 400.0])
@pytest.mark.parametrize("turns", [0, 1, -3])
def test_no_figure_depends_on_the_frame_or_on_whole_turns(system, frame, turns):
    """All angles turned by one angle, one of them represented whole turns away."""
    t = np.linspace(0.0, 10.0, 50)
    start = dict(zip(system.names_x, system.x0, strict=True))
    values = {name: start[name] + np.radians(frame) + 3.0 * t for name in DELTAS}
    values["G3.delta"] = values["G3.delta"] + 2 * np.pi * turns + 0.5 * np.sin(t)
    x, y = made_points(system, t, values)
    at_rest = np.exp(1j * np.radians(frame) + 3.0j * t)
    for bus in range(1, 10):
        re, im = (system.names_y.index(f"bus{bus}.v_{part}") for part in ("re", "im"))
        v = (system.y0[re] + 1j * system.y0[im]) * at_rest
        y[:, re], y[:, im] = v.real, v.imag
    seen = detected(system, t, x, y).angles
    deltas = np.degrees([start[name] for name in DELTAS])
    moved = np.column_stack([np.tile(deltas[:2], (50, 1)), deltas[2] + np.degrees(0.5 * np.sin(t))])
    assert seen.lost is None
    assert seen.difference.value == pytest.approx(np.ptp(moved, axis=1).max(), abs=1e-9)
    # What is compared with the limit: by how much they moved apart.
    assert seen.spread.value == pytest.approx(np.degrees(0.5 * np.abs(np.sin(t))).max(), abs=1e-9)


@pytest.mark.parametrize("start_deg", [178.0, 183.0])
def test_a_source_that_starts_half_a_turn_away_and_comes_back_is_kept(system, start_deg):
    """A wide network: its angles add up to half a turn at rest."""
    t = np.linspace(0.0, 10.0, 101)
    start = dict(zip(system.names_x, system.x0, strict=True))
    away = np.radians(start_deg + 20.0 * np.sin(t)) + start["G1.delta"]
    x, y = made_points(system, t, {"G2.delta": away})
    seen = detected(system, t, x, y).angles
    assert seen.lost is None


def two_parts(system, first_deg, then_deg):
    """Return the detectors where G3's part turns away while apart and moves on after it is tied again."""
    apart = Change(1.0, (("line4-6", "status", 0.0), ("line8-9", "status", 0.0)), label="apart")
    tied = Change(2.0, (("line4-6", "status", 1.0), ("line8-9", "status", 1.0)), label="tied")
    t = np.array([0.0, 1.0, 1.0, 1.5, 2.0, 2.0, 3.0, 4.0])
    degrees = np.array(
        [0.0, 0.0, 0.0, 0.5 * first_deg, first_deg, first_deg, first_deg + then_deg, first_deg]
    )
    start = dict(zip(system.names_x, system.x0, strict=True))
    x, y = made_points(system, t, {"G3.delta": start["G3.delta"] + np.radians(degrees)})
    for bus in (3, 6, 9):  # they turn with G3
        re, im = (system.names_y.index(f"bus{bus}.v_{part}") for part in ("re", "im"))
        v = (system.y0[re] + 1j * system.y0[im]) * np.exp(1j * np.radians(degrees))
        y[:, re], y[:, im] = v.real, v.imag
    return detected(system, t, x, y, changes=[apart, tied])


@pytest.mark.parametrize("first_deg", [0.0, 720.0, -3600.0, 725.0])
def test_turns_made_while_apart_do_not_count(system, first_deg):
    seen = two_parts(system, first_deg, 100.0)
    assert seen.angles.lost is None
    assert seen.angles.spread.value < 180.0


@pytest.mark.parametrize("first_deg", [0.0, 720.0, -3600.0])
def test_what_moves_apart_after_it_was_tied_again_is_lost(system, first_deg):
    lost = two_parts(system, first_deg, 190.0).angles.lost
    assert lost.t == 3.0
    assert lost.first == ("G3",)
    assert lost.moved_deg == pytest.approx(190.0)


def test_what_is_out_of_service_does_not_count(system):
    trip = Change(1.0, out=("G2", "AVR2", "GOV2", "PSS2"), label="G2 tripped")
    t = np.array([0.0, 1.0, 1.0, 2.0, 3.0])
    seen = turned(system, np.array([0.0, 0.0, 0.0, 300.0, 600.0]), t=t, changes=[trip])
    assert seen.angles.lost is None


@pytest.mark.parametrize("slack_deg", [120.0, 150.0])
def test_the_slacks_angle_changes_no_verdict(wscc9, tmp_path, slack_deg):
    text = (wscc9 / "wscc9.toml").read_text()
    turned = text.replace(
        'control = "slack"\nv = 1.04', f'control = "slack"\nv = 1.04\nangle_deg = {slack_deg}', 1
    )
    assert turned != text
    (tmp_path / "turned.toml").write_text(turned)
    system = psmr.build(psmr.read_case(tmp_path / "turned.toml"))
    event = psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")
    run = psmr.simulate(
        system, psmr.VariableStep(1e-5), 5.0, [event], certify=False, monitors=[psmr.AngleSpread()]
    )
    assert run.stopped is None
    assert run.outcome.out_of_step is None
    # The figure with the slack at 0 degrees and a tolerance of 1e-8; the largest point is below it.
    assert run.outcome.angle_difference.value == pytest.approx(121.853, abs=0.05)


def test_a_loss_names_both_groups_and_the_signals_that_show_it(system):
    run = psmr.simulate(system, t_end=2.0, events=[psmr.Fault(7, 0.1, 0.7, trip="5-7")], certify=False)
    (finding,) = (f for f in run.outcome.findings if f.what == "angle spread")
    assert set(finding.signals) == {"G1.delta", "G2.delta", "G3.delta"}
    assert finding.t == run.outcome.lost.t
    assert finding.sentence.startswith("Lost synchronism: G2 against G1, G3 at t = ")
    assert "more" not in finding.sentence


def test_an_infinite_bus_counts_by_the_angle_that_it_keeps():
    """Its angle is a held input and no state; a classical machine swings against it."""
    machine = {"type": "ClassicalMachine", "s_n": 100.0, "h": 5.0, "x_d1": 0.3, "d": 0.0}
    system = psmr.build(
        psmr.make_case(
            "machine and infinite bus",
            base_mva=100.0,
            frequency_hz=60.0,
            buses=[{"number": 1}, {"number": 2}],
            lines=[{"from": 1, "to": 2, "x": 0.35}],
            generators=[
                {"name": "G1", "bus": 1, "control": "pv", "p_mw": 80.0, "v": 1.0, "machine": machine},
                {
                    "name": "INF",
                    "bus": 2,
                    "control": "slack",
                    "v": 1.0,
                    "machine": {"type": "InfiniteBus", "s_n": 100.0, "x_d1": 1e-6},
                },
            ],
        )
    )
    t = np.array([0.0, 1.0, 2.0])
    rest = system.x0[system.names_x.index("G1.delta")]
    x, y = made_points(system, t, {"G1.delta": rest + np.radians([0.0, 90.0, 181.0])})
    seen = detected(system, t, x, y).angles
    kept = dict(zip(system.names_u, system.u0, strict=True))["INF.delta"]
    assert seen.spread.value == pytest.approx(181.0)
    assert seen.difference.value == pytest.approx(181.0 + np.degrees(rest - kept))
    assert (seen.lost.ahead, seen.lost.behind, seen.lost.t) == ("G1", "INF", 2.0)


def chained(system, bus5):
    """Return the detectors where bus 2, its source and bus 7 lead by 100 degrees, with a voltage at bus 5."""
    turn = np.exp(1j * np.radians(100.0))
    t, start = np.arange(3.0), dict(zip(system.names_x, system.x0, strict=True))
    x, y = made_points(system, t, {"G2.delta": start["G2.delta"] + np.radians(100.0)})
    places = {
        f"bus{k}": [system.names_y.index(f"bus{k}.v_{part}") for part in ("re", "im")] for k in (2, 5, 7)
    }
    for bus, (re, im) in places.items():
        v = bus5 if bus == "bus5" else (system.y0[re] + 1j * system.y0[im]) * turn
        y[:, re], y[:, im] = v.real, v.imag
    return detected(system, t, x, y).angles


@pytest.mark.parametrize("volts", [1e-9, 0.99e-3])
def test_a_bus_with_next_to_no_voltage_has_no_angle(system, volts):
    """Beside a bolted fault it is rounding: through it bus 7 would be a turn away."""
    first, second, third = (np.degrees(system.x0[system.names_x.index(name)]) for name in DELTAS)
    seen = chained(system, volts * np.exp(-1j * np.radians(170.0)))
    assert seen.difference.value == pytest.approx(second + 100.0 - first)
    through = chained(system, 1.01e-3 * np.exp(-1j * np.radians(170.0)))
    assert through.difference.value == pytest.approx(third - (second + 100.0 - 360.0))


def test_the_pair_that_moves_apart_first_is_said(system):
    """Of pairs that became connected at different times, whatever their order and the pieces of the run."""
    apart = Change(1.0, (("line4-6", "status", 0.0), ("line8-9", "status", 0.0)), label="apart")
    tied = Change(2.0, (("line4-6", "status", 1.0), ("line8-9", "status", 1.0)), label="tied")
    t = np.array([0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 4.0])
    start = dict(zip(system.names_x, system.x0, strict=True))
    for second, third in (([0, 190], [-190, -190]), ([190, 0], [0, 0]), ([0, 190], [-190, 0])):
        degrees = {"G2.delta": second, "G3.delta": third}
        values = {k: start[k] + np.radians([0, 0, 0, 0, 0, *last]) for k, last in degrees.items()}
        x, y = made_points(system, t, values)
        lost = detected(system, t, x, y, changes=[apart, tied]).angles.lost
        assert lost.t == 3.0
        assert ("G3" if third[0] else "G2") in (lost.ahead, lost.behind)


def test_at_most_eight_machines_of_a_group_are_named():
    names = tuple(f"G{k}" for k in range(10))
    said = [str(LostSynchronism(1.0, names[:n], ("H",), names[0], "H", 181.0)) for n in (8, 9)]
    assert said[0] == f"lost synchronism: {', '.join(names[:8])} against H at t = 1 s"
    assert said[1] == f"lost synchronism: {', '.join(names[:8])} and 1 more against H at t = 1 s"

"""Monitors: where they end a run, what they say, and that the run up to there is the same without them."""

import json

import numpy as np
import pytest

import psmr
from psmr import read_study
from psmr.cli import main
from psmr.errors import InputError
from tests.internals import DeadParts, Detection, first_span

SCHEME = psmr.SingleRate("TM", 0.005)
# G2 and G3 lose step with G1 when a fault at bus 7 lasts three times as long as in the book.
LONG = psmr.Fault(bus=7, start=0.1, clear=0.4, trip="5-7")


def simulate(system, t_end, events, monitors=(), scheme=SCHEME, **options):
    return psmr.simulate(system, scheme, t_end, events, monitors=monitors, certify=False, **options)


def spread(run):
    angles = run.values("G*.delta")
    moved = angles - angles[0]
    return np.degrees(moved.max(axis=1) - moved.min(axis=1))


@pytest.mark.parametrize("every", [False, True])
def test_angle_spread_stops_at_the_first_point_beyond_the_limit(system, split, every):
    for scheme in (SCHEME, psmr.Multirate(split, 0.02, 4, predictor="TM"), psmr.Adaptive()):
        run = simulate(system, 3.0, [LONG], [psmr.AngleSpread(100.0)], scheme, all=every)
        free = simulate(system, run.t[-1] + 0.1, [LONG], (), scheme, all=every)
        count = len(run.t)
        np.testing.assert_array_equal(run.t, free.t[:count])
        np.testing.assert_array_equal(run.x, free.x[:count])
        assert run.t[-1] == run.stopped.t < 3.0
        assert run.stopped.monitor == "angle spread"
        assert run.stopped.what == "G2 - G1"
        seen = spread(run)
        assert run.stopped.value == pytest.approx(seen[-1])
        assert seen[-1] > 100.0
        assert (seen[:-1] <= 100.0).all()


def test_a_run_that_keeps_step_comes_to_its_end(system):
    short = psmr.Fault(bus=7, start=0.1, clear=0.18, trip="5-7")
    run = simulate(system, 1.0, [short], [psmr.AngleSpread(), psmr.VoltageCollapse(), psmr.Island()])
    assert run.stopped is None
    assert run.t[-1] == 1.0


def test_only_machines_in_service_and_in_one_island_are_compared(system):
    """G1 alone behind its open transformer runs away from the others, which is no loss of step."""
    run = simulate(system, 3.0, [psmr.LineTrip("1-4", 0.1)], [psmr.AngleSpread(150.0)])
    assert spread(run).max() > 150.0
    assert run.stopped is None
    run = simulate(system, 3.0, [psmr.GeneratorTrip("G1", 0.1)], [psmr.AngleSpread(150.0)])
    assert spread(run).max() > 150.0
    assert run.stopped is None


def test_voltage_collapse_waits_for_its_duration(system):
    ramp = psmr.LoadRamp(5, 0.2, 3.0, 4.0)
    monitor = psmr.VoltageCollapse(v_min=0.85, duration=0.3)
    run = simulate(system, 3.5, [ramp], [monitor])
    assert run.stopped.what.startswith("bus5 below 0.85 pu for 0.3")
    v = run.values("bus5.v")[:, 0]
    low = np.flatnonzero(v < 0.85)
    assert np.array_equal(low, np.arange(low[0], len(v)))
    assert run.t[-1] - run.t[low[0]] == pytest.approx(0.3, abs=1e-6)


def test_a_fault_is_no_collapse_at_its_own_bus(system):
    fault = psmr.Fault(bus=5, start=0.1, clear=0.2)
    run = simulate(system, 0.5, [fault], [psmr.VoltageCollapse(0.05, 0.0)])
    assert run.stopped is None
    assert run.values("bus5.v").min() < 0.05
    # At bus 4, next to it, the voltage is low too, but not for a whole tenth of a second and more.
    assert simulate(system, 0.5, [fault], [psmr.VoltageCollapse(0.6, 0.2)]).stopped is None
    assert simulate(system, 0.5, [fault], [psmr.VoltageCollapse(0.6, 0.05)]).stopped.t == pytest.approx(0.15)


def test_the_pieces_in_which_a_run_is_looked_at_do_not_matter(system):
    rng = np.random.default_rng(3)
    t = np.cumsum(rng.uniform(0.01, 0.05, 200))
    points = np.zeros((200, system.n + system.m))
    points[:, system.index("bus5.v_re")] = np.where(rng.uniform(size=200) < 0.3, 0.9, 0.5)
    for name in ("bus1", "bus2", "bus3", "bus4", "bus6", "bus7", "bus8", "bus9"):
        points[:, system.index(f"{name}.v_re")] = 1.0
    monitor = psmr.VoltageCollapse(0.7, 0.25)

    def stop(cuts):
        detection = Detection(system, (), [monitor])
        detection.begin(first_span(system, DeadParts(system)))
        for a, b in zip([0, *cuts], [*cuts, 200], strict=True):
            if detection.points(t[a:b], points[a:b]) is not None:
                return detection.stop
        return None

    whole = stop([])
    assert whole is not None
    assert all(stop(sorted(rng.choice(np.arange(1, 200), 20, replace=False))) == whole for _ in range(20))


def test_a_collapse_before_newton_fails_is_a_stop_and_no_failure(system):
    """A constant power that grows without end: the algebraic equations lose their solution."""
    steps = [psmr.ParameterStep("load5", name, value, 0.0) for name, value in CONSTANT_POWER]
    ramp = psmr.LoadRamp(5, 0.1, 5.0, 10.0)
    with pytest.warns(psmr.errors.PsmrWarning, match="jumped to another solution at t = "):
        alone = simulate(system, 5.5, [*steps, ramp])
    # Below v_min the loads are impedances: the solution that is left has a bus at a third of its voltage.
    (jumped,) = alone.stats.counters.jumped_at
    before, after = np.flatnonzero(alone.t == jumped)
    v = alone.values("bus5.v")[:, 0]
    assert v[before] > v[after] + 0.1
    # The span behind the jump begins with its point.
    assert after in [span.first for span in alone.spans]
    assert alone.spans[-1].last == len(alone.t)
    run = simulate(system, 5.5, [*steps, ramp], [psmr.VoltageCollapse(0.8, 0.0)])
    assert run.stopped.monitor == "voltage collapse"


CONSTANT_POWER = (
    *((f"{q}_z", 0.0) for q in "pq"),
    *((f"{q}_p", 1.0) for q in "pq"),
    ("v_min", 0.3),
)


def test_an_island_with_a_source_runs_on(system):
    run = simulate(system, 0.5, [psmr.LineTrip("1-4", 0.1)])
    assert run.t[-1] == 0.5
    # G1 has no load left: all of its turbine's power accelerates it.
    assert run.values("G1.omega")[-1, 0] > 1.005


def test_an_island_without_a_source_ends_the_run_before_it(system):
    events = [psmr.LineTrip("4-5", 0.1), psmr.LineTrip("5-7", 0.3), psmr.LoadTrip(6, 0.4, 0.5)]
    run = simulate(system, 1.0, events, [psmr.Island()])
    assert run.t[-1] == run.stopped.t == 0.3
    assert str(run.stopped) == "island: line5-7 tripped leaves bus5 without a source"
    assert [label for _, label in run.instants] == ["line4-5 tripped"]
    free = simulate(system, 0.3, events[:1])
    np.testing.assert_array_equal(run.x, free.x)
    trips = [psmr.GeneratorTrip(k, 0.1 * k) for k in (1, 2, 3)]
    assert simulate(system, 1.0, trips, [psmr.Island()]).stopped.t == pytest.approx(0.3)


def test_a_converter_that_follows_holds_no_island(wscc9):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9-ibr.toml"))
    trip = [psmr.LineTrip("3-9", 0.1)]
    run = simulate(system, 0.5, trip, [psmr.Island()])
    assert str(run.stopped) == "island: transformer3-9 tripped leaves bus3 without a source"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: psmr.AngleSpread(0.0), r"limit_deg = 0.0: must be a finite number > 0 in degrees"),
        (lambda: psmr.VoltageCollapse(v_min="low"), r"v_min = 'low': must be a finite number > 0 in pu"),
        (lambda: psmr.VoltageCollapse(duration=-1), r"duration = -1\.0: must be a finite number >= 0 in s"),
    ],
)
def test_a_monitor_that_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_what_is_no_monitor_or_stops_at_once_is_refused(system):
    with pytest.raises(InputError, match=r"'angle' is not a monitor; use psmr.AngleSpread"):
        simulate(system, 1.0, [], ["angle"])
    with pytest.raises(
        InputError, match=r"voltage collapse: bus\d below 1.03 pu for 0 s at t = 0: the run would end before"
    ):
        simulate(system, 1.0, [], [psmr.VoltageCollapse(1.03, 0.0)])


def test_a_stop_is_shown_everywhere(system, tmp_path):
    run = simulate(system, 3.0, [LONG], [psmr.AngleSpread(150.0)])
    words = f"Stopped at t = {run.stopped.t:g} s by angle spread: G2 - G1 = 15"
    assert words in run.summary()
    run.to_html(tmp_path / "run.html")
    assert words in (tmp_path / "run.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    figure = run.plot("G*.omega")
    assert any("stopped by angle spread" in text.get_text() for text in figure.axes[0].texts)


def test_monitors_of_a_study_file(study_text, tmp_path, capsys):
    text = study_text.replace("[output]", '[[monitor]]\ntype = "angle-spread"\nlimit_deg = 1.0\n\n[output]')
    text = text.replace("t_end = 0.5", "t_end = 2.0").replace("fraction = 0.5", "fraction = 1.0")
    path = tmp_path / "study.toml"
    path.write_text(text.replace('folder = "out"', f'folder = "{tmp_path / "out"}"'))
    assert read_study(path).monitors == (psmr.AngleSpread(1.0),)
    assert main(["run", str(path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["stopped"]["monitor"] == "angle spread"
    assert record["t_end"] == record["stopped"]["t"] < 2.0


def test_a_stop_gives_what_was_seen_at_its_instant(system):
    run = simulate(system, 30.0, [psmr.LoadTrip(5, 1.0, 1.0)], [psmr.FrequencyOutside(0.99, 1.01)])
    assert run.stopped.value == pytest.approx(run.outcome.end_frequency.value, rel=1e-12)
    assert 60.6 < run.stopped.value < 60.7
    run = simulate(system, 3.0, [LONG], [psmr.AngleSpread(150.0)])
    assert str(run.stopped).endswith(" deg since connected, limit 150 deg")
    began = np.degrees(run["G2.delta"].iloc[0] - run["G1.delta"].iloc[0])
    assert run.stopped.value == run.outcome.angle_spread.value
    assert run.stopped.value == pytest.approx(run.outcome.angle_difference.value - began)


def test_of_two_islands_that_leave_the_band_the_first_ends_a_run(system):
    """Bus 3 with bus 9 and bus 6 is listed last; by its points it leaves the band earlier."""
    apart = [psmr.LineTrip("4-6", 0.1), psmr.LineTrip("8-9", 0.1)]
    free = simulate(system, 4.0, apart)
    mean = free.values(["G1.omega", "G2.omega"]) @ np.array([23.64, 6.4]) / 30.04
    alone = free.values("G3.omega")[:, 0]
    late, early = (free.t[np.argmax(abs(speed - 1.0) > 0.0016)] for speed in (mean, alone))
    assert early < late < 4.0
    run = simulate(system, 4.0, apart, [psmr.FrequencyOutside(0.9984, 1.0016)])
    assert run.stopped.t == early
    assert run.stopped.what == "in the island of bus3"

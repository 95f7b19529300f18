"""The activity of a run: table, map and page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import partitioning
import psmr
from psmr.errors import InputError, PsmrWarning
from psmr.numerics.refine.activity import Activity, OwnEnds, Piece, unrefined
from psmr.numerics.run.integrate import integrate
from psmr.numerics.run.trajectory import Change
from psmr.study.output import plots
from psmr.study.output.activity import LINES
from psmr.study.output.plots import smooth, with_own_steps
from psmr.study.output.report import run_page
from psmr.study.record.activity import refined_at
from tests.numerics.test_self_adjusting import chain


@pytest.fixture(scope="module")
def run():
    return psmr.simulate(chain(rippling=(20, 45)), psmr.SelfAdjusting(1e-3), 0.5, certify=False)


def test_the_table_has_a_column_for_each_common_step(run):
    table = run.activity
    assert set(table.index) == {"R20", "R45"}
    assert len(table.columns) == run.stats.counters.steps
    assert [column.right for column in table.columns] == pytest.approx(run.t[1:])


def test_the_order_of_the_devices_is_not_that_of_the_calls():
    names, ends = ("A", "B", "C"), np.array([1.0, 2.0, 3.0])
    many, sets, steps = (
        np.array([1, 2, 1]),
        np.array([2, 0, 2, 1], np.uint32),
        np.array([4, 5, 6, 7], np.uint32),
    )
    whole = Piece(0.0, ends, many, names, sets, steps, OwnEnds.none(many.size))
    parts = [
        whole.until(1.0),
        Piece(1.0, ends[1:], many[1:], names, sets[1:], steps[1:], OwnEnds.none(many.size - 1)),
        unrefined(3.0, ends[:2] + 3.0),
    ]
    one, two = Activity.of([whole, parts[2]]), Activity.of(parts)
    assert one.devices == two.devices == ("C", "A", "B")
    assert one.steps.tolist() == two.steps.tolist() == [[4, 6, 1, 1, 1], [1, 5, 1, 1, 1], [1, 1, 7, 1, 1]]
    assert one.intervals.tolist() == two.intervals.tolist() == [[k, k + 1] for k in range(5)]


def test_between_common_steps_without_refined_devices_points_are_those_of_the_dense_output(wscc9):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    fault = psmr.Fault(bus=5, start=0.1, clear=0.2)
    one, other = (
        psmr.simulate(system, scheme(1e-3), 2.0, [fault], certify=False)
        for scheme in (psmr.SelfAdjusting, psmr.VariableStep)
    )
    assert len(one.t) < 100
    times = np.linspace(0.0, 2.0, 101)
    assert one.at(times).equals(other.at(times))
    assert one.compare(other).table["largest"].abs().max() == 0.0


@pytest.fixture(scope="module")
def rippling():
    """A run in which a lag ripples at 120 Hz until it stops, and one that is much finer."""
    stops = psmr.ParameterStep("R20", "a", 0.0, 0.5)
    return tuple(
        psmr.simulate(chain(), scheme, 1.5, [stops], certify=False)
        for scheme in (psmr.SelfAdjusting(1e-3), psmr.VariableStep(1e-7))
    )


def test_points_within_common_steps_with_refined_devices_are_as_accurate_as_the_recorded_ones(rippling):
    run, fine = rippling
    steps = run.activity.loc["R20"]
    busy = [column for column, count in steps.items() if count > 1]
    times = np.concatenate([np.linspace(column.left, column.right, 7)[1:-1] for column in busy])
    off = np.abs(run.at(times) - fine.at(times))
    assert off.to_numpy().max() < 2e-3  # two tolerances
    # The ripple is 0.5 / sqrt(1 + (2 pi 120 0.002)^2) = 0.277 high; straight lines pass over it.
    straight = np.interp(times, run.t, run.values("R20.x")[:, 0])
    assert np.abs(straight - fine.at(times)["R20.x"]).max() > 0.2
    assert run.frame("R20.x", times=times).equals(run.at(times, "R20.x"))
    assert run.at(times[::-1], "R20.x").equals(run.at(times, "R20.x")[::-1])


def test_points_in_common_steps_in_which_nothing_was_refined_are_those_of_the_dense_output(rippling):
    run, fine = rippling
    quiet = [c.mid for c, count in run.activity.loc["R20"].items() if count == 1 and c.mid > 0.6]
    ends = (
        run.at([c.left for c in run.activity if c.mid in quiet]),
        run.at([c.right for c in run.activity if c.mid in quiet]),
    )
    straight = (ends[0].to_numpy() + ends[1].to_numpy()) / 2
    error = np.abs(run.at(quiet) - fine.at(quiet)).to_numpy()
    assert 100 * error.max() < np.abs(straight - fine.at(quiet)).to_numpy().max()


def test_steps_are_taken_again_with_what_ramps_and_what_went_out_of_service():
    """Held inputs and parameters follow courses, a device is out: as the whole run with one step for all."""
    system = chain()
    ramp = Change(0.2, inputs=(("C0.left", 1.0),), rates=(("C0.left", 2.0),), out=("C299",))
    changes = (ramp,)
    runs = []
    for scheme in (psmr.SelfAdjusting(1e-3), psmr.VariableStep(1e-7)):
        found = integrate(system, scheme, 1.0, changes)
        like = psmr.simulate(system, scheme, 0.1, certify=False)
        runs.append(
            replace(like, t=found.t, x=found.x, y=found.y, changes=changes, refined_steps=found.activity)
        )
    times = np.linspace(0.25, 0.95, 50)
    assert refined_at(runs[0], times).sum() > 25
    assert np.abs(runs[0].at(times) - runs[1].at(times)).to_numpy().max() < 2e-3


def test_figures_of_a_refined_device_have_its_own_steps(rippling):
    run, _ = rippling
    drawn = run.plot("R20.x").axes[0].lines[0].get_ydata()
    late = drawn[len(drawn) // 10 : len(drawn) // 4]
    assert np.ptp(late) == pytest.approx(2 * 0.277, rel=0.1)
    assert len(smooth(run, ["R20.x"]).t) > run.activity.loc["R20"].sum()
    assert len(with_own_steps(run, ["C3.x"]).t) == len(run.t)
    assert len(with_own_steps(run, ["R20.x"], until=0.1).t) < len(with_own_steps(run, ["R20.x"]).t)


def test_what_cannot_be_had_between_the_points_is_said(rippling, monkeypatch):
    kept = psmr.simulate(chain(), psmr.SelfAdjusting(1e-3), 0.5, certify=False, record=["R20.x"])
    with pytest.warns(PsmrWarning, match="simulate without `record`"):
        kept.at(kept.t[-2:].mean())
    with pytest.warns(PsmrWarning, match="simulate without `record`"):
        kept.plot("R20.x")
    monkeypatch.setattr(plots, "OWN_VALUES", 0)
    with pytest.warns(PsmrWarning, match="draw a shorter time"):
        rippling[0].plot("R20.x")


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_without_refined_devices_the_estimated_error_is_that_of_the_variable_step(wscc9, tolerance):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    fault = psmr.Fault(bus=5, start=0.1, clear=0.2)
    one, other = (
        psmr.simulate(system, scheme(tolerance), 2.0, [fault], certify=False)
        for scheme in (psmr.SelfAdjusting, psmr.VariableStep)
    )
    assert one.estimated_error == other.estimated_error
    assert "\nAccuracy\n  estimated error" in one.summary()


def test_with_refined_devices_the_estimated_error_is_that_at_the_recorded_points(rippling):
    run, fine = rippling
    rows = np.flatnonzero((run.t > 0.0) & (run.t != 0.5))
    names = [*run.names_x, *run.names_y]
    exact = fine.at(run.t[rows], names).to_numpy()
    off = np.abs(np.hstack([run.x, run.y])[rows] - exact)
    assert run.estimated_error.largest == pytest.approx(off.max(), rel=0.25)
    assert run.estimated_error.rms == pytest.approx(np.sqrt(np.mean(off**2)), rel=0.25)


def test_map_and_page_show_the_devices(run):
    above, below, scale = run.plot_activity().axes
    assert [label.get_text() for label in below.get_yticklabels()] == ["R20", "R45"]
    assert above.get_ylabel() == "common\nstep [s]"
    assert scale.get_ylabel() == "step of a device [s]"
    assert "What was fast, and when" in run_page(run)
    assert "refined devices" in str(run.stats)


def test_of_many_devices_the_busiest_are_drawn():
    many = psmr.simulate(chain(3000, tuple(range(LINES + 4))), psmr.SelfAdjusting(1e-3), 0.2, certify=False)
    below = many.plot_activity().axes[1]
    assert len(below.get_yticklabels()) == LINES
    assert any("and 4 more" in text.get_text() for text in below.texts)


def test_a_fixed_partition_has_one_column_and_one_step_for_all_none(wscc9):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    split = partitioning.by_device(system.linearise(), ["AVR1"])
    table = psmr.simulate(system, psmr.Multirate(split, 0.01, 5), 0.1, certify=False).activity
    assert list(table.index) == ["AVR1"]
    assert (table == 5).all(axis=None)
    single = psmr.simulate(system, psmr.VariableStep(), 0.1, certify=False)
    assert single.activity.empty
    with pytest.raises(InputError, match="no device had a step of its own"):
        single.plot_activity()

"""The activity of a run: table, map and page."""

from __future__ import annotations

import numpy as np
import pytest

import partitioning
import psmr
from psmr.errors import InputError
from psmr.numerics.refine.activity import Activity, OwnEnds, Piece, unrefined
from psmr.study.output.activity import LINES
from psmr.study.output.report import run_page
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


def test_within_common_steps_with_refined_devices_points_are_on_straight_lines():
    stops = psmr.ParameterStep("R20", "a", 0.0, 0.5)
    run = psmr.simulate(chain(), psmr.SelfAdjusting(1e-3), 1.5, [stops], certify=False)
    fine = psmr.simulate(chain(), psmr.VariableStep(1e-7), 1.5, [stops], certify=False)
    steps = run.activity.loc["R20"]
    middles = np.array([column.mid for column in steps.index])
    ends = run.at([c.left for c in steps.index]), run.at([c.right for c in steps.index], side="before")
    straight = (ends[0].to_numpy() + ends[1].to_numpy()) / 2
    busy, off = (steps > 1).to_numpy(), np.abs(run.at(middles) - straight).to_numpy().max(axis=1)
    assert off[busy].max() < 1e-12
    quiet = ~busy & (middles > 0.6)
    error = np.abs(run.at(middles[quiet]) - fine.at(middles[quiet])).to_numpy()
    assert 100 * error.max() < np.abs(straight[quiet] - fine.at(middles[quiet])).to_numpy().max()


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

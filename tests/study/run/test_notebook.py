"""Runs at a prompt and in a notebook: by name, at times, saved, compared; and slips that get a sentence."""

import re
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import psmr
from partitioning import PartitionError, by_device, by_participation
from psmr.errors import CaseError, EventError, InputError, PsmrError, PsmrWarning, SchemeError, StudyError
from tests.internals import comparison


def test_signals_by_name_and_pattern(fault_run):
    one = fault_run["G1.omega"]
    assert isinstance(one, pd.Series)
    assert np.array_equal(one.to_numpy(), fault_run.values("G1.omega")[:, 0])
    several = fault_run["G*.p"]
    assert list(several.columns) == ["G1.p", "G2.p", "G3.p"]
    assert isinstance(fault_run[["G1.omega"]], pd.DataFrame)
    with pytest.raises(InputError, match=r"did you mean 'G1\.omega'"):
        fault_run["G1.omga"]


def test_values_at_times_are_straight_between_points(fault_run):
    k = 7
    middle = (fault_run.t[k] + fault_run.t[k + 1]) / 2
    table = fault_run.at([middle, fault_run.t[k]], "G2.delta")
    values = fault_run.values("G2.delta")[:, 0]
    assert table["G2.delta"].to_list() == pytest.approx(
        [(values[k] + values[k + 1]) / 2, values[k]], rel=1e-14
    )
    # At the fault the voltage jumps: both values can be had.
    before, after = np.flatnonzero(fault_run.t == 1.0)
    v = fault_run.values("bus5.v")[:, 0]
    assert fault_run.at(1.0, "bus5.v", side="before").iloc[0, 0] == v[before]
    assert fault_run.at(1.0, "bus5.v").iloc[0, 0] == v[after]
    assert fault_run.at([0.0, 2.0], "bus5.v").iloc[1, 0] == v[-1]
    with pytest.raises(
        InputError, match=r"t = 2.5 s: must be within the run, from 0 s to 2 s; take a time there"
    ):
        fault_run.at([1.0, 2.5])
    with pytest.raises(InputError, match="side = 'left': must be 'before' or 'after'"):
        fault_run.at(1.0, side="left")


def test_a_table_can_be_reindexed(fault_run):
    table = fault_run.frame("bus5.v", instants="after")
    assert table.index.is_unique
    assert table.loc[1.0, "bus5.v"] < 0.01 < fault_run.frame("bus5.v", instants="before").loc[1.0, "bus5.v"]
    table.reindex(np.linspace(0, 2, 11), method="nearest")
    with pytest.raises(InputError, match="instants = 'none'"):
        fault_run.frame(instants="none")


def test_no_time_stands_twice_in_a_table(fault_run):
    table = fault_run.frame("bus5.v")
    assert table.index.is_unique
    assert table.index.is_monotonic_increasing
    assert len(table) == len(fault_run.t)
    # The row after an event is at the next number above its instant, and nothing else is moved.
    twice = np.flatnonzero(np.diff(fault_run.t) == 0.0) + 1
    assert len(twice) == 2
    assert np.array_equal(table.index[twice], np.nextafter(fault_run.t[twice], np.inf))
    others = np.delete(np.arange(len(fault_run.t)), twice)
    assert np.array_equal(table.index[others], fault_run.t[others])
    fault_run["G1.omega"].reindex([0.0, 1.0])
    for instants in ("before", "after"):
        assert len(fault_run.frame("bus5.v", instants=instants)) == len(fault_run.t) - 2


def test_xarray_has_units_and_the_story(fault_run):
    pytest.importorskip("xarray")
    data = fault_run.to_xarray(["G*.p", "bus5.v"])
    assert list(data.data_vars) == ["G1.p", "G2.p", "G3.p", "bus5.v"]
    assert data["G1.p"].attrs["units"] == "MW"
    assert data["bus5.v"].attrs["units"] == "pu"
    assert data["t"].attrs["units"] == "s"
    assert np.array_equal(data["bus5.v"], fault_run.values("bus5.v")[:, 0])
    assert "Synchronism maintained" in data.attrs["outcome"]
    # NetCDF takes texts as attributes, not lists of them.
    assert data.attrs["events"].startswith("1 s: fault at bus5; 1.1 s: ")
    assert all(isinstance(words, str) for words in data.attrs.values())
    assert data["bus5.v"].interp(t=0.525).item() == pytest.approx(fault_run.at(0.525, "bus5.v").iloc[0, 0])


def test_without_xarray_a_sentence(fault_run, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(PsmrError, match=r'pip install "psmr\[xarray\]", or use run\.frame'):
        fault_run.to_xarray("bus5.v")


def test_schemes_print_as_the_call_that_makes_them(split):
    from psmr import Adaptive, ArcLength, Multirate, SingleRate, SlowManifold, Smes, VariableStep

    known = {
        SingleRate("TM", h=0.01): "SingleRate(method='TM', h=0.01)",
        VariableStep(tolerance=1e-5): "VariableStep(tolerance=1e-05)",
        SingleRate("TM", h=0.01, newton="honest"): "SingleRate(method='TM', h=0.01, newton='honest')",
    }
    for scheme, words in known.items():
        assert repr(scheme) == words
        assert eval(words) == scheme
    several = (
        Multirate(split, 0.05, 10),
        ArcLength("FEM", 0.01),
        Adaptive("RK54", 1e-6),
        SlowManifold(split, 0.1),
    )
    for scheme in (*known, *several, Smes(h=0.01, delta=1e-4, micro=10)):
        assert len(repr(scheme)) < 250
        assert "<table" in scheme._repr_html_()


@pytest.mark.parametrize("h", [1e9, 1e300])
def test_a_step_may_be_far_longer_than_the_run(system, h):
    run = psmr.simulate(system, psmr.SingleRate("TM", h=h), 0.5, certify=False)
    assert list(run.t) == [0.0, 0.5]


def test_two_runs_are_compared(system, fault_run):
    fault = psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")
    fine = psmr.simulate(system, psmr.SingleRate("TM", h=0.005), 1.5, [fault], certify=False)
    found = fine.compare(fault_run, "*.omega")
    rows = fault_run.t <= 1.5
    # The fast scheme's macro points lie among the fine ones; away from the events they can be looked up.
    rows = np.flatnonzero((fault_run.t > 1.12) & (fault_run.t < 1.5))
    near = [int(np.abs(fine.t - fault_run.t[k]).argmin()) for k in rows]
    off = fault_run.values("G2.omega")[rows, 0] - fine.values("G2.omega")[near, 0]
    least = np.abs(off).max() - 1e-9
    row = found.table.set_index("signal").loc["G2.omega"]
    assert abs(row["largest"]) >= least > 0
    assert abs(found.table["largest"]).is_monotonic_decreasing
    assert fine.compare(fine).table["largest"].abs().max() == 0.0
    assert "first: Synchronism maintained" in str(found)
    assert len(found.plot().axes) == 2
    with pytest.raises(InputError, match=r"no signal 'G9\.omega'"):
        fine.compare(fault_run, "G9.omega")


def test_runs_of_different_systems_are_told_apart(system, wscc9, fault_run):
    tm = psmr.SingleRate("TM", h=0.05)
    kundur = psmr.build(psmr.read_case(wscc9.parent / "kundur" / "kundur.toml"))
    other = psmr.simulate(kundur, tm, 1.0, certify=False)
    with pytest.warns(PsmrWarning, match="different systems, 'WSCC 9-bus' and .*only in the second: AV"):
        found = fault_run.compare(other, "bus5.v")
    assert "different systems" in str(found)
    assert "different systems" in found._repr_html_()
    # One network, another model: it is said, and no warning.
    case = psmr.read_case(wscc9 / "wscc9-gfm.toml")
    found = fault_run.compare(psmr.simulate(psmr.build(case), tm, 1.0, certify=False), "bus5.v")
    assert "of different systems" in found.note
    # Values of parameters are what one compares for.
    case = psmr.read_case(wscc9 / "wscc9.toml").edit({"load5.p_mw": 120.0})
    assert fault_run.compare(psmr.simulate(psmr.build(case), tm, 1.0, certify=False), "bus5.v").note == ""


def test_csv_heads_follow_the_rules_of_csv(tmp_path):
    from psmr import Device, assemble
    from tests.systems import Logistic

    own = assemble([Device('pond, "deep"', Logistic, {})], start={'pond, "deep".x': 0.1})
    run = psmr.simulate(own, psmr.SingleRate("TM", h=0.1), 0.2, certify=False)
    run.to_csv(tmp_path / "run.csv")
    assert list(pd.read_csv(tmp_path / "run.csv").columns) == ["t", 'pond, "deep".x']


def test_short_words_for_notebooks(fault_run, system, split, wscc9):
    case = psmr.read_case(wscc9 / "wscc9.toml")
    report = psmr.deformation(system.linearise(), fault_run.scheme)
    for thing in (case, system, split, fault_run, report, case.tables):
        assert len(repr(thing)) < 200
        assert "<table" in thing._repr_html_()
    assert "Synchronism maintained" in fault_run._repr_html_()
    assert repr(system.linearise()) == f"LinearDae(n={system.n}, m={system.m})"
    start = psmr.check(case)
    assert repr(start) == "Report('WSCC 9-bus': can be simulated, 0 findings)"
    assert "WSCC 9-bus" in start._repr_html_()
    assert len(repr(start.flow)) < 200


def test_top_level_reads_and_writes(wscc9, tmp_path):
    assert psmr.read_study(wscc9 / "fault.toml").t_end == 10.0
    case = psmr.read_case(wscc9 / "wscc9.toml")
    psmr.write_case(case, tmp_path / "copy.toml")
    assert psmr.read_case(tmp_path / "copy.toml") == case
    assert callable(psmr.from_pandapower)
    with pytest.raises(StudyError):
        psmr.read_study(wscc9 / "wscc9.toml")


def test_slips_get_a_sentence(system, scheme, split, fault_run, wscc9):
    case = psmr.read_case(wscc9 / "wscc9.toml")
    tm = psmr.SingleRate("TM", h=0.01)
    fault = psmr.Fault(bus=5, start=0.1, clear=0.2)
    run = psmr.simulate
    for slip, error, words in (
        (lambda: psmr.build("x.toml"), CaseError, r"must be a case; write psmr.read_case\('x.toml'\)"),
        (lambda: psmr.build(system), CaseError, "build: case is of the type System: must"),
        (lambda: psmr.modes(system), InputError, r"must be a linearised system; write system.linearise\(\)"),
        (lambda: run(system, tm, 1.0, fault), EventError, r"a list of events; write \[event\]"),
        (lambda: run(system, tm, 1.0, "fault"), EventError, "events = 'fault': must be a list of events"),
        (lambda: run(system, psmr.SingleRate, 1.0), SchemeError, "is the class SingleRate: .*; make one of"),
        (lambda: run(system, split, 1.0), SchemeError, "must be a scheme; use psmr.VariableStep"),
        (lambda: run("x.toml", tm, 1.0), InputError, r"write psmr.build\(psmr.read_case\('x.toml'\)\)"),
        (lambda: run(system, tm, 1.0, monitors=psmr.Island()), InputError, r"monitors; write \[monitor\]"),
        (lambda: run(system, tm, 1.0, monitors=[psmr.Island]), InputError, "is not a monitor; use psmr"),
        (lambda: run(system, tm, 1.0, [psmr.Fault]), EventError, "Fault is the class; make an event of it"),
        (lambda: run(case, tm, 1.0), InputError, r"must be a system; write psmr.build\(case\)"),
        (lambda: psmr.deformation(system, tm), InputError, r"type System: .*; write system.linearise\(\)"),
        (lambda: psmr.deformation(case, tm), InputError, r"psmr.build\(case\).linearise\(\)"),
        (lambda: psmr.step_operator(system, tm), InputError, "a linearised system; write system.linearise"),
        (lambda: psmr.critical_step(case, tm), InputError, "must be a system or a linearised system"),
        (lambda: by_participation(system, delta=20.0), PartitionError, r"pass system.linearise\(\)"),
        (lambda: by_device(case, ["G1"]), PartitionError, "Case has no fx"),
        (lambda: psmr.check("x.toml"), CaseError, r"case = 'x.toml': .*; write psmr.read_case\('x.toml'\)"),
        (lambda: psmr.add_dynamics(system), CaseError, "add_dynamics: case is of the type System: must be"),
        (lambda: psmr.write_case("x.toml", case), CaseError, "write_case: case = 'x.toml': must be a"),
        (lambda: psmr.assemble(system.devices[0]), InputError, r"type Device: .*; write \[device\] for"),
        (lambda: fault_run.compare(system), InputError, "compare: other is of the type System: must"),
        (lambda: fault_run.plot(ax=3), InputError, "ax = 3: must be axes of matplotlib"),
        (lambda: case.edit("loads", case.tables["loads"]), CaseError, r"not \(loads, DataFrame\); write"),
        (lambda: case.edit(3), CaseError, r"not \(int\); write"),
        (lambda: psmr.LoadTrip(5, time=1.0, fraction=1.0), EventError, r"'time'; write start=1\.0$"),
        (lambda: psmr.Fault(5, start=1.0, duration=0.1), EventError, r"write clear=1\.1$"),
        (lambda: psmr.VariableStep(tol=1e-4), SchemeError, r"no keyword 'tol'; write tolerance=0\.0001"),
        (lambda: psmr.Multirate(split, h_slow=0.05, h_fast=0.005), SchemeError, "write ratio=10$"),
        (lambda: psmr.SingleRate("TM", dt=0.01), SchemeError, r"no keyword 'dt'; write h=0\.01$"),
        (lambda: psmr.LoadTrip(5, 1.0), EventError, "LoadTrip needs fraction; it has bus, start, fraction"),
        (lambda: psmr.Fault(5, clear=1.1), EventError, "fault at bus5: start is missing; give the time in s"),
        (lambda: psmr.Trapezoidal(0.01), AttributeError, r"no 'Trapezoidal'; write psmr.SingleRate\("),
        (lambda: psmr.load_case("x"), AttributeError, r"no 'load_case'; write psmr.read_case$"),
        (lambda: psmr.simulat(system), AttributeError, "did you mean 'simulate'"),
        (lambda: psmr.Record(signal="*.omega"), InputError, "Record has no keyword .*mean 'signals'"),
        (lambda: fault_run["G1.speed"], InputError, r"no signal 'G1\.speed'; did you mean 'G1\.omega'"),
        (lambda: fault_run["G1.P"], InputError, r"no signal 'G1\.P'; did you mean 'G1\.p'"),
        (lambda: fault_run["bus5.voltage"], InputError, r"did you mean 'bus5\.v'"),
        (lambda: fault_run["G1.omgea"], InputError, r"did you mean 'G1\.omega'"),
        (lambda: fault_run["G9.omega"], InputError, r"did you mean 'G\d\.omega'"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            slip()


def test_two_runs_over_one_another_are_drawn_by_the_same_colours(system, fault_run):
    from matplotlib.colors import to_hex

    fault = psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")
    fine = psmr.simulate(system, psmr.SingleRate("TM", h=0.005), 2.0, [fault], certify=False)
    # Eighteen currents are more than can be told apart: the telling ones are drawn, of both runs the same.
    above, below = comparison(fine, fault_run, ["*.i_from", "*.i_to"]).axes
    dashed = [line for line in above.lines if len(line.get_xdata()) == len(fault_run.t)]
    assert len(dashed) == 7
    full = {to_hex(line.get_color()): line for line in above.lines if line not in dashed}
    for line in dashed:
        same = full[to_hex(line.get_color())]
        start = np.interp(0.5, same.get_xdata(), same.get_ydata())
        assert np.interp(0.5, line.get_xdata(), line.get_ydata()) == pytest.approx(start, abs=1e-6)
    # Both runs jump at the same instants, so that their difference does not.
    largest = max(np.abs(line.get_ydata()).max() for line in below.lines if len(line.get_ydata()) > 2)
    assert largest < 0.2


def test_two_runs_have_their_own_names_units_and_events(system, fault_run):
    trip = psmr.LoadTrip(5, 1.5, 0.5)
    other = psmr.simulate(
        system, psmr.SingleRate("TM", h=0.01), 2.0, [*fault_run.events, trip], certify=False
    )
    figure = comparison(fault_run, other, ["G*.p"], labels=("plain.toml", "trip.toml"))
    above, below = figure.axes
    assert figure.get_suptitle().startswith("full: plain.toml\ndashed: trip.toml; ")
    assert below.get_ylabel() == "difference [MW]"
    at = {line.get_xdata()[0]: line.get_linestyle() for line in below.lines if len(line.get_xdata()) == 2}
    assert at == {1.0: "-", 1.1: "-", 1.5: "--"}
    assert [text.get_text() for text in above.texts if "dashed: " in text.get_text()] == [
        f"dashed: {other.instants[-1][1]}, 1.5 s"
    ]


def test_a_trace_of_few_samples_is_dots_and_no_line(fault_run, tmp_path):
    t = np.linspace(0.0, 2.0, 21)
    fault_run.at(t, ["G2.omega"]).to_csv(tmp_path / "few.csv")
    figure = psmr.compare_trace(fault_run, psmr.read_trace(tmp_path / "few.csv")).plot()
    assert "\ndots: few.csv; " in figure.get_suptitle()
    (dots,) = (line for line in figure.axes[0].lines if len(line.get_xdata()) == 21)
    assert (dots.get_linestyle(), dots.get_marker()) == ("None", "o")


def test_letters_of_close_events_do_not_cover_one_another(system):
    from tests.internals import panel_drawing, svg, width_of

    trips = [psmr.LoadTrip(5, 0.5 + 0.08 * k, 0.05) for k in range(9)]
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.01), 2.0, trips, certify=False)
    figure = svg(panel_drawing(run, ["G1.omega"]), "speed")
    drawn = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>([a-i][-,a-i]*)</text>', figure)
    assert len({y for _, y, _ in drawn}) == 1
    places = sorted((float(x), float(x) + width_of(letters, 8.0)) for x, _, letters in drawn)
    assert len(places) > 1
    for one, following in pairwise(places):
        assert one[1] < following[0]

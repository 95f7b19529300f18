"""Runs at a prompt and in a notebook: by name, at times, saved, compared; and slips that get a sentence."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import psmr
from psmr.errors import CaseError, EventError, InputError, SchemeError, StudyError


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
    with pytest.raises(InputError, match=r"t = 2.5 s: must be within the run, from 0 s to 2 s"):
        fault_run.at([1.0, 2.5])
    with pytest.raises(InputError, match='must be "before" or "after"'):
        fault_run.at(1.0, side="left")


def test_a_table_can_be_reindexed(fault_run):
    table = fault_run.frame("bus5.v", instants="after")
    assert table.index.is_unique
    assert table.loc[1.0, "bus5.v"] < 0.01 < fault_run.frame("bus5.v", instants="before").loc[1.0, "bus5.v"]
    table.reindex(np.linspace(0, 2, 11), method="nearest")
    with pytest.raises(InputError, match="instants = 'none'"):
        fault_run.frame(instants="none")


def test_a_saved_run_is_the_run(fault_run, tmp_path):
    fault_run.save(tmp_path / "fault.run")
    again = psmr.load_run(tmp_path / "fault.run")
    assert np.array_equal(again.x, fault_run.x)
    assert again.scheme == fault_run.scheme
    assert again.outcome == fault_run.outcome
    assert np.array_equal(again.values("G*.p"), fault_run.values("G*.p"))
    assert again.certificate_after == fault_run.certificate_after
    assert [p.name for p in tmp_path.iterdir()] == ["fault.run"]


def test_what_is_not_a_saved_run_is_said(fault_run, tmp_path):
    path = tmp_path / "x.run"
    with pytest.raises(InputError, match="cannot be read: No such file"):
        psmr.load_run(path)
    path.write_text("t,x\n")
    with pytest.raises(InputError, match=r"is not a run saved by run\.save"):
        psmr.load_run(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("head.json", json.dumps({"format": "psmr-run", "version": 9, "psmr": "3.0"}))
    with pytest.raises(
        InputError, match=r"a run of version 9, written by psmr 3.0; this psmr reads version 1"
    ):
        psmr.load_run(path)


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
    assert "first: Kept synchronism" in str(found)
    assert len(found.plot().axes) == 2
    with pytest.raises(InputError, match=r"no signal 'G9\.omega'"):
        fine.compare(fault_run, "G9.omega")


def test_csv_heads_follow_the_rules_of_csv(tmp_path):
    from psmr.dae.declare.device import Device
    from psmr.dae.system.assemble import assemble
    from tests.systems import Logistic

    own = assemble([Device('pond, "deep"', Logistic, {})], start={'pond, "deep".x': 0.1})
    run = psmr.simulate(own, psmr.SingleRate("TM", h=0.1), 0.2, certify=False)
    run.to_csv(tmp_path / "run.csv")
    assert list(pd.read_csv(tmp_path / "run.csv").columns) == ["t", 'pond, "deep".x']


def test_short_words_for_notebooks(fault_run, system, split, wscc9):
    case = psmr.read_case(wscc9 / "wscc9.toml")
    report = psmr.deformation(system.linearise(), fault_run.scheme)
    for thing in (case, system, split, fault_run, report):
        assert len(repr(thing)) < 200
        assert "<table" in thing._repr_html_()
    assert "Kept synchronism" in fault_run._repr_html_()


def test_top_level_reads_and_writes(wscc9, tmp_path):
    assert psmr.read_study(wscc9 / "fault.toml").t_end == 10.0
    case = psmr.read_case(wscc9 / "wscc9.toml")
    psmr.write_case(case, tmp_path / "copy.toml")
    assert psmr.read_case(tmp_path / "copy.toml") == case
    assert callable(psmr.from_pandapower)
    with pytest.raises(StudyError):
        psmr.read_study(wscc9 / "wscc9.toml")


def test_slips_get_a_sentence(system, scheme, split):
    tm = psmr.SingleRate("TM", h=0.01)
    fault = psmr.Fault(bus=5, start=0.1, clear=0.2)
    run = psmr.simulate
    for slip, error, words in (
        (lambda: psmr.build("x.toml"), CaseError, r"write psmr.build\(psmr.read_case\('x.toml'\)\)"),
        (lambda: psmr.build(system), CaseError, "build takes a case, not System"),
        (lambda: psmr.modes(system), InputError, r"not System; write psmr.modes\(system.linearise\(\)\)"),
        (lambda: run(system, tm, 1.0, fault), EventError, r"not a list of events; write \[event\]"),
        (lambda: run(system, tm, 1.0, "fault"), EventError, "'fault' is not a list of events"),
        (lambda: run(system, psmr.SingleRate, 1.0), SchemeError, "SingleRate is the class; make one"),
        (lambda: run(system, split, 1.0), SchemeError, "Partition is not a scheme; use psmr.SingleRate"),
        (lambda: run("x.toml", tm, 1.0), InputError, "'x.toml' is not a system; make one with psmr.build"),
        (lambda: run(system, tm, 1.0, monitors=psmr.Island()), InputError, "is not a list of monitors"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            slip()

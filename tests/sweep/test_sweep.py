"""Sweeps: their rows are what runs alone say."""

import json

import pytest

import psmr
from psmr.errors import StudyError
from tests.sweep.conftest import CASE, same_rows, swept


def test_a_row_says_what_the_run_alone_says(study, faults, tmp_path):
    found = swept(study, [faults], tmp_path / "s")
    assert list(found.table["run"]) == list(range(8))
    system = psmr.build(psmr.read_case(CASE))
    for row in found.table.to_dict("records"):
        fault = psmr.Fault(row["bus"], 0.1, 0.1 + row["clearing"], row["branch"])
        run = psmr.simulate(system, psmr.VariableStep(), 1.0, [fault])
        assert row["steps"] == run.stats.counters.steps
        assert row["lowest_voltage"] == run.outcome.lowest_voltage.value
        assert row["angle_spread"] == run.outcome.angle_spread.value
        assert row["nadir"] == run.outcome.nadir.value
        assert (row["synchronism"] == "lost") == (run.outcome.lost is not None)


def test_a_parameter_is_that_of_a_case_that_has_it(study, tmp_path):
    axes = [
        psmr.ParameterAxis("G2", "h", values=(3.0, 6.4)),
        psmr.ParameterAxis("load5", "p_mw", values=(100.0, 125.0)),
        psmr.BusFaults(0.1, buses=("bus7",)),
    ]
    found = swept(study, axes, tmp_path / "s")
    text = CASE.read_text()
    assert len(found.table) == 4
    row = found.table.iloc[0]
    case = tmp_path / "case.toml"
    assert text.count("h = 6.4") == 1
    load = text.index("p_mw = 125.0", text.index("bus = 5"))
    text = text[:load] + text[load:].replace("p_mw = 125.0", "p_mw = 100.0", 1)
    case.write_text(text.replace("h = 6.4", "h = 3.0"))
    run = psmr.simulate(
        psmr.build(psmr.read_case(case)), psmr.VariableStep(), 1.0, [psmr.Fault("bus7", 0.1, 0.2)]
    )
    assert row["angle_spread"] == pytest.approx(run.outcome.angle_spread.value, rel=1e-9)


def test_a_factor_multiplies_the_value_of_the_case(study, tmp_path):
    axes = [
        psmr.ParameterAxis("G*", "h", values=(0.5, 1.0), factor=True),
        psmr.BusFaults(0.1, buses=("bus7",)),
    ]
    found = swept(study, axes, tmp_path / "s")
    alone = swept(study, [psmr.BusFaults(0.1, buses=("bus7",))], tmp_path / "t")
    assert found.table["angle_spread"][1] == alone.table["angle_spread"][0]
    assert found.table["angle_spread"][0] > found.table["angle_spread"][1]


def test_processes_and_one_process_give_equal_rows(study, faults, tmp_path):
    one = swept(study, [faults], tmp_path / "one", workers=1)
    two = swept(study, [faults], tmp_path / "two", workers=2)
    assert same_rows(one.table, two.table)


def test_a_point_that_fails_is_a_row_with_its_message(study, tmp_path):
    axes = [psmr.ParameterAxis("G2", "h", values=(-1.0, 6.4)), psmr.BusFaults(0.1, buses=("bus7",))]
    found = swept(study, axes, tmp_path / "s")
    assert list(found.table["status"]) == ["failed", "done"]
    assert "h = -1.0" in found.table["message"][0]
    assert "1 failed" in str(found)


def test_signals_are_kept(study, faults, tmp_path):
    found = swept(study, [faults], tmp_path / "s", signals=["*.omega", "bus5.v"])
    table = found.signals(3)
    assert list(table.columns) == ["G1.omega", "G2.omega", "G3.omega", "bus5.v"]
    assert table.index[-1] == 1.0
    with pytest.raises(StudyError, match="no signals of run 99"):
        found.signals(99)
    with pytest.raises(psmr.PsmrError, match="did you mean"):
        swept(study, [faults], tmp_path / "t", signals=["G1.omegaa"])


def test_too_many_points_are_counted_first(study, tmp_path):
    axes = [psmr.SampleAxis("G1", "h", 20_000, 1, low=20.0, high=30.0)]
    with pytest.raises(StudyError, match=r"20,000 points, about .* on 2 processes .*--yes"):
        swept(study, axes, tmp_path / "s", workers=2)
    assert not (tmp_path / "s").exists()


def test_nothing_to_run(study, tmp_path):
    with pytest.raises(StudyError, match="nothing varies"):
        swept(study, [], tmp_path / "s")


def test_axes_that_vary_the_same_are_refused(study, tmp_path):
    axes = [psmr.ParameterAxis("G1", "h", (1.0,)), psmr.ParameterAxis("G1", "h", (2.0,))]
    with pytest.raises(StudyError, match=r"two axes vary G1\.h"):
        swept(study, axes, tmp_path / "s")


def test_two_case_axes_are_refused(study, tmp_path):
    axes = [psmr.CaseAxis(("wscc9.toml",)), psmr.CaseAxis(("wscc9.toml", "wscc9-renewable.toml"))]
    with pytest.raises(StudyError, match=r"two axes vary case"):
        psmr.sweep(study, axes, folder=tmp_path / "s", workers=1)


def test_a_terminal_shows_why_points_failed(study, tmp_path):
    axes = [psmr.ParameterAxis("G1", "h", values=(-1.0, 20.0))]
    found = swept(study, axes, tmp_path / "s")
    assert found.headline == "2 points, 0 lost synchronism, 1 failed."
    assert f"\n\nFailed:\n  1: {found.table['message'][0]}" in str(found)


def test_the_definition_is_plain(study, faults):
    sweep = psmr.Sweep(study, (faults,), signals=("*.v",))
    assert json.loads(json.dumps(sweep.definition())) == sweep.definition()


@pytest.mark.slow
def test_a_sweep_of_a_study_with_delays_has_them(tmp_path):
    """Rows are those of runs of the delayed system alone, also for a changed parameter."""
    path = tmp_path / "late.toml"
    path.write_text(
        f'format = "psmr-study"\nversion = 1\ncase = "{CASE}"\n'
        '[delays]\n"AVR2.v" = 0.03\n"PSS3.omega" = 0.12\n'
        '[simulation]\nt_end = 1.0\n[scheme]\ntype = "variable"\ntolerance = 1e-4\n'
        '[[event]]\ntype = "fault"\nbus = 7\nstart = 0.1\nclear = 0.2\n'
    )
    found = swept(psmr.read_study(path), [psmr.ParameterAxis("G2", "h", values=(3.0, 6.4))], tmp_path / "s")
    delays, fault = {"AVR2.v": 0.03, "PSS3.omega": 0.12}, psmr.Fault(7, 0.1, 0.2)
    system = psmr.with_delays(psmr.build(psmr.read_case(CASE)), delays)
    run = psmr.simulate(system, psmr.VariableStep(1e-4), 1.0, [fault])
    plain = psmr.simulate(psmr.build(psmr.read_case(CASE)), psmr.VariableStep(1e-4), 1.0, [fault])
    light, usual = found.table.to_dict("records")
    assert usual["lowest_voltage"] == run.outcome.lowest_voltage.value
    assert usual["angle_spread"] == run.outcome.angle_spread.value != plain.outcome.angle_spread.value
    assert usual["steps"] == run.stats.counters.steps
    assert light["angle_spread"] != usual["angle_spread"]
    assert list(found.table["message"].dropna()) == []


def test_a_sweep_of_a_study_with_a_region_has_its_doubts(tmp_path):
    """A bolted fault that the scheme leaves swinging is amber in a row, as in the run alone."""
    path = tmp_path / "region.toml"
    path.write_text(
        f'format = "psmr-study"\nversion = 1\ncase = "{CASE}"\nloads = "impedance"\n'
        '[dynamic]\nbuses = "all"\n[simulation]\nt_end = 0.1\n'
        '[scheme]\ntype = "single"\nmethod = "TM"\nh = 1e-4\ndamped = false\n'
        '[[event]]\ntype = "fault"\nbus = 5\nstart = 0.02\nclear = 0.07\nr = 0.001\nx = 0.0\n'
    )
    found = swept(psmr.read_study(path), [psmr.ParameterAxis("G2", "h", values=(6.4,))], tmp_path / "s")
    (row,) = found.table.to_dict("records")
    assert row["verdict"] == "amber"
    assert "leaves the voltage there swinging" in row["reason"]

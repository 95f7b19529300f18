"""The study that a page edits: events, steps, modes, runs and the file that reproduces them."""

import numpy as np
import pytest

import psmr
from psmr.errors import InputError, SchemeError, StudyError
from tests.internals import Job, Workbench, job_module


@pytest.fixture
def bench():
    return Workbench(psmr.case_path("wscc9/fault-published"))


def test_a_case_becomes_a_study_of_the_default_scheme():
    bench = Workbench(psmr.case_path("wscc9"))
    assert bench.study.recipe.kind == "variable"
    assert bench.events() == []


@pytest.mark.parametrize("name", ["wscc9/fault-delayed", "ieee-fbm/fault"])
def test_every_table_of_a_study_is_kept(name):
    """Delays and a region with dynamics are tables of their own."""
    bench, study = Workbench(psmr.case_path(name)), psmr.read_study(psmr.case_path(name))
    assert (bench.study.case.delays, bench.study.case.dynamic) == (study.case.delays, study.case.dynamic)


def test_events_are_put_where_they_can_be(bench):
    assert bench.events() == [("fault", "bus5")]
    bench.add_event("line-trip", "line7-8", 2.0)
    bench.add_event("load-trip", "bus6", 3.0)
    bench.add_event("generator-trip", "G3", 4.0)
    assert bench.events()[1:] == [("line-trip", "line7-8"), ("load-trip", "bus6"), ("generator-trip", "G3")]
    assert [type(event).__name__ for event in bench.study.events] == [
        "Fault", "LineTrip", "LoadTrip", "GeneratorTrip",
    ]  # fmt: skip
    bench.remove_event(0)
    assert bench.events()[0] == ("line-trip", "line7-8")
    with pytest.raises(InputError, match="bus4: there is no load-trip there; known: bus5, bus6, bus8"):
        bench.add_event("load-trip", "bus4", 1.0)
    with pytest.raises(InputError, match="start = 10 s: must be within the run, from 0 to 10 s"):
        bench.add_event("fault", "bus4", 10.0)


def test_a_wrong_text_leaves_the_study_as_it_was(bench):
    before = bench.text
    with pytest.raises(StudyError, match=r"study:\d+ \[scheme\]: .*h_slow"):
        bench.edit(before.replace("h_slow = 0.05", "h_slow = -1.0"))
    assert bench.text == before


def test_the_modes_of_a_step_are_those_of_the_report(bench):
    """Backward Euler at 50 ms moves the swing mode as the deformation report says."""
    bench.change(scheme={"type": "single", "method": "BEM", "h": 0.01})
    points = bench.modes(0.05)
    table = psmr.deformation(bench.linear, psmr.SingleRate("BEM", h=0.05)).table
    for row in table[table.imag > 0.5].itertuples():
        assert np.abs(points.exact - complex(row.real, row.imag)).min() < 1e-9
        numerical = complex(row.real_numerical, row.imag_numerical)
        assert np.abs(points.numerical - numerical).min() < 1e-9
    # Moving the slider changes nothing; letting go of it does.
    assert bench.step == 0.01
    bench.set_step(0.05)
    assert bench.step == 0.05


def test_both_steps_move_together(bench):
    bench.set_step(0.02)
    assert (bench.content["scheme"]["h_slow"], bench.content["scheme"]["h_fast"]) == (0.02, 0.002)
    bench.change(scheme={"type": "variable", "tolerance": 1e-4})
    assert bench.step is None
    with pytest.raises(SchemeError, match="no step to change"):
        bench.set_step(0.1)
    assert len(bench.modes(0.02).exact) == bench.system.n


def test_the_saved_study_reproduces_the_run(bench, tmp_path):
    bench.add_event("line-trip", "line7-8", 2.0)
    job = Job(bench)
    job.wait()
    assert job.words.partition(":")[0] in ("OK", "Check", "Failed")
    assert not job.failed
    path = bench.save(str(tmp_path / "again.toml"))
    with pytest.raises(InputError, match="is there already; choose another name, or tick 'replace'"):
        bench.save(str(path))
    with pytest.raises(InputError, match=r"a study file ends in \.toml"):
        bench.save(str(tmp_path / "again.txt"))
    study = psmr.read_study(path)
    system = psmr.build(psmr.read_case(study.case.path))
    scheme = study.recipe.scheme(system.linearise())
    run = psmr.simulate(system, scheme, study.t_end, study.events)
    assert np.array_equal(run.x, bench.runs[0].run.x)


def test_a_run_is_cancelled_and_a_failed_one_says_why(bench):
    bench.edit(
        bench.text.replace("t_end = 10.0", "t_end = 10000.0").replace("h_slow = 0.05", "h_slow = 0.01")
    )
    job = Job(bench)
    job.cancel()
    job.wait()
    assert job.words.startswith("Cancelled at t = ")
    assert not job.failed
    assert bench.runs == []
    bench.change(event=[{"type": "fault", "bus": 5, "start": 1.0, "clear": 20000.0}])
    job = Job(bench)
    job.wait()
    assert "clear" in job.words
    assert job.failed
    assert bench.runs == []


def test_only_studies_are_replaced(bench, tmp_path):
    """The page writes where its reader may; what is no study stays, also behind a link."""
    other = tmp_path / "pyproject.toml"
    other.write_text("[project]\n")
    broken = tmp_path / "broken.toml"
    broken.write_text("[[[")
    (tmp_path / "link.toml").symlink_to(other)
    (tmp_path / "script.toml").symlink_to(tmp_path / "script.sh")
    for path in (other, broken, tmp_path / "link.toml"):
        with pytest.raises(InputError, match="is no study, and stays as it is; choose another name"):
            bench.save(str(path), replace=True)
    assert other.read_text() == "[project]\n"
    with pytest.raises(InputError, match=r"a study file ends in \.toml"):
        bench.save(str(tmp_path / "script.toml"), replace=True)
    place = bench.save(str(tmp_path / "mine.toml"))
    assert bench.save(str(place), replace=True) == place


def test_a_run_that_psmr_gets_wrong_says_so(bench, monkeypatch, capsys):
    monkeypatch.setattr(job_module, "simulate", lambda *given, **more: 1 / 0)
    job = Job(bench)
    job.wait()
    assert job.words == "ZeroDivisionError: division by zero; please report this"
    assert "ZeroDivisionError" in capsys.readouterr().err

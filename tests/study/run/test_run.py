import os
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import psmr
from psmr.errors import EventError, InputError, PsmrError, PsmrWarning, SchemeError, StudyError
from tests.conftest import ROOT
from tests.internals import atomic, check_writable, dense_points


def test_an_event_stands_twice_and_changes_what_it_should(fault_run):
    t = fault_run.t
    assert fault_run.instants == ((1.0, "fault at bus5"), (1.1, "fault at bus5 cleared, line5-7 tripped"))
    before, after = np.flatnonzero(t == 1.0)
    voltage = fault_run.frame("bus5.v")["bus5.v"].to_numpy()
    # j 1e-4 pu leaves about 0.1 % of the voltage.
    assert voltage[before] > 0.99
    assert voltage[after] < 2e-3
    assert np.array_equal(fault_run.x[before], fault_run.x[after])


def test_frame_has_a_column_per_signal(fault_run):
    everything = fault_run.frame()
    assert everything.shape == (len(fault_run.t), 33 + 30 + 18)
    assert everything.index.name == "t"
    assert list(fault_run.frame("*.omega").columns) == ["G1.omega", "G2.omega", "G3.omega"]
    assert list(fault_run.frame(["bus5.v", "G?.delta"]).columns) == [
        "bus5.v",
        "G1.delta",
        "G2.delta",
        "G3.delta",
    ]
    bus = everything[["bus5.v_re", "bus5.v_im", "bus5.v", "bus5.angle"]].to_numpy().T
    assert np.allclose(bus[0] + 1j * bus[1], bus[2] * np.exp(1j * bus[3]), atol=1e-14)


def test_a_signal_that_is_not_there_is_named(fault_run):
    with pytest.raises(
        InputError, match=r"there is no signal 'G1.omga'; did you mean 'G1.omega'\?; .*\('\*.omega'\)"
    ):
        fault_run.frame("G1.omga")


def test_csv_and_parquet_read_back_to_the_last_digit(fault_run, tmp_path):
    fault_run.to_csv(tmp_path / "run.csv")
    fault_run.to_parquet(tmp_path / "run.parquet", "*.omega")
    table = pd.read_csv(
        tmp_path / "run.csv", float_precision="round_trip"
    )  # pandas 2 has a bit amiss otherwise
    assert np.array_equal(table["t"], fault_run.t)
    assert np.array_equal(table[list(fault_run.names_x)], fault_run.x)
    parquet = pd.read_parquet(tmp_path / "run.parquet")
    assert list(parquet.columns) == ["t", "G1.omega", "G2.omega", "G3.omega"]
    assert np.array_equal(parquet["G2.omega"], fault_run.values("G2.omega")[:, 0])


def test_parquet_without_pyarrow_says_what_to_install(fault_run, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(PsmrError, match=r'pip install "pyarrow", or write CSV'):
        fault_run.to_parquet(tmp_path / "run.parquet")
    assert not list(tmp_path.iterdir())


def test_the_certificate_is_the_deformation_report_in_four_lines(fault_run, system, scheme):
    report = psmr.deformation(system.linearise(), scheme)
    certificate = fault_run.certificate
    assert certificate.stable
    assert certificate.spectral_radius == report.spectral_radius
    assert certificate.deformation == report.dominant["relative_deformation"]
    assert certificate.mode == complex(report.dominant["real"], report.dominant["imag"])
    text = str(certificate)
    assert "dominant mode: -0.1956" in text
    assert "deformed by 1.44 %" in text
    assert "partition: 3 of 33 states" in text
    assert "scheme: multirate FEM" in text
    assert "slowest-decaying simulated mode: -0.04" in text


def test_work_stands_beside_single_rate(fault_run):
    stats = fault_run.stats
    text = str(stats)
    assert f"{stats.counters.macro_steps} macro steps" in text
    assert "compared with a single-rate run at 5 ms (estimate by matrix rows): " in text
    # 3 of 63 variables take the fast steps: the work must be well below that of single rate.
    assert stats.volume.factorisations < 0.5 * stats.single_rate.factorisations
    assert stats.record()["counters"]["steps"] == stats.counters.steps


def test_single_rate_has_no_comparison(system):
    run = psmr.simulate(system, psmr.SingleRate("TM", h=0.01), 0.1)
    assert run.stats.single_rate is None
    assert "single rate" not in str(run.stats)
    assert "partition: none" in str(run.certificate)


def test_all_records_the_fast_points(system, scheme):
    run = psmr.simulate(system, scheme, 0.2, all=True, certify=False)
    assert np.allclose(run.t, np.linspace(0.0, 0.2, 41))
    assert run.certificate is None
    assert "Certificate" not in run.summary()


def test_start_takes_the_place_of_the_equilibrium(system, scheme):
    x = system.x0
    x[system.names_x.index("G1.omega")] += 1e-3
    run = psmr.simulate(system, scheme, 0.1, start=(x, system.y0))
    assert np.array_equal(run.x[0], x)
    assert np.abs(system.g(run.x[0], run.y[0])).max() < 1e-10


def test_an_unstable_scheme_is_warned_about_before_the_run(system):
    # Forward Euler on the voltage transducers of 1 ms: |1 - 0.0025 / 0.001| = 1.5.
    scheme = psmr.SingleRate("FEM", h=0.0025)
    seen = []
    with pytest.warns(
        PsmrWarning, match=r"accuracy check before the run: Unstable.*\|z\| = 1\.5.*take a smaller step"
    ):
        run = psmr.simulate(system, scheme, 0.005, progress=seen.append)
    assert not run.certificate.stable


def test_an_unstable_system_is_warned_of_once_and_not_blamed_on_the_scheme(system):
    from psmr import certify

    linear = system.linearise()
    # A machine that its own speed drives away.
    k = system.names_x.index("G1.omega")
    fx = linear.fx.tolil()
    fx[k, k] += 20.0
    steps = {"the median step": 0.005, "the longest step": 0.02}
    with pytest.warns(PsmrWarning) as caught:
        certificate = certify(system, psmr.VariableStep(), linear=replace(linear, fx=fx.tocsc()), steps=steps)
    assert certificate.verdict.startswith("The linearised system is unstable")
    (words,) = [str(warning.message) for warning in caught]
    assert words.startswith(
        "accuracy check of the run, at the steps that were taken: The linearised system is"
    )
    assert "take a smaller" not in words


def test_a_large_system_says_that_it_has_no_certificate(system, scheme, monkeypatch):
    from tests.internals import certify_module as module

    monkeypatch.setattr(module, "LARGEST", 50)
    certificate = module.certify(replace(system), scheme, any_size=False)  # nothing is kept with this one
    assert certificate.stable is None
    assert str(certificate).startswith("not computed: 63 variables are more than the 50")


@pytest.mark.parametrize("t_end", [0.0, -1.0, float("nan"), "10", True])
def test_an_impossible_end_is_refused(system, scheme, t_end):
    with pytest.raises(InputError, match=r"t_end = .*: must be a finite number > 0 in s"):
        psmr.simulate(system, scheme, t_end)


def test_other_wrong_arguments_are_refused(system, scheme, split):
    with pytest.raises(
        SchemeError,
        match=r"scheme is of the type Partition: must be a scheme; use psmr.VariableStep, ",
    ):
        psmr.simulate(system, split, 1.0)
    with pytest.raises(EventError, match="no bus 77"):
        psmr.simulate(system, scheme, 1.0, [psmr.Fault(77, 0.1, 0.2)])


def test_runs_can_be_pickled(fault_run):
    again = pickle.loads(pickle.dumps(fault_run))
    assert np.array_equal(again.y, fault_run.y)
    assert again.scheme == fault_run.scheme
    assert again.events == fault_run.events
    assert again.certificate == fault_run.certificate


def test_a_failed_write_leaves_nothing(tmp_path):
    target = tmp_path / "new" / "file.csv"

    def broken():
        with atomic(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert not list(tmp_path.iterdir())


def test_a_write_replaces_the_whole_file(tmp_path):
    target = tmp_path / "file.txt"
    target.write_text("old")
    with atomic(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]


def test_an_unwritable_folder_is_found_and_named(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(
        StudyError, match=r"cannot write to .*file.inside: .*file is a file and no folder; name a folder"
    ):
        check_writable(blocker / "inside")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_found(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StudyError, match="Permission denied"):
        check_writable(tmp_path / "new")


def test_looking_for_a_folder_leaves_no_trace(tmp_path):
    check_writable(tmp_path / "a" / "b")
    assert not list(tmp_path.iterdir())


def test_times_outside_the_run_by_rounding_are_its_ends():
    system = psmr.build(psmr.read_case(ROOT / "cases" / "wscc9" / "wscc9.toml"))
    run = psmr.simulate(system, t_end=1.0, events=[psmr.LoadTrip(5, 0.5, 0.1)], certify=False)
    times = np.arange(0.2, 1.001, 0.1)
    assert times[-1] > 1.0
    found = run.at(times, ["G1.omega", "bus5.v_re"])
    assert found.iloc[-1].tolist() == run.frame(["G1.omega", "bus5.v_re"]).iloc[-1].tolist()
    with pytest.raises(InputError, match="must be within the run"):
        run.at(1.0 + 1e-6)


def test_dense_points_at_recorded_times_are_the_recorded_ones():
    # Whatever stood in memory was returned at the end of a span.
    system = psmr.build(psmr.read_case(ROOT / "cases" / "wscc9" / "wscc9.toml"))
    run = psmr.simulate(system, t_end=1.0, events=[psmr.LoadTrip(5, 0.5, 0.1)], certify=False)
    points = np.hstack([run.x, run.y])
    event = int(np.flatnonzero(run.t == 0.5)[-1])
    times = np.array([0.0, run.t[3], 0.5, 1.0])
    found = dense_points(system, run.spans, run.t, points, times)
    np.testing.assert_array_equal(found, points[[0, 3, event, -1]])

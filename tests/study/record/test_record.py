"""What a run keeps: chosen signals, every k-th step, in memory or not, written while it goes."""

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest

import psmr
from psmr.errors import PsmrWarning, SimulationError
from tests.internals import csv_floats_module as csv_floats
from tests.internals import detection_module as detection

FAULT = psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")
TM = psmr.SingleRate("TM", h=0.005)
SIGNALS = ["*.omega", "bus5.v", "bus5.v_re", "bus*.angle", "G1.p", "line4-5.q_from", "bus7.frequency"]


@pytest.fixture(scope="module")
def whole(system):
    return psmr.simulate(system, TM, 2.0, [FAULT])


@pytest.fixture(scope="module")
def kept(system):
    return psmr.simulate(system, TM, 2.0, [FAULT], record=SIGNALS)


def test_chosen_signals_are_those_of_the_whole_run(whole, kept):
    names = whole.signals.select(SIGNALS)
    assert set(kept.signals.select("*")) == set(names)
    np.testing.assert_array_equal(kept.t, whole.t)
    # The network is solved at each point to 1e-12 pu, times admittances up to 20 pu and 100 MVA.
    np.testing.assert_allclose(kept.values(names), whole.values(names), rtol=0, atol=2e-9)
    assert kept.names_y == ("bus5.v_re",)
    assert kept.x.shape[1] == 3


def test_outcome_and_certificates_do_not_depend_on_what_is_kept(whole, kept, system):
    thin = psmr.simulate(system, TM, 2.0, [FAULT], record=psmr.Record(every=50))
    assert kept.outcome == thin.outcome == whole.outcome
    assert kept.certificate_after == thin.certificate_after == whole.certificate_after
    assert kept.judgement == whole.judgement


PARTS = [
    {"record": ["bus*.v", "*.omega"]},
    {"record": "G1.delta"},
    {"every": 7},
    {"record": psmr.Record("bus5.v", every=1000)},
    {"record": psmr.Record(memory=0.001)},
]


@pytest.mark.parametrize(
    ("case", "events", "scheme"),
    [
        ("wscc9", [FAULT], psmr.VariableStep()),
        ("wscc9", [], psmr.VariableStep(1e-3)),
        ("wscc9", [FAULT, psmr.LoadTrip(5, 1.4, 0.3)], psmr.VariableStep(1e-5, "ESDIRK43")),
        ("kundur", [psmr.LoadTrip(7, 1.0, 0.05)], psmr.VariableStep()),
        ("kundur/thyristor", [psmr.LineTrip("line7-8-2", 0.5)], psmr.VariableStep(h_max=0.7)),
        ("wscc9/sauer-pai", [psmr.SetPoint("AVR2", "v_ref", 0.5, 0.01)], psmr.SingleRate("BEM", 0.05)),
    ],
)
def test_what_is_kept_decides_nothing(case, events, scheme):
    """Steps, certificates, error, colour and reasons are those of the run, known while it goes."""
    alike(psmr.build(psmr.case(case)), events, scheme, PARTS)


@pytest.mark.slow
def test_what_is_kept_decides_nothing_with_delays(system):
    alike(psmr.with_delays(system, {"AVR1.v": 0.06}), [FAULT], psmr.VariableStep(), PARTS[:3])


def alike(system, events, scheme, parts):

    def run(**choices):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = psmr.simulate(system, scheme, 2.0, events, **choices)
        return found, [str(w.message) for w in caught if issubclass(w.category, PsmrWarning)]

    whole, said = run()
    for part in parts:
        kept, words = run(**part)
        assert kept.certificates == whole.certificates
        assert [c.at_steps for c in kept.certificates] == [c.at_steps for c in whole.certificates]
        assert kept.judgement == whole.judgement
        assert words == said
        if scheme.step_choice is not None:
            np.testing.assert_array_equal(kept.taken, whole.t)


def test_a_run_that_fails_is_certified_at_its_steps_whatever_was_kept():
    system = psmr.build(psmr.case("wscc9"))
    failed = []
    for part in ({}, {"every": 5}):
        with pytest.raises(
            SimulationError, match="most_steps = 50, 2 that ended at samples or other stops aside"
        ) as caught:
            psmr.simulate(system, psmr.VariableStep(most_steps=50), 5.0, [FAULT], partial=True, **part)
        failed.append(caught.value.partial)
    assert failed[1].certificate == failed[0].certificate
    assert failed[1].certificate.at_steps
    assert failed[1].judgement == failed[0].judgement


def test_loss_of_synchronism_is_seen_whatever_is_kept(system):
    fault = psmr.Fault(bus=5, start=1.0, clear=1.6, trip="5-7")
    runs = [
        psmr.simulate(system, TM, 3.0, [fault], record=record)
        for record in (None, "bus4.v", psmr.Record(every=97))
    ]
    assert runs[0].outcome.lost is not None
    assert runs[0].outcome == runs[1].outcome == runs[2].outcome


def test_the_outcome_is_the_same_however_the_points_come(whole, monkeypatch):
    before = whole.outcome
    monkeypatch.setattr(detection, "AT_ONCE", 7)
    assert dataclasses.replace(whole).outcome == before


def _kept_rows(whole, every):
    rows = []
    for span in whole.spans:
        inside = list(range(span.rows.start, span.rows.stop))
        rows += sorted({*inside[::every], inside[-1]})
    return rows


@pytest.mark.parametrize("every", [2, 7, 10_000])
def test_every_kth_step_of_a_span_is_kept_and_its_ends(whole, system, every):
    thin = psmr.simulate(system, TM, 2.0, [FAULT], every=every)
    rows = _kept_rows(whole, every)
    np.testing.assert_array_equal(thin.t, whole.t[rows])
    np.testing.assert_array_equal(thin.x, whole.x[rows])
    np.testing.assert_array_equal(thin.y, whole.y[rows])
    # The network is solved at each point to 1e-12 pu, times admittances up to 20 pu and 100 MVA.
    np.testing.assert_allclose(thin.values("G2.p"), whole.values("G2.p")[rows], rtol=0, atol=2e-9)


def test_the_angle_turns_on_between_kept_points(system):
    lost = psmr.Fault(bus=5, start=0.2, clear=0.8)
    whole = psmr.simulate(system, TM, 3.0, [lost], certify=False)
    thin = psmr.simulate(system, TM, 3.0, [lost], certify=False, record=psmr.Record(["bus2.angle"], every=40))
    assert np.ptp(whole.values("bus2.angle")) > 2 * np.pi
    rows = _kept_rows(whole, 40)
    np.testing.assert_allclose(thin.values("bus2.angle"), whole.values("bus2.angle")[rows], atol=1e-9)


def test_beyond_its_memory_a_run_is_read_from_a_file(kept, system):
    away = psmr.simulate(system, TM, 2.0, [FAULT], record=psmr.Record(SIGNALS, memory=0))
    assert isinstance(away.t.base, np.memmap) or isinstance(away.t, np.memmap)
    names = kept.signals.select(SIGNALS)
    np.testing.assert_array_equal(away.values(names), kept.values(names))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_written_meanwhile_are_those_written_afterwards(system, kept, tmp_path, ending):
    path = tmp_path / f"run.{ending}"
    psmr.simulate(system, TM, 2.0, [FAULT], record=psmr.Record(SIGNALS, files=[path]))
    later = tmp_path / f"later.{ending}"
    kept.write_table(later, SIGNALS)
    assert path.read_bytes() == later.read_bytes() or ending == "parquet"
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    table = read(path)
    assert list(table.columns) == ["t", *kept.signals.select(SIGNALS)]
    if ending == "parquet":
        np.testing.assert_array_equal(table.to_numpy()[:, 1:], kept.values(SIGNALS))


class Fold(psmr.Component):
    """x' = -1 and 0 = y^2 - x: without a solution from t = 1 on."""

    states = ("x",)
    algebraic = ("y",)

    @staticmethod
    def equations(m, v, p):
        """Return the equations of the class's text."""
        return (-1.0 + 0.0 * v.x,), (v.y**2 - v.x,), ()


def test_a_run_that_fails_leaves_no_file_and_what_it_kept(tmp_path):
    fold = psmr.assemble([psmr.Device("D", Fold, {})], {"D.x": 1.0, "D.y": 1.0})
    record = psmr.Record("D.y", every=3, files=[tmp_path / "run.csv"])
    with pytest.raises(psmr.PsmrError) as caught:
        psmr.simulate(fold, TM, 2.0, certify=False, record=record, partial=True)
    assert not list(tmp_path.iterdir())
    part = caught.value.partial
    assert (part.names_x, part.names_y) == ((), ("D.y",))
    np.testing.assert_allclose(part.values("D.y")[:, 0], np.sqrt(1 - part.t), atol=1e-3)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_full_disk_is_a_message_and_leaves_nothing(kept, tmp_path, ending):
    resource = pytest.importorskip("resource")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, usual[1]))
    try:
        with pytest.raises(psmr.PsmrError, match=r"cannot write to .*run"):
            kept.write_table(tmp_path / f"run.{ending}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert not list(tmp_path.iterdir())


def test_multirate_keeps_fast_points_too(system, scheme):
    whole = psmr.simulate(system, scheme, 0.5, all=True, certify=False)
    kept = psmr.simulate(system, scheme, 0.5, all=True, certify=False, record="G1.*")
    np.testing.assert_array_equal(kept.t, whole.t)
    np.testing.assert_array_equal(kept.values("G1.delta"), whole.values("G1.delta"))


def test_a_scheme_that_chooses_its_steps_is_kept_as_well(system):
    scheme = psmr.VariableStep()
    whole = psmr.simulate(system, scheme, 2.0, [FAULT], certify=False)
    kept = psmr.simulate(system, scheme, 2.0, [FAULT], certify=False, record="G1.omega")
    np.testing.assert_array_equal(kept.values("G1.omega"), whole.values("G1.omega"))
    assert kept.outcome == whole.outcome


def test_plots_reports_and_saved_runs_of_what_was_kept(kept, tmp_path):
    page = tmp_path / "run.html"
    kept.to_html(page)
    assert page.stat().st_size > 10_000
    kept.save(tmp_path / "run.psmr")
    back = psmr.load_run(tmp_path / "run.psmr")
    np.testing.assert_array_equal(back["bus7.frequency"], kept["bus7.frequency"])
    assert back.outcome == kept.outcome
    with pytest.raises(psmr.PsmrError, match=r"kept only what record= asked for"):
        kept["G2.e_q"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"signals": ()}, "at least one"),
        ({"every": 0}, "every = 0: must be a whole number >= 1"),
        ({"memory": -1.0}, "memory = -1.0: must be a finite number >= 0 in MiB"),
        ({"files": ["run.txt"]}, "run.txt: must end in .csv, .parquet or .pq"),
    ],
)
def test_what_cannot_be_kept_is_refused(given, words):
    with pytest.raises(psmr.PsmrError, match=words):
        psmr.Record(**given)


def test_a_signal_that_is_not_there_is_refused_before_the_run(system):
    with pytest.raises(psmr.PsmrError, match=r"there is no signal 'G9\.omega'"):
        psmr.simulate(system, TM, 2.0, record="G9.omega")
    with pytest.raises(psmr.PsmrError, match="record = 5"):
        psmr.simulate(system, TM, 2.0, record=5)
    with pytest.raises(psmr.PsmrError, match="every = 5: the record says it, every = 2; write record="):
        psmr.simulate(system, TM, 2.0, record=psmr.Record(every=2), every=5)
    with pytest.raises(psmr.PsmrError, match="every = 0: must be a whole number >= 1"):
        psmr.simulate(system, TM, 2.0, every=0)


def test_numbers_as_text_are_those_of_repr(monkeypatch):
    draw = np.random.default_rng(7)
    values = np.concatenate(
        [
            draw.integers(0, 2**64, 50_000, dtype=np.uint64).view(float),
            draw.standard_normal(20_000),
            np.round(draw.standard_normal(5_000), 3),
            2.0 ** np.arange(-1074, 1024),
            10.0 ** np.arange(-323, 309),
            np.arange(5_000) * 1e-5,
            [0.0, -0.0, 1.0, 1e16, 1e22, 9007199254740993.0, np.inf, -np.inf, np.nan],
        ]
    )
    monkeypatch.setattr(csv_floats, "FEWEST_COMPILED", 0)
    assert csv_floats.csv_lines(values[:, None]).decode().split() == list(map(repr, values.tolist()))
    assert csv_floats.csv_lines(np.array([[1.5, -2.0], [0.1, 3e-7]])) == b"1.5,-2.0\n0.1,3e-07\n"


def test_a_study_says_what_is_kept(study_text, tmp_path, monkeypatch):
    from tests.internals import run_study

    monkeypatch.chdir(tmp_path)
    text = study_text.replace(
        "t_end = 0.5", 't_end = 0.5\nrecord = ["*.omega", "bus5.v"]\nevery = 2'
    ).replace('signals = ["*.omega"]', "html = false")
    (tmp_path / "s.toml").write_text(text)
    study = psmr.read_study(tmp_path / "s.toml")
    assert study.record == psmr.Record(["*.omega", "bus5.v"], every=2)
    _, run, files = run_study(study)
    assert [file.name for file in files] == ["run.csv"]
    table = pd.read_csv(files[0])
    assert list(table.columns) == ["t", "G1.omega", "G2.omega", "G3.omega", "bus5.v"]
    assert len(table) == len(run.t)
    _, thin, _ = run_study(study, write=False, record={"every": 5})
    assert len(thin.t) < len(run.t)


def test_an_output_that_is_not_kept_is_refused(study_text, tmp_path, monkeypatch):
    from tests.internals import run_study

    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(study_text.replace("t_end = 0.5", 't_end = 0.5\nrecord = ["bus5.v"]'))
    with pytest.raises(psmr.PsmrError, match=r"ask for G1\.omega, which the run does not keep"):
        run_study(psmr.read_study(tmp_path / "s.toml"))


def test_chosen_powers_and_frequencies_are_in_every_table(system, tmp_path):
    run = psmr.simulate(system, TM, 0.1, record=["G1.p", "bus7.frequency"], certify=False)
    names = ["G1.p", "bus7.frequency"]
    assert list(run.signals) == list(run.signals.names) == names
    assert list(run.frame().columns) == names
    run.to_csv(tmp_path / "run.csv")
    assert list(pd.read_csv(tmp_path / "run.csv").columns) == ["t", *names]
    assert list(run.at(0.05).columns) == names
    assert set(run.compare(run).table["signal"]) == set(names)
    assert [ax.get_ylabel() for ax in run.plot().axes] == ["active power [MW]", "bus frequency [Hz]"]


def test_signals_are_listed_and_print_short(whole):
    assert {"G1.p", "line4-5.q_from", "bus7.frequency", "bus5.v", "G1.omega"} <= set(whole.signals)
    assert "G1.p" in whole.signals
    assert len(set(whole.signals)) == len(whole.signals)
    assert len(repr(whole.signals)) < 150

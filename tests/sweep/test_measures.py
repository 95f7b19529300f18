import re
from dataclasses import replace

import numpy as np
import pytest

import psmr
from psmr import ClearingTime, SingleRate, modes
from psmr.errors import StudyError
from tests.internals import Recipe, Split, Start, confirmed_border
from tests.sweep.conftest import CASE


@pytest.fixture(scope="module")
def longer(study):
    return replace(study, t_end=4.0)


def by_hand(case, bus, trip, start, t_end, step=1e-3, upper=0.6):
    """The critical clearing time by bisection, written out: trapezoidal rule, steps and times of 1 ms."""
    system = psmr.build(psmr.read_case(case))
    low, high = 0, round(upper / 1e-3)
    while high - low > 1:
        middle = (low + high) // 2
        fault = psmr.Fault(bus, start, start + middle * 1e-3, trip)
        run = psmr.simulate(system, SingleRate("TM", step), t_end, [fault], certify=False)
        low, high = (middle, high) if run.outcome.lost is None else (low, middle)
    return low * 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(("bus", "line"), [("bus7", "line5-7"), ("bus5", "line5-7"), ("bus9", "line8-9")])
def test_clearing_times_are_those_of_a_bisection_by_hand(longer, tmp_path, bus, line):
    axes = [psmr.BranchOutages(0.1, branches=(line,))]
    found = psmr.sweep(
        longer, axes, psmr.ClearingTime(longest=0.6), folder=tmp_path / "s", workers=1, report=False
    )
    row = found.table.query("bus == @bus").iloc[0]
    expected = by_hand(CASE, bus, line, 0.1, 4.0)
    assert row["critical_clearing_time"] == pytest.approx(expected, abs=1e-9)
    assert row["bounded"]
    assert row["instability_above"].startswith("lost synchronism")


@pytest.mark.slow
def test_a_clearing_time_beside_its_multiple():
    """Kundur's areas: fixed steps of 0.25 ms keep synchronism at 0.789 s and lose it at 0.790 s."""
    system = psmr.build(psmr.read_case(CASE.parents[1] / "kundur" / "kundur.toml"))
    fault = psmr.Fault("bus8", 0.1, 0.2, trip="line8-9")
    values, _ = ClearingTime(longest=0.8).of(
        Start(system, psmr.VariableStep(1e-4), (fault,), (), 5.0, lambda run: None)
    )
    assert values["critical_clearing_time"] == pytest.approx(0.789)
    ends = [replace(fault, clear=0.1 + seconds) for seconds in (0.789, 0.79)]
    runs = [psmr.simulate(system, SingleRate("TM", 2.5e-4), 5.0, [end], certify=False) for end in ends]
    assert [run.outcome.lost is None for run in runs] == [True, False]


@pytest.mark.parametrize("border", [0, 3, 4, 5, 9])
def test_the_border_is_settled_beside_where_it_was_found(border):
    assert confirmed_border(4, 9, lambda count: count <= border) == border


def test_a_clearing_time_at_which_it_is_lost_next(longer, tmp_path):
    axes = [psmr.BusFaults(0.1, buses=("bus7",))]
    measure = psmr.ClearingTime(precision=0.01, longest=0.5)
    found = psmr.sweep(longer, axes, measure, folder=tmp_path / "s", workers=1, report=False)
    row = found.table.iloc[0]
    system = psmr.build(psmr.read_case(CASE))
    kept, lost = (
        psmr.simulate(system, psmr.VariableStep(), 4.0, [psmr.Fault("bus7", 0.1, 0.1 + t)]).outcome.lost
        for t in (row["critical_clearing_time"], row["critical_clearing_time"] + 0.01)
    )
    assert kept is None
    assert lost is not None
    assert "clearing" not in found.table


def test_a_fault_that_may_stay_says_so(longer, tmp_path):
    axes = [psmr.BusFaults(0.1, buses=("bus7",))]
    measure = psmr.ClearingTime(precision=0.01, longest=0.05)
    found = psmr.sweep(longer, axes, measure, folder=tmp_path / "s", workers=1)
    row = found.table.iloc[0]
    assert row["critical_clearing_time"] == pytest.approx(0.05)
    assert not row["bounded"]
    assert found.headline.endswith("to 0.05 s, 1 of them above the longest time tried.")
    assert row["trials"] == 2  # the second with a hundredth of the tolerance


def test_fixed_steps_leave_their_error_in_a_clearing_time(longer, tmp_path):
    """The terminal and the page say it once for all points; with steps of the scheme's choice nobody does."""
    axes = [psmr.BusFaults(0.1, buses=("bus5", "bus7"))]
    measure = psmr.ClearingTime(precision=0.2, longest=0.2)
    words = "the steps of the scheme are fixed, and their error is in the critical clearing time"
    for recipe, count in ((Recipe({"method": "TM", "h": 0.02}, kind="single"), 1), (longer.recipe, 0)):
        folder = tmp_path / recipe.kind
        found = psmr.sweep(replace(longer, recipe=recipe), axes, measure, folder=folder, workers=1, worst=0)
        assert str(found).count(f"\n\nWarnings:\n  2: {words}") == count
        assert (folder / "sweep.html").read_text().count(f"<dt>2 points</dt><dd>{words}") == count


def test_a_run_too_short_for_the_longest_fault(study, tmp_path):
    axes = [psmr.BusFaults(0.1, buses=("bus7",))]
    with pytest.raises(
        StudyError, match=r"longest \(of the measure\) = 1: .*at t_end = 1 s; lengthen the run"
    ):
        psmr.sweep(study, axes, psmr.ClearingTime(), folder=tmp_path / "s", workers=1, report=False)


class Twice(psmr.Damping):
    """A measure of one's own, which lets faults last as long as it will."""

    longest_fault = 2.0

    def check(self, study, events):
        """Take every study."""


def test_a_measure_says_how_long_its_faults_last(study, tmp_path):
    axes = [psmr.BusFaults(0.1, buses=("bus7",))]
    with pytest.raises(StudyError, match=r"longest \(of the measure\) = 2: a fault at 0.1 s is not cleared"):
        psmr.sweep(study, axes, Twice(), folder=tmp_path / "s", workers=1, report=False)


def test_a_clearing_time_needs_a_fault(study):
    with pytest.raises(StudyError, match=r"is about a fault, and there is none; add an axis of faults"):
        psmr.Sweep(study, (psmr.ParameterAxis("G1", "h", values=(20.0,)),), psmr.ClearingTime())


@pytest.mark.parametrize("clearing", [(0.1,), (0.3,), (0.1, 0.2)])
def test_clearing_belongs_to_the_measure(study, clearing):
    words = (
        rf"bus-faults: clearing = {re.escape(str(list(clearing)))}: .* finds the clearing time itself; leave"
    )
    with pytest.raises(StudyError, match=words):
        psmr.Sweep(study, (psmr.BusFaults(0.1, clearing=clearing),), psmr.ClearingTime())


def test_damping_is_that_of_the_modes(study, tmp_path):
    axes = [psmr.ParameterAxis("G2", "h", values=(3.0, 6.4))]
    found = psmr.sweep(study, axes, psmr.Damping(), folder=tmp_path / "s", workers=1)
    table = modes(psmr.build(psmr.read_case(CASE)).linearise())
    band = table[table["pair"] & table["frequency_hz"].between(0.05, 5.0)]
    least = band.sort_values("damping_ratio").iloc[0]
    row = found.table.iloc[1]
    assert row["damping_ratio"] == pytest.approx(least["damping_ratio"], rel=1e-9)
    assert complex(row["mode_real"], row["mode_imag"]) == pytest.approx(
        complex(least["real"], least["imag"]), rel=1e-9
    )
    assert len(row["real"]) == len(band)
    assert (found.folder / "root-locus.svg").exists()


def test_damping_over_two_parameters_is_a_map(study, tmp_path):
    axes = [psmr.ParameterAxis(g, "h", start=3.0, stop=9.0, count=3) for g in ("G2", "G3")]
    found = psmr.sweep(study, axes, psmr.Damping(), folder=tmp_path / "s", workers=1)
    assert (found.folder / "damping.svg").exists()
    assert found.ranked()["damping_ratio"].is_monotonic_increasing


def test_damping_takes_no_events(study, faults):
    with pytest.raises(StudyError, match="leave the events out"):
        psmr.Sweep(study, (faults,), psmr.Damping())


def test_stability_is_that_of_the_pencil(study, tmp_path):

    recipe = Recipe({"h_slow": 0.05, "ratio": 10}, Split(delta=20.0))
    axes = [psmr.SchemeAxis("ratio", (2.0, 10.0)), psmr.SchemeAxis("h_slow", (0.02, 0.05, 0.1))]
    found = psmr.sweep(
        replace(study, recipe=recipe), axes, psmr.Stability(), folder=tmp_path / "s", workers=1
    )
    system = psmr.build(psmr.read_case(CASE))
    linear = system.linearise()
    for row in found.table.to_dict("records"):
        choices = {"h_slow": row["scheme.h_slow"], "ratio": int(row["scheme.ratio"])}
        scheme = Recipe(choices, Split(delta=20.0)).scheme(linear)
        report = psmr.deformation(linear, scheme)
        assert row["spectral_radius"] == pytest.approx(report.spectral_radius, rel=1e-12)
        assert row["stable"] == report.stable
    assert (found.folder / "stability.svg").exists()


def test_a_scheme_without_steps_has_no_stability(study, tmp_path):
    axes = [psmr.SchemeAxis("tolerance", (1e-3, 1e-4))]
    found = psmr.sweep(study, axes, psmr.Stability(), folder=tmp_path / "s", workers=1)
    assert set(found.table["status"]) == {"failed"}
    assert found.table["message"].str.contains("chooses its own steps").all()
    assert "2 failed" in (found.folder / "sweep.html").read_text()


def test_a_verdict_is_in_the_headline_and_the_order(study, tmp_path):
    axes = [psmr.ParameterAxis("G1", "h", (20.0, 23.0))]
    found = psmr.sweep(study, axes, folder=tmp_path / "s", workers=1)
    table = found.table.assign(verdict=["amber", "red"], angle_spread=[9.0, 1.0])
    told = replace(found, table=table)
    assert told.headline == "2 points, 0 lost synchronism, 1 red for another reason, 1 amber."
    assert told.ranked()["run"].tolist() == table["run"].tolist()[::-1]


def test_a_page_leads_to_the_worst_runs(longer, tmp_path):
    axes = [psmr.BranchOutages(0.1, clearing=(0.05, 0.3), branches=("line5-7", "line8-9"))]
    found = psmr.sweep(longer, axes, folder=tmp_path / "s", workers=1, worst=2)
    page = (found.folder / "sweep.html").read_text()
    worst = found.ranked()["run"].head(2).tolist()
    assert found.ranked()["synchronism"].iloc[0] == "lost"
    for number in worst:
        assert f'href="worst/run-{number}.html"' in page
        assert (found.folder / "worst" / f"run-{number}.html").exists()
    assert np.isfinite(found.table["angle_spread"]).all()
    assert str(found).startswith("WSCC-9: 8 points")


def test_a_row_has_the_certificate_at_the_steps_of_its_run(longer, tmp_path):
    """The modes are found once for all rows; the step operator at the steps of the run says the same."""
    axes = [psmr.BusFaults(0.1, clearing=(0.1,), buses=("bus7",))]
    found = psmr.sweep(longer, axes, folder=tmp_path / "s", workers=1, worst=0, report=False)
    row = found.table.iloc[0]
    system = psmr.build(psmr.read_case(CASE))
    fault = psmr.Fault("bus7", 0.1, 0.2)
    run = psmr.simulate(system, longer.recipe.scheme(system.linearise()), longer.t_end, [fault])
    expected = run.certificate
    assert row["stable"] == expected.stable
    assert row["certificate"] == expected.verdict
    assert row["spectral_radius"] == pytest.approx(expected.spectral_radius, rel=1e-9)
    assert complex(row["mode_real"], row["mode_imag"]) == pytest.approx(expected.mode, rel=1e-9)
    assert row["deformation"] == pytest.approx(expected.deformation, rel=1e-6)


def test_a_row_that_kept_synchronism_says_what_is_wrong(study, tmp_path):
    """Backward Euler at 100 ms damps the swings too much; criteria of the study make an outcome red."""
    recipe = Recipe({"method": "BEM", "h": 0.1}, kind="single")
    axes = [psmr.SchemeAxis("h", (0.001, 0.1))]
    found = psmr.sweep(
        replace(study, recipe=recipe), axes, folder=tmp_path / "s", workers=1, worst=0, report=False
    )
    assert found.table["synchronism"].tolist() == ["kept", "kept"]
    fine, coarse = found.table.to_dict("records")
    assert (fine["verdict"], coarse["verdict"]) == ("green", "amber")
    assert coarse["reason"].startswith("The scheme damps the pre-disturbance system too much")
    narrow = replace(study, recipe=recipe, criteria=psmr.Criteria(v_trip=1.03, v_high=1.02, v_end_high=1.02))
    found = psmr.sweep(narrow, axes[:1], folder=tmp_path / "n", workers=1, worst=0, report=False)
    assert set(found.table["verdict"]) == {"red"}
    assert "above 1.03 pu" in found.table["reason"].iloc[0]


def test_samples_are_points_over_a_number(longer, tmp_path):
    axes = [
        psmr.SampleAxis("G2", "h", 5, 1, low=4.0, high=8.0, together="machines"),
        psmr.SampleAxis("G3", "h", 5, 2, low=2.0, high=4.0, together="machines"),
        psmr.BusFaults(0.1, buses=("bus7",)),
    ]
    found = psmr.sweep(longer, axes, folder=tmp_path / "s", workers=1, worst=0)
    assert len(found.table) == 5
    assert (found.folder / "outcomes.svg").exists() or (found.folder / "angle-spread.svg").exists()

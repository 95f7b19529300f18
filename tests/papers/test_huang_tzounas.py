"""The paper's tables and figures on our WSCC 9-bus systems: what agrees, what does not, and why."""

import re

import numpy as np
import pytest

from psmr import SingleRate
from psmr.papers.huang_tzounas.runs import (
    PRINTED_MODE,
    dominant,
    interpolation,
    lag_law,
    largest_errors,
    percent,
    settings,
    slow_residuals,
    threshold_errors,
    threshold_scheme,
)
from psmr.papers.huang_tzounas.tables import (
    MANY,
    PAIRS,
    critical,
    other_partitions,
    published_critical_step,
    ratios,
    ringdowns,
    table_1,
    table_2,
    thresholds,
)
from tests.papers.mutated import assert_followed


@pytest.fixture(scope="module")
def both():
    return settings()


@pytest.fixture(scope="module")
def wscc9(both):
    """The system whose transducers alone are fast; the paper's own is in test_wscc9_static."""
    return both.transducers


@pytest.fixture(scope="module")
def converters(both):
    return both.converters


def test_the_dominant_mode_is_the_papers(wscc9):
    assert wscc9.linear.n == 33
    assert abs(wscc9.mode - PRINTED_MODE) < 1e-5 * abs(PRINTED_MODE)
    # The paper prints 2.79 % for this very eigenvalue.
    assert -PRINTED_MODE.real / abs(PRINTED_MODE) == pytest.approx(0.02336, abs=5e-6)


def test_table_1_is_what_runs_count(wscc9):
    table = table_1(wscc9).set_index("scheme")
    columns = ["factorisations n+m", "factorisations y^P", "factorisations n_f+m_f", "factorisations n_s+m_s"]
    assert list(table.loc["single rate at h_fast", columns]) == [10, 0, 0, 0]
    for words in ("", ", all y fast"):
        assert list(table.loc[f"multirate, explicit predictor{words}", columns]) == [0, 1, 10, 1]
        assert list(table.loc[f"multirate, implicit predictor{words}", columns]) == [1, 0, 10, 1]
    assert (table["beyond the plan"] == 0).all()
    # Equation (19) solves for every algebraic variable, Table 1 says m_s, which is 0 here.
    row = table.loc["multirate, explicit predictor, all y fast"]
    assert (row["order of y^P"], row["m_s"]) == (30, 0)
    assert (row["order n_f+m_f"], row["order n_s+m_s"]) == (33, 30)


def test_table_2_to_a_hundredth_of_a_point(wscc9):
    table = table_2(wscc9)
    for words in ("", ", all y fast"):
        off = (table[f"paper{words} [%]"] - table[f"published pencil{words} [%]"]).abs()
        assert off.max() < 0.01
    # One explicit fast step, |s| h_f / 2, while the macro step bends the mode in proportion to h_s squared.
    law = 100 * abs(wscc9.mode) * table["h_fast [s]"] / 2
    assert np.allclose(table["published pencil [%]"], law, rtol=2e-3)
    exact = table["exact pencil [%]"]
    assert exact[1] / exact[0] == pytest.approx(4.0, rel=0.01)
    assert list(exact.round(3)) == [0.015, 0.059, 1.435, 5.341, 5.341, 5.341]
    assert (table["exact |z|"] <= 1.0).all()
    assert (table["published |z|"] > 1.0).sum() == 5
    assert list(table["exact |z|, all y fast"] > 1.0) == [False, False, False, True, True, True]


def test_nonlinear_ringdowns_side_with_the_exact_pencil(wscc9):
    table = ringdowns(wscc9)
    assert table["exact off by"].max() < 1e-6
    assert table["published off by"].min() > 0.01


def test_critical_step_of_the_fem_predictor(wscc9):
    # The paper's 0.005 s is where forward Euler makes the mode grow, |1 + h s| = 1.
    explicit = -2.0 * wscc9.mode.real / abs(wscc9.mode) ** 2
    assert published_critical_step(wscc9) == pytest.approx(explicit, rel=2e-3)
    assert explicit == pytest.approx(0.00558, abs=5e-6)

    def unstable(h_fast, predictor, split):
        return not wscc9.deform(wscc9.scheme(predictor, "TM", h_fast, 10, split)).stable

    for predictor in ("FEM", "TM", "BEM"):
        assert np.isinf(critical(lambda h, p=predictor: unstable(h, p, wscc9.split)))
    step = critical(lambda h: unstable(h, "FEM", wscc9.all_y_fast))
    assert step == pytest.approx(0.00694, rel=5e-3)
    assert np.isinf(critical(lambda h: unstable(h, "TM", wscc9.all_y_fast)))
    # The nonlinear runs on both sides of it, kicked along the mode that goes.
    kicked = complex(-0.805262, 12.845627)
    for factor, sign in ((0.98, -1.0), (1.02, 1.0)):
        scheme = wscc9.scheme("FEM", "TM", factor * step, 10, wscc9.all_y_fast)
        table = wscc9.deform(scheme).table
        row = table.iloc[(table["imag"] - kicked.imag).abs().argmin()]
        expected = complex(row["real_numerical"], row["imag_numerical"])
        seen = wscc9.ringdown(scheme, kicked=kicked, expected=expected)
        assert np.sign(seen.real) == sign
        assert abs(seen - expected) < 1e-5 * abs(expected)


def test_figures_3_to_5_signs_and_orders(wscc9):
    def bent(predictor, solution):
        return dominant(wscc9.deform(wscc9.scheme(predictor, solution, 0.005, 10)))

    change = {pair: (bent(*pair) - wscc9.mode) / abs(wscc9.mode) for pair in PAIRS}
    # TM solution slightly under-damped, less so with BEM prediction; BEM solution strongly over-damped.
    assert 0.0 < change["BEM", "TM"].real < change["TM", "TM"].real < 0.0015
    assert 0.0 < change["FEM", "TM"].real < 0.01
    assert change["BEM", "BEM"].real < change["TM", "BEM"].real < -0.15
    assert abs(change["BEM", "TM"].imag) < abs(change["TM", "TM"].imag)
    assert abs(change["BEM", "BEM"].imag) < abs(change["TM", "BEM"].imag)
    assert min(change, key=lambda pair: abs(change[pair])) == ("BEM", "TM")
    # The published pencil would make the best pair the worst.
    published = wscc9.deform(wscc9.scheme("BEM", "TM", 0.005, 10), "published")
    assert percent(published) == pytest.approx(39.1, abs=0.1)


def test_with_more_in_the_fast_set_the_best_pair_is_another(wscc9):
    table = other_partitions(wscc9).set_index("partition")
    for name in ("delta = 5", "delta = 20, all y fast"):
        row = table.loc[name]
        assert row["TM/TM [%]"] < row["FEM/TM [%]"] < row["BEM/TM [%]"]
        assert row["TM/BEM real"] < row["BEM/BEM real"]


def test_figure_6_alternates_with_the_ringing_of_the_transducers(wscc9):
    table = ratios(wscc9).set_index("r")
    bent = table["FEM exact [%]"]
    assert bent[6] > bent[5]
    less = bent.loc[2:8] - bent[MANY]
    assert (np.sign(less) == np.sign(table["R^r"].loc[2:8])).all()
    assert (np.diff(table["FEM published [%]"]) < 0).all()
    # The spline makes the deformation even.
    linear, spline = (np.ptp(table[name].loc[2:10]) for name in ("TM exact [%]", "TM spline exact [%]"))
    assert spline < 0.1 * linear


def test_figures_7_to_10_damping(wscc9):
    table = largest_errors(wscc9)
    left = table["swing left, of the reference"]
    tm, bem = table["scheme"].str.endswith("TM solution"), table["scheme"].str.endswith("BEM solution")
    assert ((left[tm] > 1.0) & (left[tm] < 1.05)).all()
    assert (left[bem] < 0.15).all()
    for events in ("load trip", "fault"):
        by = table[(table["events"] == events) & tm].set_index("scheme")["swing left, of the reference"]
        assert by["BEM prediction, TM solution"] < by["TM prediction, TM solution"]
        errors = table[table["events"] == events]["largest error [pu]"]
        assert errors[tm].max() < 0.35 * errors[bem].min()


def test_figure_11_spline_against_linear(wscc9, converters):
    original = interpolation(wscc9, 20.0, 0.05)
    # No better and no worse: the trapezoidal error of the slow states hides what the interpolation does.
    for name in ("rms", "largest"):
        ratio = original[f"spline / linear, {name}"]
        assert (ratio > 0.97).all()
        assert (ratio < 1.01).all()
    assert (interpolation(wscc9, 5.0, 0.05)["spline / linear, largest"] < 0.96).all()
    assert (interpolation(converters, 5.0, 0.01)["spline / linear, rms"] < 0.9).all()


def test_figure_11_is_irregular_by_the_lag_of_a_jump(wscc9):
    assert wscc9.numerical_oscillation(0.05, 5) == pytest.approx((-2 / 3) ** 5)
    # Many fast steps: the slow regulators see the jump after half a macro step.
    assert wscc9.lag_of_jump(0.05, 100) == pytest.approx(0.025)
    table = interpolation(wscc9, 20.0, 0.05).sort_values("lag of a jump [s]")
    assert (np.diff(table["linear, rms [pu]"]) > 0).all()
    law = lag_law(wscc9).set_index("r")
    assert (law.loc["5":"8", "from the law [pu]"] < 0.05 * law.loc["5":"8", "from r = 10 [pu]"]).all()
    assert law.loc["single rate", "from the law [pu]"] < 0.02 * law.loc["single rate", "from r = 10 [pu]"]


def test_figure_12_residuals(wscc9):
    (tm, bem), (coarse, middle, fine), (linear, spline) = slow_residuals(wscc9)
    assert tm.value[tm.t < 1.0].max() < 1e-12  # equilibrium
    late = 2.0
    peaks = [curve.value[curve.t > late].max() for curve in (coarse, middle, fine)]
    # h_slow squared over eight times the curvature: a quarter for half the step.
    assert peaks[0] / peaks[1] == pytest.approx(4.0, rel=0.02)
    assert peaks[1] / peaks[2] == pytest.approx(4.0, rel=0.02)
    assert bem.value.max() == pytest.approx(tm.value.max(), rel=0.01)
    assert spline.value[spline.t > late].max() < 0.01 * linear.value[linear.t > late].max()
    assert linear.value[linear.t > 9.0].max() < 0.2 * linear.value[linear.t < 3.0].max()


@pytest.mark.parametrize(("delta", "h"), [(0.0, 0.001), (np.inf, 0.005)])
def test_ends_of_figure_13_are_single_rate(both, delta, h):
    for setting in (both.paper, both.converters):
        scheme, single = threshold_scheme(setting, delta), SingleRate("TM", h)
        assert dominant(setting.deform(scheme)) == pytest.approx(dominant(setting.deform(single)), rel=1e-9)
        ours, theirs = setting.run(scheme), setting.run(single)
        at = np.searchsorted(theirs.t, ours.t + 1e-9) - 1
        # Ten thousand steps, each solved to 1e-10.
        assert np.abs(ours.values("*.omega") - theirs.values("*.omega")[at]).max() < 1e-8


def test_figure_13_over_the_threshold(wscc9, converters):
    deltas = (0.0, 1.0, 2.0, 7.0, 20.0, np.inf)
    bent = thresholds(wscc9, deltas)["exact pencil [%]"]
    assert bent[0] == bent.min()
    assert np.allclose(bent[2:] / bent[0], 25.0, rtol=0.02)  # (h_slow / h_fast) squared
    errors = threshold_errors(wscc9, deltas).set_index("delta [1/s]")["largest error [pu]"]
    # Fast transducers beside slow regulators are worse than single rate at the macro step.
    assert errors[20.0] > 4.0 * errors[np.inf]
    assert errors[7.0] < 1.2 * errors[np.inf]
    others = threshold_errors(converters, (2.0, 20.0, 500.0, np.inf))["largest error [pu]"]
    assert (np.diff(others[:4]) > 0).all()


@pytest.mark.slow
def test_the_whole(tmp_path):
    from psmr.papers.catalogue import parts, reproduce

    words = []
    result = reproduce("huang-tzounas", tmp_path, words.append)
    assert_followed("huang-tzounas", result)
    assert tuple(words) == parts("huang-tzounas")
    assert [path.name for path in result.figures.values()] == [f"figure-{k:02d}.png" for k in range(2, 14)]
    assert all(path.stat().st_size > 20_000 for path in result.figures.values())
    assert result.count("misprint") == 2
    table = result.tables["Statements on each parameter set"].set_index("statement")["on"]
    assert table["Section 4: dominant mode"] == "all"
    assert table["Table 2: the same at 1 ms for h_s = 5, 10, 50 ms, by the exact pencil"] == "none"
    assert not re.search(r"\bnan\b", " ".join(map(str, result.findings)))
    assert (tmp_path / "index.html") in result.write(tmp_path)

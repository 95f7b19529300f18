"""Margins of load by bisection, against the closed form of one load behind a tap changer and a line."""

import numpy as np
import pytest

import psmr
from psmr.errors import StudyError
from tests.study.outcome.test_voltage_collapse import CASE

P, Q, E, LINE, TRANSFORMER = 0.6, 0.1, 1.03, 0.5, 0.1


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("margin")
    (folder / "one.toml").write_text(CASE.replace("LOAD", "60.0"))
    (folder / "study.toml").write_text(
        'format = "psmr-study"\nversion = 1\ncase = "one.toml"\n'
        "[simulation]\nt_end = 600.0\n"
        '[[event]]\ntype = "line-trip"\nline = "line1-2-2"\nstart = 200.0\n'
    )
    return psmr.read_study(folder / "study.toml")


def room(factor, v):
    """Above zero while the line can supply the load at a voltage v: E^4/4 - X Q E^2 - X^2 P^2 > 0.

    The load has its power at the voltage of the power flow, over both lines.
    """
    x, p, q = LINE / 2 + TRANSFORMER, factor * P, factor * Q
    b = E**2 / 2 - q * x
    v_0 = np.sqrt(b + np.sqrt(b * b - x * x * (p * p + q * q)))
    p, q = p * v / v_0, q * (v / v_0) ** 2
    q += TRANSFORMER * (p * p + q * q) / v**2
    return E**4 / 4 - LINE * q * E**2 - (LINE * p) ** 2


@pytest.mark.slow
def test_the_margin_is_that_of_the_closed_form(study, tmp_path):
    """Between those of a load that is restored to the middle of the dead band and to its lower end."""
    axis = psmr.LoadAxis((0.0, 5.0))
    measure = psmr.LoadMargin(step=1.0, most=60.0)
    found = psmr.sweep(study, [axis], measure, folder=tmp_path / "s", workers=1, report=False)
    first, second = found.table["load_margin"]
    most = [next(k for k in range(200) if room(1 + k / 60, v) < 0) - 1 for v in (1.0, 0.99)]
    assert most[0] <= first <= most[1] + 1
    assert second == first - 5.0
    assert found.table["bounded"].all()
    assert found.table["unstable_then"].str.contains("nose|collaps").all()
    assert found.headline.startswith(f"2 points, load margins from {second:g} MW to {first:g} MW")


def test_outcomes_say_what_collapsed(study, tmp_path):
    axis = psmr.LoadAxis((0.0, 40.0), loads=3)
    found = psmr.sweep(study, [axis], folder=tmp_path / "s", workers=1, report=False)
    kept, lost = found.table["nose"]
    assert kept != kept
    assert lost > 200.0
    assert found.table["verdict"].tolist()[1] == "red"


@pytest.mark.slow
def test_a_voltage_that_is_not_restored_leaves_no_margin(tmp_path):
    """A tap changer at the end of a short range: nothing collapses, and its voltage stays low."""
    (tmp_path / "one.toml").write_text(
        CASE.replace("LOAD", "60.0").replace("tap_min = 0.6", "tap_min = 0.99").replace("= 51", "= 12")
    )
    (tmp_path / "study.toml").write_text(
        'format = "psmr-study"\nversion = 1\ncase = "one.toml"\n[simulation]\nt_end = 100.0\n'
        '[[event]]\ntype = "line-trip"\nline = "line1-2-2"\nstart = 1.0\n'
    )
    study, found = psmr.read_study(tmp_path / "study.toml"), []
    for restored in (False, True):
        measure = psmr.LoadMargin(step=1.0, most=1.0, restored=restored)
        folder = tmp_path / f"s{restored}"
        axis = [psmr.LoadAxis((0.0,))]
        found.append(psmr.sweep(study, axis, measure, folder=folder, workers=1, report=False).table.iloc[0])
    assert [row["load_margin"] for row in found] == [1.0, 0.0]
    assert found[1]["unstable_then"].startswith("not restored: LTC-transformer2-3.v ends at 0.9")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: psmr.LoadAxis(()), "growths = \\[\\]: must be finite powers in MW"),
        (lambda: psmr.LoadMargin(step=0.0), "must be powers in MW > 0, the first not above the second"),
    ],
)
def test_what_is_no_growth_is_refused(make, words):
    with pytest.raises(StudyError, match=words):
        make()

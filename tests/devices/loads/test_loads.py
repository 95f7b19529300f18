"""Static loads: the published law, what becomes of it below v_min, their way through files and studies."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import psmr
from psmr import read_case, write_case
from psmr.errors import CaseError, PsmrWarning
from tests.components import ExponentialLoad, ZipLoad
from tests.devices.library import PARAMETERS
from tests.files.psse import smib
from tests.internals import LoadRow, NumericMath


def power(component, voltage, **changes):
    """Complex power that a load takes at a voltage phasor."""
    values = {"v_min": 0.7, "shed": 0.0} | PARAMETERS[component] | changes
    v = SimpleNamespace(v_re=np.real(voltage), v_im=np.imag(voltage))
    i_re, i_im = component.equations(NumericMath, v, SimpleNamespace(**values))[2]
    return -voltage * np.conj(i_re + 1j * i_im)


@pytest.mark.parametrize("v", [0.71, 0.9, 0.98, 1.1])
def test_exponential_load_follows_its_law(v):
    p = PARAMETERS[ExponentialLoad]
    expected = complex(p["p"] * (v / 0.98) ** p["exponent_p"], p["q"] * (v / 0.98) ** p["exponent_q"])
    assert power(ExponentialLoad, v * np.exp(0.4j)) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("v", [0.69, 0.3, 1e-6])
def test_exponential_load_is_an_impedance_below_v_min(v):
    at_v_min = power(ExponentialLoad, 0.7 + 0j)
    assert power(ExponentialLoad, v * np.exp(-1j)) == pytest.approx(at_v_min * (v / 0.7) ** 2, rel=1e-13)


@pytest.mark.parametrize(("exponent", "part"), [(2, "z"), (1, "i"), (0, "p")])
@pytest.mark.parametrize("v", [0.71, 0.95])
def test_exponents_0_1_2_are_the_parts_of_a_zip_load(exponent, part, v):
    one = zip_of(part) | {"v_0": 0.98}
    expected = power(ZipLoad, v + 0.1j, **one)
    assert power(ExponentialLoad, v + 0.1j, exponent_p=exponent, exponent_q=exponent) == pytest.approx(
        expected, rel=1e-14
    )


def zip_of(part):
    return {f"{s}_{k}": float(k == part) for s in "pq" for k in "zip"} | {"v_0": 1.0, "v_min_current": 0.5}


def ellipse(u):
    return 2.0 * np.sqrt(1.0 - 0.75 * (1.0 - u) ** 2) - 1.0


PEAK = 1.3949308436346985
"""1 + u with 3 u^3 - 3 u + 1 = 0: there the ellipse, taken as a current, has the slope of constant power."""


@pytest.mark.parametrize(("part", "threshold", "exponent"), [("i", 0.5, 1), ("p", 0.7, 0)])
def test_what_bends_to_zero_at_low_voltage(part, threshold, exponent):
    """The current over the voltage is PSS/E's ellipse, of a constant power from a point beyond its top."""
    whole = power(ZipLoad, 1.0 + 0j, **zip_of("p"))
    for v in (1e-3, 0.1, 0.35, 0.49, 0.6, 0.69, 0.71):
        x = min(v / threshold, 1.0)
        factor = v * ellipse(x) if part == "i" else x * ellipse(PEAK * x) / ellipse(PEAK)
        assert power(ZipLoad, v * np.exp(0.4j), **zip_of(part)) == pytest.approx(whole * factor, rel=1e-8)
    step = 1e-5
    for v in (threshold - step, threshold + step):
        before, after = (abs(power(ZipLoad, v + d + 0j, **zip_of(part))) for d in (-step / 2, step / 2))
        slope = (after - before) / step / abs(whole)
        assert slope == pytest.approx(exponent, abs=2e-3)
    assert power(ZipLoad, 0j, **zip_of(part)) == 0


@pytest.mark.parametrize("part", ["i", "p"])
def test_it_is_an_impedance_at_no_voltage(part):
    """The ellipse leaves the origin with the slope 3: no infinite admittance, and the same at 1e-9 pu."""
    slope = 3 / 0.5 if part == "i" else 3 * PEAK / ellipse(PEAK) / 0.7**2
    whole = power(ZipLoad, 1.0 + 0j, **zip_of("p"))
    for v in (1e-9, 1e-7):
        assert power(ZipLoad, v + 0j, **zip_of(part)) / v**2 == pytest.approx(whole * slope, rel=1e-5)


def test_a_fault_takes_constant_current_along_the_curve_of_psse():
    """PSS/E's trace, six figures: the power of the machine is within 3e-6 pu, with OpenIPSL's fit 1.6e-4.

    A load that draws 0.1 % more or less at 0.19 pu moves the power by 7e-5. The rest is SCRX, whose output
    PSS/E takes a step late: 1e-4 pu of field voltage, 5e-6 pu of the machine's.
    """
    system = psmr.build(smib.case(smib.RECORDS["SCRX"]))
    steps, *rows = np.array(smib.DURING_THE_FAULT).T
    signals = ["G1.p", "bus1.v", "bus2.v", "bus3.v", "G1.omega"]
    tight = psmr.VariableStep(tolerance=1e-8)
    run = psmr.simulate(system, tight, 0.15, [smib.fault(0.0, None)], certify=False)
    found = run.at(list(smib.SMALL * steps), signals).to_numpy() - [0, 0, 0, 0, 1]
    off = np.abs(found / [100, 1, 1, 1, 1] - np.transpose(rows)).max(axis=0)
    assert off == pytest.approx([0, 0, 0, 0, 0], abs=6e-6)
    assert off[[0, 2, 3, 4]] == pytest.approx([0, 0, 0, 0], abs=3e-6)
    assert off[4] < 5e-8


def test_it_is_near_the_public_fit_of_psse():
    """OpenIPSL's fit of PSS/E's constant power below 0.7 pu and constant current below 0.5 pu, as factors."""
    v = np.linspace(0.02, 0.7, 100)
    fit = 0.4881 - 0.4999 * np.cos(3.964 * v) + 0.1389 * np.sin(3.964 * v)
    whole = power(ZipLoad, 1 + 0j, **zip_of("p")).real
    factor = [power(ZipLoad, x + 0j, **zip_of("p")).real for x in v] / whole
    assert np.abs(factor - fit).max() < 0.0091
    v = np.linspace(0.02, 0.5, 100)
    fit = 1.502 * 1.769 * v**0.769 * np.exp(-1.502 * v**1.769)
    factor = [power(ZipLoad, x + 0j, **zip_of("i")).real for x in v] / whole
    assert np.abs(factor / v - fit).max() < 0.0197


@pytest.fixture(scope="module")
def case():
    from tests.conftest import ROOT

    case = read_case(ROOT / "cases" / "wscc9" / "wscc9.toml")
    first = LoadRow(5, 125.0, 50.0, exponent_p=1.3, exponent_q=2.6, v_min=0.6)
    return replace(case, loads=(first, *case.loads[1:]))


def test_exponential_load_in_a_file(case, tmp_path):
    write_case(case, tmp_path / "out.toml")
    assert read_case(tmp_path / "out.toml") == case
    assert 'model = "exponential"' in (tmp_path / "out.toml").read_text()


def test_other_formats_do_not_lose_an_exponential_load_silently(case, tmp_path):
    static = replace(case, generators=tuple(replace(row, devices=()) for row in case.generators))
    write_case(static, tmp_path / "out.raw")
    assert "IEELBL" in (tmp_path / "out.dyr").read_text()
    with pytest.warns(PsmrWarning, match="3 loads that depend on the voltage"):
        write_case(case, tmp_path / "out.m")
    constant = replace(case.loads[0], exponent_p=0.0, exponent_q=0.0)
    with pytest.warns(PsmrWarning, match="2 loads that depend on the voltage"):
        write_case(replace(case, loads=(constant, *case.loads[1:])), tmp_path / "out.m")


def test_exponential_load_trips_and_comes_back(case):
    system = psmr.build(case)
    off, on = psmr.LoadTrip(5, 1.0, 0.25, reconnect=1.2).changes(system)
    assert {key: value for _, key, value in off.parameters} == {"p": 0.9375, "q": 0.375}
    assert {key: value for _, key, value in on.parameters} == {"p": 1.25, "q": 0.5}


def test_exponential_load_below_its_v_min_draws_less_and_is_named(case):
    low = replace(case.loads[0], v_min=1.2)
    with pytest.warns(PsmrWarning, match=r"load5 122\.9 of 134\.6 MVA at 0\.992 pu"):
        psmr.build(replace(case, loads=(low, *case.loads[1:])))
    # An impedance at every voltage has no v_min.
    psmr.build(replace(case, loads=(replace(low, exponent_p=2.0, exponent_q=2.0), *case.loads[1:])))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"exponent_p": 1.0}, r"exponent_q = None: must be given: both exponents, or neither"),
        ({"exponent_p": 1.0, "exponent_q": float("nan")}, "exponent_q = nan: must be finite"),
        (
            {"exponent_p": 1.0, "exponent_q": 1.0, "p_zip": (1.0, 0.0, 0.0)},
            r"p_zip = .*: must be left out beside exponent_p and exponent_q",
        ),
        ({}, r"p_zip = \(\): must be three fractions"),
    ],
)
def test_wrong_row_is_named(given, message):
    with pytest.raises(CaseError, match=message):
        LoadRow(5, 1.0, 1.0, **given)

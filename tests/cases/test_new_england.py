"""The New England 39-bus system against the IEEE PES benchmark report (Hiskens 2013)."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import psmr
from psmr import read_study
from tests.cases.plants import filled
from tests.converter_plants import plants_in
from tests.internals import power_flow, prepare

CASES = Path(__file__).parents[2] / "cases" / "new-england"

# The report's load flow: buses 1 to 39, pu and degrees.
V = [
    *(1.0474, 1.0487, 1.0302, 1.0039, 1.0053, 1.0077, 0.9970, 0.9960, 1.0282, 1.0172, 1.0127, 1.0002, 1.0143),
    *(1.0117, 1.0154, 1.0318, 1.0336, 1.0309, 1.0499, 0.9912, 1.0318, 1.0498, 1.0448, 1.0373, 1.0576, 1.0521),
    *(1.0377, 1.0501, 1.0499, 1.0475, 0.9820, 0.9831, 0.9972, 1.0123, 1.0493, 1.0635, 1.0278, 1.0265, 1.0300),
]
ANGLE = [
    *(-8.44, -5.75, -8.60, -9.61, -8.61, -7.95, -10.12, -10.62, -10.32, -5.43, -6.28, -6.24, -6.10),
    *(-7.66, -7.74, -6.19, -7.30, -8.22, -1.02, -2.01, -3.78, 0.67, 0.47, -6.07, -4.36, -5.53),
    *(-7.50, -2.01, 0.74, -3.33, 0.00, 2.57, 4.19, 3.17, 5.63, 8.32, 2.42, 7.81, -10.05),
]
Q = [146.16, 198.25, 205.14, 109.91, 165.76, 212.41, 101.17, 0.44, 22.84, 88.28]

# Ours (SOURCE.md): no public copy of the report's modes was found.
MODES = {
    "toml": [3.818, 6.419, 7.050, 7.132, 7.246, 8.536, 8.678, 9.921, 10.454],
    "dyr": [3.843, 6.712, 7.198, 7.353, 7.651, 8.808, 9.095, 10.295, 10.916],
}


def read(kind):
    """Read the case in one of its two forms."""
    if kind == "toml":
        return psmr.read_case(CASES / "new-england.toml")
    return psmr.read_case(CASES / "new-england.raw", CASES / "new-england.dyr", mechanical="torque")


@pytest.mark.parametrize("kind", MODES)
def test_power_flow(kind):
    """Every figure of the report within half of its last digit; 1e-7 for ties in rounding."""
    flow = power_flow(read(kind))
    np.testing.assert_allclose(flow.v, V, rtol=0, atol=0.5e-4 + 1e-7)
    np.testing.assert_allclose(np.degrees(flow.angle), ANGLE, rtol=0, atol=0.5e-2 + 1e-7)
    np.testing.assert_allclose(100 * flow.q, Q, rtol=0, atol=0.5e-2 + 1e-7)
    assert 100 * flow.p[1] == pytest.approx(520.81, abs=0.5e-2)


@pytest.mark.parametrize("kind", MODES)
def test_modes(kind):
    """The start is an equilibrium and stable; ten machines have nine swings, a slow one among them."""
    system = psmr.build(read(kind))
    assert np.abs(system.residual(system.w0)).max() < 1e-10
    table = psmr.modes(system.linearise())
    # Angle and speed of all are free: without governors and with loads that do not know frequency.
    assert (table.real[np.hypot(table.real, table.imag) > 1e-3] < -0.01).all()
    swing = table[table.imag.between(2.5, 12) & (table.damping_ratio < 0.35)]
    np.testing.assert_allclose(np.sort(swing.imag), MODES[kind], rtol=0, atol=1e-3)


def test_both_forms_have_one_network():
    """They differ in machines and exciters."""
    ours, psse = read("toml"), read("dyr")
    # The RAW file stores a solution, and one area and one zone for all, the TOML file none.
    free = {"v": None, "angle_deg": None, "area": 0, "zone": 0, "aliases": ()}
    bare = [dataclasses.replace(bus, **free) for bus in psse.buses]
    assert ours.buses == tuple(bare)
    for table in ("lines", "transformers", "shunts"):
        assert getattr(ours, table) == getattr(psse, table)
    voltage = dict(zip([bus.number for bus in psse.buses], power_flow(psse).v, strict=True))
    for a, b in zip(ours.loads, psse.loads, strict=True):
        # PSS/E gives the parts at 1 pu, with nine decimals; ours are at the voltage of the power flow.
        v = voltage[b.bus]
        assert dataclasses.replace(b, p_mw=a.p_mw, q_mvar=a.q_mvar, v_0=None) == a
        assert (b.p_mw * v, b.q_mvar * v**2) == pytest.approx((a.p_mw, a.q_mvar), rel=1e-8)
    for a, b in zip(ours.generators, psse.generators, strict=True):
        assert dataclasses.replace(a, devices=b.devices, rating_mva=b.rating_mva) == b
        assert filled(a).devices[2] == filled(b).devices[2]


def test_fault():
    """The fault of the study is survived: the angles against bus 39 come back to rest."""
    study = read_study(CASES / "fault.toml")
    system, recipe = prepare(study)
    run = psmr.simulate(system, recipe.scheme(system.linearise()), 6.0, study.events)
    angles = np.stack([run.values(f"G{n}.delta") - run.values("G39.delta") for n in range(30, 39)])
    early, late = (np.ptp(angles[:, window], axis=1) for window in (run.t < 3.0, run.t > 5.0))
    assert (early > 0.1).all()
    assert (late < 0.25 * early).all()


def test_the_case_with_plants_is_the_one_that_is_measured():
    """The file's system is that of the benchmark: same names, same equilibrium."""
    built, read_in = (
        plants_in("new-england", 5),
        psmr.build(psmr.read_case(CASES / "new-england-plants.toml")),
    )
    assert read_in.names_x == built.system.names_x
    assert read_in.names_y == built.system.names_y
    np.testing.assert_allclose(read_in.w0, built.system.w0, rtol=0, atol=1e-9)


def test_the_ripple_of_five_plants_is_followed_in_two_steps():
    """Plants, speeds and bus voltages where macro steps end; docs/benchmarks has 2.0e-4."""
    plants = plants_in("new-england", 5)
    study = read_study(CASES / "ripple.toml")
    system, recipe = prepare(study)
    run, fine = (
        psmr.simulate(system, scheme, 0.54, study.events, certify=False)
        for scheme in (recipe.scheme(system.linearise()), psmr.VariableStep(1e-6))
    )
    times, chosen = run.t[run.t > 0.08], plants.watched()
    exact = fine.at(times).to_numpy()[:, chosen]
    off = np.abs(run.at(times).to_numpy()[:, chosen] - exact) / np.maximum(1.0, np.abs(exact).max(axis=0))
    assert off.max() < 3e-4

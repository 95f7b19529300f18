"""The product of the steps over a period with a single-phase fault, against known radii and against runs."""

import numpy as np
import pytest

import partitioning
import psmr
from psmr.errors import InputError, PsmrWarning
from tests.internals import periodic_module, run_page, steady_program

PERIOD = 1 / 60


def three_buses():
    """The network of which the exact radius is known: 0.63592, from DOP853 on equations written by hand."""
    return psmr.make_case(
        "three buses",
        base_mva=100.0,
        frequency_hz=60.0,
        buses=[{"number": n} for n in (1, 2, 3)],
        lines=[{"from": 1, "to": 2, "r": 0.02, "x": 0.2}, {"from": 2, "to": 3, "r": 0.01, "x": 0.1}],
        shunts=[
            {"bus": 1, "b_mvar": 5.0},
            {"bus": 2, "g_mw": 80.0, "b_mvar": 20.0},
            {"bus": 3, "g_mw": 60.0, "b_mvar": 10.0},
        ],
        generators=[
            {
                **{"name": "G", "bus": 1, "control": "slack", "v": 1.0},
                "machine": {"type": "InfiniteBus", "s_n": 100.0, "r_a": 0.005, "x_d1": 0.1},
            }
        ],
        sequence=[
            {"element": "line1-2", "r0": 0.06, "x0": 0.55, "b0": 0.0},
            {"element": "line2-3", "r0": 0.03, "x0": 0.28, "b0": 0.0},
            {"element": "shunt1", "g0": 0.0, "b0": 0.03},
            {"element": "shunt2", "g0": 0.8, "b0": 0.12},
            {"element": "shunt3", "g0": 0.6, "b0": 0.06},
            {"element": "G", "r0": 0.01, "x0": 0.08},
        ],
    )


@pytest.fixture(scope="module")
def system():
    return psmr.build(three_buses(), dynamic=psmr.Region("all", zero_sequence=True))


def faulted(system, scheme, start=None, t_end=0.1):
    fault = psmr.Fault(2, 0.001, permanent=True, r=0.05, x=0.0, phases="ag")
    return psmr.simulate(system, scheme, t_end, [fault], start=start, certify=False)


@pytest.mark.parametrize(("steps", "radius"), [(833, 0.63786), (333, 0.64778), (167, 0.67900)])
def test_radius_is_the_known_one(system, steps, radius):
    found = psmr.periodic_modes(faulted(system, psmr.SingleRate("TM", h=PERIOD / steps)))
    assert found.exact_spectral_radius == pytest.approx(0.63592, abs=6e-6)
    assert found.spectral_radius == pytest.approx(radius, abs=6e-6)


def what_periods_do(system, scheme, remembered=0, periods=3):
    """Return what some periods make of a change: by the product, and by two runs."""
    x, y = system.x0, system.y0
    run = faulted(system, scheme)
    found = psmr.periodic_modes(run, 0.001 + 10 * scheme.step)
    change = np.random.default_rng(1).standard_normal(system.n)
    other = faulted(system, scheme, (x + change, y))
    rows = [np.searchsorted(run.t, found.begin + k * PERIOD - 1e-9) for k in (0, periods)]
    changes = np.hstack([other.x - run.x, other.y - run.y])
    product, n = found.simulated.product, system.n
    before = changes[rows[0], :n]
    if product.order > n:
        before = np.concatenate([changes[rows[0] - k] for k in range(remembered + 1)])  # all of w
    columns = before[:, None]
    for _ in range(periods):
        columns = product.over(columns)[0]
    assert np.abs(before).max() > 0.01
    return changes[rows[1], :n], columns[:n, 0]


@pytest.mark.parametrize("method", ["TM", "BEM", "SDIRK2"])
def test_product_of_the_steps_is_what_the_run_does(system, method):
    after, wanted = what_periods_do(system, psmr.SingleRate(method, h=PERIOD / 200, newton="honest"))
    assert np.abs(after - wanted).max() < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize(
    "choices",
    [
        {"predictor": "TM", "interpolation": "linear"},
        {"predictor": "extrapolation", "coupling": "mean", "interface": "schur"},
        {"predictor": "FEM", "solution": "BEM", "interpolation": "linear"},
    ],
)
def test_macro_steps_of_two_rates_are_what_the_run_does(system, choices):
    split = partitioning.by_device(system.linearise(), ["bus2", "line1-2", "bus2_zero"])
    scheme = psmr.Multirate(split, h_slow=PERIOD / 200, ratio=3, newton="honest", tolerance=1e-12, **choices)
    after, wanted = what_periods_do(system, scheme, steady_program(scheme).history)
    assert np.abs(after - wanted).max() < 1e-9 * max(1.0, np.abs(after).max())


def test_a_period_may_be_a_single_step(system):
    found = psmr.periodic_modes(faulted(system, psmr.SingleRate("BEM", h=PERIOD)))
    assert found.steps == 1
    assert 0.0 < found.spectral_radius < found.exact_spectral_radius


def test_exponents_are_unfolded_by_the_shape_of_their_modes(system):
    found = psmr.periodic_modes(faulted(system, psmr.SingleRate("TM", h=PERIOD / 167))).table
    fastest = found.loc[found["imag"].idxmax()]
    # A resonance at 8,246 1/s, which the rule moves to (2 / h) atan(8246 h / 2).
    assert fastest["imag"] == pytest.approx(8246, abs=1)
    h = PERIOD / 167
    assert fastest["imag_numerical"] == pytest.approx(2 / h * np.arctan(fastest["imag"] * h / 2), rel=2e-3)
    assert (found["deformation"] < 0.2).all()


def test_what_has_no_period_is_refused(system):
    tm = psmr.SingleRate("TM", h=PERIOD / 200)
    balanced = psmr.simulate(system, tm, 0.05, certify=False)
    with pytest.raises(InputError, match="no equation reads the time"):
        psmr.periodic_modes(balanced)
    with pytest.raises(InputError, match=r"h = 0\.04 s is longer than the period, 0\.0166667 s"):
        psmr.periodic_modes(faulted(system, psmr.SingleRate("BEM", h=0.04)))
    with pytest.raises(InputError, match="reads signals with a delay"):
        psmr.periodic_modes(faulted(psmr.with_delays(system, {"G.v": 0.001}), tm, t_end=0.003))
    with pytest.raises(InputError, match="no whole period"):
        psmr.periodic_modes(faulted(system, tm, t_end=0.015))
    with pytest.raises(InputError, match="no whole period"):
        psmr.periodic_modes(faulted(system, tm), 0.0)
    with pytest.raises(InputError, match="no whole period"):
        psmr.periodic_modes(faulted(system, tm), 0.09)


def test_a_step_that_does_not_divide_the_period_is_judged_by_the_nearest_that_does(system):
    found = psmr.periodic_modes(faulted(system, psmr.SingleRate("TM", h=1e-4)))
    assert found.steps == 167
    assert found.scheme.h == pytest.approx(PERIOD / 167, rel=1e-12)
    assert found.spectral_radius == pytest.approx(0.67900, abs=6e-6)


@pytest.mark.slow
def test_steps_that_were_chosen_are_judged_by_their_median(system):
    run = faulted(system, psmr.VariableStep(1e-6))
    found = psmr.periodic_modes(run)
    late = np.diff(run.t)[run.t[1:] > 0.001 + 1e-9]
    assert found.scheme.step == pytest.approx(np.median(late), rel=0.05)
    assert found.exact_spectral_radius == pytest.approx(0.63592, abs=6e-6)
    assert abs(found.spectral_radius - 0.63592) < 1e-3


def judged(system, scheme, fault, t_end=0.1):
    return psmr.simulate(system, scheme, t_end, [fault])


def test_a_run_certifies_itself_while_phases_are_unequal(system):
    fault = psmr.Fault(2, 0.01, 0.06, r=0.05, x=0.0, phases="ag")
    run = judged(system, psmr.SingleRate("TM", h=PERIOD / 333), fault)
    found = run.certificate_unequal
    assert found.verdict.startswith("Numerically stable at h = 5.005")
    assert found.spectral_radius == pytest.approx(0.64778, abs=6e-6)
    assert "0.64778, in the system itself 0.6359" in found.verdict
    assert found.subject.startswith("the system with unequal phases, t = 0.01 to 0.06 s, over the period")
    modes = psmr.periodic_modes(run)
    assert found.least_stable.real == pytest.approx(modes.table["real_numerical"].max())
    assert found in run.certificates
    assert len(run.certificates) == 2  # what is left is the system before
    assert "Slowest exponents over a period" in run_page(run)


@pytest.mark.parametrize(
    ("scheme", "permanent"),
    [
        (psmr.SingleRate("TM", h=PERIOD / 50), True),
        pytest.param(psmr.VariableStep(1e-3), True, marks=pytest.mark.slow),
        pytest.param(psmr.VariableStep(1e-3), False, marks=pytest.mark.slow),
    ],
)
def test_what_is_kept_of_a_run_with_unequal_phases_decides_nothing(system, scheme, permanent):
    fault = psmr.Fault(2, 0.01, None if permanent else 0.06, permanent=permanent, r=0.05, x=0.0, phases="ag")
    runs = [
        psmr.simulate(system, scheme, 0.1, [fault], **part)
        for part in ({}, {"record": "bus*.v"}, {"every": 5})
    ]
    assert any("over a period" in c.verdict for c in runs[0].certificates)
    for run in runs[1:]:
        assert run.certificates == runs[0].certificates
        assert run.judgement == runs[0].judgement


def test_a_run_that_ends_with_unequal_phases_has_no_equilibrium_to_certify(system):
    run = judged(
        system, psmr.SingleRate("TM", h=1e-4), psmr.Fault(2, 0.01, permanent=True, r=0.05, x=0.0, phases="ag")
    )
    assert run.certificate_unequal is None
    after = run.certificate_after
    assert after.subject.startswith("the post-disturbance system with unequal phases")
    assert after.spectral_radius == pytest.approx(0.67900, abs=6e-6)
    assert "The run's step of 0.0001 s does not divide the period" in after.note


def test_a_step_that_grows_over_a_period_is_red(system):
    """FEM makes a line's resonance grow from 0.85 us on; the system's own exponents decay."""
    fault = psmr.Fault(2, 1e-4, permanent=True, r=0.05, x=0.0, phases="ag")
    with pytest.warns(PsmrWarning, match="Unstable"):
        run = judged(system, psmr.SingleRate("FEM", h=PERIOD / 1000), fault, 0.017)
    found = run.certificate_after
    assert found.blames_scheme
    assert found.verdict.startswith("Unstable: over a period")
    assert any(
        "unstable on the post-disturbance system with unequal" in each for each in run.judgement.reasons
    )


def test_a_large_system_is_searched_for_its_outermost_exponents(system, monkeypatch):
    run = faulted(system, psmr.SingleRate("TM", h=PERIOD / 200))
    every = psmr.periodic_modes(run)
    monkeypatch.setattr(periodic_module, "DENSE", 0)
    monkeypatch.setattr(periodic_module, "OUTERMOST", 5)
    few = psmr.periodic_modes(run)
    assert not few.simulated.complete
    assert few.spectral_radius == pytest.approx(every.spectral_radius, abs=1e-9)
    assert few.exact_spectral_radius == pytest.approx(every.exact_spectral_radius, abs=1e-9)
    same = len(few.table)
    assert same >= 2
    for column in ("real", "imag", "real_numerical", "imag_numerical"):
        assert few.table[column].to_numpy() == pytest.approx(every.table[column][:same].to_numpy(), rel=1e-5)

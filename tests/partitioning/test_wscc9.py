"""The rule and the checks on the cases that ship with psmr."""

from pathlib import Path

import numpy as np
import pytest

import partitioning
import psmr
from psmr.errors import SingularError
from psmr.pencil import spectral_radius
from tests.internals import condition, scaled

CASES = Path(__file__).parents[2] / "cases" / "wscc9"
# The zero mode of the reference angle makes the radius 1, known to the rounding that `partitioning.repair`
# allows.
STABLE = 1.0 + 1e-6


@pytest.fixture(scope="module", params=["wscc9", "wscc9-ibr", "sauer-pai"])
def linear(request):
    return load(request.param)


@pytest.fixture(scope="module")
def converters():
    return load("wscc9-ibr")


def load(name):
    return psmr.build(psmr.read_case(CASES / f"{name}.toml")).linearise()


def radius_of(linear, **choices):
    def radius(split):
        try:
            return spectral_radius(linear, psmr.Multirate(split, **choices))
        except SingularError:
            return np.inf

    return radius


def deltas(linear):
    """One threshold in every gap of the spectrum, both ends and the round ones."""
    sizes = np.unique(np.abs(partitioning.participation(linear)[0]).round(9))
    return np.concatenate([[0.0, 20.0, 100.0, 2000.0], np.sqrt(sizes[1:] * sizes[:-1])])


def test_the_voltage_transducers_are_fast_at_twenty():
    # Huang and Tzounas, section 4: at delta = 20 the voltages of the regulators are fast. Their field
    # voltages are algebraic and fast as well; here they are states behind T_E = 0.314 s and belong to slower
    # modes.
    split = partitioning.by_participation(load("wscc9"), 20.0)
    assert split.fast == ("AVR1.v_m", "AVR2.v_m", "AVR3.v_m")
    assert np.allclose(split.table.loc[split.table["side"] == "fast", "magnitude"], 1000.0, rtol=1e-6)
    assert str(split) == "3 of 33 states and 0 of 30 algebraic variables fast (delta = 20 1/s)"


@pytest.mark.parametrize("algebraic", ["participation", "fast"])
def test_every_threshold_gives_regular_blocks_and_a_stable_step(linear, algebraic):
    radius = radius_of(linear, h_slow=0.01, ratio=10, predictor="TM", solution="TM")
    gy = scaled(linear)
    for delta in deltas(linear):
        split = partitioning.by_participation(linear, delta, algebraic)
        # Measured: at most 483 over all three cases; half of the digits would be 6.7e7.
        assert condition(gy[split.fast_g][:, split.fast_y]) < 1e3
        assert condition(gy[~split.fast_g][:, ~split.fast_y]) < 1e3
        assert radius(split) <= STABLE


def test_real_and_imaginary_voltage_stay_together(converters):
    split = partitioning.by_participation(converters, 0.2)
    sides = split.table.set_index("variable")["side"]
    for bus in range(1, 10):
        assert sides[f"bus{bus}.v_re"] == sides[f"bus{bus}.v_im"]


@pytest.mark.parametrize("delta", [20.0, 100.0])
def test_an_explicit_predictor_over_fast_converter_loops_is_repaired(converters, delta):
    # Forward Euler over 50 ms predicts states of the converters that are far faster than 1/0.05 s.
    radius = radius_of(converters, h_slow=0.05, ratio=10, predictor="FEM", solution="TM")
    asked = partitioning.by_participation(converters, delta)
    assert radius(asked) > 1.5
    split = partitioning.by_participation(converters, delta, spectral_radius=radius)
    assert radius(split) <= STABLE
    assert set(asked.fast) <= set(split.fast)
    moved = split.table[split.table["moved"]]
    assert len(moved) == len(split.fast) - len(asked.fast)
    assert moved["reason"].str.contains("the macro step had spectral radius").all()


def test_the_angle_of_the_reference_is_slow_at_any_threshold_above_zero():
    # Without damping and governors the angle and the common speed share a double zero eigenvalue.
    split = partitioning.by_participation(load("sauer-pai"), 1e-6)
    states = split.table[split.table["kind"] == "state"]
    assert list(states.loc[states["side"] == "slow", "variable"]) == ["G1.delta", "G1.omega"]
    assert (states.loc[states["side"] == "slow", "magnitude"] == 0.0).all()
    # An imaginary voltage that follows the reference angle goes with the real one, and the table says so.
    follows = split.table[(split.table["magnitude"] == 0.0) & (split.table["side"] == "fast")]
    assert follows["reason"].str.startswith("in one group with bus").all()


def test_a_device_is_named_as_in_the_case(converters):
    split = partitioning.by_device(converters, ["C1", "C2", "bus3"])
    assert {"C1.i_d", "C2.i_q", "bus3.v_re", "bus3.v_im"} <= set(split.fast)
    with pytest.raises(partitioning.PartitionError, match="'bus33'; did you mean 'bus3'"):
        partitioning.by_device(converters, ["bus33"])


def test_the_ends_of_the_threshold_are_single_rate(linear):
    everything, nothing = (partitioning.by_participation(linear, delta) for delta in (0.0, np.inf))
    assert everything.slow == ()
    assert nothing.fast == ()

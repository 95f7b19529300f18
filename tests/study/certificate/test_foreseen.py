"""A run that fails says whether the pencil foresaw it."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import partitioning
import psmr
from psmr.errors import SimulationError
from tests.internals import foreseen

# By every multiplier, and by Arnoldi on the step.
REGIONS = [(3, 9), "all"]


def _system(region: tuple[int, ...] | str) -> psmr.System:
    return psmr.build(psmr.case("wscc9-emt"), loads="impedance", dynamic=psmr.Region(region))


def _scheme(system: psmr.System, **choices: str) -> psmr.Multirate:
    split = partitioning.by_device(system.linearise(), ["C3", "bus3", "bus9"])
    return psmr.Multirate.from_steps(split, 0.008, 1e-4, **choices)


@pytest.mark.parametrize("region", REGIONS)
def test_multiplier_of_largest_magnitude_is_named(region: tuple[int, ...] | str) -> None:
    system = _system(region)
    scheme = _scheme(system, predictor="TM")
    largest = np.abs(np.linalg.eigvals(psmr.step_operator(system.linearise(), scheme))).max()
    words = foreseen(system, scheme, None)
    assert f"magnitude {largest:.3g}, mostly in " in words
    assert largest > 20.0


@pytest.mark.parametrize("region", REGIONS)
def test_nothing_is_said_of_a_stable_step(region: tuple[int, ...] | str) -> None:
    system = _system(region)
    assert foreseen(system, psmr.SingleRate("TM", 1e-4), None) == ""


def test_a_failed_run_says_what_the_pencil_said_before_it() -> None:
    system = _system((3, 9))
    scheme = _scheme(system, predictor="TM")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(SimulationError) as failed:
            psmr.simulate(system, scheme, 0.5, [psmr.ParameterStep("C3", "v_2", 0.03, 0.02)])
    said = re.search(
        r"The accuracy check before the run said: Unstable: .* \|z\| = ([\d.]+)", str(failed.value)
    )
    radius = np.abs(np.linalg.eigvals(psmr.step_operator(system.linearise(), scheme))).max()
    assert said is not None
    assert float(said[1].rstrip(".")) == pytest.approx(radius, rel=1e-5)
    assert "interface='schur'" in str(failed.value)

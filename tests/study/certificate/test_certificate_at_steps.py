"""The certificate at the steps of a run, where not every one of them can be judged."""

import numpy as np
import pytest

import psmr
from psmr import certify
from psmr.errors import SingularError
from tests.internals import OneStepModes


class Refusing:
    """Judges as the modes do, but for steps above a limit."""

    def __init__(self, modes, limit):
        self.modes, self.limit = modes, limit

    def deformation(self, scheme):
        if scheme.h > self.limit:
            raise SingularError("no unique solution")
        return self.modes.deformation(scheme)


@pytest.fixture(scope="module")
def system(wscc9):
    return psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))


STEPS = {"the median step": 0.02, "the longest step": 0.4, "the median step of the quiet part": 0.1}


def test_the_modes_and_the_step_operator_certify_alike(system):
    modes = OneStepModes.of(system.linearise())
    short = certify(system, psmr.VariableStep(), warn=False, steps=STEPS, judge=modes)
    whole = certify(system, psmr.VariableStep(), warn=False, steps=STEPS)
    assert short.stable == whole.stable
    assert short.verdict == whole.verdict
    assert [step.which for step in short.at_steps] == list(STEPS)
    for a, b in zip(short.at_steps, whole.at_steps, strict=True):
        assert (a.which, a.h, a.stable) == (b.which, b.h, b.stable)
        assert (a.mode_numerical is None) == (b.mode_numerical is None) == (a.h == 0.4)
        if a.mode_numerical is not None:
            assert a.mode_numerical == pytest.approx(b.mode_numerical, rel=1e-7)
            assert a.deformation == pytest.approx(b.deformation, rel=1e-5)


def test_a_step_that_cannot_be_judged_is_said_and_left_out(system):
    judge = Refusing(OneStepModes.of(system.linearise()), limit=0.2)
    found = certify(system, psmr.VariableStep(), warn=False, steps=STEPS, judge=judge)
    assert found.stable is True
    assert found.verdict == "Numerically stable at h = 0.02 s."
    assert [step.h for step in found.at_steps] == [0.02, 0.1]
    assert "Not judged with a step of 0.4 s: no unique solution" in found.note


class Explicit:
    """Judges every scheme as RK4 with its step."""

    def __init__(self, modes):
        self.modes = modes

    def deformation(self, scheme):
        return self.modes.deformation(psmr.SingleRate("RK4", scheme.h))


def test_the_verdict_is_that_of_the_step_that_is_unstable(system):
    judge = Explicit(OneStepModes.of(system.linearise()))
    steps = {"the median step": 0.001, "the longest step": 0.1}
    found = certify(system, psmr.VariableStep(), warn=False, steps=steps, judge=judge)
    assert [step.stable for step in found.at_steps] == [True, False]
    assert found.stable is False
    assert found.verdict == judge.deformation(psmr.SingleRate("RK4", 0.1)).verdict
    assert found.verdict.startswith("Unstable")


@pytest.mark.parametrize("steps", [(0.004, 0.1), (0.1, 0.004)])
def test_of_several_unstable_steps_that_decides_by_which_most_grows(system, steps):
    """A mode of -1000 1/s by RK4: R(-4) = 5 in 4 ms is 402 1/s, R(-100) = 4.0e6 in 0.1 s is 152 1/s."""
    judge = Explicit(OneStepModes.of(system.linearise()))
    named = {"the median step": steps[0], "the longest step": steps[1]}
    found = certify(system, psmr.VariableStep(), warn=False, steps=named, judge=judge)
    assert found.verdict == judge.deformation(psmr.SingleRate("RK4", 0.004)).verdict
    assert found.stability.growth_rate == pytest.approx(np.log(5.0) / 0.004, rel=1e-3)

"""A system whose equations read the time has no equilibrium, and is not called unstable by one."""

import dataclasses

import pytest

import psmr
from psmr.errors import PsmrWarning
from tests.converter_plants import plants_in


@pytest.fixture(scope="module")
def run():
    plants = plants_in("new-england", 5)
    events = [psmr.ParameterStep(name, "v_2", 0.03, 0.02) for name in plants.plants]
    return psmr.simulate(plants.system, psmr.VariableStep(1e-4), 0.1, events)


def test_a_ripple_is_no_instability(run):
    # With the time held the ripple is a constant, beside which a mode has the real part 0.017 1/s; nothing
    # grows over 100 s of the ripple.
    after = run.certificate_after
    assert max(after.report.columns["real"]) > 0.01
    assert after.stable is None
    assert after.subject.endswith("where it would rest with the time held")
    assert after.lines()[0].startswith("Not judged: the equations read the time")
    assert after.note.startswith("The equations read the time, so that there is no equilibrium")
    assert "unstable" not in "".join(map(str, after.at_steps))
    assert run.judgement.colour == "green"


def test_before_the_ripple_all_is_judged(run):
    assert run.certificate.stable
    assert "read the time" not in run.certificate.note


def test_a_scheme_that_is_unstable_is_blamed_all_the_same(run):
    plants = plants_in("new-england", 5)
    system = plants.system
    parameters = [matrix.copy() for matrix in system.parameters]
    for name in plants.plants:
        group, row, column = system.parameter_place(name, "v_2")
        parameters[group][row, column] = 0.001
    system = dataclasses.replace(system, parameters=tuple(parameters))
    with pytest.warns(PsmrWarning, match="before the run: Unstable"):
        certificate = psmr.certify(system, psmr.SingleRate("FEM", 0.01))
    assert certificate.blames_scheme
    assert certificate.note.startswith("The equations read the time")

"""No property of a finished run raises: of one that is off, failed, stopped, short, kept in part."""

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest

import partitioning
import psmr
from psmr import Component, Device, assemble
from psmr.errors import SimulationError

FAULT, LONG = psmr.Fault(bus=5, start=0.1, clear=0.2, trip="5-7"), psmr.Fault(bus=5, start=0.1, clear=0.9)
BREAKS = psmr.ParameterStep("load5", "p", 60.0, 0.3)
STOPS = {"monitors": [psmr.AngleSpread(60.0)]}
RUNS: dict[str, dict[str, Any]] = {
    "off": {"t_end": 1.0, "events": [FAULT]},
    "in part": {"t_end": 0.5, "events": [FAULT], "record": "bus5.v", "every": 50},
    "lost": {"t_end": 2.0, "events": [LONG]},
    "stopped": {"t_end": 2.0, "events": [LONG], **STOPS},
    "stopped, in part": {"t_end": 2.0, "events": [LONG], "record": "G1.omega", **STOPS},
    "short": {"t_end": 1e-9},
    "without a certificate": {"t_end": 0.5, "events": [FAULT], "certify": False},
    "failed": {"t_end": 1.0, "events": [BREAKS]},
    "failed, in part": {"t_end": 1.0, "events": [BREAKS], "record": "bus5.v"},
}
SCHEMES = (
    *("TM", "BEM", "SDIRK2", "FEM", "RK4", "multirate", "extrapolation", "corrected", "variable", "least"),
    *("smes", "slow manifold", "adaptive", "Adams", "arc", "adaptive arc"),
)
PROPERTIES = [
    *(field.name for field in dataclasses.fields(psmr.Run)),
    *(
        name
        for kind in psmr.Run.__mro__
        for name, value in vars(kind).items()
        if isinstance(value, property | functools.cached_property) and not name.startswith("_")
    ),
]


class Oscillator(Component):
    """An undamped oscillator of 1 Hz."""

    states = ("x", "v")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (2 * np.pi * v.v, -2 * np.pi * v.x), (), ()


@pytest.fixture(scope="module")
def system():
    return psmr.build(psmr.read_case(psmr.case_path("wscc9"), loads="power"))


@pytest.fixture(scope="module")
def schemes(system):
    linear = system.linearise()
    split = partitioning.by_participation(linear, delta=20.0)
    found = {
        **{method: psmr.SingleRate(method, 0.05) for method in ("TM", "BEM", "SDIRK2")},
        **{method: psmr.SingleRate(method, 0.01) for method in ("FEM", "RK4")},
        "multirate": psmr.Multirate(split, 0.05, 5),
        "extrapolation": psmr.Multirate(split, 0.05, 5, predictor="extrapolation", predict="slow"),
        "corrected": psmr.Multirate(split, 0.05, 5, predictor="TM", corrections="converge"),
        "variable": psmr.VariableStep(0.1, "TR-BDF2"),
        "least": psmr.VariableStep(psmr.VariableStep(1e-6).least_tolerance, most_steps=200),
        "smes": psmr.Smes.for_system(linear, h=0.02, base="RK2"),
        "slow manifold": psmr.SlowManifold(split, 0.02),
        "adaptive": psmr.Adaptive("RK54", 0.1, 0.1),
        "Adams": psmr.Adaptive("Adams", 0.1, 0.1),
        "arc": psmr.ArcLength("RK4", 0.02),
        "adaptive arc": psmr.ArcLength(psmr.Adaptive("RK54", 0.1, 0.1), 0.5),
    }
    assert found.keys() == set(SCHEMES)
    return found


def read(run: psmr.Run) -> None:
    """Read everything that a run says of itself."""
    assert {"judgement", "estimated_error", "certificate_after", "outcome", "stats"} <= set(PROPERTIES)
    for name in PROPERTIES:
        str(getattr(run, name))
    run.summary()
    repr(run)


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("name", SCHEMES)
def test_no_property_of_a_run_raises(system, schemes, name, kind):
    try:
        run = psmr.simulate(system, schemes[name], partial=True, **RUNS[kind])
    except SimulationError as error:
        assert kind.startswith("failed") or name in ("FEM", "RK4", "Adams", "least")
        run = error.partial
    read(run)


@pytest.mark.parametrize("name", ["TM", "variable", "smes"])
def test_a_run_without_its_system_has_no_estimate_and_raises_nothing(system, schemes, name):
    run = dataclasses.replace(psmr.simulate(system, schemes[name], 0.5, [FAULT]), system=None)
    read(run)
    assert "this run does not have" in run.estimated_error.note
    assert not run.estimated_error.exceeds(0.0)


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_a_system_without_buses():
    system = assemble([Device("O", Oscillator, {}, {})], {"O.x": 1.0})
    for scheme in (psmr.SingleRate("TM", 0.1), psmr.VariableStep(0.3), psmr.Adaptive("RK54", 0.5, 0.5)):
        run = psmr.simulate(system, scheme, 10.0)
        read(run)
        assert run.judgement.error.exceeds(0.01)
        assert run.judgement.error.advice.error.part <= 0.0075


@pytest.mark.parametrize("case", ["wscc9-emt", "microgrid"])
def test_networks_with_dynamics(case):
    system = psmr.build(psmr.case(case))
    for scheme in (psmr.SingleRate("TM", 2e-4), psmr.SingleRate("SDIRK2", 2e-3), psmr.VariableStep(0.1)):
        read(psmr.simulate(system, scheme, 0.2, [psmr.LoadTrip(3 if case == "microgrid" else 5, 0.05, 0.5)]))

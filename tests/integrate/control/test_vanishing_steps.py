"""Where steps become ever shorter: the variable or equation is named, and a fold is told from none."""

import pytest

import psmr
from psmr.errors import SimulationError
from tests import systems
from tests.internals import algebraic_block, impasse, integrate


def test_a_run_that_does_not_end_names_the_variable():
    system = systems.one(systems.Blowup, {"x": 1.0})
    with pytest.raises(SimulationError, match=r"D\.x"):
        integrate(system, psmr.VariableStep(1e-4), 2.0)
    with pytest.raises(SimulationError, match=r"most_steps = 5; the error of D\.x"):
        integrate(system, psmr.VariableStep(1e-8, most_steps=5), 0.9)


def _grows(m, v, p):
    return (v.x * v.x,), (-v.y,), ()


def _folds(m, v, p):
    return (1.0,), (v.y * v.y - (1.0 - v.x),), ()


def _jumps(m, v, p):
    return (1.0,), (m.where(m.ge(v.x - v.y, 0.5), 1.0, 0.0) - v.y,), ()


def _has_no_value(m, v, p):
    return (-m.sqrt(v.x),), (-v.y,), ()


@pytest.mark.parametrize(
    ("equations", "start", "words"),
    [
        (_grows, (0.5, 0.0), r"E\.x = [\d.e+]+ grows without bound"),
        (_folds, (0.0, 1.0), r"come to a fold: E\.y changes ever faster, and the equation of E\.y has no"),
        (_jumps, (0.0, 0.0), r"the equation of E\.y jumps there, from 0 to 1: a limiter or a comparison"),
        (_has_no_value, (1.0, 0.0), r"the equation of E\.x has no value"),
    ],
)
def test_a_step_that_vanishes_names_the_equation(equations, start, words):
    parts = {"states": ("x",), "algebraic": ("y",), "equations": staticmethod(equations)}
    component = type("Ending", (psmr.Component,), parts)
    system = psmr.assemble([psmr.Device("E", component, {})], dict(zip(("E.x", "E.y"), start, strict=True)))
    with pytest.raises(SimulationError, match=f"(?i){words}"):
        psmr.simulate(system, psmr.VariableStep(1e-4), 3.0, certify=False)


@pytest.mark.parametrize(
    ("power", "current", "voltage", "is_fold"),
    [(0.25, 0.0, 0.5 + 1e-5, True), (0.24, 0.0, 0.6, False), (0.0, 0.25, 0.75, False)],
)
def test_a_branch_of_next_to_no_impedance_is_no_fold(power, current, voltage, is_fold):
    """A source behind 1 pu feeds a load over 1e-6 pu: constant power has its nose at 0.25 pu."""

    def equations(m, v, p):
        through = 1e6 * (v.y - v.z)
        return (), (1.0 - v.y - through, v.z * (through - p.current) - p.power), ()

    parts = {"algebraic": ("y", "z"), "equations": staticmethod(equations)}
    parts |= {name: psmr.Parameter(unit="pu", doc=f"constant {name}") for name in ("power", "current")}
    component = type("Fed", (psmr.Component,), parts)
    system = psmr.assemble(
        [psmr.Device("E", component, {"power": power, "current": current})], {"E.y": 0.75, "E.z": 0.75}
    )
    w = system.buffer()
    block = algebraic_block(system, system.parameters, w)
    w[: block.size] = voltage + 1e-6 * (1.0 - voltage), voltage
    found = impasse(block, w)
    assert (found is not None and "fold" in found.words) == is_fold

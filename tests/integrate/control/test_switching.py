"""Kinks of equations within a step: a limiter that is met, a comparison that turns."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad

import psmr
from tests import systems
from tests.disturbances import instants, severe_fault, values_at
from tests.internals import PAIRS, halts_of, integrate, switches, trace
from tests.internals import error_control_module as error_control

CASES = Path(__file__).parents[3] / "cases"


def clipped(m, x, p):
    """A ceiling: met at asin(high), left at pi - asin(high)."""
    return m.clip(x, -p.high, p.high)


def compared(m, x, p):
    """A comparison that turns, without a kink that a limiter would have: the value jumps."""
    return m.where(m.ge(x, p.high), 1.0, 0.0)


def component_of(output):
    """Return x' = cos t, y = output(x), z' = gain y."""

    def equations(m, v, p):
        return (m.cos(v.t), p.gain * v.y), (output(m, v.x, p) - v.y,), ()

    parts = {"states": ("x", "z"), "algebraic": ("y",), "equations": staticmethod(equations)}
    parts["high"] = psmr.Parameter(unit="pu", doc="where it switches")
    parts["gain"] = psmr.Parameter(unit="1/s", doc="of z", default=1.0)
    return type("Cornered", (psmr.Component,), parts)


def run_of(output, scheme, t_end=6.0, **parameters):
    """Return a run from x = z = 0, and z of the exact solution at its end."""
    system = systems.one(component_of(output), {}, **parameters)
    high = parameters["high"]
    exact = {
        clipped: lambda t: np.clip(np.sin(t), -high, high),
        compared: lambda t: float(np.sin(t) >= high),
    }[output]
    # Between the kinks the solution is smooth.
    met = np.arcsin(high)
    turns = [t for t in (met, np.pi - met, np.pi + met, 2 * np.pi - met) if t < t_end]
    ends = [0.0, *turns, t_end]
    z = sum(quad(exact, a, b, epsabs=1e-13)[0] for a, b in itertools.pairwise(ends))
    return psmr.simulate(system, scheme, t_end, certify=False), z, np.array(turns)


@pytest.mark.parametrize("method", PAIRS)
@pytest.mark.parametrize("output", [clipped, compared])
def test_the_error_behind_kinks_follows_the_tolerance(output, method):
    for tolerance in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        run, z, _ = run_of(output, psmr.VariableStep(tolerance, method), high=0.5)
        assert abs(run.x[-1, 1] - z) < 3 * tolerance


@pytest.mark.parametrize("method", PAIRS)
def test_a_step_ends_at_a_ceiling(method):
    """Within what the rest of the tolerance allows: a part LEFT of it, a few times the root of it in time."""
    run, _, turns = run_of(clipped, psmr.VariableStep(1e-6, method), high=0.5)
    for turn in turns:
        assert np.abs(run.t - turn).min() < 5e-3


@pytest.mark.parametrize("method", PAIRS)
def test_a_ceiling_that_only_stages_pass_is_seen(method):
    """The top of the sine is cut off by 2 % within one step, which ends where it began."""
    run, z, _ = run_of(clipped, psmr.VariableStep(1e-4, method), t_end=3.0, high=0.98)
    assert abs(run.x[-1, 1] - z) < 3e-4


def test_a_corner_that_does_not_matter_is_passed():
    steps = [len(run_of(clipped, psmr.VariableStep(1e-4), gain=g, high=0.5)[0].t) for g in (1e-6, 0.0)]
    assert steps[0] == steps[1]


def test_a_margin_is_what_decides():
    def equations(m, v, p):
        low = m.min(v.x, p.high)
        return (m.clip(v.x, -1, p.high), m.where(m.ge(p.high, 0), v.x, 2 * v.z) + low), (low - v.y,), ()

    parts = {"states": ("x", "z"), "algebraic": ("y",), "equations": staticmethod(equations)}
    parts["high"] = psmr.Parameter(unit="pu", doc="where it switches")
    traced = trace(type("Margins", (psmr.Component,), parts))
    found = switches(traced.graph, traced.expressions, traced.variables)
    # x >= -1 and high >= x, which clip and min have in common; high >= 0 is decided before the run.
    assert len(found.margins) == 2
    assert found.rows == (0, 1, 2)


def test_equations_without_a_corner_have_no_share():
    def equations(m, v, p):
        return (m.where(m.ge(p.high, 0), v.x, -v.x),), (), ()

    parts = {"states": ("x",), "equations": staticmethod(equations)}
    parts["high"] = psmr.Parameter(unit="pu", doc="where it switches")
    found = trace(type("Smooth", (psmr.Component,), parts)).switches
    assert found.margins == found.rows == found.shares == ()


def test_the_error_is_proportional_to_the_tolerance_across_ceilings_of_exciters():
    """Kundur's two areas, bolted fault: the static exciters meet their ceilings and leave them."""
    system = psmr.build(psmr.read_case(CASES / "kundur" / "kundur.toml"))
    fault = severe_fault(system, 8)
    times = instants(fault)
    fine = integrate(system, psmr.VariableStep(1e-9), fault.t_end, fault.changes)
    exact = values_at(system, fault, fine, times)
    scale = np.maximum(1.0, np.abs(exact).max(axis=0))
    ratios = []
    for tolerance in (1e-3, 1e-4, 1e-5, 1e-6):
        run = integrate(system, psmr.VariableStep(tolerance), fault.t_end, fault.changes)
        off = np.abs(values_at(system, fault, run, times) - exact) / scale
        ratios.append(float(off.max()) / tolerance)
    assert max(ratios) < 3**2 * min(ratios)  # c tol / 3 < error < 3 c tol for some c
    assert max(ratios) < 3


def test_a_step_is_broken_off_at_the_stage_that_shows_its_corner(monkeypatch):
    """New England, bolted fault: a quarter of the steps tried meet or leave a limit."""
    system = psmr.build(psmr.read_case(CASES / "new-england" / "new-england.toml"))
    fault = severe_fault(system, 16)
    times = instants(fault)
    fine = integrate(system, psmr.VariableStep(1e-7), fault.t_end, fault.changes)
    exact = values_at(system, fault, fine, times)
    scale = np.maximum(1.0, np.abs(exact).max(axis=0))

    def work_and_error():
        found = []
        for tolerance in np.geomspace(6e-4, 1.6e-3, 5):  # where a single kink falls changes a single run
            run = integrate(system, psmr.VariableStep(float(tolerance)), fault.t_end, fault.changes)
            off = (values_at(system, fault, run, times) - exact) / (tolerance * scale)
            counters = run.counters
            factorised = counters.factorisations_by_role["step"] + counters.partial
            work = counters.newton_iterations["step"], factorised
            found.append((*work, np.sqrt(np.mean(off**2)), np.abs(off).max()))
        return np.mean(found, axis=0)

    broken_off = work_and_error()
    monkeypatch.setattr(error_control, "halts_of", lambda code, switching: halts_of(code, switching)[-1:])
    to_the_end = work_and_error()
    assert (broken_off[:2] < (0.93, 0.88) * to_the_end[:2]).all()
    assert (broken_off[2:] < 1.2 * to_the_end[2:]).all()


def test_a_jump_just_behind_a_step_that_was_to_end_at_it_is_seen():
    """Found from the first stages a jump may be a little late: the next step then jumps near its start."""
    for tolerance in (1e-2, 1e-3):
        for high in np.linspace(0.1, 0.9, 25):
            run, z, _ = run_of(compared, psmr.VariableStep(tolerance, "ESDIRK32"), high=high)
            assert abs(run.x[-1, 1] - z) < 2 * tolerance


def test_switching_close_together_do_not_end_a_step_each():
    """A step to one of a dozen ceilings leads over some more: what they make of a short one is little."""
    ceilings = 0.5 + 1e-3 * np.arange(12)
    component = component_of(clipped)
    devices = [
        psmr.Device(f"C{k}", component, {"high": high, "gain": 1.0}) for k, high in enumerate(ceilings)
    ]
    start = {f"{device.name}.{variable}": 0.0 for device in devices for variable in "xyz"}
    run = psmr.simulate(psmr.assemble(devices, start), psmr.VariableStep(1e-4), 1.5, certify=False)
    met = np.arcsin(ceilings)
    z = 1.0 - np.cos(met) + ceilings * (1.5 - met)
    assert np.abs(run.x[-1, 1::2] - z).max() < 0.2e-4
    assert ((run.t > 0.5) & (run.t < 0.6)).sum() <= 5


@pytest.mark.parametrize(
    ("method", "parts"), [("TR-BDF2", (0.586,)), ("ESDIRK32", (0.45, 0.768)), ("ESDIRK43", (0.5, 0.625))]
)
def test_where_a_step_is_looked_at(method, parts):
    """Behind the stages that are later than all before them, and at the end of the program."""
    system = systems.one(component_of(clipped), {}, high=0.5)
    control = (
        psmr.VariableStep(1e-4, method).engine(system, system.parameters, system.buffer(), False).control
    )
    np.testing.assert_allclose(control.switching.parts[control.halts[:, 1]], (*parts, 1.0), atol=5e-4)
    assert (np.diff(control.halts[:, 0]) > 0).all()


def test_a_device_out_of_service_has_no_kinks():
    component = component_of(clipped)
    devices = [psmr.Device(name, component, {"high": 0.5, "gain": 1.0}) for name in ("A", "B")]
    start = {f"{name}.{variable}": 0.0 for name in ("A", "B") for variable in "xyz"}
    system = psmr.assemble(devices, start)
    w = system.buffer()
    engine = psmr.VariableStep(1e-4).engine(system, system.parameters, w, False)
    assert engine.control.switching.values.shape[1] == 4
    engine.take_out_of_service(system, system.parameters, w, ["A"])
    assert engine.control.switching.values.shape[1] == 2

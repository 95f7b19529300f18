"""Controllers of the library as code that samples, beside themselves as differential equations."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from tests.files.psse.smib import SLOW_SCRX, case
from tests.internals import RMS, CodeLibrary, sample_changes
from tests.sampled.conftest import built as built
from tests.systems.sampled import sampled_twin


def sampled(system, name, T, T_d=0.0):
    """Return a system with a controller as code, at the same start."""
    names = (*system.names_x, *system.names_y, *system.names_u)
    start = dict(zip(names, map(float, system.w0[:-1]), strict=True))
    devices = [
        replace(d, component=sampled_twin(d.component), parameters={**d.parameters, "T": T, "T_d": T_d})
        if d.name == name
        else d
        for d in system.devices
    ]
    return psmr.assemble(devices, start)


def exciter():
    """SCRX of a machine at the end of a line; its reference steps by 0.02 pu."""
    system = psmr.build(case(SLOW_SCRX))
    v_ref = float(system.w0[system.index("AVR1.v_ref")])
    return system, "AVR1", [psmr.SetPoint("AVR1", "v_ref", v_ref + 0.02, 0.1)], ("AVR1.v_f", "bus1.v_re")


def plant_control():
    """REPCA1 of the wind plant of WSCC 9-bus; its voltage reference steps by 0.01 pu."""
    system = psmr.build(psmr.read_case(psmr.case_path("wscc9-renewable")))
    (name,) = {d.name for d in system.devices if d.component.__name__.startswith("REPCA1")} - {"PPC-S3"}
    ref = float(system.w0[system.index(f"{name}.ref")])
    signals = (f"{name}.q_ext", f"{name}.p_ref", "bus3.v_re")
    return system, name, [psmr.SetPoint(name, "ref", ref + 0.01, 0.1)], signals


@pytest.mark.parametrize("controller", [exciter, plant_control])
def test_a_controller_as_code_starts_where_its_equations_do(controller):
    system, name, _, _ = controller()
    code = sampled(system, name, 0.001)
    assert code.s == len(system.device(name).component.states + system.device(name).component.algebraic)
    assert np.abs(sample_changes(code, code.w0)[1]).max() < 1e-11
    assert np.abs(code.f(code.x0, code.y0)).max() < 1e-8
    assert np.abs(code.g(code.x0, code.y0)).max() < 1e-8


@pytest.mark.parametrize("controller", [exciter, plant_control])
def test_the_difference_falls_with_the_first_power_of_the_sample(controller):
    """At 0.5 ms v_f of SCRX is 4.8e-5 pu off, q_ext of REPCA1 2.2e-4 pu."""
    system, name, events, signals = controller()
    t = np.arange(0.2, 1.0, 0.05)

    def values(system):
        scheme = psmr.SingleRate("TM", 0.0005)
        return psmr.simulate(system, scheme, 1.0, events, certify=False).at(t, signals).to_numpy()

    exact = values(system)
    found = [
        np.abs(values(sampled(system, name, T)) - exact).max(axis=0) for T in (0.004, 0.002, 0.001, 0.0005)
    ]
    assert np.log2(np.divide(found[:-1], found[1:])) == pytest.approx(1.0, abs=0.15)
    assert found[-1].max() < 3e-4


READS = ("v_re", "v_im", "v_re_r", "v_im_r", "p_e", "q_e", "ref", "p_plant", "f_ref")


def test_the_plant_control_in_c_is_that_in_python(built):
    """Its library as a component's external code, through the step of its reference."""
    system, name, events, signals = plant_control()
    twin = sampled(system, name, 0.002)
    library, p = CodeLibrary(built(source="repca1")), twin.parameters_at(name)
    code = library.instance(mode=RMS, **{one.name: p[one.name] for one in library.info.parameters})
    component = type(
        "Repca1InC",
        (twin.device(name).component,),
        {"sample": None, "reads": staticmethod(lambda m, v, p: tuple(getattr(v, n) for n in READS))},
    )
    devices = [replace(d, component=component, code=code) if d.name == name else d for d in twin.devices]
    names = (*twin.names_x, *twin.names_y, *twin.names_u)
    in_c = psmr.assemble(devices, dict(zip(names, map(float, twin.w0[:-1]), strict=True)))
    scheme = psmr.SingleRate("TM", 0.001)
    one, other = (
        psmr.simulate(each, scheme, 1.0, events, certify=False).frame(signals) for each in (twin, in_c)
    )
    assert np.abs(one - other).to_numpy().max() < 1e-12
    assert np.ptp(one[signals[0]]) > 0.05

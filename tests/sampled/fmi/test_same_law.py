"""One law as a Python component, a library of the IEEE/CIGRE interface and a unit of FMI: one run."""

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import partitioning
import psmr
from psmr.errors import SimulationError
from tests.internals import CodeLibrary, Fmu
from tests.sampled.fmi.build import COMPILER, MISSING, STATE, WRITTEN, build

pytest.importorskip("fmpy", reason="FMPy reads units of FMI: pip install 'psmr[fmi]'")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

K, T_B, START = 100.0, 1.0, 1.8


class Machine(psmr.Component):
    """A field winding and the voltage behind it, which a slow load follows."""

    states = ("e", "slow")
    algebraic = ("v", "i_f")
    inputs = ("v_f",)
    t_d = psmr.Parameter("s", "time constant of the field", None, 0.8)

    @staticmethod
    def equations(m, v, p):
        return (
            ((v.v_f - v.e) / p.t_d, (v.v - v.slow) / 3.0),
            (v.v - m.sqrt(v.e / 1.8) * (1.1 - 0.1 * v.slow), v.i_f - v.e),
            (),
        )


class Scrx(psmr.Component):
    """SCRX at samples, as `unit.c` and `../code/scrx.c` have it."""

    inputs = ("v_ref", "v_c", "i_f")
    sampled_states = ("lead", "source", "offset")
    sampled_outputs = ("v_f",)
    samples = psmr.Samples(period="T", offset="T_0", delay="T_d")
    T = psmr.Parameter("s", "time between samples", None, 0.001)
    T_0 = psmr.Parameter("s", "first sample", None, 0.0)
    T_d = psmr.Parameter("s", "computing delay", None, 0.0)

    @staticmethod
    def sample(m, v, p):
        error = v.v_ref - v.v_c + v.offset
        led = v.lead + 0.1 * (error - v.lead)
        new = m.clip(v.source + p.T / 0.05 * (K * led - v.source), -5.0, 5.0)
        return (v.lead + p.T / T_B * (error - v.lead), new, v.offset), (v.source,)


def coded(states, outputs, reads):
    """Return the class of the same exciter as code from elsewhere."""
    body = {
        "inputs": Scrx.inputs, "sampled_states": tuple(states), "sampled_outputs": outputs,
        "samples": Scrx.samples, "T": Scrx.T, "T_0": Scrx.T_0, "T_d": Scrx.T_d,
        "reads": staticmethod(reads), "__module__": __name__,
    }  # fmt: skip
    return type("CodedScrx", (psmr.Component,), body)


def system_of(component, start, code=None, **parameters):
    devices = [
        psmr.Device("G", Machine, {}, {"v_f": "A.v_f"}),
        psmr.Device("A", component, parameters, {"v_c": "G.v", "i_f": "G.i_f"}, code=code),
    ]
    return psmr.assemble(
        devices, {"G.e": START, "G.slow": 1.0, "G.v": 1.0, "G.i_f": START, "A.v_ref": 1.0} | start
    )


def of_python(**parameters):
    start = {"A.lead": START / K, "A.source": START, "A.offset": START / K, "A.v_f": START}
    return system_of(Scrx, start, **parameters)


def of_code(code, reads, **parameters):
    values = dict(zip(code.states, code.values[: len(code.states)], strict=True))
    component = coded(code.states, ("v_f", "count"), reads)
    start = {f"A.{name}": value for name, value in values.items()} | {"A.v_f": START, "A.count": 0.0}
    return system_of(component, start, code, **parameters)


def of_unit(path, **parameters):
    """Return the system with a unit of FMI, which starts with the inputs of its first sample."""
    code = Fmu(path).instance("A", k=K, t_b=T_B, v_f_0=START)
    code.initialize(parameters.get("T_0", 0.0), np.array([1.0, 0.0, 1.0, 1.0, START, 0.0]))
    return of_code(code, lambda m, v, p: (v.v_ref, 0.0, v.v_c, v.v_c, v.i_f, 0.0), **parameters)


def of_library(folder, **parameters):
    path = folder / "scrx.so"
    source = Path(__file__).parents[1] / "code" / "scrx.c"
    subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-o", path, source, "-lm"], check=True)
    code = CodeLibrary(path).instance("A", mode=2, k=K, t_b=T_B)
    code.initialize(0.0, np.array([1.0, 0.0, 1.0, 1.0, START, 0.0, 0.0, 0.0, 0.0]), np.array([START, 0.0]))
    reads = lambda m, v, p: (v.v_ref, 0.0, v.v_c, v.v_c, v.i_f, 0.0, 0.0, 0.0, 0.0)  # noqa: E731
    return of_code(code, reads, **parameters)


def split_of(system):
    found = partitioning.by_participation(system.linearise(), delta=1e9)
    fast = lambda names: np.array([name not in ("G.slow",) for name in names])  # noqa: E731
    return replace(
        found, fast_x=fast(system.names_x), fast_y=fast(system.names_y), fast_g=fast(system.names_g)
    )


SCHEMES = {
    "chosen": lambda system: psmr.VariableStep(1e-8),
    "one rate": lambda system: psmr.SingleRate("TM", 0.5e-3),
    "by samples": lambda system: psmr.SampledMultirate(1e-6, split=split_of(system)),
    "two rates": lambda system: psmr.Multirate(split_of(system), 0.02, 40, solution="TM", corrections=2),
}


def run_of(system, scheme, t_end=0.5):
    events = [psmr.SetPoint("A", "v_ref", 1.02, 0.0503)]
    return psmr.simulate(system, SCHEMES[scheme](system), t_end, events, certify=False, partial=True)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("delay", [0.0, 0.001])
def test_python_library_and_units_are_one_law(tmp_path, scheme, delay):
    expected = run_of(of_python(T_d=delay), scheme)
    assert expected["A.v_f"].max() > 1.9
    systems = [of_library(tmp_path, T_d=delay)]
    systems += [
        of_unit(build(tmp_path, fmi, face=face), T_d=delay) for fmi in (2, 3) for face in (WRITTEN, STATE)
    ]
    for system in systems:
        found = run_of(system, scheme)
        assert len(found.t) == len(expected.t)
        for name in ("A.v_f", "G.v", "G.slow"):
            assert np.abs(found[name].to_numpy() - expected[name].to_numpy()).max() < 1e-12


@pytest.mark.parametrize("face", [WRITTEN, STATE, ""])
def test_a_second_run_begins_as_the_first_did(tmp_path, face):
    system = of_unit(build(tmp_path, 3, face=face))
    first, second = (run_of(system, "one rate", 0.2) for _ in range(2))
    assert second["A.v_f"].tolist() == first["A.v_f"].tolist()
    assert first["A.samples"].iloc[-1] == 200


def test_a_run_goes_on_from_the_state_of_its_unit(tmp_path):
    whole = run_of(of_unit(build(tmp_path, 3)), "chosen")
    system = of_unit(build(tmp_path, 3))
    first = run_of(system, "chosen", 0.2)
    again = run_of(system, "chosen", 0.1)  # the unit is elsewhere when the first run goes on
    assert again["A.samples"].iloc[-1] == 100
    later = first.system_at(0.2)
    rest = psmr.simulate(later, SCHEMES["chosen"](later), 0.5, certify=False, partial=True)
    assert rest["A.samples"].iloc[-1] == 500
    assert abs(rest["G.v"].iloc[-1] - whole["G.v"].iloc[-1]) < 1e-6


@pytest.mark.parametrize("scheme", ["chosen", "one rate", "two rates"])
def test_a_run_is_kept_up_to_where_its_unit_fails(tmp_path, scheme):
    with pytest.raises(
        SimulationError, match=r"A: .*t = 0\.1 s: it does not do its step .* watchdog"
    ) as error:
        run_of(of_unit(build(tmp_path, 2, "BROKEN")), scheme)
    assert error.value.partial.t[-1] == pytest.approx(0.1, abs=0.02)

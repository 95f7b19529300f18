"""External code in the certificate of samples: by differences, and where they do not come back."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from psmr import Component, Device, Parameter, Samples, SingleRate, assemble, deformation
from psmr.errors import SchemeError
from tests.internals import RMS, CodeLibrary

COMPILER = shutil.which("cc") or shutil.which("gcc")

pytestmark = pytest.mark.skipif(
    COMPILER is None or sys.platform == "win32", reason="no C compiler to make a controller with"
)

GAIN, FIELD = 20.0, 1.8


class Machine(Component):
    """A voltage that follows the field."""

    states = ("x",)
    inputs = ("u",)

    @staticmethod
    def equations(m, v, p):
        return ((v.u / FIELD - v.x) / 0.8,), (), ()


class Twin(Component):
    """The law of the library's SCRX, with its states."""

    inputs = ("x",)
    sampled_states = ("lead", "lag")
    sampled_outputs = ("v_f",)
    samples = Samples(period="T")
    T = Parameter("s", "time between samples", default=1e-3)
    v_ref = Parameter("pu", "reference", default=1.0 + FIELD / GAIN)

    @staticmethod
    def sample(m, v, p):
        error = p.v_ref - v.x
        led = v.lead + 0.1 * (error - v.lead)
        lag = v.lag + p.T / 0.05 * (GAIN * led - v.lag)
        return (v.lead + p.T / 1.0 * (error - v.lead), lag), (v.lag,)


class Code(Component):
    """The library itself: a counter, a number of single precision, three states."""

    inputs = ("x",)
    sampled_states = ("n", "single", "lead", "lag", "trim")
    sampled_outputs = ("v_f", "count")
    samples = Samples(period="T")
    T = Parameter("s", "time between samples", default=1e-3)
    v_ref = Parameter("pu", "reference", default=1.0 + FIELD / GAIN)

    @staticmethod
    def reads(m, v, p):
        return (p.v_ref, 0.0 * v.x, v.x, 1.0, 1.5, 0.0, 0.0, 0.0, 0.0)


def system_of(component, rest, code=None):
    devices = [
        Device("P", Machine, {}, {"u": "C.v_f"}),
        Device("C", component, {}, {"x": "P.x"}, code=code),
    ]
    return assemble(devices).with_start(x=[1.0], u=rest)


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    path = tmp_path_factory.mktemp("code") / "scrx.so"
    source = Path(__file__).parent / "code" / "scrx.c"
    subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-o", path, source, "-lm"], check=True)
    return CodeLibrary(path).instance(mode=RMS, k=GAIN, t_b=1.0, t_e=0.05)


REST = [5.0, 0.3, FIELD / GAIN, FIELD, 0.0, FIELD, 5.0]


def test_code_has_the_modes_of_its_law(code):
    scheme = SingleRate("TM", 0.001)
    found = deformation(system_of(Code, REST, code).linearise(), scheme)
    law = deformation(system_of(Twin, [FIELD / GAIN, FIELD, FIELD]).linearise(), scheme)
    own = found.table[found.table.status != "zero mode"]
    for column in ("real", "imag", "real_numerical", "imag_numerical"):
        np.testing.assert_allclose(own[column], law.table[column], rtol=1e-7, atol=1e-9)
    words = " ".join(found.warnings)
    assert "Held, since their code takes them as whole numbers or switches on them: C.n." in words
    assert "The law of C does not read its period" in words


def test_code_with_states_of_its_own_is_not_linearised(code):
    class Opaque:
        """The same, which says that it keeps something."""

        address, handle, failure, repeatable = code.address, code.handle, code.failure, False

    linear = system_of(Code, REST, Opaque()).linearise()
    assert linear.held[:2] == ("C.n", "C.single")
    with pytest.raises(SchemeError, match=r"C: its code keeps states of its own.*ringdown"):
        deformation(linear, SingleRate("TM", 0.001))

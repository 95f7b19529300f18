"""Zero time constants: the values choose the form, a pickle finds it again, and it is not left."""

import math
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from psmr import Component, Device, Parameter, assemble
from psmr.errors import InputError
from tests.internals import form_for, nonnegative


class Controller(Component):
    """A limited lag with a proportional-integral controller behind it."""

    states = ("a", "z")
    algebraic = ("y",)
    inputs = ("u",)
    limits = {"a": ("low", "high")}
    lags = {"a": ("t",)}
    integrals = {"z": "k_i"}

    t = Parameter("s", "time constant", nonnegative)
    k_i = Parameter("1/s", "integral gain", nonnegative)
    low = Parameter("pu", "lower limit", default=-1.0)
    high = Parameter("pu", "upper limit", default=1.0)

    @staticmethod
    def equations(m, v, p):
        return ((v.u - v.a) / p.t, p.k_i * v.a), (3 * v.a + v.z - v.y,), ()


def test_nothing_changes_where_no_constant_is_zero():
    assert form_for(Controller, {"t": 0.1, "k_i": 2.0}) is Controller


@pytest.mark.parametrize(
    ("values", "states", "algebraic"),
    [
        ({"t": 0.0, "k_i": 2.0}, ("z",), ("y", "a")),
        ({"t": 0.1, "k_i": 0.0}, ("a",), ("y", "z")),
        ({"t": 0.0, "k_i": 0.0}, (), ("y", "a", "z")),
    ],
)
def test_states_become_algebraic(values, states, algebraic):
    device = Device("d", Controller, values)
    assert device.component.states == states
    assert device.component.algebraic == algebraic
    assert device.component is Device("other", Controller, values).component


@pytest.mark.parametrize(("u", "a"), [(-3.0, -1.0), (0.5, 0.5), (3.0, 1.0)])
def test_limit_of_the_algebraic_lag(u, a):
    device = Device("d", Controller, {"t": 0.0, "k_i": 0.0})
    system = assemble([device], {"d.u": u, "d.a": a, "d.y": 3 * a, "d.z": 0.0})
    assert np.abs(system.g(system.x0, system.y0)).max() == 0.0


class Outer:
    """A place for a component that is no module's own name."""

    class Coded(Controller):
        """A controller whose variables a code chooses."""

        structural = ("code",)
        code = Parameter("-", "what to read", default=2.0)

        @staticmethod
        def shape(code):
            return {"inputs": ("u", *(f"spare_{k}" for k in range(code)))}


@pytest.mark.parametrize(("kind", "more"), [(Controller, {}), (Outer.Coded, {"code": 1.0})])
def test_a_pickle_finds_the_form_again(kind, more):
    device = Device("d", kind, {"t": 0.0, "k_i": 0.0, **more})
    system = assemble([device])
    again = pickle.loads(pickle.dumps(system))
    assert again.devices[0].component is device.component
    assert again.groups[0].compiled is system.groups[0].compiled


MODULE = """
from psmr.dae.declare.component import Component, Parameter

class Lag(Component):
    states = ("x",)
    lags = {"x": ("t",)}
    t = Parameter("s", "time constant")

    @staticmethod
    def equations(m, v, p):
        return ((1.0 - m.exp(v.x)) / p.t,), (), ()
"""

WRITER = """
import pickle, mine
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble

devices = [Device("a", mine.Lag, {"t": 0.0}), Device("b", mine.Lag, {"t": 2.0})]
pickle.dump(assemble(devices, {"a.x": 1.0, "b.x": 1.0}), open("system.pickle", "wb"))
"""

READER = """
import pickle

system = pickle.load(open("system.pickle", "rb"))
print(system.residual(system.w0).tolist())
"""


def test_another_process_reads_the_system_of_a_users_component(tmp_path):
    (tmp_path / "mine.py").write_text(MODULE)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    for program in (WRITER, READER):
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    slope, residual = eval(done.stdout)
    assert residual == 1.0 - math.exp(1.0)
    assert slope == residual / 2


def test_a_form_keeps_its_zero():
    form = Device("d", Controller, {"t": 0.0, "k_i": 0.0}).component
    with pytest.raises(InputError, match="must be 0 in this algebraic form"):
        Device("d", form, {"t": 0.1, "k_i": 0.0})

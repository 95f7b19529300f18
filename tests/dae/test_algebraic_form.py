"""Zero time constants: the values choose the form, a pickle finds it again, and it is not left."""

import pickle

import numpy as np
import pytest

from psmr.dae.declare.algebraic_form import form_for
from psmr.dae.declare.component import Component, Parameter, nonnegative
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.errors import InputError


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


def test_pickle():
    device = Device("d", Controller, {"t": 0.0, "k_i": 0.0})
    system = pickle.loads(pickle.dumps(assemble([device])))
    assert system.devices[0].component is device.component


def test_a_form_keeps_its_zero():
    form = Device("d", Controller, {"t": 0.0, "k_i": 0.0}).component
    with pytest.raises(InputError, match="must be 0 in this algebraic form"):
        Device("d", form, {"t": 0.1, "k_i": 0.0})

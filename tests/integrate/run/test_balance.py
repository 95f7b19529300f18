"""Algebraic equations after an event, from values that are far from their solution."""

import numpy as np
import pytest

import psmr
from psmr import Component, Device, Parameter, SingleRate, assemble
from psmr.errors import SimulationError
from tests import systems
from tests.internals import Change, consistent, integrate


class Power(Component):
    """A constant power, of v_min and less the impedance that it is there: a law with a corner."""

    inputs = ("v_re", "v_im")
    outputs = ("i_re", "i_im")
    p = Parameter("pu", "active power")
    q = Parameter("pu", "reactive power")
    v_min = Parameter("pu", "voltage of the corner", default=0.3)
    status = Parameter("1", "in service", default=1.0)

    @staticmethod
    def equations(m, v, p):
        """Return the current into the bus."""
        y = 1.0 / m.max(v.v_re**2 + v.v_im**2, p.v_min**2)
        return (), (), (-(p.p * v.v_re + p.q * v.v_im) * y, -(p.p * v.v_im - p.q * v.v_re) * y)


def with_constant_powers(wscc9):
    network = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    start = dict(zip((*network.names_x, *network.names_y, *network.names_u), network.w0[:-1], strict=True))
    devices = [
        Device(d.name, Power, {"p": d.parameters["p"], "q": d.parameters["q"]}, d.connections)
        if d.name.startswith("load")
        else d
        for d in network.devices
    ]
    return assemble(devices, start)


def test_clearing_begins_again_from_the_undisturbed_system(wscc9):
    """Constant powers: from the voltages of the fault Newton finds nothing, from those before it it does."""
    system = with_constant_powers(wscc9)
    changes = psmr.Fault(bus=4, start=1.0, clear=1.1, x=0.01).changes(system)
    run = integrate(system, SingleRate("TM", 5e-3), 1.1, changes)
    before, after = np.flatnonzero(np.isclose(run.t, 1.1))
    with pytest.raises(SimulationError, match="no solution near the last values"):
        consistent(system, run.x[before], run.y[before])
    np.testing.assert_allclose(run.y[after], consistent(system, run.x[after], system.y0), atol=1e-12)


def test_devices_out_of_service_stay_where_newton_begins_again(wscc9):
    """A device beside the network leaves with the clearing: its variable stays, the network begins again."""
    network = with_constant_powers(wscc9)
    start = dict(zip((*network.names_x, *network.names_y, *network.names_u), network.w0[:-1], strict=True))
    beside = Device("D", systems.Quadratic, {})
    system = assemble([*network.devices, beside], {**start, "D.x": 1.0, "D.y": 1.0})
    fault = psmr.Fault(bus=4, start=1.0, clear=1.1, x=0.01).changes(system)
    run = integrate(system, SingleRate("TM", 5e-3), 1.1, [*fault, Change(1.1, out=("D",))])
    before, after = np.flatnonzero(np.isclose(run.t, 1.1))
    own = system.names_y.index("D.y")
    # x' = -y, y = x^2 from 1: y = 1 / (1 + t)^2
    assert run.y[before, own] == pytest.approx(1 / 2.1**2, rel=1e-4)
    assert run.y[after, own] == run.y[before, own]
    without = integrate(system, SingleRate("TM", 5e-3), 1.1, fault)
    others = [i for i in range(system.m) if i != own]
    np.testing.assert_allclose(run.y[after, others], without.y[after, others], atol=1e-9)

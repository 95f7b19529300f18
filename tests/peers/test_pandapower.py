"""pandapower's networks as cases: the same power flow, and standard dynamics that start at rest.

pandapower's own copy of the IEEE 300-bus system is not MATPOWER's: where a branch joins two base voltages
pandapower has a transformer, which in that copy turned the charging of three of them into magnetising
susceptance, of the other sign, and has the ratio of others at the wrong end. The solutions of the two copies
differ by 0.107 pu; each is found here as its program finds it.
"""

import logging

import numpy as np
import pytest

import psmr
from psmr import from_pandapower
from psmr.errors import CaseError
from tests.disturbances import quiet_minute, system_of
from tests.internals import integrate, power_flow

pandapower = pytest.importorskip("pandapower")
networks = pytest.importorskip("pandapower.networks")
pytestmark = pytest.mark.peers


@pytest.fixture(autouse=True)
def quiet():
    """Keep pandapower's remarks on the voltage limits of its own networks out of the log."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def compare(net, **options):
    """Return the case after comparing voltages and angles at every bus of the network."""
    case = from_pandapower(net)
    flow = power_flow(case)
    pandapower.runpp(net, tolerance_mva=1e-9, **options)
    place = {bus.number: i for i, bus in enumerate(case.buses)}
    solved = net.res_bus[net.res_bus.vm_pu.notna()]
    lookup = net._pd2ppc_lookups["bus"]
    first = {}
    for index in net.bus.index:
        first.setdefault(lookup[index], index)
    order = [place[first[lookup[index]] + 1] for index in solved.index]
    np.testing.assert_allclose(flow.v[order], solved.vm_pu, rtol=0, atol=1e-8)
    # Phase shifts add up to more than a turn; pandapower takes whole turns off.
    turn = np.exp(1j * (flow.angle[order] - np.radians(solved.va_degree.to_numpy())))
    np.testing.assert_allclose(turn, 1.0, rtol=0, atol=1e-8)
    return case, flow


@pytest.mark.parametrize("name", ["case9", "case14", "case39", "case118", "case300", "case1354pegase"])
def test_power_flow(name):
    compare(getattr(networks, name)(), init="flat")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["case2869pegase", "case9241pegase"])
def test_power_flow_of_large_networks(name):
    compare(getattr(networks, name)(), init="dc", max_iteration=30)


def test_everything_a_network_can_have():
    """Switches, taps, phase shift, iron losses, wards, three windings, scaled and static generators."""
    net = networks.example_multivoltage()
    case, _ = compare(net)
    assert case.frequency_hz == 50.0
    assert sum(row.name.startswith("S") for row in case.generators) == int(net.sgen.in_service.sum())


def test_out_of_service():
    net = networks.case14()
    net.line.loc[3, "in_service"] = False
    net.gen.loc[0, "in_service"] = False
    pandapower.create_bus(net, 135.0)
    twin = pandapower.create_bus(net, 135.0)
    pandapower.create_switch(net, 1, twin, et="b")
    pandapower.create_sgen(net, twin, p_mw=5.0, q_mvar=1.0, scaling=0.5)
    case, _ = compare(net)
    assert len(case.buses) == 14
    assert len(case.branches) == len(networks.case14().line) + len(networks.case14().trafo) - 1
    assert next(row for row in case.generators if row.name == "S0").p_mw == 2.5


@pytest.mark.parametrize("converters", [0.0, 0.3])
@pytest.mark.parametrize("name", ["case118", "case300"])
def test_standard_dynamics(name, converters):
    """At rest, and stable: only the common angle is free."""
    case = from_pandapower(getattr(networks, name)())
    system = psmr.build(psmr.add_dynamics(case, converters=converters))
    assert np.abs(system.residual(system.w0)).max() < 1e-10
    table = psmr.modes(system.linearise())
    zero = np.hypot(table.real, table.imag) < 1e-6
    assert zero.sum() == 1
    assert (table.real[~zero] < 0).all()


@pytest.mark.slow
def test_standard_dynamics_at_size():
    """1,879 plants on 9,241 buses start at rest."""
    case = from_pandapower(networks.case9241pegase())
    flow = power_flow(case)
    system = psmr.build(psmr.add_dynamics(case, converters=0.3, flow=flow), flow)
    assert np.abs(system.residual(system.w0)).max() < 1e-10
    assert all(row.devices for row in psmr.add_dynamics(case, flow=flow).generators)


@pytest.mark.slow
def test_pivots_at_size_are_chosen_once_and_fit():
    """Those of short steps serve steps of twenty seconds, those of long ones stay near the diagonal."""
    system, bus = system_of("case9241pegase", 0.0)
    changes = quiet_minute(system, bus).changes
    run = integrate(system, psmr.VariableStep(1e-3), 120.6, changes)
    assert np.diff(run.t).max() > 20.0
    # Of the rest, one step of half a second, of the steps of milliseconds behind it, which those do not suit,
    # and of the events; more where factors have no room.
    assert run.counters.repivots == 3
    run = integrate(system, psmr.SingleRate("TM", 0.1, newton="very dishonest", tolerance=1e-7), 1.0, changes)
    assert run.counters.repivots == 2


def test_loads_that_follow_the_voltage():
    net = networks.case14()
    parts = {"const_z_p_percent": 40.0, "const_i_p_percent": 25.0, "const_z_q_percent": 70.0}
    net.load.loc[2, list(parts)] = list(parts.values())
    case, _ = compare(net)
    (soft,) = [row for row in case.loads if not row.constant_power]
    assert (*soft.p_zip, *soft.q_zip, soft.v_0) == pytest.approx((0.4, 0.25, 0.35, 0.7, 0.0, 0.3, 1.0))


def test_refuses_uneven_branches():
    net = networks.case14()
    pandapower.create_impedance(net, 3, 8, rft_pu=0.01, xft_pu=0.1, rtf_pu=0.01, xtf_pu=0.2, sn_mva=100.0)
    with pytest.raises(CaseError, match="its two ends differ in x; make the impedance or line symmetric"):
        from_pandapower(net)


def test_refuses_what_is_no_network():
    with pytest.raises(CaseError, match="dict: must be a pandapowerNet"):
        from_pandapower({})

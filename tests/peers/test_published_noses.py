"""The largest load of networks that pandapower carries, against figures published elsewhere."""

import pytest

import psmr

networks = pytest.importorskip("pandapower.networks")


def test_the_nose_of_the_ieee_14_bus_system():
    """MATPOWER, t_cpf.m, case14 without limits of reactive power: 2.0401678 of 1.5 times the load more.

    Loads and generators are then 4.06 times what they were, the figure of the literature on this system.
    """
    curve = psmr.pv_curve(psmr.from_pandapower(networks.case14()), reactive_limits=False)
    assert curve.growth[curve.nose] / 1.5 == pytest.approx(2.0401678, abs=2e-6)

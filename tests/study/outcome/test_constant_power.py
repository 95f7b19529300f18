"""What a run that ends without a solution says of loads of constant power at low voltage."""

from pathlib import Path

import numpy as np
import pytest

import psmr
from tests.internals import constant_power_at_low_voltage, voltage_places

CASE = Path(__file__).parents[3] / "cases" / "wscc9" / "wscc9.toml"


@pytest.mark.parametrize(
    ("loads", "named"), [("power", True), ("impedance", False), ("p=0,0,1 q=1,0,0", True)]
)
def test_loads_at_low_voltage_are_named(loads, named):
    system = psmr.build(psmr.read_case(CASE), loads=loads)
    assert constant_power_at_low_voltage(system, system.x0, system.y0) == ""
    y = system.y0.copy()
    re, im = (places[4] - system.n for places in voltage_places(system))
    y[[re, im]] *= 0.55 / np.hypot(y[re], y[im])
    words = constant_power_at_low_voltage(system, system.x0, y)
    assert ("(load5 at 0.550 pu): the lower the voltage" in words) is named
    assert ('loads = "impedance"' in words) is named

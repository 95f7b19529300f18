"""PowSyBl networks as cases: its equations of branches, and its own load flow where it is installed.

Measured with pypowsybl 1.16: against its own load flow 1.3e-5 pu (SmallGrid of the CGMES conformity files),
3.8e-5 (MicroGrid BE), 3e-9 to 1.2e-6 (its IEEE 9, 14, 30, 57); against the stored SV profile 1.3e-4 pu
(MicroGrid BE) and 3.2e-4 pu (NL).
"""

import math

import numpy as np
import pandas as pd
import pytest

from psmr.errors import CaseError, PsmrWarning
from tests.internals import from_powsybl, power_flow

NAN = math.nan
PLACES = ("aA", "bA", "cB")
V1, V2 = 400.0, 110.0
Z, SHUNT = 0.9 + 15.0j, 2e-4 - 3e-4j
RHO, ALPHA = 0.28, 4.0


def table(*rows):
    return pd.DataFrame(rows).set_index("id")


class Network:
    """What `from_powsybl` reads of a network: 400 kV, a line, a transformer to 110 kV, a boundary line."""

    def __init__(self, **changed):
        ends = {"connected1": True, "connected2": True}
        self.id, self.per_unit = "net", changed.pop("per_unit", False)
        self.tables = {
            "voltage_levels": table({"id": "A", "nominal_v": V1}, {"id": "B", "nominal_v": V2}),
            "buses": table(
                *({"id": b, "voltage_level_id": v, "v_mag": NAN, "v_angle": NAN} for b, v in PLACES)
            ),
            "lines": table(
                {"id": "line", "bus1_id": "a", "bus2_id": "b", "r": 2.0, "x": 30.0, **ends}
                | {"g1": 1e-6, "b1": 2e-5, "g2": 1e-6, "b2": 3e-5}
            ),
            "2_windings_transformers": table(
                {"id": "T", "bus1_id": "b", "bus2_id": "c", "rho": RHO, "alpha": ALPHA, **ends}
                | {"r_at_current_tap": Z.real, "x_at_current_tap": Z.imag}
                | {"g_at_current_tap": SHUNT.real, "b_at_current_tap": SHUNT.imag}
            ),
            "dangling_lines": table(
                {"id": "X", "bus_id": "c", "connected": True, "r": 1.0, "x": 5.0, "g": 1e-5, "b": 4e-5}
                | {"p0": 20.0, "q0": 5.0, "paired": False}
                | {"boundary_v_mag": NAN, "boundary_v_angle": NAN}
            ),
            "loads": table({"id": "L", "bus_id": "c", "connected": True, "p0": 60.0, "q0": 20.0}),
            "shunt_compensators": table({"id": "S", "bus_id": "c", "connected": True, "g": 0.0, "b": 1e-3}),
            "generators": table(
                {"id": "G", "bus_id": "a", "regulated_bus_id": "a", "connected": True}
                | {"voltage_regulator_on": True, "target_p": 50.0, "target_q": NAN, "target_v": 404.0}
                | {"min_q_at_target_p": -99.0, "max_q_at_target_p": 99.0, "rated_s": 300.0, "max_p": 200.0}
                | {"p": NAN}
            ),
        } | changed

    def __getattr__(self, name):
        if not name.startswith("get_"):
            raise AttributeError(name)
        return lambda all_attributes: self.tables.get(name.removeprefix("get_"), pd.DataFrame())


def test_the_branches_have_the_equations_of_powsybl():
    """In kV and siemens: at bus b, what flows into line and transformer and out of nothing else is zero."""
    case = from_powsybl(Network())
    assert [bus.base_kv for bus in case.buses] == [V1, V1, V2, V2]
    flow = power_flow(case)
    a, b, c, x = flow.voltage * np.array([V1, V1, V2, V2])
    assert abs(a) == pytest.approx(404.0)
    line = (b - a) / (2.0 + 30.0j) + (1e-6 + 3e-5j) * b
    turned = RHO * np.exp(1j * np.radians(ALPHA))
    series = (b * turned - c) / Z
    into = np.conj(turned) * (series + SHUNT * b * turned)
    assert abs(line + into) * abs(b) < 1e-6  # MVA: kA times kV
    boundary = (c - x) / (1.0 + 5.0j)
    assert x * np.conj(boundary) == pytest.approx(20.0 + 5.0j, abs=1e-6)
    at_c = series - boundary - (1e-5 + 4e-5j) * c - 1e-3j * c - np.conj((60.0 + 20.0j) / c)
    assert abs(at_c) * abs(c) < 1e-6


def test_what_is_open_is_left_out():
    transformers = Network().tables["2_windings_transformers"].assign(connected2=False)
    with pytest.warns(PsmrWarning, match="left out"):
        case = from_powsybl(Network(**{"2_windings_transformers": transformers}))
    assert [bus.number for bus in case.buses] == [1, 2]


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (object(), "object: must be a pypowsybl network"),
        (Network(per_unit=True), "the network is in per unit; set network.per_unit = False"),
        (Network(hvdc_lines=table({"id": "H"})), "H: direct current is not read"),
        (
            Network(generators=Network().tables["generators"].assign(voltage_regulator_on=False)),
            "no generator regulates the voltage of its bus",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(network, words):
    with pytest.raises(CaseError, match=words):
        from_powsybl(network)


@pytest.mark.peers
@pytest.mark.parametrize("name", ["ieee9", "ieee14", "ieee30", "ieee57"])
def test_its_own_load_flow_is_met(name):
    network = pytest.importorskip("pypowsybl.network")
    loadflow = pytest.importorskip("pypowsybl.loadflow")
    grid = getattr(network, f"create_{name}")()
    loadflow.run_ac(grid, loadflow.Parameters(distributed_slack=False, use_reactive_limits=False))
    case = from_powsybl(grid, frequency_hz=60.0)
    flow = power_flow(case, reactive_limits=False)
    for bus, v in zip(case.buses, flow.v, strict=True):
        assert v == pytest.approx(bus.v, abs=1e-5)

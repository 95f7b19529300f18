"""PowSyBl networks as cases: its equations of branches, and its own load flow where it is installed.

Measured with pypowsybl 1.16: against its own load flow, with the slack at the same bus, 1.3e-5 pu (SmallGrid
of the CGMES conformity files), at most 8e-9 (MicroGrid BE and NL, its IEEE 9 to 300); against the stored SV
profile 1.3e-4 pu (MicroGrid BE) and 3.2e-4 pu (NL).
"""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from psmr.errors import CaseError, PsmrWarning
from tests.internals import at_position, from_powsybl, power_flow

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
            "boundary_lines": table(
                {"id": "X", "bus_id": "c", "connected": True, "r": 1.0, "x": 5.0, "g": 1e-5, "b": 4e-5}
                | {"p0": 20.0, "q0": 5.0, "paired": False}
                | {"boundary_v_mag": NAN, "boundary_v_angle": NAN, "voltage_level_id": "B"}
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


def test_of_what_is_open_at_one_end_the_admittance_stays():
    """In siemens at 400 kV: that of the second end in series with the impedance, beside that of the first."""
    transformers = Network().tables["2_windings_transformers"].assign(connected2=False)
    with pytest.warns(PsmrWarning, match="left out"):
        case = from_powsybl(Network(**{"2_windings_transformers": transformers}))
    assert [bus.number for bus in case.buses] == [1, 2]
    (magnetising,) = (row for row in case.shunts if row.name == "T")
    assert magnetising.bus == 2
    at_b = SHUNT * RHO**2 * V1**2
    assert complex(magnetising.g_mw, magnetising.b_mvar) == pytest.approx(at_b)

    lines = Network().tables["lines"].assign(connected1=False)
    lines = pd.concat([lines, Network().tables["lines"].rename(index={"line": "whole"})])
    case = from_powsybl(Network(lines=lines))
    (charging,) = (row for row in case.shunts if row.name == "line")
    y = 1e-6 + 3e-5j + 1 / (2.0 + 30.0j + 1 / (1e-6 + 2e-5j))
    assert charging.bus == 2
    assert complex(charging.g_mw, charging.b_mvar) == pytest.approx(y * V1**2)


def tie(first_connected=True):
    """Two boundary lines, from a to b, in place of the line."""
    first = Network().tables["boundary_lines"].reset_index().iloc[0]
    first = dict(first) | {"paired": True, "tie_line_id": "tie", "voltage_level_id": "A"}
    halves = (
        first | {"id": "N", "bus_id": "a", "connected": first_connected},
        first | {"id": "F", "bus_id": "b", "r": 2.0, "x": 9.0},
    )
    lines = Network().tables["lines"].assign(connected2=first_connected)
    return Network(boundary_lines=table(*halves), lines=lines)


def test_a_tie_line_joins_its_two_boundary_lines():
    """The current from a to b is that of 3 + j 14 ohms: nothing is drawn at their boundary."""
    case = from_powsybl(tie())
    assert len(case.loads) == 1
    flow = power_flow(case)
    a, b, _, boundary = flow.voltage * np.array([V1, V1, V2, V1])
    assert a - boundary == pytest.approx((a - b) * (1.0 + 5.0j) / (3.0 + 14.0j))


def test_a_tie_line_open_at_one_end_keeps_its_admittances():
    lines = Network().tables["lines"]
    case = from_powsybl(Network(boundary_lines=tie(False).tables["boundary_lines"], lines=lines))
    y = 1 / (1.0 + 5.0j + 1 / (1e-5 + 4e-5j)) * V1**2
    (half,) = (row for row in case.shunts if row.name == "N")
    assert half.bus == 4
    assert complex(half.g_mw, half.b_mvar) == pytest.approx(y)


def compensator(**changed):
    row = {"id": "SVC", "bus_id": "b", "connected": True, "regulating": True, "regulation_mode": "VOLTAGE"}
    row |= {"regulated_bus_id": "c", "target_v": 111.0, "target_q": NAN, "b_min": -0.01, "b_max": 0.01}
    return from_powsybl(Network(static_var_compensators=table(row | changed)))


def test_a_static_var_compensator_holds_the_bus_that_it_regulates():
    assert power_flow(compensator()).v[2] == pytest.approx(111.0 / V2)


def test_a_static_var_compensator_that_does_not_regulate_is_none():
    assert [row.name for row in compensator(regulating=False).generators] == ["G"]


def test_a_voltage_stored_without_its_angle_is_no_solution():
    buses = Network().tables["buses"].assign(v_mag=401.0)
    assert {bus.v for bus in from_powsybl(Network(buses=buses)).buses} == {None}


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (object(), "object: must be a pypowsybl network"),
        (Network(per_unit=True), "the network is in per unit; set network.per_unit = False"),
        (Network(hvdc_lines=table({"id": "H"})), "H: direct current is not read"),
        (Network(dc_nodes=table({"id": "D"})), "D: direct current is not read"),
        (
            Network(generators=Network().tables["generators"].assign(voltage_regulator_on=False)),
            "no generator regulates the voltage of its bus",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(network, words):
    with pytest.raises(CaseError, match=words):
        from_powsybl(network)


TIES = "eurostag_tutorial_example1_with_tie_lines_and_areas"


@pytest.mark.peers
@pytest.mark.parametrize(
    ("name", "open_end"),
    [
        *((f"ieee{n}", None) for n in (9, 14, 30, 57, 118, 300)),
        *((f"micro_grid_{n}_network", None) for n in ("be", "nl")),
        *(("ieee118", ("lines", "L63-64-1", end)) for end in (1, 2)),
        ("ieee14", ("2_windings_transformers", "T5-6-1", 1)),
        (TIES, None),
        (TIES, ("boundary_lines", "NHV1_XNODE1", "")),
    ],
)
def test_its_own_load_flow_is_met(name, open_end):
    network = pytest.importorskip("pypowsybl.network")
    loadflow = pytest.importorskip("pypowsybl.loadflow")
    grid = getattr(network, f"create_{name}")()
    if open_end:
        kind, branch, end = open_end
        getattr(grid, f"update_{kind}")(id=branch, **{f"connected{end}": False})
    (slack,) = (row.name for row in from_powsybl(grid).generators if row.control == "slack")
    at_slack = {"slackBusSelectionMode": "NAME", "slackBusesIds": grid.get_generators().bus_id[slack]}
    chosen = loadflow.Parameters(
        distributed_slack=False,
        use_reactive_limits=False,
        read_slack_bus=False,
        provider_parameters=at_slack | {"newtonRaphsonConvEpsPerEq": "1e-8"},
    )
    loadflow.run_ac(grid, chosen)
    case = from_powsybl(grid, frequency_hz=60.0)
    flow = power_flow(case, reactive_limits=False)
    for bus, v in zip(case.buses, flow.v, strict=True):
        assert bus.v is None or v == pytest.approx(bus.v, abs=1e-7)


def test_lines_without_impedance():
    """Their buses are one, with what the lines have to ground; the solution is that of a small impedance."""
    small = Network().tables["lines"].assign(r=0.0, x=1e-4)
    none = small.assign(x=0.0)
    with pytest.warns(PsmrWarning, match=r"^line: 1-2: has no impedance; buses 1 and 2 are one, bus 1"):
        case = from_powsybl(Network(lines=none))
    ours, theirs = power_flow(case), power_flow(from_powsybl(Network(lines=small)))
    assert [bus.number for bus in case.buses] == [1, 3, 4]
    np.testing.assert_allclose(ours.voltage, theirs.voltage[[0, 2, 3]], rtol=0, atol=1e-7)
    # A transformer without impedance keeps its ratio.
    turned = Network().tables["2_windings_transformers"].assign(r_at_current_tap=0.0, x_at_current_tap=0.0)
    with pytest.warns(PsmrWarning, match=r"^T: has a ratio and no impedance; x = 1e-06 pu stands for it"):
        case = from_powsybl(Network(**{"2_windings_transformers": turned}))
    assert [row.x for row in case.transformers if row.name == "T"] == pytest.approx([1e-6])


def test_loads_keep_their_power_at_low_voltage():
    assert {row.v_min for row in from_powsybl(Network()).loads} == {0.0}


CHANGER = {"side": "", "tap": 9, "low_tap": 8, "oltc": True, "regulating": True, "regulated_side": "ONE"}


def changing(kind, mode, **given):
    """A network whose transformer has a tap changer of three even steps: 0.05 of the ratio, or 2 degrees."""
    columns = ("rho", (0.95, 1.0, 1.05)) if kind == "ratio" else ("alpha", (-2.0, 0.0, 2.0))
    steps = [
        {"id": "T", "side": "", columns[0]: x, "r": r, "x": r}
        for x, r in zip(columns[1], (10, 0, 10), strict=True)
    ]
    changer = CHANGER | {"id": "T", "regulation_mode": mode, **given}
    return Network(**{f"{kind}_tap_changers": table(changer), f"{kind}_tap_changer_steps": table(*steps)})


def test_a_ratio_tap_changer_keeps_its_voltage():
    """rho is even, the tap of the row its inverse; the impedance at the ends is 10 % larger."""
    network = changing("ratio", "VOLTAGE", regulating_bus_id="c", target_v=111.1, target_deadband=2.2)
    row = from_powsybl(network, tap_changers=(30.0, 5.0)).transformers[1]
    tap = row.tap
    wanted = {"v_set": 1.01, "half_band": 0.01, "bus": 3.0, "tap_min": tap / 1.05, "tap_max": tap / 0.95}
    wanted |= {"positions": 3.0, "reciprocal": 1.0, "t_first": 30.0, "t_next": 5.0}
    assert row.tap_changer.parameters == pytest.approx(wanted)
    assert row.correction == pytest.approx((tap / 1.05, 1.1, 0.0, tap, 1.0, 0.0, tap / 0.95, 1.1, 0.0))
    assert at_position(2, SimpleNamespace(**row.tap_changer.values), ("tap_min", "tap_max")) == pytest.approx(
        tap
    )
    assert from_powsybl(network).transformers[1].tap_changer is None


def test_a_phase_tap_changer_keeps_its_power():
    """At its other side 30 MW are - 30 MW into it; its positions are the steps around its angle."""
    given = {"regulation_value": 30.0, "target_deadband": 8.0, "regulated_side": "TWO"}
    row = from_powsybl(changing("phase", "ACTIVE_POWER_CONTROL", **given), 50.0, (30.0, 5.0)).transformers[1]
    wanted = {"p_set": -30.0, "half_band": 4.0, "shift_min": -6.0, "shift_max": -2.0, "positions": 3.0}
    assert row.tap_changer.parameters == pytest.approx(wanted | {"t_first": 30.0, "t_next": 5.0})


def test_a_tap_changer_without_a_band_gets_one_that_a_step_does_not_cross():
    network = changing("ratio", "VOLTAGE", regulating_bus_id="c", target_v=110.0, target_deadband=NAN)
    with pytest.warns(PsmrWarning, match="T: its dead band has no width; 0.03078 pu to either side stand in"):
        row = from_powsybl(network, tap_changers=(30.0, 5.0)).transformers[1]
    assert row.tap_changer.parameters["half_band"] == pytest.approx(0.6 * math.log(1 / 0.95))
    with pytest.warns(PsmrWarning, match="T: its phase tap changer keeps nothing that psmr has in a band"):
        from_powsybl(changing("phase", "CURRENT_LIMITER"), tap_changers=(30.0, 5.0))

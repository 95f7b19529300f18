"""Generation control of areas: PST's example, rest to 1e-9, limits, ramps, trips, schedules, bad input."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError
from tests.components import GenerationControl, Participation
from tests.devices.library import PARAMETERS
from tests.internals import (
    ROLES,
    NumericMath,
    component_named,
    generator_plant,
    power_flow,
    role_parameters,
    solve_plants,
    with_gains,
)
from tests.systems.two_areas import LOAD_STEP, two_areas

# Read off the vector graphics run-AGC-2.pdf and run-AGC-3.pdf: t, the orders to governors 1 and 4 in pu of
# 900 MVA, the changes of generation of both areas in pu of 100 MVA.
PLOTTED = np.array(
    [
        (24.9, 0.0, 0.0, 0.22918, 0.23010),
        (39.9, 0.017021, -0.009859, 0.34384, 0.04697),
        (54.9, 0.023467, -0.011739, 0.38803, -0.02366),
        (69.9, 0.025752, -0.010717, 0.39663, -0.03723),
        (84.9, 0.027038, -0.009334, 0.39687, -0.03742),
        (99.9, 0.028073, -0.008171, 0.39639, -0.03647),
        (114.9, 0.028953, -0.007242, 0.39620, -0.03600),
    ]
)
HALF_A_LINE = (0.0375 / 1492.5 * 5 * 0.5 * 50, 5.0025 / 1485 * 0.5 / 2)
"""Half the width of the curves in those figures, in pu."""


def test_two_areas_as_pst_plots_them():
    """Orders within 6e-5 of 0.03 pu (measured), generation within 1e-3 of 0.4 pu, as wide as half a line."""
    system = psmr.build(two_areas(own_meters=1.0))
    run = psmr.simulate(system, psmr.VariableStep(1e-5), 116.0, [LOAD_STEP])

    def at(values):
        return np.interp(PLOTTED[:, 0], run.t, values - values.iloc[0])

    orders = np.column_stack([at(run[f"LFC{k}.p_area"] / 9) for k in (1, 4)])
    power = np.column_stack([at(run[f"G{k}.p"] + run[f"G{k + 1}.p"]) / 100 for k in (1, 3)])
    assert np.abs(orders - PLOTTED[:, 1:3]).max() < HALF_A_LINE[0]
    assert np.abs(power - PLOTTED[:, 3:]).max() < HALF_A_LINE[1]


def test_frequency_and_interchange_return_to_their_schedules():
    """ACE = 0 at the start, and everything back to 1e-9 after a step, a ramp of the schedule on top."""
    system = psmr.build(two_areas(T=4.0, T_0=4.0, k_i=0.12, bias=40.0))
    rest = psmr.simulate(system, psmr.VariableStep(1e-5), 20.0)
    assert max(np.abs(rest[f"AGC{k}.ace"]).max() for k in (1, 2)) < 1e-9
    wanted = system.w0[system.index("AGC1.schedule")] + 0.2
    ramps = [psmr.SetPoint(f"AGC{k}", "schedule", sign * wanted, 50.0, 80.0) for k, sign in ((1, 1), (2, -1))]
    run = psmr.simulate(system, psmr.VariableStep(1e-5), 1500.0, [LOAD_STEP, *ramps])
    for k, sign in ((1, 1), (2, -1)):
        assert abs(run[f"AGC{k}.f"].iloc[-1] - 60.0) < 1e-9
        assert abs(run[f"AGC{k}.interchange"].iloc[-1] - sign * wanted) < 1e-9
        assert abs(run[f"AGC{k}.ace"].iloc[-1]) < 1e-9
    # Who is without a limit gives its part: of the area's power, by its own reference.
    parts = run["LFC1.p_area"].iloc[-1], run["LFC2.p_area"].iloc[-1]
    assert parts[0] == pytest.approx(3 * parts[1], rel=1e-6)


def test_limits_ramps_and_a_lost_unit():
    """What a unit at its limit cannot give the other one does; a unit that is lost has no part."""
    case = two_areas(T=4.0, T_0=4.0, k_i=0.12).edit({"LFC1.p_max": 735.0, "LFC2.ramp": 60.0})
    system = psmr.build(case)
    run = psmr.simulate(system, psmr.VariableStep(1e-5), 200.0, [LOAD_STEP])
    room = system.w0[system.index("AGC1.most")] - (1e6 / 100 - 7.0)
    assert run["LFC1.p_area"].max() == pytest.approx(room, abs=1e-9)
    assert run["AGC1.free"].iloc[-1] == 0.25
    level = run["AGC1.level"].iloc[-1]
    assert run["AGC1.given"].iloc[-1] == pytest.approx(room + 0.25 * level, abs=1e-9)
    assert abs(run["AGC1.ace"].iloc[-1]) < 2e-3
    rise = np.diff(run["LFC2.p_area"]) / np.maximum(np.diff(run.t), 1e-9)
    assert rise.max() == pytest.approx(60 / 60 / 100, rel=1e-3)
    lost = psmr.simulate(system, psmr.VariableStep(1e-4), 12.0, [psmr.GeneratorTrip("G2", 5.0)])
    assert lost["AGC1.most"].iloc[-1] == pytest.approx(room, abs=1e-9)


def test_the_level_finds_what_units_can_give():
    """Steps of the level end at sum of clipped parts = wanted, found by bisection, for 200 random areas."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        count = rng.integers(1, 7)
        part = rng.dirichlet(np.ones(count))
        least, most = -rng.exponential(1.0, count), rng.exponential(1.0, count)
        wanted = rng.uniform(1.2 * least.sum(), 1.2 * most.sum())
        sums = {"least": least.sum(), "most": most.sum()}
        p = SimpleNamespace(s_base=1.0, f_n=50.0, bias=0.0, T=1.0, t_ace=0.0, band=0.0, k_p=0.0, k_i=1.0)
        v = SimpleNamespace(level=rng.uniform(-20, 20), integral=wanted, ace_f=0.0, f=50.0, **sums)
        v.interchange = v.schedule = 0.0
        for _ in range(40):
            units = [
                Participation.equations(
                    NumericMath,
                    SimpleNamespace(level=v.level, p_area=0.0, set_point=0.0, reference=0.0),
                    SimpleNamespace(
                        part=a, p_min=b, p_max=c, p_0=0.0, s_base=1.0, ramp=1.0, t_p=1.0, gain=1.0
                    ),
                )[2]
                for a, b, c in zip(part, least, most, strict=True)
            ]
            v.given, v.free = (float(sum(unit[k] for unit in units)) for k in (0, 1))
            v.level = float(GenerationControl.sample(NumericMath, v, p)[1][1])
        assert v.given == pytest.approx(np.clip(wanted, least.sum(), most.sum()), abs=1e-12)


SOURCE = {"type": "VoltageSource", "i_max": 2.0, "k_dc": 10.0}
COMMUTATED = {"i_rated_ka": 1.0, "bridges": 2, "x_ohm": 5.0, "angle_deg": 18.0}
LINKS = {
    "sources": (
        {"i_rated_ka": 1.0, "p_mw": 100.0, "device": SOURCE},
        {"i_rated_ka": 1.0, "v_kv": 200.0, "device": SOURCE | {"k_idc": 100.0}},
    ),
    "commutated": (
        COMMUTATED | {"i_ka": 0.5, "device": {"type": "Rectifier"}},
        COMMUTATED | {"v_kv": 200.0, "device": {"type": "Inverter"}},
    ),
}


@pytest.mark.parametrize("own", [0.0, 1.0])
@pytest.mark.parametrize("kind", [*LINKS, "held"])
def test_what_flows_over_dc_is_interchange_too(kind, own):
    """AC and DC at each point of a load step; with one meter a tie interchanges add up to zero."""

    def change(tables):
        for bus in tables["buses"]:
            bus["base_kv"] = 230.0
        if kind == "held":
            ends = (("l-c1", 3, 50.0), ("l-c2", 13, -48.0))
            power = {"q_mvar": 0.0, "model": "power", "held": True}
            tables["loads"] += [{"name": n, "bus": b, "p_mw": p} | power for n, b, p in ends]
            return
        capacity = {"c_uf": 100.0} if kind == "sources" else {}
        tables["dc_buses"] = [{"name": name, "base_kv": 200.0} | capacity for name in ("d1", "d2")]
        tables["dc_lines"] = [{"name": "link", "from": "d1", "to": "d2", "r_ohm": 4.0, "l_mh": 200.0}]
        ends = (("c1", 3, "d1"), ("c2", 13, "d2"))
        tables["dc_converters"] = [
            {"name": name, "bus": bus, "dc_bus": dc} | row
            for (name, bus, dc), row in zip(ends, LINKS[kind], strict=True)
        ]

    system = psmr.build(two_areas(change, T=4.0, T_0=4.0, own_meters=own))
    run = psmr.simulate(system, psmr.VariableStep(1e-5), 12.0, [LOAD_STEP], certify=False)
    # Bus 101 between the areas is in area 1.
    ac = {end: sum(run[f"line13-101{k}.p_{end}"] for k in ("", "-2")) for end in ("from", "to")}
    c1, c2 = (-run[f"l-{c}.p"] if kind == "held" else run[f"{c}.p"] for c in ("c1", "c2"))
    export = (ac["to"] - c1, ac["from"] - c2) if own else (-ac["from"] - c1, ac["from"] + c1)
    for k in (1, 2):
        assert np.abs(run[f"AGC{k}.interchange"] - export[k - 1] / 100).max() < 1e-9
        assert np.ptp(export[k - 1]) > 1.0
    assert (np.abs(export[0] + export[1]).max() < 1e-6) == (not own)


def _without_parts(tables):
    for plant in tables["generators"][2:]:
        del plant["participation"]


def _with_less(tables):
    tables["generators"][0]["participation"] = {"type": "Participation", "part": 0.7}


def _with_a_bus_outside(tables):
    tables["buses"][4]["area"] = 0


def _without_ties(tables):
    tables["lines"] = [line for line in tables["lines"] if (line["from"], line["to"]) != (13, 101)]
    tables["generators"][3] |= {"control": "slack"}
    del tables["generators"][3]["p_mw"]


def _with_another_schedule(tables):
    tables["areas"][0] |= {"schedule_mw": 450.0}


def _with_one_control(tables):
    del tables["areas"][1]


def _beyond_its_limit(tables):
    tables["generators"][0]["participation"] = {"type": "Participation", "part": 0.75, "p_max": 600.0}


def _isochronous(tables):
    governor = {"type": "DEGOV", "t_1": 0.01, "t_2": 0.02, "t_3": 0.2, "k": 10.0, "t_4": 0.25, "t_5": 0.02}
    tables["generators"][1]["governor"] = governor | {"t_6": 0.01, "t_d": 0.02, "t_max": 1.2, "t_min": 0.0}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_without_parts, "no unit in area 2 takes part; give one of its generators"),
        (_with_less, "0.7 of G1, 0.25 of G2, must add up to 1, not 0.95"),
        (_with_a_bus_outside, r"\(bus10\): area = 0: .* every bus must be in an area"),
        (_without_ties, "number = 1: no branch and no DC grid leads from a bus of area 1 to another area"),
        (
            _with_another_schedule,
            "schedule_mw = 450: the interchange of the power flow is 38[0-9.]+ MW, off by",
        ),
        (_with_one_control, "G3 is in area 2, whose .* has no .area.control"),
        (_beyond_its_limit, "p_max = 600: G1 starts at 7[0-9.]+ MW, outside these limits"),
        (_isochronous, "the reference p_ref of G2 does not move its power"),
    ],
)
def test_bad_areas(change, words):
    with pytest.raises(CaseError, match=words):
        psmr.build(two_areas(change))


GOVERNORS = ROLES["governor"]


@pytest.mark.parametrize("governor", GOVERNORS, ids=lambda kind: kind.__name__)
def test_every_governor_with_a_droop_takes_part(governor):
    """What a reference is moved by gives the power asked for, of whatever unit; DEGOV keeps the speed."""
    given = {k: x for k, x in PARAMETERS[governor].items() if k in role_parameters(governor)}
    given |= {"s_n": 900.0} if "s_n" in role_parameters(governor) else {}

    def change(tables):
        tables["generators"][1]["governor"] = {"type": governor.__name__, **given}

    case = two_areas(change)
    flow = power_flow(case)
    plant = generator_plant(case, case.generators[1], flow.by_number(), complex(flow.p[1], flow.q[1]))
    start = solve_plants([plant])
    if governor.__name__ == "DEGOV":
        with pytest.raises(CaseError, match="an isochronous governor keeps its speed by it"):
            with_gains([plant], start, case)
        return
    device = next(one for one in with_gains([plant], start, case)[0].devices if one.name == "LFC2")
    more = solve_plants([replace(plant, current=plant.current + 0.1 / np.conj(plant.voltage))])
    moved = more["LFC2.set_point"] - start["LFC2.set_point"]
    assert moved == pytest.approx(0.1 * device.parameters["gain"], rel=0.02)


CONVERTERS = (
    ("p_ref", {"converter": "GridFollowingConverter"}),
    ("p_ref", {"converter": "REGCA1", "electrical_control": "REECA1"}),
    ("p_plant", {"converter": "REGCA1", "electrical_control": "REECA1", "plant_control": "REPCA1"}),
)


@pytest.mark.parametrize(("reference", "devices"), CONVERTERS)
def test_converters_take_part_by_the_outermost_reference(reference, devices):
    def change(tables):
        plant = tables["generators"][3]
        for role in ("machine", "exciter", "governor"):
            del plant[role]
        for role, name in devices.items():
            kind = component_named(role, name)
            given = {k: x for k, x in PARAMETERS[kind].items() if k in role_parameters(kind)}
            plant[role] = {"type": name, **given} | ({"s_n": 900.0} if role == "converter" else {})

    case = two_areas(change)
    flow = power_flow(case)
    plant = generator_plant(case, case.generators[3], flow.by_number(), complex(flow.p[3], flow.q[3]))
    device = next(d for d in with_gains([plant], solve_plants([plant]), case)[0].devices if d.name == "LFC4")
    assert device.component.algebraic == (reference,)
    assert device.parameters["gain"] == pytest.approx(1 / 9, rel=1e-9)

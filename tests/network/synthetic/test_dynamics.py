"""Standard dynamics put on a power flow: reproducible, inside ratings and limits, at rest."""

import dataclasses
import math
import random
from pathlib import Path

import numpy as np
import pytest

import psmr
from psmr import write_case
from psmr.errors import CaseError
from tests.internals import BusRow, GeneratorRow, LineRow, LoadRow, TypicalPlant, power_flow
from tests.internals import typical_module as typical

WSCC9 = Path(__file__).parents[3] / "cases" / "wscc9" / "wscc9.m"


@pytest.fixture(scope="module")
def wscc9():
    return psmr.read_case(WSCC9, frequency_hz=60.0)


def name(row):
    return row.name


def types(case):
    """Return the types of the devices by role and generator."""
    return {row.name: {device.role: device.type for device in row.devices} for row in case.generators}


@pytest.mark.parametrize("converters", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_starts_at_rest_and_is_stable(wscc9, seed, converters):
    case = psmr.add_dynamics(wscc9, seed=seed, converters=converters)
    system = psmr.build(case)
    assert np.abs(system.residual(system.w0)).max() < 1e-10
    table = psmr.modes(system.linearise())
    zero = np.hypot(table.real, table.imag) < 1e-6
    # The frame's angle is free; where the only machine has no governor its speed is, too.
    assert zero.sum() <= 2
    assert (table.real[~zero] < 0).all()


def test_power_flow_stays(wscc9):
    before, after = power_flow(wscc9), power_flow(psmr.add_dynamics(wscc9, seed=3))
    for key in ("v", "angle", "p", "q"):
        np.testing.assert_array_equal(getattr(before, key), getattr(after, key))


def test_same_seed_same_case_whatever_the_order(wscc9):
    rows = list(wscc9.generators)
    random.Random(1).shuffle(rows)
    turned = dataclasses.replace(wscc9, generators=tuple(rows))
    flow = power_flow(wscc9)
    same = dict(zip((row.name for row in wscc9.generators), zip(flow.p, flow.q, strict=True), strict=True))
    order = np.array([same[row.name] for row in rows])
    # The same power flow: another order of the slack's sum may round otherwise.
    given = dataclasses.replace(flow, case=turned, p=order[:, 0], q=order[:, 1])
    for seed in range(5):
        for share in (0.0, 0.5):
            a = psmr.add_dynamics(wscc9, seed, share, flow=flow)
            b = psmr.add_dynamics(turned, seed, share, flow=given)
            assert sorted(a.generators, key=name) == sorted(b.generators, key=name)


def test_numbers_of_a_seed():
    """The stream is part of the interface: a case that somebody drew must come out again."""
    row = GeneratorRow("G7", 7, "pv", 80.0)
    plant = TypicalPlant(row, 80 + 20j, 100.0, 42)
    assert plant.first == pytest.approx(0.8720837732130753, abs=1e-15)
    assert plant.rating == pytest.approx(104.01643336182404, rel=1e-12)


def test_seeds_differ(wscc9):
    assert psmr.add_dynamics(wscc9, seed=0) != psmr.add_dynamics(wscc9, seed=1)


def test_writes_and_reads(wscc9, tmp_path):
    case = psmr.add_dynamics(wscc9, seed=5, converters=0.4)
    write_case(case, tmp_path / "case.toml")
    again = psmr.read_case(tmp_path / "case.toml")
    assert again.generators == case.generators
    assert again.loads == case.loads


class TestRating:
    @staticmethod
    def plant(dispatch, rating=0.0, limit=math.inf):
        row = GeneratorRow("G1", 1, "pv", q_min_mvar=-limit, q_max_mvar=limit, rating_mva=rating)
        return TypicalPlant(row, complex(dispatch), 100.0, 0)

    def test_given(self):
        assert self.plant(150 + 50j, rating=200.0).rating == 200.0

    def test_given_but_too_small(self):
        """A machine is never above its rating."""
        assert abs(300 + 90j) / 0.92 <= self.plant(300 + 90j, rating=200.0).rating <= abs(300 + 90j) / 0.75

    def test_base_of_the_case_is_no_rating(self):
        assert self.plant(10 + 2j, rating=100.0).rating < 14

    def test_reactive_limits_count(self):
        assert self.plant(80, limit=100.0).rating == pytest.approx(math.hypot(80, 100))

    def test_reactive_limits_count_up_to_twice_the_dispatch(self):
        assert self.plant(80, limit=1000.0).rating == 160.0

    @pytest.mark.parametrize("limit", [math.inf, 9999.0])
    def test_no_reactive_limit(self, limit):
        assert 80 / 0.92 <= self.plant(80, limit=limit).rating <= 80 / 0.75

    def test_condenser_has_the_rating_of_its_limits(self):
        plant = self.plant(3j, limit=50.0)
        assert (plant.rating, plant.kind) == (50.0, "condenser")

    def test_under_excited(self):
        """A machine that takes in more than 40 % of its rating follows no regulator."""
        assert self.plant(30 - 80j).rating == pytest.approx(200.0)
        assert self.plant(30 - 80j, rating=150.0).rating == pytest.approx(200.0)

    def test_idle(self):
        assert self.plant(0).rating == 1.0

    def test_pump(self):
        assert self.plant(-200 + 10j).kind == "pump"


def star(powers, control="pv"):
    """A slack and generators of the given MW, each on its own bus, and one load."""
    buses = tuple(BusRow(number) for number in range(1, len(powers) + 2))
    lines = tuple(LineRow(1, bus.number, 0.05) for bus in buses[1:])
    generators = [GeneratorRow("G1", 1, "slack", rating_mva=5000.0)]
    generators += [GeneratorRow(f"G{k}", k, control, p) for k, p in enumerate(powers, start=2)]
    power = (0.0, 0.0, 1.0)
    load = LoadRow(1, sum(powers), 0.0, power, power)
    return psmr.network.case.case.Case(
        "star", 100.0, 50.0, buses, lines, loads=(load,), generators=tuple(generators)
    )


def test_share_of_converters_is_of_the_rating():
    case = star([20.0 + k for k in range(40)])
    for share in (0.1, 0.3, 0.7, 1.0):
        got = psmr.add_dynamics(case, 1, share)
        rating = {row.name: sum(d.parameters.get("s_n", 0.0) for d in row.devices) for row in got.generators}
        taken = [plant for plant, roles in types(got).items() if "converter" in roles]
        others = [value for plant, value in rating.items() if plant != "G1"]
        # Off by half of the largest at most.
        assert sum(rating[plant] for plant in taken) == pytest.approx(
            share * sum(others), abs=max(others) / 2
        )
        assert "G1" not in taken


def test_all_kinds_appear_and_every_number_is_typical():
    found = set()
    for row in psmr.add_dynamics(star([5.0 * 1.15**k for k in range(40)]), seed=2).generators:
        values = {device.role: device for device in row.devices}
        found |= {device.type for device in row.devices}
        machine = values["machine"].parameters
        assert 1.2 <= machine["h"] <= 6.0
        # Kundur (1994), table 4.2, both kinds of machine.
        assert 0.6 <= machine["x_d"] <= 2.3
        assert 0.15 <= machine["x_d1"] <= 0.5
        assert 0.12 <= machine["x_2"] <= 0.35
        assert 0.1 <= machine["x_l"] <= 0.25
        assert 1.5 <= machine["t_d01"] <= 10.0
    assert found == {
        *("GENROU", "GENSAL", "SEXS", "EXST1", "ESST4B", "IEEEST"),
        *("TGOV1", "IEESGO", "GAST", "HYGOV"),
    }


def test_one_integrating_regulator_a_bus():
    """Two of them on one voltage share its reactive power as they like: a spare zero mode."""
    case = star([100.0])
    pair = [dataclasses.replace(case.generators[1], name=f"G2-{k}", rating_mva=120.0) for k in (1, 2)]
    case = dataclasses.replace(case, generators=(case.generators[0], *pair))
    for seed in range(12):
        kinds = types(psmr.add_dynamics(case, seed))
        assert "ESST4B" not in (kinds["G2-1"]["exciter"], kinds["G2-2"]["exciter"])
    voltage = [roles.get("converter") for roles in types(psmr.add_dynamics(case, 0, 1.0)).values()]
    assert voltage == [None, "GridFollowingConverterV", "GridFollowingConverter"]


def test_pq_generators_hold_reactive_power():
    case = star([50.0, 60.0], control="pq")
    kinds = types(psmr.add_dynamics(case, 0, 1.0))
    assert kinds["G2"] == kinds["G3"] == {"converter": "GridFollowingConverter"}


@pytest.mark.parametrize(
    ("loads", "parts"),
    [
        ("mixed", ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0))),
        ("impedance", ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0))),
        ("keep", ((0.0, 0.0, 1.0), (0.0, 0.0, 1.0))),
    ],
)
def test_loads(wscc9, loads, parts):
    case = psmr.add_dynamics(wscc9, loads=loads)
    assert {(row.p_zip, row.q_zip) for row in case.loads} == {parts}


def test_devices_and_load_models_that_are_there_stay(wscc9):
    own = psmr.add_dynamics(wscc9, seed=1).generators[1]
    impedance = (1.0, 0.0, 0.0)
    mixed = dataclasses.replace(
        wscc9,
        generators=(wscc9.generators[0], own, wscc9.generators[2]),
        loads=(dataclasses.replace(wscc9.loads[0], p_zip=impedance, q_zip=impedance), *wscc9.loads[1:]),
    )
    case = psmr.add_dynamics(mixed, seed=7)
    assert case.generators[1] == own
    assert all(row.devices for row in case.generators)
    assert case.loads[0].p_zip == impedance


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed = -1: must be a whole number >= 0"),
        ({"seed": 1.5}, "seed = 1.5: must be a whole number"),
        ({"seed": True}, "seed = True"),
        ({"converters": 1.2}, "converters = 1.2: must be a part of the rating, from 0 to 1"),
        ({"converters": math.nan}, "converters = nan"),
        ({"converters": "0.3"}, "converters = '0.3'"),
        ({"loads": "impedence"}, "loads = 'impedence': must be one of mixed, impedance, keep; did you mean"),
    ],
)
def test_refuses(wscc9, arguments, message):
    with pytest.raises(CaseError) as error:
        psmr.add_dynamics(wscc9, **arguments)
    assert message in str(error.value)


def test_ranges_are_ordered():
    for kind in typical.KINDS.values():
        for field in dataclasses.fields(kind):
            value = getattr(kind, field.name)
            if isinstance(value, tuple):
                assert 0 < value[0] < value[1]

"""Power flows that start from the solution that a file stores, and how far they end from it."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import psmr
from psmr import Case
from psmr.errors import InputError, PowerFlowError, PsmrWarning
from tests.internals import BusRow, GeneratorRow, LineRow, LoadRow, power_flow

HERE = Path(__file__).parent
POWER = (0.0, 0.0, 1.0)


def feeder(stored: complex | None, p_mw: float = 300.0) -> Case:
    """A load of constant power behind X = 0.1: V^2 = (1 +- sqrt(1 - 4 P^2 X^2)) / 2 from 1 pu."""
    bus = BusRow(2) if stored is None else BusRow(2, v=abs(stored), angle_deg=np.degrees(np.angle(stored)))
    source = BusRow(1) if stored is None else BusRow(1, v=1.0, angle_deg=0.0)
    return Case(
        *("feeder", 100.0, 60.0, (source, bus)),
        lines=(LineRow(1, 2, 0.1),),
        loads=(LoadRow(2, p_mw, 0.0, POWER, POWER, v_min=0.1),),
        generators=(GeneratorRow("G1", 1, "slack"),),
    )


def closed_form(side: int, p: float = 3.0) -> complex:
    v = np.sqrt((1 + side * np.sqrt(1 - 4 * p**2 * 0.01)) / 2)
    return v * np.exp(-1j * np.arcsin(p * 0.1 / v))


def test_the_stored_voltages_are_the_start():
    flow = power_flow(feeder(closed_form(1)))
    assert (flow.start, flow.iterations, flow.notes) == ("stored", 1, ())
    assert flow.stored.largest < 1e-12
    assert power_flow(feeder(closed_form(1)), start="flat").start == "flat"
    assert power_flow(feeder(None)).stored is None


def test_a_stored_solution_of_low_voltage_is_kept_and_named():
    with pytest.warns(PsmrWarning, match=r"low-voltage side .* \(bus2 at 0\.316 pu\).* the file stores"):
        flow = power_flow(feeder(closed_form(-1)))
    assert flow.voltage[1] == pytest.approx(closed_form(-1), abs=1e-12)


def test_another_solution_of_low_voltage_is_refused():
    """From the low-voltage solution of 300 MW the iteration finds that of 270 MW, which is not stored."""
    case = feeder(closed_form(-1), p_mw=270.0)
    with pytest.raises(PowerFlowError, match=r"low-voltage side .*bus2 at 0\.2\d\d pu"):
        power_flow(case, start="stored")
    with pytest.warns(PsmrWarning, match=r"solved from flat voltages: from stored ones .* low-voltage side"):
        flow = power_flow(case)
    assert flow.voltage[1] == pytest.approx(closed_form(1, 2.7), abs=1e-12)
    assert flow.start == "flat"


def test_a_solution_of_the_wrong_angle_is_named():
    """1 pu over X = 0.1 at sin(delta) = 0.1 has a second solution at 180 - 5.739 degrees, voltages held."""
    far = 180.0 - np.degrees(np.arcsin(0.1))
    case = Case(
        *("two", 100.0, 60.0, (BusRow(1, v=1.0, angle_deg=0.0), BusRow(2), BusRow(3, v=1.0, angle_deg=far))),
        lines=(LineRow(1, 2, 0.05), LineRow(2, 3, 0.05)),
        generators=(GeneratorRow("G1", 1, "slack"), GeneratorRow("G3", 3, "pv", 100.0)),
    )
    with pytest.warns(
        PsmrWarning, match=r"low-voltage side .* \(bus2 at 0\.050 pu\)|another sign than in the unl"
    ):
        flow = power_flow(case)
    assert np.degrees(flow.angle[2]) == pytest.approx(far)
    assert np.degrees(power_flow(case, start="flat").angle[2]) == pytest.approx(180.0 - far)


def test_an_impedance_has_no_low_side():
    """A load of constant impedance may stand at any voltage: 0.5 pu behind an equal reactance."""
    case = replace(feeder(None), loads=(LoadRow(2, 0.0, 1000.0, (1.0, 0, 0), (1.0, 0, 0), v_0=1.0),))
    assert power_flow(case).v[1] == pytest.approx(0.5, abs=1e-12)


def test_a_solution_of_low_voltage_in_a_file():
    """Three machines of fixed reactive power (QT = QB); the other solution of the file is at 1.46 pu."""
    with pytest.warns(PsmrWarning, match="bus4 at 0.817 pu"):
        flow = power_flow(psmr.read_case(HERE / "two_area_qt_eq_qb.raw"))
    assert flow.stored.largest < 5e-4
    assert [g.control for g in flow.case.generators] == ["slack", "pq", "pq", "pq"]
    assert flow.generators()["q_mvar"].to_list()[1:] == [300.0, 550.0, -100.0]


def test_worst_buses_first():
    flow = power_flow(psmr.read_case(HERE / "qt_eq_qb.raw"))
    table = flow.stored.table()
    assert list(table.columns) == ["distance", "dv", "dangle_deg"]
    assert table.index[0] == "bus2"
    assert flow.v[1] == pytest.approx(1.01 + table.loc["bus2", "dv"])
    assert str(flow.stored).startswith("at most 0.041 pu from the stored solution (bus2 -0.017 pu, ")
    report = psmr.check(flow.case)
    assert str(flow.stored) in report.text()
    assert "at the voltages that the file stores; reactive limits not enforced" in report.text()
    assert report.record()["power_flow"]["from_stored"] == flow.stored.largest


def test_stored_voltages_of_a_star_are_those_of_its_neighbours():
    case = psmr.read_case(HERE / "i712_3w_stat2.raw")
    flow = power_flow(case)
    assert case.buses[-1].v is None
    assert power_flow(replace(case, buses=_with(case, flow.by_number()))).iterations <= 1


def _with(case: Case, voltage: dict[int, complex]) -> tuple[BusRow, ...]:
    return tuple(
        bus
        if bus.v is None
        else replace(
            bus, v=abs(voltage[bus.number]), angle_deg=float(np.degrees(np.angle(voltage[bus.number])))
        )
        for bus in case.buses
    )


def test_a_start_that_is_not_there():
    with pytest.raises(InputError, match="start = 'stored': feeder stores no solution: must be one of"):
        power_flow(feeder(None), start="stored")


@pytest.mark.parametrize(("reactive", "shares"), [("file", None), ("equal", 0.5), ("rating", 0.5)])
def test_reactive_power_of_one_bus(reactive, shares):
    """Two units that store 40 and -14.2 Mvar keep their difference, or share."""
    flow = power_flow(psmr.read_case(HERE / "qg_split.raw", reactive=reactive))
    q = flow.generators()["q_mvar"].to_numpy()[1:]
    # 1 to 1.02 pu over 0.1 pu with 1 pu of power: sin(delta) = 0.1 / 1.02.
    whole = 100 * (1.02**2 - 1.02 * np.sqrt(1 - (0.1 / 1.02) ** 2)) / 0.1
    assert q.sum() == pytest.approx(whole, abs=1e-9)
    assert q == pytest.approx([whole / 2, whole / 2] if shares else [(whole + 54.2) / 2, (whole - 54.2) / 2])


def test_shares_by_rating_differ_from_equal_ones():
    case = psmr.read_case(HERE / "qg_split.raw", reactive="rating")
    rows = tuple(replace(g, rating_mva=300.0) if g.name == "G2-B" else g for g in case.generators)
    q = power_flow(replace(case, generators=rows)).generators()["q_mvar"]
    assert q["G2-B"] == pytest.approx(3 * q["G2-A"])
    q = power_flow(replace(case, generators=rows, reactive="equal")).generators()["q_mvar"]
    assert q["G2-B"] == pytest.approx(q["G2-A"])


def test_the_share_goes_with_the_case(tmp_path):
    from tests.internals import write_case

    case = psmr.read_case(HERE / "qg_split.raw", reactive="equal")
    write_case(case, tmp_path / "case.toml")
    assert psmr.read_case(tmp_path / "case.toml") == case
    assert psmr.read_case(tmp_path / "case.toml", reactive="rating").reactive == "rating"


def test_two_units_of_which_one_regulates_another_bus():
    """The unit that regulates its own bus decides: VM = 1.03999996 against VS = 1.04 is no contradiction."""
    case = psmr.read_case(HERE / "t7k_two_units.raw")
    assert [(g.name, g.v) for g in case.generators if g.bus == 2] == [("G2", 1.01), ("G2-2", 1.01)]


@pytest.mark.parametrize(
    ("name", "words", "left"),
    [
        ("dead_bus", "bus 4: no generator in service feeds this island; left out", {1, 2, 3}),
        ("i712_3w_stat2", "bus 4: no generator in service feeds this island; left out", {1, 2, 3, 5}),
        ("i712_3w_stat3", "bus 5: no generator in service feeds this island; left out", {1, 2, 3, 4}),
    ],
)
def test_what_is_dead_is_left_out_and_listed(name, words, left):
    with pytest.warns(PsmrWarning, match=words):
        case = psmr.read_case(HERE / f"{name}.raw")
    assert {bus.number for bus in case.buses if not bus.name.startswith("star")} == left
    assert power_flow(case).mismatch < 1e-10


def test_a_case_from_its_own_stored_solution_says_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        power_flow(feeder(closed_form(1)))

"""A case as DataFrames: read, changed by name or by table, refused whole; and a case without a file."""

import warnings

import numpy as np
import pandas as pd
import pytest

import psmr
from psmr.errors import CaseError, PsmrWarning


@pytest.fixture(scope="module")
def case(wscc9):
    return psmr.read_case(wscc9 / "wscc9.toml")


def test_the_tables_are_the_case(case):
    assert list(case.tables["lines"].columns) == ["from", "to", "x", "r", "b", "g", "status", "circuit"]
    assert case.tables["generators"].loc["G2", "p_mw"] == 163.0
    machines = case.tables["TwoAxisMachine"]
    assert machines.loc["G1", ["plant", "role", "h"]].to_list() == ["G1", "machine", 23.64]
    assert len(case.tables["shunts"]) == 0
    # Given back as they are, all of them leave the case as it was.
    assert case.edit(**dict(case.tables)) == case
    with pytest.raises(CaseError, match=r"no table 'generator'; did you mean 'generators'\?; it has buses"):
        case.tables["generator"]


def test_motors_and_exponents_go_there_and_back(wscc9):
    motors = psmr.read_case(wscc9 / "wscc9-gfm.toml")
    assert motors.edit(**dict(motors.tables)) == motors
    (name,) = motors.tables["InductionMotor"].index
    heavier = motors.edit({f"{name}.h": 1.25})
    assert heavier.tables["InductionMotor"].loc[name, "h"] == 1.25


def test_an_edit_by_name_and_column(case):
    new = case.edit({"load5.p_mw": np.float64(150), "G1.h": 20, "AVR*.k_a": 25.0, "line4-5.status": 0})
    assert new.tables["loads"]["p_mw"].to_list() == [150.0, 90.0, 100.0]
    assert new.tables["TwoAxisMachine"].loc["G1", "h"] == 20.0
    assert set(new.tables["ExciterType1"]["k_a"]) == {25.0}
    assert case.tables["loads"].loc["load5", "p_mw"] == 125.0
    # The plant G1 and its machine G1 are told apart by the column.
    assert case.edit({"G1.v": 1.05}).tables["generators"].loc["G1", "v"] == 1.05
    system = psmr.build(new)
    assert system.parameter("AVR2", "k_a") == 25.0


def test_a_rating_follows_the_machine_it_was_worked_out_of(case):
    assert case.edit({"G2.s_n": 250.0}).tables["generators"].loc["G2", "rating_mva"] == 250.0
    own = case.edit({"G2.rating_mva": 300.0})
    assert own.edit({"G2.s_n": 250.0}).tables["generators"].loc["G2", "rating_mva"] == 300.0


def test_an_edit_by_table(case):
    loads = case.tables["loads"]
    loads["p_mw"] *= 1.1
    more = pd.DataFrame([loads.loc["load8"].to_dict() | {"bus": 9, "p_mw": 5.0}], index=["load9"])
    grown = case.edit(loads=pd.concat([loads, more]))
    assert grown.tables["loads"]["p_mw"].to_list() == pytest.approx([137.5, 99.0, 110.0, 5.0])
    psmr.build(grown)
    less = grown.edit(loads=grown.tables["loads"].drop("load9"))
    assert len(less.loads) == 3
    machines = case.tables["TwoAxisMachine"]
    machines["h"] *= 2
    assert case.edit(TwoAxisMachine=machines).tables["TwoAxisMachine"].loc["G3", "h"] == 6.02
    plants = case.tables["generators"]
    plants.loc["G1", "v"] = 1.05
    assert [len(g.devices) for g in case.edit(generators=plants).generators] == [4, 4, 4]


def test_what_is_wrong_is_said_at_once_and_nothing_changes(case):
    before = case.tables["loads"].copy()
    with pytest.raises(CaseError) as caught:
        case.edit({"load5.pmw": 1, "lod5.p_mw": 1, "AVR1.ka": 2, "x": 1})
    assert str(caught.value).startswith("4 mistakes:")
    for words in (
        "load5 has no column 'pmw'; did you mean 'p_mw'?", "nothing called 'lod5'; did you mean 'load5'?",
        "did you mean 'k_a'?", "'x': write \"name.column\"",
    ):  # fmt: skip
        assert words in str(caught.value)
    with pytest.raises(CaseError) as caught:
        case.edit(
            {"load5.p_mw": "a", "load6.p_mw": np.nan, "line4-5.status": 3, "G1.h": -1.0, "load8.bus": 1.5}
        )
    assert str(caught.value).startswith("5 mistakes:")
    for words in ("p_mw = 'a': must be a number", "must be finite", "h = -1.0: must be > 0", "bus = 1.5"):
        assert words in str(caught.value)
    pd.testing.assert_frame_equal(case.tables["loads"], before)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"load5.bus": 99}, r"bus = 99: there is no bus with this number; did you mean '9'\?"),
        ({"line4-5.status": 0, "line4-6.status": 0}, "has no slack"),
        ({"bus5.number": 4}, "number = 4: taken by"),
    ],
)
def test_a_case_that_would_contradict_itself_is_refused(case, values, words):
    with pytest.raises(CaseError, match=words):
        case.edit(values)


def test_tables_that_are_none(case):
    loads = case.tables["loads"]
    with pytest.raises(CaseError, match=r"must be a DataFrame like case\.tables\['loads'\]"):
        case.edit(loads={"p_mw": 1})
    with pytest.raises(CaseError, match="loads has no column 'p_MW'; did you mean 'p_mw'"):
        case.edit(loads=loads.rename(columns={"p_mw": "p_MW"}))
    with pytest.raises(CaseError, match=r"row 1 \(load5\): p_mw is missing"):
        case.edit(loads=loads.drop(columns="p_mw"))
    with pytest.raises(CaseError, match="no table 'lods'; did you mean 'loads'"):
        case.edit(lods=loads)
    # What pandas fills in for a value that nobody gave is not taken for one.
    loads.loc["load9", ["bus", "p_mw"]] = 9, 5.0
    with pytest.raises(CaseError, match=r"loads, row 4 \(load9\): p_zip = nan"):
        case.edit(loads=loads)
    machines = case.tables["TwoAxisMachine"].rename(index={"G1": "G7"})
    with pytest.raises(CaseError, match="no TwoAxisMachine called 'G7'"):
        case.edit(TwoAxisMachine=machines)


MACHINE = {"type": "ClassicalMachine", "s_n": 100.0, "h": 5.0, "d": 0.0, "x_d1": 0.3}
HEAD = {"base_mva": 100.0, "frequency_hz": 60.0}


def test_a_case_without_a_file():
    case = psmr.make_case(
        "one machine",
        **HEAD,
        buses=[{"number": np.int64(1)}, {"number": 2}],
        lines=({"from": 1, "to": k, "x": 0.1} for k in (2,)),
        loads=[{"bus": 2, "p_mw": np.float64(50.0), "q_mvar": 10.0, "model": "impedance"}],
        generators=[{"name": "G1", "bus": 1, "control": "slack", "v": 1.0, "machine": MACHINE}],
    )
    system = psmr.build(case)
    assert system.names_x == ("G1.delta", "G1.omega")
    assert case.lines[0].name == "line1-2"


def test_a_case_without_a_file_gets_what_a_file_gets(tmp_path, case):
    with pytest.raises(CaseError) as caught:
        psmr.make_case(
            "bad",
            **HEAD,
            buses=[{"number": 1}, {"numbr": 2}],
            lines=[{"from": 1, "to": 2, "x": "a"}],
            loads=[{"bus": 2, "p_mw": 50.0, "model": "impedance"}],
            generators=[
                {"name": "G1", "bus": 1, "control": "slack", "v": 1.0, "machine": {"type": "Classic"}}
            ],
        )
    for words in (
        "5 mistakes", "buses, row 2: there is no field 'numbr'; did you mean 'number'?",
        "lines, row 1: x = 'a': must be a number", "loads, row 1: q_mvar is missing",
        "generators, row 1 (G1), machine (G1): type = 'Classic'",
    ):  # fmt: skip
        assert words in str(caught.value)
    with pytest.raises(CaseError, match="buses = int: must be a list of dictionaries"):
        psmr.make_case("bad", **HEAD, buses=3)
    with pytest.raises(CaseError, match="buses, row 1: 3 is not a dictionary"):
        psmr.make_case("bad", **HEAD, buses=[3])
    with pytest.raises(CaseError, match="no installed module not_there"):
        psmr.make_case("bad", **HEAD, buses=[], modules=("not_there",))
    with pytest.raises(CaseError, match="modules = 'one': must be a list"):
        psmr.make_case("bad", **HEAD, buses=[], modules="one")
    with pytest.raises(CaseError, match="modules = None: must be a list"):
        psmr.make_case("bad", **HEAD, buses=[], modules=None)
    with pytest.raises(CaseError, match=r"base_mva = 'a': must be a number"):
        psmr.make_case("bad", base_mva="a", frequency_hz=60.0, buses=[])


def test_an_edit_warns_of_what_is_newly_unlikely(case):
    name = next(row.devices[0].name for row in case.generators if "h" in row.devices[0].parameters)
    with pytest.warns(PsmrWarning, match="h = 20000 s: an inertia constant is between"):
        new = case.edit({f"{name}.h": 2e4})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new.edit({f"{case.loads[0].name}.p_mw": 1.0})

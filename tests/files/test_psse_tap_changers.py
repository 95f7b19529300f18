"""Tap changers from RAW and DYR files: controls of transformers, with delays asked for or from records."""

import pytest

import psmr
from psmr.errors import CaseError, PsmrWarning
from tests.files.raw import raw_text

TAP = "1.02,0.0,30.0,0.0,0.0,0.0,1,-3,1.1,0.9,1.03,1.01,17,0,0.01,0.05"
SHIFT = "1.02,0.0,30.0,0.0,0.0,0.0,3,0,45.0,-15.0,40.0,20.0,21,0,0.0,0.0"
FLOW = "1.02,0.0,30.0,0.0,0.0,0.0,2,0,1.1,0.9,15.0,5.0,17,0,0.0,0.0"
MACHINES = "1 'GENCLS' 1 5 0 /\n2 'GENCLS' G1 5 0 /\n"


def read(tmp_path, control, dyr="", raw=None, **how):
    """The case of a RAW file whose first transformer has a control, and of the lines of a DYR file."""
    (tmp_path / "case.raw").write_text((raw or raw_text()).replace("1.02,0.0,30.0", control))
    if dyr:
        (tmp_path / "case.dyr").write_text(MACHINES + dyr)
        how["dynamics"] = tmp_path / "case.dyr"
    return psmr.read_case(tmp_path / "case.raw", **how)


def changer(case, name="transformer2-3"):
    return next(row.tap_changer for row in case.transformers if row.name == name)


@pytest.mark.parametrize(
    ("control", "kind", "values"),
    [
        (TAP, "TapChanger", {"v_set": 1.02, "half_band": 0.01, "bus": 3.0, "r_c": 0.01, "x_c": 0.05}),
        (FLOW, "ReactiveTapChanger", {"q_set": 10.0, "half_band": 5.0}),
        (SHIFT, "PhaseShifter", {"p_set": 30.0, "half_band": 10.0, "shift_min": -15.0, "shift_max": 45.0}),
    ],
)
def test_controls_move_with_the_delays_that_are_asked_for(tmp_path, control, kind, values):
    with pytest.warns(
        PsmrWarning, match=r"1 tap changers and phase shifters move in a run, after 30 s and then"
    ):
        found = changer(read(tmp_path, control, tap_changers=(30.0, 5.0)))
    # WINDV2 is 0.98: the row's ratio is that of both windings.
    ends = {} if kind == "PhaseShifter" else {"tap_min": 0.9 / 0.98, "tap_max": 1.1 / 0.98}
    positions = {"positions": 21.0 if kind == "PhaseShifter" else 17.0}
    assert found.type == kind
    assert found.parameters == pytest.approx(values | ends | positions | {"t_first": 30.0, "t_next": 5.0})


def test_without_being_asked_they_stand_still(tmp_path):
    assert changer(read(tmp_path, TAP)) is None


@pytest.mark.parametrize("end", ["", "T"])
def test_records_say_the_times(tmp_path, end):
    """OLTC1: TD, TC and TSD; at the other end of a transformer too."""
    found = changer(read(tmp_path, TAP, f"3 'OLTC1{end}' 2 '1 ' 40.0 3.0 8.0 /\n"))
    wanted = {"t_first": 40.0, "t_mechanical": 3.0, "t_next": 8.0, "bus": 3.0}
    assert wanted.items() <= found.parameters.items()
    assert changer(read(tmp_path, SHIFT, f"2 'OLPS1{end}' 3 '1 ' 40.0 3.0 8.0 /\n")).type == "PhaseShifter"


def test_a_record_of_three_windings_moves_the_one_at_its_first_bus(tmp_path):
    """The winding at bus 3 regulates bus 3; the record names it first."""
    raw = raw_text().replace(
        "1.00,0.0,-30.0,0.0,0.0,0.0,0,0", f"1.00,0.0,-30.0{TAP.removeprefix('1.02,0.0,30.0')}"
    )
    assert raw != raw_text()
    case = read(tmp_path, "1.02,0.0,30.0", "3 'OLTC3T' 2 4 '1 ' 40.0 3.0 8.0 /\n", raw=raw)
    moved = [row.name for row in case.transformers if row.tap_changer is not None]
    assert moved == ["transformer2-3-4-w2"]


@pytest.mark.parametrize(
    ("control", "dyr", "words"),
    [
        (
            TAP,
            "2 'OLTC1' 4 '1 ' 40 3 8 /\n",
            "there is no transformer 2-4, circuit '1', in the RAW file; left out",
        ),
        (
            TAP,
            "2 'OLPS1' 3 '1 ' 40 3 8 /\n",
            "has no COD = 3 in the RAW file, and regulates nothing; left out",
        ),
        ("1.02,0.0,30.0", "2 'OLTC1' 3 '1 ' 40 3 8 /\n", "has no COD = 1 or 2 in the RAW file"),
        (
            TAP.replace("1.03,1.01", "1.02,1.02"),
            "2 'OLTC1' 3 '1 ' 40 3 8 /\n",
            "half_band = 0.0: must be > 0",
        ),
    ],
)
def test_what_moves_nothing_is_said(tmp_path, control, dyr, words):
    with pytest.warns(PsmrWarning, match=words):
        case = read(tmp_path, control, dyr)
    assert all(row.tap_changer is None for row in case.transformers)


def test_what_cannot_move_stands_still(tmp_path):
    """A range without the start; delays that are none; a file in which nothing regulates."""
    with pytest.warns(PsmrWarning, match=r"range must contain the start, tap = 1.04\d+; .* it stands still"):
        case = read(tmp_path, TAP.replace("1.1,0.9,", "1.0,0.9,"), tap_changers=(30.0, 5.0))
    assert changer(case) is None
    with pytest.raises(CaseError, match=r"tap_changers = \(30.0,\): must be two times > 0 in s"):
        read(tmp_path, TAP, tap_changers=(30.0,))


@pytest.mark.parametrize("count", [0, 1])
def test_a_range_without_positions_has_the_default_number(tmp_path, count):
    """NTP = 0 or 1, as exports have it: two positions, silently, would be steps of a tenth."""
    with pytest.warns(PsmrWarning, match=f"NTP = {count}: a range has two positions or more; .* taken, 33"):
        case = read(tmp_path, TAP.replace(",17,", f",{count},"), tap_changers=(30.0, 5.0))
    assert changer(case).parameters["positions"] == 33


def test_what_regulates_otherwise_is_said(tmp_path):
    """COD = 4, a DC line; 5, an asymmetric phase shift."""
    words = "0 tap changers .*; 1 more regulate what is not read and stand still: transformer2-3"
    with pytest.warns(PsmrWarning, match=words):
        read(tmp_path, TAP.replace(",1,-3,", ",4,0,"), tap_changers=(30.0, 5.0))

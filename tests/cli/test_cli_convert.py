"""`psmr convert`: what it writes, leaves out and refuses."""

import json

import pytest

import psmr
from psmr.errors import PsmrWarning
from tests.cli.command import call
from tests.internals import CaseFile, load_system


def test_a_raw_file_needs_no_conversion(psse, capsys, tmp_path):
    raw, dyr = psse
    assert call(capsys, "convert", raw, tmp_path / "grid.toml", "--dynamics", dyr)[0] == 0
    _, expected, _ = call(capsys, "modes", tmp_path / "grid.toml")
    assert call(capsys, "modes", raw, "--dynamics", dyr)[:2] == (0, expected)
    code, _, err = call(capsys, "modes", raw)
    assert (code, "name the DYR file that belongs to a .raw file (--dynamics)" in err) == (2, True)


def test_convert(wscc9, capsys, tmp_path):
    target = tmp_path / "out.toml"
    code, out, err = call(capsys, "convert", wscc9 / "wscc9.raw", target)
    assert (code, err) == (0, "")
    assert out.startswith("WSCC 9-bus: 9 buses, 6 lines, 3 transformers")
    assert target.exists()
    code, out, err = call(capsys, "convert", wscc9 / "wscc9.m", target, "--json")
    assert code == 0
    assert "warning" in err
    assert "60 Hz" in err
    assert json.loads(out)["generators"] == 3
    code, _, err = call(capsys, "convert", wscc9 / "wscc9.m", target, "--frequency", 50)
    assert (code, err) == (0, "")
    assert "frequency_hz = 50.0" in target.read_text()


def test_convert_says_what_it_leaves_and_keeps_what_it_reads(psse, wscc9, capsys, tmp_path):
    raw, dyr = psse
    code, _, err = call(capsys, "convert", wscc9 / "wscc9.m", raw, "--frequency", 60)
    assert code == 0
    assert f"{dyr}: is of another case, this one has no dynamic data" in err
    before = dyr.read_text()
    code, _, err = call(capsys, "convert", wscc9 / "wscc9.raw", tmp_path / "grid.raw", "--dynamics", dyr)
    assert (code, dyr.read_text()) == (2, before)
    assert f"{dyr}: is the source itself" in err


def test_convert_adds_dynamics(wscc9, capsys, tmp_path):
    target = tmp_path / "out.toml"
    options = ("--frequency", 60, "--add-dynamics", "--seed", 2, "--converters", 0.4)
    code, out, err = call(capsys, "convert", wscc9 / "wscc9.m", target, *options, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["devices"] >= 5
    expected = psmr.add_dynamics(psmr.read_case(wscc9 / "wscc9.m", frequency_hz=60.0), 2, 0.4)
    assert psmr.read_case(target).generators == expected.generators


def test_convert_refuses(wscc9, capsys, tmp_path):
    for arguments, message in (
        ((wscc9 / "wscc9.raw", tmp_path / "out.xyz"), "must end in .toml, .raw or .m"),
        ((wscc9 / "wscc9.toml", wscc9 / "wscc9.toml"), "is the source itself"),
        ((tmp_path / "none.raw", tmp_path / "out.toml"), "cannot be read"),
        ((wscc9 / "wscc9.m", tmp_path / "out.toml", "--dynamics", "x.dyr"), "x.dyr: cannot be read"),
        ((wscc9 / "wscc9.raw", tmp_path / "out.toml", "--seed", 3), "give that, too"),
        ((wscc9 / "wscc9.raw", tmp_path / "out.toml", "--add-dynamics", "--converters", 2), "from 0 to 1"),
    ):
        code, out, err = call(capsys, "convert", *arguments)
        assert (code, out) == (2, "")
        assert message in err
    assert list(tmp_path.iterdir()) == []


def test_convert_says_how_far_the_solution_is_from_the_stored_one(wscc9, capsys, tmp_path):
    """What RAW and MATPOWER files store; a TOML file stores what the case has."""
    kundur = wscc9.parent / "kundur" / "kundur.raw"
    _, out, _ = call(capsys, "convert", kundur, tmp_path / "out.m")
    assert "Power flow: at most 0.0021 pu from the stored solution (bus6 " in out
    _, out, _ = call(capsys, "convert", kundur, tmp_path / "out.toml")
    assert "Power flow" not in out


def test_a_run_far_from_the_stored_solution_says_so(wscc9):
    kundur = wscc9.parent / "kundur"
    file = CaseFile(kundur / "kundur.raw", kundur / "kundur.dyr")
    with pytest.warns(PsmrWarning, match=r"kundur\.raw: the power flow is at most 0\.0021 pu from the"):
        load_system(file)

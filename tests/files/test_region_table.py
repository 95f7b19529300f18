"""The table [dynamic] of case files: read, written, built, overridden by a study."""

import dataclasses
import re

import pytest

import psmr
from psmr.cli import main
from psmr.errors import CaseError, InputError, PsmrWarning

LOOP = "-38.2+16.7j"
"""The phase-locked loop of WSCC 9-bus with a converter in full, docs/dynamic-network.md."""


@pytest.fixture(scope="module")
def text():
    return psmr.case_path("wscc9-emt").read_text()


@pytest.fixture
def written(text, tmp_path):
    def write(table):
        path = tmp_path / "case.toml"
        head, mark, rest = text.partition("[[bus]]")
        path.write_text(f"{head}[dynamic]\n{table}\n\n{mark}{rest}")
        return path

    return write


def test_the_region_of_a_case_is_built_and_written_again(written, tmp_path):
    case = psmr.read_case(written('buses = [3, 9]\nwithin = 1\ndevices = ["G1"]\nstator_speed = false'))
    region = psmr.Region((3, 9), within=1, devices=("G1",), stator_speed=False)
    assert case.dynamic == region
    system = psmr.build(case, loads="impedance")
    plain = dataclasses.replace(case, dynamic=None)
    assert system.names_x == psmr.build(plain, loads="impedance", dynamic=region).names_x
    assert "bus9.v_re" in system.names_x
    phasors = psmr.build(case, loads="impedance", dynamic=psmr.Region("none"))
    assert phasors.names_x == psmr.build(plain, loads="impedance").names_x
    psmr.write_case(case, tmp_path / "again.toml")
    assert psmr.read_case(tmp_path / "again.toml").dynamic == region
    with pytest.warns(PsmrWarning, match="the region with its own dynamics, bus 3, 9, .* is not written"):
        psmr.write_case(case, tmp_path / "again.m")


def test_a_region_by_the_error_of_modes_is_the_one_that_is_measured(written, tmp_path):
    case = psmr.read_case(written(f'error = 0.003\nmodes = "{LOOP}"'))
    assert case.dynamic == psmr.Region(error=0.003, modes=complex(LOOP))
    with pytest.warns(PsmrWarning, match=r"case.toml:\d+|13 of 23 elements .*at most 0.256 %"):
        system = psmr.build(case, loads="impedance")
    assert "bus9.v_re" in system.names_x
    assert "bus5.v_re" not in system.names_x
    psmr.write_case(case, tmp_path / "again.toml")
    assert psmr.read_case(tmp_path / "again.toml").dynamic == case.dynamic


def test_modes_that_phasors_keep_need_no_region(written):
    """The swing moves by 0.056 % where all is phasors."""
    case = psmr.read_case(written('error = 0.01\nmodes = "-0.231+8.601j"'))
    with pytest.warns(PsmrWarning, match=r"0 of 23 elements .* at most 0\.0563 %"):
        system = psmr.build(case, loads="impedance")
    phasors = psmr.build(case, loads="impedance", dynamic=psmr.Region("none"))
    assert system.names_x == phasors.names_x


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("within = 2", r"case.toml:\d+ .*names no bus"),
        ("bus = 3", r"case.toml:\d+ .*no field 'bus'"),
        ("buses = 3\nsections = 1.5", r"case.toml:\d+ .*sections = 1.5"),
        ("error = 0.003", r"case.toml:\d+ .*error without modes"),
        ('error = -1\nmodes = "1j"', r"case.toml:\d+ .*error = -1: must be > 0"),
        ('error = 0.01\nmodes = "fast"', r"case.toml:\d+ .*modes: 'fast': must be an eigenvalue"),
        ('buses = 3\nerror = 0.01\nmodes = "1j"', r"case.toml:\d+ .*error beside buses"),
        ('modes = "1j"\nbuses = 3', r"case.toml:\d+ .*modes without error"),
    ],
)
def test_a_wrong_region_is_named_with_its_line(written, table, words):
    with pytest.raises(CaseError, match=words):
        psmr.read_case(written(table))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("buses = 33", r"case.toml:\d+ .*no bus 33"),
        ('devices = ["C3"]', r"case.toml:\d+ .*FilteredConverter has no dynamics"),
        ('error = 1e-9\nmodes = "0"', r"case.toml:\d+ .*is zero in the full system"),
    ],
)
def test_a_region_that_cannot_be_is_named_with_its_line(written, table, words):
    case = psmr.read_case(written(table))
    with pytest.raises(InputError, match=words):
        psmr.build(case, loads="impedance")


STUDY = """
format = "psmr-study"
version = 1
case = "case.toml"
loads = "impedance"
{table}
[simulation]
t_end = 0.01
"""


def test_commands_take_the_region_of_a_case(written, tmp_path, capsys):
    path = written("buses = [3, 9]")
    assert main(["modes", str(path), "--loads", "impedance"]) == 0
    assert "bus9.v_" in capsys.readouterr().out
    assert main(["convert", str(path), str(tmp_path / "new.toml")]) == 0
    assert psmr.read_case(tmp_path / "new.toml").dynamic == psmr.Region((3, 9))
    assert main(["check", str(path), "--loads", "impedance"]) == 0
    assert re.search(r"of 4\d with a positive real part", capsys.readouterr().out)


def test_the_table_of_a_study_takes_the_place_of_the_case(written, tmp_path, capsys):
    written("buses = [3, 9]")
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format(table=""))
    out = tmp_path / "out"
    assert main(["run", str(study), "-o", str(out), "--signals", "bus9.b"]) == 0
    assert "takes the place" not in capsys.readouterr().err
    assert "bus9.b" in (out / "run.csv").read_text().partition("\n")[0]
    assert "by the model" in (out / "report.html").read_text()
    study.write_text(STUDY.format(table="[dynamic]\nbuses = 5\n"))
    words = r"study.toml:\d+ \[dynamic\]: the region bus 5 takes the place of .*, bus 3, 9 \(.*case.toml:"
    with pytest.warns(PsmrWarning, match=words):
        case = psmr.read_study(study).case.read()
    assert case.dynamic == psmr.Region(5)
    study.write_text(STUDY.format(table='[dynamic]\nbuses = "none"\n'))
    with pytest.warns(PsmrWarning, match="the region none takes"):
        assert psmr.build(psmr.read_study(study).case.read()).n < 60
    study.write_text(STUDY.format(table="[dynamic]\nbuses = 55\n"))
    with pytest.warns(PsmrWarning, match="the region bus 55"):
        case = psmr.read_study(study).case.read()
    with pytest.raises(InputError, match=r"study.toml:\d+ .*no bus 55"):
        psmr.build(case)

"""What is written as TOML is read as the same case."""

import math
import tomllib
from dataclasses import replace

import pytest

from psmr import Case, read_case, write_case
from psmr.errors import CaseError
from tests.components import ST2CUT
from tests.devices.library import PARAMETERS
from tests.files.raw import raw_text
from tests.internals import BusRow, DeviceRow, GeneratorRow, toml_text


@pytest.mark.parametrize(
    "name",
    ["wscc9.toml", "sauer-pai.toml", "wscc9-ibr.toml", "wscc9-renewable.toml", "wscc9-gfm.toml", "wscc9.raw"],
)
def test_cases(wscc9, tmp_path, name):
    case = read_case(wscc9 / name)
    write_case(case, tmp_path / "out.toml")
    assert read_case(tmp_path / "out.toml") == case


def test_everything_a_case_can_have(tmp_path):
    (tmp_path / "case.raw").write_text(raw_text(35))
    case = read_case(tmp_path / "case.raw")
    write_case(case, tmp_path / "out.toml")
    assert read_case(tmp_path / "out.toml") == case


def test_text_is_escaped_and_limits_may_be_infinite(tmp_path):
    slack = GeneratorRow("G1", 1, "slack", v=1.0, q_max_mvar=5.0, rating_mva=1e-30)
    case = Case('a "quoted" \\ name', 100.0, 50.0, (BusRow(1, name="busA"),), generators=(slack,))
    assert tomllib.loads(toml_text(case))["name"] == case.name
    write_case(case, tmp_path / "out.toml")
    assert read_case(tmp_path / "out.toml") == case
    assert case.generators[0].q_min_mvar == -math.inf


def test_codes_are_whole_numbers(wscc9, tmp_path):
    case = read_case(wscc9 / "wscc9.toml")
    one, *rest = case.generators
    values = {k: x for k, x in PARAMETERS[ST2CUT].items() if k not in ("f_n", "v_0")}
    row = DeviceRow("PSS1", "stabiliser", "ST2CUT", values)
    one = replace(one, devices=(*(d for d in one.devices if d.role != "stabiliser"), row))
    case = replace(case, generators=(one, *rest))
    assert "input_1 = 1\ninput_2 = 3\n" in toml_text(case)
    write_case(case, tmp_path / "out.toml")
    assert read_case(tmp_path / "out.toml") == case


def test_a_folder_that_is_not_there(wscc9, tmp_path):
    with pytest.raises(CaseError, match=r"cannot write to .*out\.toml: No such file or directory"):
        write_case(read_case(wscc9 / "wscc9.toml"), tmp_path / "nowhere" / "out.toml")
    assert list(tmp_path.iterdir()) == []

"""A unit of FMI as the code of a plant in a case file."""

import os
import tempfile

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError
from tests.internals import devices_of
from tests.sampled.fmi.build import MISSING, VARIABLES, build
from tests.sampled.test_code_in_a_case import CASE, FAULT, fixed

pytest.importorskip("fmpy", reason="FMPy reads units of FMI: pip install 'psmr[fmi]'")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

CODE = """
[generator.code]
fmu = "UNIT"
MORE

[generator.code.parameters]
k = 50.0
t_b = 1.0

[generator.code.inputs]
v_ref = "v_ref pu"
v_s = 0
v_c = "v pu"
v_t = "v pu"
i_f = "i_f pu"
blocked = 0

[generator.code.outputs]
v_f = "v_f pu"
"""


# The unit is told the field voltage that it begins with.
TOLD = [(*row[:5], "0", row[6] + ' initial="exact"') if row[0] == "v_f" else row for row in VARIABLES]


@pytest.fixture
def case_with(tmp_path):
    def read(more="", code=CODE, allow_code=True, **about):
        path = build(tmp_path, 3, **({"variables": TOLD} | about))
        text = CASE + code.replace("UNIT", path.name).replace("MORE", more)
        (tmp_path / "case.toml").write_text(text)
        return psmr.read_case(tmp_path / "case.toml", allow_code=allow_code)

    return read


def test_nothing_runs_without_permission(case_with):
    with pytest.raises(
        CaseError, match=r"case.toml:\d+ \[generator.code\]: fmu = .* would run .*--allow-code"
    ):
        case_with(allow_code=False)


@pytest.mark.parametrize(
    ("more", "delay"), [("", 1e-3), ("delay = 0.0", 0.0), ("period = 0.002", 2e-3), ("isolate = true", 1e-3)]
)
def test_unit_starts_at_rest_and_runs(case_with, more, delay):
    system = psmr.build(case_with(more))
    (device,) = [device for device in system.devices if device.code is not None]
    assert device.parameters["T_d"] == delay
    rest = psmr.simulate(system, fixed(), 0.2, certify=False)
    assert np.ptp(rest.x, axis=0).max() < 1e-9
    run = psmr.simulate(system, fixed(), 1.0, [FAULT], certify=False)
    assert np.ptp(run["CODE1.v_f"]) > 0.5


def voltage_in(unit):
    return [(*row[:6], f'unit="{unit}"') if row[0] == "v_c" else row for row in TOLD]


@pytest.mark.parametrize(("unit", "found"), [("kilovolt", "kV"), ("volt", "V"), ("pu", "pu")])
def test_a_signal_is_in_the_unit_of_its_port(case_with, unit, found):
    case = case_with(code=CODE.replace('v_c = "v pu"', 'v_c = "v"'), variables=voltage_in(unit))
    (code,) = [row.code for _, row in devices_of(case) if row.code is not None]
    assert code.wires()[2].unit == found


@pytest.mark.parametrize(
    ("table", "unit", "words"),
    [
        (
            '"v V"',
            "kilovolt",
            r"'v V': the port is in kV by its description; drop the unit or give a factor",
        ),
        ('"v"', "degree", r"'v': v has no unit 'deg'; .*known: pu, kV, V"),
        ('"w pu"', "pu", "w"),
    ],
)
def test_what_a_port_cannot_be(case_with, table, unit, words):
    with pytest.raises(CaseError, match=words):
        psmr.build(case_with(code=CODE.replace('v_c = "v pu"', f"v_c = {table}"), variables=voltage_in(unit)))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("k = 50.0", "k = 5000.0", r"case.toml:\d+.*k = 5000\.0: must be from 0 to 1000 pu"),
        ("v_s = 0", "v_ss = 0", r"case.toml:\d+.*has no input 'v_ss'; did you mean 'v_s'\?"),
        ("MORE", 'clocks = ["fast"]', r"case.toml:\d+.*clocks"),
        ("MORE", "period = 0.0", r"case.toml:\d+.*period = 0 s: must be the time between two steps"),
        ("MORE", 'mode = "rms"', "mode has no place beside fmu"),
    ],
)
def test_what_a_table_of_a_unit_cannot_have(case_with, old, new, words):
    with pytest.raises(CaseError, match=words):
        case_with(code=CODE.replace(old, new))


def test_unit_whose_process_ends_leaves_no_copy_behind(case_with, tmp_path, monkeypatch):
    own = tmp_path / "temporary"
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(own))
    system = psmr.build(case_with("isolate = true"))
    (live,) = [device.code.live for device in system.devices if device.code is not None]
    assert len(list(own.glob("psmr-code-*/psmr-fmu-*"))) == 1
    live.process.kill()
    live.process.wait()
    live.close()
    assert not list(own.glob("psmr-code-*"))

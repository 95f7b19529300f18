"""RAW files of the versions before 32, and RAWX: the same network as in version 33 or 35."""

import json
from dataclasses import replace

import numpy as np
import pytest

from psmr import read_case
from psmr.errors import CaseError, PsmrWarning
from tests.files.raw import raw_text
from tests.internals import SECTIONS, power_flow, read_sections, sections

HEADS = {
    23: "0  100.0",
    24: "0, 100.0, 24 /",
    26: "0, 100.0 / PSS/E-26.1",
    27: "0, 100.0, 27 /",
    29: "0, 100.0, 29, 0, 1, 60.0 /",
    30: "0, 100.00          / PSS/E-30.3    WED, SEP 15 2021  21:04",
    31: "0, 100.0, 31, 0, 1, 60.0 /",
    33: "0, 100.0, 33, 0, 1, 60.0 /",
}
BUSES = {
    23: "1,3,0,0,0,0,1,1.04,0,'ONE',230.0,1\n2,1,90,30,1.5,12,1,1.0,-2.0,'TWO',230.0,1\n"
    "3,1,0,0,0,0,1,1.0,0,'T',18,1",
    24: "1,'ONE',230.0,3,0,0,1,1,1.04,0,1\n2,'TWO',230.0,1,1.5,12,1,1,1.0,-2.0,1\n3,'T',18,1,0,0,1,1,1.0,0,1",
    33: "1,'ONE',230.0,3,1,1,1,1.04,0\n2,'TWO',230.0,1,1,1,1,1.0,-2.0\n3,'T',18,1,1,1,1,1.0,0",
}
LOAD = "2,'1',1,1,1,90,30,0,0,0,0,1"
SHUNT = "2,'1',1,1.5,12"
GENERATOR = "1,'1',90,0,99,-99,1.04,0,100,0,0.2,0,0,1,1,100,200,0"
LINES = {
    23: "1,2,'1',0.01,0.1,0.02,0,0,0,0,0,0,0.01,0,0.02,1\n2,3,'1',0,0.08,0,0,0,0,0.97,5.0,0,0,0,0,1",
    33: "1,2,'1',0.01,0.1,0.02,0,0,0,0,0.01,0,0.02,1",
}
TRANSFORMER = "2,3,0,'1',1,1,1,0,0,2,'',1\n0,0.08,100\n0.97,0,5.0\n1.0,0"
SWITCHED = {
    23: "3,1,1.1,0.9,0,7.0,1,7.0",
    29: "3,1,1.1,0.9,0,'',7.0,1,7.0",
    30: "3,1,1.1,0.9,0,100.0,'',7.0,1,7.0",
    33: "3,1,0,1,1.1,0.9,0,100.0,'',7.0",
}


def nearest_of(table, version):
    """The text of a version: its own, or that of the next older one."""
    return table[max(v for v in table if v <= version)]


def text_of(version):
    bus, line, switched = (nearest_of(table, version) for table in (BUSES, LINES, SWITCHED))
    if version in (29, 30):
        line = LINES[33]
    if version == 31:
        bus, line, switched = BUSES[33], LINES[33], SWITCHED[30]
    middle = ["", "", "", "", "", ""]
    if version <= 27:
        loads = () if version == 23 else (LOAD,)
        # Version 24 has no owners and no FACTS devices.
        last = middle[1:] if version == 24 else [*middle, ""]
        parts = [bus, *loads, GENERATOR, line, "", "", "", switched, *last]
    elif version <= 30:
        parts = [bus, LOAD, GENERATOR, line, TRANSFORMER, "", "", "", switched, *middle, ""]
    else:
        parts = [bus, LOAD, SHUNT, GENERATOR, line, TRANSFORMER, "", "", "", *middle, "", switched]
    head = [HEADS[version], "A CASE", ""]
    return "\n".join([*head, *("\n".join(filter(None, (part, "0"))) for part in parts), "Q", ""])


@pytest.mark.parametrize("version", [23, 24, 26, 27, 29, 30, 31])
def test_older_versions_say_the_same(tmp_path, version):
    """Every version gives the network of version 33, and the same solution."""
    for v in (33, version):
        (tmp_path / f"{v}.raw").write_text(text_of(v))
    new = read_case(tmp_path / "33.raw")
    if "60.0" in HEADS[version]:
        old = read_case(tmp_path / f"{version}.raw")
    else:
        with pytest.warns(PsmrWarning, match=r"\.raw:1 .*gives no frequency; taken as 60 Hz"):
            old = read_case(tmp_path / f"{version}.raw")
    assert old.buses == new.buses
    assert old.lines == new.lines
    assert old.generators == new.generators
    assert [replace(t, name="") for t in old.transformers] == [replace(t, name="") for t in new.transformers]
    assert {(s.bus, s.g_mw, s.b_mvar) for s in old.shunts} == {(s.bus, s.g_mw, s.b_mvar) for s in new.shunts}
    assert old.loads == new.loads
    np.testing.assert_allclose(power_flow(old).voltage, power_flow(new).voltage, rtol=0, atol=1e-12)


def test_a_section_that_later_versions_have_not(tmp_path):
    """The adjustment of transformers ends with version 27; a word after the last section ends the file."""
    lines = text_of(27).replace("0, 100.0, 27 /", "0, 100.0").splitlines()
    place = [k for k, line in enumerate(lines) if line == "0"][3]
    lines[place] += " / END OF BRANCH DATA, BEGIN TRANSFORMER ADJUSTMENT DATA"
    (tmp_path / "case.raw").write_text("\n".join([*lines[:-1], "Stop - Program terminated.", ""]))
    with pytest.warns(PsmrWarning, match=r"case\.raw:\d+ \(after the last section\): nothing is read from"):
        case = read_case(tmp_path / "case.raw")
    assert [(row.tap, row.shift_deg) for row in case.transformers] == [(0.97, 5.0)]


def test_header_without_a_version(tmp_path):
    """A comment that is not PSS/E's leaves the version open."""
    (tmp_path / "case.raw").write_text(text_of(30).replace("PSS/E-30.3", "somebody"))
    with pytest.raises(CaseError, match=r"case\.raw:1 .*REV = missing: must be given"):
        read_case(tmp_path / "case.raw")


def test_small_q_ends_a_file(tmp_path):
    (tmp_path / "case.raw").write_text(text_of(33).replace("\nQ\n", "\nq\n"))
    assert len(read_case(tmp_path / "case.raw").buses) == 3


def as_rawx(raw, version=35):
    """A RAWX text with the records of a RAW file."""
    sections = {
        "caseid": {
            "fields": ["ic", "sbase", "rev", "xfrrat", "nxfrat", "basfrq", "title1"],
            "data": [0, 100.0, version, 0, 1, 50.0, raw.title],
        }
    }
    for name, (section, others) in SECTIONS.items():
        back = {raw_name: rawx_name for rawx_name, raw_name in others.items()}
        rows = []
        for records in raw.records[section]:
            row = {}
            for k, record in enumerate(records):
                for field, value in record._fields.items():
                    key = back.get(field, field.lower()) if k == 0 else field.lower().replace("-", "_")
                    if section == "transformer" and k > 1:
                        key = f"wdg{k - 1}{key}" if key.startswith("rate") else f"{key}{k - 1}"
                    row[key] = value
            rows.append(row)
        fields = list(dict.fromkeys(key for row in rows for key in row))
        sections[name] = {"fields": fields, "data": [[row.get(f) for f in fields] for row in rows]}
    return json.dumps({"network": sections}, indent=1)


def test_rawx_of_a_vsc_line(tmp_path):
    """The fields of converters are those of RAW with the converter's number; VSREG is REMOT."""
    (tmp_path / "case.raw").write_text(raw_text(35))
    content = json.loads(as_rawx(read_sections(tmp_path / "case.raw")))
    ends = [(2, 2, 1, -20.0, 1.02, 40.0, 4.0, -3.0, 0), (3, 1, 1, 50.0, 1.01, 0.0, 9.0, -8.0, 4)]
    names = ("ibus", "type", "mode", "dcset", "acset", "smax", "maxq", "minq", "vsreg")
    content["network"]["vscdc"] = {
        "fields": ["name", "mdc", "rdc", *(f"{name}{k}" for k in (1, 2) for name in names)],
        "data": [["V 1", 1, 2.0, *ends[0], *ends[1]]],
    }
    (tmp_path / "case.rawx").write_text(json.dumps(content, indent=1))
    case = read_case(tmp_path / "case.rawx")
    first, second = case.generators[-2:]
    assert (first.bus, first.v, first.rating_mva, first.q_min_mvar, first.q_max_mvar) == (2, 1.02, 40, -3, 4)
    assert (second.bus, second.v, second.rating_mva, second.q_min_mvar) == (3, 1.01, 100, -8)
    assert second.control_bus == 4


def test_rawx_says_the_same(tmp_path):
    """The records of a RAW file of version 35 written as RAWX give the same case."""
    (tmp_path / "case.raw").write_text(raw_text(35))
    (tmp_path / "case.rawx").write_text(as_rawx(read_sections(tmp_path / "case.raw")))
    assert read_case(tmp_path / "case.rawx") == read_case(tmp_path / "case.raw")


def test_a_file_of_a_dos_program_ends_with_control_z(tmp_path):
    (tmp_path / "case.raw").write_text(raw_text(33))
    (tmp_path / "dos.raw").write_bytes((tmp_path / "case.raw").read_bytes() + b"\x1a\r\n")
    whole, dos = (read_case(tmp_path / name) for name in ("case.raw", "dos.raw"))
    assert dos.buses == whole.buses
    (tmp_path / "case.raw").write_text("\x1a" + raw_text(33))
    with pytest.raises(CaseError, match=r"case\.raw:1: has the control character"):
        read_case(tmp_path / "case.raw")


def test_a_format_that_is_said_stands_in_place_of_the_suffix(tmp_path):
    (tmp_path / "case.rawx").write_text(raw_text(35))
    assert read_case(tmp_path / "case.rawx", format="raw").buses
    (tmp_path / "case.raw").write_text(as_rawx(read_sections(tmp_path / "case.rawx")))
    assert read_case(tmp_path / "case.raw", format="rawx").buses
    (tmp_path / "case.raw").write_text(raw_text(35))
    with pytest.raises(CaseError, match=r"case\.raw:1: is no(t| valid) JSON"):
        read_case(tmp_path / "case.raw", format="rawx")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"network"', '"net"', r"case\.rawx:1: is no RAWX file"),
        ("50.0,", "50.0,,", r"case\.rawx:\d+: is no valid JSON: .* in column \d+: ',.*; is the file whole\?"),
        ("   35,", "   34,", r"case\.rawx:3 \(case identification\): REV = '34': must be one of 35, 36"),
        ('"1.05"', '"x"', r"case\.rawx:\d+ \(bus\): VM = 'x': must be a finite number"),
        ('"fields": [\n    "ic"', '"field": [\n    "ic"', r"case\.rawx:\d+ \(caseid\): must be there"),
        (
            '"load": {',
            '"bus": {"fields": [], "data": []}, "load": {',
            r"case\.rawx:\d+: has the name 'bus' twice",
        ),
        ('"data": [', '"data": [7, ', r"case\.rawx:\d+"),
    ],
)
def test_what_is_wrong_with_a_rawx_file(tmp_path, old, new, message):
    (tmp_path / "case.raw").write_text(raw_text(35))
    text = as_rawx(read_sections(tmp_path / "case.raw"))
    assert old in text
    (tmp_path / "case.rawx").write_text(text.replace(old, new, 1))
    with pytest.raises(CaseError, match=message):
        read_case(tmp_path / "case.rawx")


def test_a_name_that_also_stands_elsewhere_in_a_rawx_file(tmp_path):
    """Its rows are looked for at the wrong place: the line is that, and nothing else goes wrong."""
    (tmp_path / "case.raw").write_text(raw_text(35))
    text = as_rawx(read_sections(tmp_path / "case.raw"))
    notes = '"notes": {"bus": {"fields": [], "data": []}}, "caseid": {'
    (tmp_path / "case.rawx").write_text(text.replace('"caseid": {', notes, 1))
    assert read_case(tmp_path / "case.rawx") == read_case(tmp_path / "case.raw")


def test_line_of_a_rawx_row(tmp_path):
    """A message names the line where the row begins."""
    (tmp_path / "case.raw").write_text(raw_text(35))
    text = as_rawx(read_sections(tmp_path / "case.raw")).replace('"1.02"', '"x"', 1)
    (tmp_path / "case.rawx").write_text(text)
    with pytest.raises(CaseError) as error:
        read_case(tmp_path / "case.rawx")
    line = int(str(error.value).split("case.rawx:")[1].split(" ")[0])
    lines = text.splitlines()
    assert lines[line - 1].strip() == "["
    assert '"x"' in "\n".join(lines[line - 1 : line + 15])


MULTI = {
    30: "1,2,2,1,{mdc},2,400.0,0\n2,4,10,8,0,19,500,0.22,1,1.1,0.9,0.01,321,1,0.15,3\n"
    "3,4,20,18,0,10,230,0.45,1,1.1,0.9,0.01,-321,1,0,1\n1,2,1,1,'DC1 ',0,0,1\n2,3,1,1,'DC2 ',0,0,1\n"
    "1,2,'1',29.0,0",
}
MULTI[33] = MULTI[30].replace("1,2,2,1,", "'MTDC',2,2,1,", 1).replace("'1',29.0", "'1',1,29.0")


@pytest.mark.parametrize("version", [30, 33])
def test_a_multi_terminal_line_is_one_record(tmp_path, version):
    """Its converters, buses and links are no lines of their own; blocked it says nothing.

    The converter at bus 2 holds 321 kV, the other one takes 321 MW out over 29 ohm: (321 - 29 I) I = 321.
    """
    path = tmp_path / "case.raw"
    lines = text_of(version).split("\n")
    ends = [k for k, line in enumerate(lines) if line == "0"]
    before = ends[sections(version).index("multi-terminal dc") - 1] + 1

    def read(mdc, text=MULTI[version]):
        path.write_text("\n".join([*lines[:before], text.format(mdc=mdc), *lines[before:]]))
        return {row.name: row for row in read_case(path).loads if row.held}

    assert read(0) == {}
    with pytest.warns(
        PsmrWarning, match=r"a multi-terminal DC line, held .*: 356\.837 MW from bus 2, -321 MW"
    ):
        found = read(1)
    current = (321 - np.sqrt(321**2 - 4 * 29 * 321)) / 58
    powers = [row.p_mw for row in found.values()]
    assert powers == pytest.approx([321 * current, -321.0])
    with pytest.raises(
        CaseError, match=r"multi-terminal dc\): VCONV = '7': must be the AC bus of a converter"
    ):
        read(1, MULTI[version].replace("{mdc},2,", "{mdc},7,"))
    with pytest.raises(CaseError, match=r"NCONV = '2': the DC network does not carry the powers SETVL"):
        read(1, MULTI[version].replace("-321,", "-3210,"))


def test_a_rawx_file_without_a_case_identification_has_the_usual_one(tmp_path):
    """As GridCal writes them; its base is 100 MVA, which is what PSS/E takes where none is given."""
    (tmp_path / "case.raw").write_text(raw_text(35))
    text = as_rawx(read_sections(tmp_path / "case.raw")).replace('"caseid"', '"case"', 1)
    (tmp_path / "case.rawx").write_text(text)
    with pytest.warns(PsmrWarning, match=r"has no caseid; SBASE = 100, REV = 35, BASFRQ = 60 stand for it"):
        case = read_case(tmp_path / "case.rawx")
    assert (case.base_mva, case.frequency_hz, len(case.buses)) == (100.0, 60.0, 5)

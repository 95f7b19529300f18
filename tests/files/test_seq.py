"""SEQ files: the sequence data of WSCC 9-bus as the IEEE ODM tests have them, and what cannot be."""

from dataclasses import replace
from pathlib import Path

import pytest

import psmr
from psmr import cli
from psmr.errors import CaseError, PsmrWarning

RAW = Path(__file__).parents[2] / "cases" / "wscc9" / "wscc9.raw"

# Records in the layout of version 30. Line 7-8 and transformer 1-4 are those of IEEE ODM's
# PSSEV30_IEEE9_Acsc_Test.java (ieee9.seq): z0 = 0.02125 + j0.18, b0 = 0.149; delta at bus 1, j0.0567.
SEQ = """0
1, '1', 0.0, 0.04
0 / END OF POSITIVE SEQUENCE
1, '1', 0.001, 0.04
0 / END OF NEGATIVE SEQUENCE
1, '1', 0.0, 0.03
0 / END OF ZERO SEQUENCE
0 / END OF NEGATIVE SEQUENCE SHUNT
0 / END OF ZERO SEQUENCE SHUNT
7, 8, '1', 0.02125, 0.18, 0.149, 0.0, 0.0, 0.0, 0.0
0 / END OF ZERO SEQUENCE NON-TRANSFORMER BRANCH
0 / END OF ZERO SEQUENCE MUTUAL
1, 4, 0, '1', 3, 0.0, 0.1, 0.0000, 0.0567, 0, 0
7, 2, 0, '1', 2, 0.0, 0.2, 0.0000, 0.0625, 0, 0
0 / END OF ZERO SEQUENCE TRANSFORMER
"""


# The same in the layout of version 34, with the headings and settings of PyPSSE's savnw.seq.
SETTINGS = """RPTFORMAT, AMPOUT=0, POLROU=0, AMPOUTZ=0, POLROUZ=0
MOV, ITERATIONS=20, TOLERANCE=0.01, MOVALPHA=0.3
SCMODEL, SCNRML=1
0 / END OF SYSTEM-WIDE DATA, BEGIN GENERATOR DATA
"""
HEAD = f"@!!IC, REV\n0,     34           / PSS(R)E-34.0    MON, MAR 09 2015  17:06\n{SETTINGS}"
SEQ_34 = f"""{HEAD}@!!  I,'ID',  ZRPOS, ZXPPDV, ZXPDV, ZXSDV, ZRNEG, ZXNEGDV, ZR0, ZX0DV,CZG, ZRG, ZXG, REFDEG
     1,'1 ', 0.00000E+00, 4.00000E-02, 6.08000E-02, 1.46000E-01, 1.00000E-03, 4.00000E-02, 0.0, 3.0E-02,1, 8.0E+03, 0.0, 0.0
0  / END OF GENERATOR DATA, BEGIN LOAD DATA
0  / END OF LOAD DATA, BEGIN ZERO SEQ. NON-TRANSFORMER BRANCH DATA
@!!  I,     J,'ICKT',    RLINZ,      XLINZ,       BCHZ,   GI,         BI,         GJ,         BJ,        IPR,SCTYP
     7,     8,'1 ', 2.12500E-2, 1.80000E-1, 0.14900, 0.0, 0.0, 0.0, 0.0, 0.0E+0,0
0  / END OF ZERO SEQ. NON-TRANSFORMER BRANCH DATA, BEGIN ZERO SEQ. MUTUAL DATA
0  / END OF ZERO SEQ. MUTUAL DATA, BEGIN ZERO SEQ. TRANSFORMER DATA
@!!  I,     J,     K,'ICKT',CZ0,CZG,CC,   RG1,  XG1,  R01,   X01,   RG2,  XG2,   R02,    X02,     RNUTRL,     XNUTRL
     1,     4,     0,'1 ',1,1,  3, 0.0, 1.0E-1, 0.0, 5.67E-2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
     7,     2,     0,'1 ',1,1,  2, 0.0, 2.0E-1, 0.0, 6.25E-2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
0  / END OF ZERO SEQ. TRANSFORMER DATA, BEGIN ZERO SEQ. SWITCHED SHUNT DATA
0  / END OF ZERO SEQ. SWITCHED SHUNT DATA, BEGIN ZERO SEQ. FIXED SHUNT DATA
0  / END OF ZERO SEQ. FIXED SHUNT DATA, BEGIN INDUCTION MACHINE DATA
0  / END OF INDUCTION MACHINE DATA, BEGIN NON CONVENTIONAL SOURCE FAULT CONTRIBUTION DATA
0  / END OF NON CONVENTIONAL SOURCE FAULT CONTRIBUTION DATA
Q
"""  # noqa: E501


@pytest.fixture
def read(tmp_path):
    def reading(old="", new="", text=SEQ):
        assert old in text
        path = tmp_path / "wscc9.seq"
        path.write_text(text.replace(old, new))
        return psmr.read_case(RAW, sequence=path)

    return reading


# STEPS writes version 33 without the settings of the program.
@pytest.mark.parametrize(
    "head",
    [HEAD, HEAD.replace(SETTINGS, ""), "0, 33\n", f"0, 34\n{SETTINGS.splitlines()[-1]}\n"],
    ids=["settings", "no settings", "version 33", "an end of settings alone"],
)
def test_versions_33_and_34_give_the_same_data_and_the_grounding_of_generators(read, head):
    old = {row.element: replace(row, where="") for row in read().sequence}
    new = {row.element: replace(row, where="") for row in read(HEAD, head, SEQ_34).sequence}
    assert new.pop("G1") == replace(old.pop("G1"), r_ground=8000.0)
    assert new == old


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("3.0E-02,1,", "3.0E-02,2,", r"wscc9.seq:8 \(generator\): CZG = '2': must be 1"),
        ("0.0E+0,0", "0.1,0", r"wscc9.seq:12 .*IPR = '0.1': protected series capacitors"),
        ("'1 ',1,1,  3", "'1 ',2,1,  3", r"wscc9.seq:16 .*CZ0 = '2': must be 1, pu on the system base"),
        ("'1 ',1,1,  3", "'1 ',1,1,  6", r"wscc9.seq:16 .*CC = '6': must be 1 to 4"),
        ("6.25E-2, 0.0, 0.0", "6.25E-2, 0.0, 0.1", r"wscc9.seq:17 .*XG2 = '0.1': a second winding's"),
        ("     4,     0,", "     4,     5,", r"wscc9.seq:16 .*K = '5': .*three windings are not read"),
        ("0,     34", "0,     35", r"wscc9.seq:2 .*up to version 34"),
    ],
)
def test_records_of_version_34_that_are_not_read(read, old, new, words):
    with pytest.raises(CaseError, match=words):
        read(old, new, SEQ_34)


def test_sections_of_version_34_that_are_left_out_are_said(read):
    with pytest.warns(PsmrWarning, match=r"wscc9.seq:14 \(zero-sequence mutual\): psmr has no use"):
        case = read(
            "BEGIN ZERO SEQ. MUTUAL DATA\n", "BEGIN ZERO SEQ. MUTUAL DATA\n7,8,'1',8,9,'1',0,0.1\n", SEQ_34
        )
    assert len(case.sequence) == 4


def test_a_seq_file_gives_the_sequence_data_of_generators_lines_and_transformers(read):
    rows = {row.element: row for row in read().sequence}
    assert rows.keys() == {"G1", "line7-8", "transformer1-4", "transformer2-7"}
    assert (rows["G1"].r2, rows["G1"].x2, rows["G1"].x0) == (0.001, 0.04, 0.03)
    line = rows["line7-8"]
    assert (line.r0, line.x0, line.b0) == (0.02125, 0.18, 0.149)
    # Code 3: the ground path is at winding two, bus 4.
    step_up = rows["transformer1-4"]
    assert (step_up.connection, step_up.x0, step_up.x_ground_to) == ("Dyn", 0.0567, 0.1)
    # The record begins at the other end: code 2 grounds the winding at bus 7, which is the row's second.
    other = rows["transformer2-7"]
    assert (other.connection, other.x_ground, other.x_ground_to) == ("Dyn", 0.0, 0.2)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("'1', 3, 0.0", "'1', 8, 0.0", r"wscc9.seq:13 .*CC = '8': must be 1 to 4"),
        ("1, 4, 0, '1'", "1, 4, 5, '1'", r"wscc9.seq:13 .*three windings are not read"),
        ("0.02125, 0.18", "0.02125, x", r"wscc9.seq:10 .*XLINZ = 'x': must be a finite number"),
        ("0.18, 0.149", "0.0, 0.149", r"wscc9.seq:10 .*x0 = 0.0: must not be 0"),
        ("0\n1, '1', 0.0, 0.04", "0, 35\n1, '1', 0.0, 0.04", r"wscc9.seq:1 .*up to version 34"),
    ],
)
def test_records_that_cannot_be(read, old, new, words):
    with pytest.raises(CaseError, match=words):
        read(old, new)


def test_data_of_what_is_not_there_are_left_out_with_a_warning(read):
    with pytest.warns(PsmrWarning, match=r"wscc9.seq:10 .*line7-9 is not in the case"):
        case = read("7, 8,", "7, 9,")
    assert "line7-8" not in {row.element for row in case.sequence}


def test_a_seq_file_belongs_to_a_raw_file(tmp_path):
    path = tmp_path / "a.seq"
    path.write_text(SEQ)
    with pytest.raises(CaseError, match=r"belongs to a \.raw file"):
        psmr.read_case(RAW.with_suffix(".toml"), sequence=path)


def test_commands_read_a_seq_file_beside_a_raw_file(tmp_path):
    seq, target = tmp_path / "wscc9.seq", tmp_path / "wscc9.toml"
    seq.write_text(SEQ)
    assert cli.main(["convert", str(RAW), str(target), "--sequence", str(seq)]) == 0
    written = {row.element: row for row in psmr.read_case(target).sequence}
    assert written == {row.element: row for row in psmr.read_case(RAW, sequence=seq).sequence}
    assert written["line7-8"].x0 == 0.18
    study = tmp_path / "study.toml"
    assert cli.main(["new", "study", str(study), str(RAW), "--sequence", str(seq)]) == 0
    assert psmr.read_study(study).case.sequence == seq

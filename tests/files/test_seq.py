"""SEQ files: the sequence data of WSCC 9-bus as the IEEE ODM tests have them, and what cannot be."""

from pathlib import Path

import pytest

import psmr
from psmr.errors import CaseError, PsmrWarning

RAW = Path(str(psmr.__path__[0])).parent / "cases" / "wscc9" / "wscc9.raw"

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


@pytest.fixture
def read(tmp_path):
    def reading(old="", new=""):
        path = tmp_path / "wscc9.seq"
        path.write_text(SEQ.replace(old, new))
        return psmr.read_case(RAW, sequence=path)

    return reading


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
        ("0\n1, '1', 0.0, 0.04", "0, 35\n1, '1', 0.0, 0.04", r"wscc9.seq:1 .*up to version 32"),
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

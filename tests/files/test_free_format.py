"""Fields of RAW and DYR records as list-directed input reads them (Fortran, ISO/IEC 1539-1:2018, 13.10.3)."""

import pytest

from psmr import read_case
from psmr.errors import CaseError
from tests.files.raw import raw_text
from tests.internals import PsseRecord, entries, split


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("1,,3", ["1", None, "3"]),
        ("1, ,3", ["1", None, "3"]),
        (",1", [None, "1"]),
        ("1,2,", ["1", "2"]),
        ("1 2\t3 , 4", ["1", "2", "3", "4"]),
        ("3*0.5 2*'A B'", ["0.5", "0.5", "0.5", "A B", "A B"]),
        ("1 2* 3*,4", ["1", None, None, None, None, None, "4"]),
        ("'3*0.5' *1", ["3*0.5", "*1"]),
        ("'quoted, text',2", ["quoted, text", "2"]),
        ("\"it's / one\" 'O''Brien' ''", ["it's / one", "O'Brien", ""]),
        ("1 2/3", ["1", "2"]),
        ("1,'a/b',/ a comment, with 'what", ["1", "a/b"]),
        ("/", []),
    ],
)
def test_fields_of_a_line(line, fields):
    assert split(line, "here:1") == fields


@pytest.mark.parametrize(("line", "words"), [("1 'AB", "not closed"), ("2000*0", "'2000'.: .* at most 1000")])
def test_what_no_field_can_be(line, words):
    with pytest.raises(CaseError, match=f"here:1: .*{words}"):
        split(line, "here:1")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1.5D2", 150.0), (".5", 0.5), ("-2.", -2.0), ("0.25-100", 2.5e-101), ("1.+002", 100.0)],
)
def test_numbers(text, value):
    """An exponent of three digits stands without its letter, as Fortran writes it."""
    record = PsseRecord("here", 1, "test", ("R",), (text,))
    assert record.real("R") == value


def test_repeated_fields_of_a_raw_file(tmp_path):
    """Eleven zeros, and fields that are left out."""
    path = tmp_path / "case.raw"
    path.write_text(raw_text(branch="1,2,'1 ',0.01,0.1,0.02,7*0.0,1\n2 1 'X' 2* .2 8* 0"))
    with pytest.raises(CaseError, match=r"case.raw:23 \(branch\): X = missing: must be given, as a number"):
        read_case(path)
    path.write_text(raw_text(branch="1,2,'1 ',0.01,0.1,0.02,7*0.0,1\n2 1 'X' ,, .2 8* 0"))
    one, other = read_case(path).lines
    assert (one.x, one.b, one.status) == (0.1, 0.02, 1)
    assert (other.r, other.x, other.b, other.status) == (0.0, 0.2, 0.0, 0)


def test_records_of_a_dyr_file_go_on_over_lines():
    """A comma at the end of a line and the blank before the next are one separator; two commas are two."""
    lines = ["1 'GENCLS' 1, 3.0,", "  2*0.5 / what follows is a comment", "2,'X','1',,", ",1.0/"]
    found = [[word for _, word in entry.words] for entry in entries("a.dyr", lines)]
    assert found == [["1", "GENCLS", "1", "3.0", "0.5", "0.5"], ["2", "X", "1", "", "", "1.0"]]


def test_a_value_that_is_left_out_of_a_dyr_record_is_named(tmp_path):
    """PSS/E leaves such a constant as it is, which is no value; it does not move those after it."""
    raw, dyr = tmp_path / "case.raw", tmp_path / "case.dyr"
    raw.write_text(raw_text())
    dyr.write_text("1 'GENCLS' 1 ,, 0.0 /\n2 'GENCLS' 'G1' 3.0 0.0 /\n")
    with pytest.raises(CaseError, match=r"case.dyr:1 \(GENCLS\): h = missing: must be given, as a number"):
        read_case(raw, dyr)

"""RAW files as programs and people write them: what PSS/E takes is read, with a warning where it says so."""

import warnings

import pytest

from psmr import read_case
from psmr.errors import CaseError, PsmrWarning
from tests.files.raw import raw_text


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "case.raw"
        path.write_text(text)
        return read_case(path)

    return read


@pytest.fixture
def quiet(read):
    def quiet(text):
        with warnings.catch_warnings():
            warnings.simplefilter("error", PsmrWarning)
            warnings.filterwarnings("ignore", message=".*regulat", category=PsmrWarning)
            return read(text)

    return quiet


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("'O'Donnell 1 '", "O'Donnell 1"),
        ("'O''Donnell1 '", "O'Donnell1"),
        ('"O\'Donnell"  ', "O'Donnell"),
        ("'1'' DROP    '", "1' DROP"),
    ],
)
def test_names_with_apostrophes(read, written, name):
    """The bus is the one of the record: what follows its name is read as it was."""
    text = raw_text()
    assert "'TWO         '" in text
    case, usual = read(text.replace("'TWO         '", written)), read(text)
    assert [(b.number, b.base_kv, b.v) for b in case.buses] == [
        (b.number, b.base_kv, b.v) for b in usual.buses
    ]


def test_a_title_with_tabs(read):
    """As in files whose columns are at tabs."""
    first, _, rest = raw_text().split("\n", 2)
    assert read(f"{first}\n08/25/93\tUW  ARCHIVE\n{rest}").name == "08/25/93 UW ARCHIVE"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(tmp_path, encoding):
    path = tmp_path / "case.raw"
    path.write_bytes(raw_text().replace("'TWO  ", "'TWÖ  ").encode(encoding))
    assert read_case(path).buses[1].number == 2


def test_a_record_that_has_lost_a_line(read):
    text = raw_text().replace("0.01,0.1,100.0\n", "")
    with pytest.raises(CaseError, match=r"the transformer of line 31, which has 5 lines; is a line missing"):
        read(text)


def test_missing_titles(read):
    lines = raw_text().splitlines(keepends=True)
    for kept, said in (([], "first"), ([lines[1]], "second")):
        with pytest.warns(PsmrWarning, match=rf"\(title\): must be the {said} of two lines of text; a bus"):
            case = read("".join([lines[0], *kept, *lines[3:]]))
        assert [bus.number for bus in case.buses] == [bus.number for bus in read(raw_text()).buses]


def test_a_change_case_is_read_as_a_case_of_its_own(read):
    with pytest.warns(PsmrWarning, match=r"case\.raw:1 \(case identification\): IC = 1: adds to the case"):
        case = read(raw_text().replace("0, 100.0, 33", "1, 100.0, 33"))
    assert len(case.buses) == len(read(raw_text()).buses)


def test_the_last_of_two_records_of_a_device_counts(read):
    """As PSS/E updates a device that it has (powsybl-core, issue 3607)."""
    text = raw_text()
    for old, new, words, value in (
        ("1,2,'2 '", "2,1,'1 '", r":22 \(branch\): branch 1-2 '1' is defined again in line 23", "lines"),
        ("3,'B ',1,1,1", "3,'1 ',1,1,1", r":11 \(load\): load 3 '1' is defined again in line 12", "loads"),
        (
            "2,'G2',",
            "2,'G1',",
            r":19 \(generator\): generator 2 'G1' is defined again in line 20",
            "generators",
        ),
    ):
        assert old in text
        with pytest.warns(PsmrWarning, match=rf"case\.raw{words}; the later record is used, as in PSS/E"):
            case = read(text.replace(old, new, 1))
        assert len(getattr(case, value)) == len(getattr(read(text), value)) - 1
    # The second branch has 0.20 pu where the first has 0.10.
    with pytest.warns(PsmrWarning, match="the later record is used"):
        case = read(text.replace("1,2,'2 '", "2,1,'1 '"))
    assert [row.x for row in case.lines if row.name == "line2-1"] == [
        row.x for row in read(text).lines if row.circuit == 2
    ]


def test_a_line_and_a_transformer_may_have_one_identifier(quiet):
    """As in the files of the GO competition, where they are named apart."""
    assert len(quiet(raw_text().replace("1,2,'2 '", "2,3,'1 '")).transformers) == len(
        quiet(raw_text()).transformers
    )


def test_no_machine_base_is_that_of_the_system(read):
    with pytest.warns(PsmrWarning, match=r"case\.raw:18 \(generator\): MBASE = 0\.0: .*the default 100"):
        assert read(raw_text().replace("1.05,0,200.0", "1.05,0,0.0")).generators[0].rating_mva == 100.0
    with pytest.raises(CaseError, match="MBASE = '-1': must be > 0"):
        read(raw_text().replace("1.05,0,200.0", "1.05,0,-1"))


@pytest.mark.parametrize("comment", ["RAW29 (REV 30)  THU", "RAWD VER 30 EXPORT BY PSAT", ""])
def test_version_where_there_is_no_rev(read, comment):
    """Up to version 30 the first line has no REV; programs write it behind it, or the buses tell it."""
    old = "1,'ONE',230.0,3,0,0,1,1,1.04,0,1\n2,'TWO',230.0,1,1.5,12,1,1,1.0,-2.0,1\n"
    text = (
        f" 0, 100.0/{comment}\n\n\n{old}0\n2,'1',1,1,1,90,30,0,0,0,0,1\n0\n1,'1',90,0,99,-99,1.04,0,100\n0\n"
    )
    text += "1,2,'1',0.01,0.1,0.02\n" + "0\n" * 12
    with pytest.warns(PsmrWarning, match="gives no frequency; taken as 60 Hz"):
        case = read(text)
    assert [(row.bus, row.b_mvar) for row in case.shunts] == [(2, 12.0)]


def test_a_swing_without_any_generator_is_a_source(read):
    text = raw_text().replace("1.0,1,100.0,200.0,0.0", "1.0,0,100.0,200.0,0.0")
    with pytest.warns(PsmrWarning, match=r"case\.raw:4 \(bus\): IDE = 3 \(swing\), and no generator"):
        case = read(text.replace("1.0,1,100.0,90.0,0.0", "1.0,0,100.0,90.0,0.0"))
    assert [(row.bus, row.control, row.v) for row in case.generators] == [(1, "slack", 1.05)]


def test_a_branch_from_a_bus_to_itself_is_left_out(read):
    with pytest.warns(PsmrWarning, match=r"case\.raw:23 \(branch\): joins bus 1 with itself; left out"):
        assert len(read(raw_text().replace("1,2,'2 '", "1,1,'2 '")).lines) == len(read(raw_text()).lines) - 1


def test_whole_numbers_written_as_real_ones(read):
    """As in PSS/E's own example of RAWX: 0.1000000E-06 for 1, 0.1010000E-04 for 101."""
    shunt = raw_text().split("BEGIN FIXED SHUNT DATA\n")[1].splitlines()[0]
    status = shunt.split(",")
    status[2] = "0.1000000E-06"
    status[0] = "0.3000000E-06"
    words = r"STATUS = 0\.1000000E-06: must be a whole number; taken as 1"
    with pytest.warns(PsmrWarning, match=words), pytest.warns(PsmrWarning, match="taken as 3"):
        case = read(raw_text().replace(shunt, ",".join(status)))
    assert case.shunts == read(raw_text()).shunts


def test_a_zone_and_an_owner_of_the_number_zero(read):
    """GridPACK writes them; they end no section."""
    text = raw_text(zone="0,'ZONE0       '", owner="1,'OWNER1'\n 0, 'OWNER0'")
    assert read(text).lines == read(raw_text()).lines

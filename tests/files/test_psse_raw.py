"""PSS/E RAW files: what is read from each version and code, and the message for what is wrong."""

import cmath
import re

import numpy as np
import pytest

from psmr import read_case, write_case
from psmr.errors import CaseError, PsmrWarning
from tests.files.raw import raw_text
from tests.internals import admittance, power_flow


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "case.raw"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_case(path, **options)

    return read


def test_wscc9_is_the_textbook_case(wscc9):
    """The same network and dispatch in three formats: the same voltages."""
    textbook = power_flow(read_case(wscc9 / "sauer-pai.toml"))
    with pytest.warns(PsmrWarning, match="60 Hz"):
        matpower = read_case(wscc9 / "wscc9.m")
    for case in (read_case(wscc9 / "wscc9.raw"), matpower):
        assert [bus.number for bus in case.buses] == list(range(1, 10))
        np.testing.assert_allclose(power_flow(case).voltage, textbook.voltage, rtol=0, atol=1e-9)


@pytest.mark.parametrize("version", [32, 33, 34, 35, 36])
def test_every_version_says_the_same(read, version):
    case = read(raw_text(version))
    assert (case.name, case.base_mva, case.frequency_hz) == ("A SMALL SYSTEM", 100.0, 50.0)
    assert [bus.number for bus in case.buses] == [1, 2, 3, 4, 6]
    assert case.buses[-1].name == "star2-3-4"
    lines = [row for row in case.lines if row.name != "line1-2-S"]
    assert [(row.name, row.status) for row in lines] == [("line1-2", 1), ("line1-2-2", 1), ("line2-1-X", 0)]
    assert (lines[1].g, lines[1].b) == (0.002, 0.06)
    switches = [(row.x, row.status) for row in case.lines if row.name == "line1-2-S"]
    assert switches == ([(0.0002, 0)] if version >= 34 else [])
    assert [(g.name, g.control, g.rating_mva) for g in case.generators] == [
        ("G1", "slack", 200.0),
        ("G2-G1", "pv", 100.0),
    ]
    assert [(s.name, s.b_mvar, s.status) for s in case.shunts] == [
        ("shunt3", 12.0, 1),
        ("switched3", 7.0, 1),
        ("line2-1-X-at2", 1.0, 0),
    ]
    assert [row.name for row in case.transformers] == [
        "transformer2-3",
        "transformer2-3-4-w1",
        "transformer2-3-4-w2",
        "transformer2-3-4-w3",
    ]
    assert power_flow(case).mismatch < 1e-10


def test_parts_of_loads(read):
    loads = {load.name: load for load in read(raw_text()).loads}
    # Constant impedance, current, power at 1 pu; YQ is negative for an inductive load.
    p, q = (30, 20, 40), (6, 5, 10)
    assert loads["load2"].v_0 == 1.0
    assert loads["load2"].p_mw == pytest.approx(sum(p), rel=1e-15)
    assert loads["load2"].q_mvar == pytest.approx(sum(q), rel=1e-15)
    assert loads["load2"].p_zip == pytest.approx([x / sum(p) for x in p], rel=1e-15)
    assert loads["load2"].q_zip == pytest.approx([x / sum(q) for x in q], rel=1e-15)
    # Parts of opposite sign become loads of one kind each.
    assert (loads["load3-B-z"].p_mw, loads["load3-B-z"].p_zip) == (-4.0, (1.0, 0.0, 0.0))
    assert (loads["load3-B-p"].p_mw, loads["load3-B-p"].q_mvar) == (10.0, 2.0)
    assert (loads["load3-B-z"].v_0, loads["load3-B-p"].v_0) == (1.0, None)
    assert "load4" not in loads
    assert "load5" not in loads


def two_port(z, t1, t2, angle, y_m):
    """Admittance matrix of I and J, as the manual draws it: y_m, t1 : 1, z, 1 : t2."""
    a, y = t1 * cmath.exp(1j * np.radians(angle)), 1 / z
    return np.array([[y / t1**2 + y_m, -y / (a.conjugate() * t2)], [-y / (a * t2), y / t2**2]])


# CW, CZ, CM with the same transformer told in each code: 100 kV over 20 kV, ratios 1.02 and 0.98 per unit of
# the buses, 0.01 + j0.1 on 100 MVA. NOMV are 110 and 22 kV, SBASE1-2 is 50 MVA.
LOSS, CURRENT = 0.001 * 100e6, abs(complex(0.001, -0.01)) * 100 / 50
CODES = [
    ("1,1,1,0.001,-0.01", "0.01,0.1,50.0", ("1.02,110.0,30.0", "0.98,22.0")),
    ("2,1,1,0.001,-0.01", "0.01,0.1,50.0", ("102.0,110.0,30.0", "19.6,22.0")),
    ("3,1,1,0.001,-0.01", "0.01,0.1,50.0", (f"{1.02 / 1.1!r},110.0,30.0", f"{0.98 / 1.1!r},22.0")),
    ("3,1,1,0.001,-0.01", "0.01,0.1,50.0", ("1.02,0.0,30.0", "0.98,0.0")),
    ("1,2,1,0.001,-0.01", "0.005,0.05,50.0", ("1.02,110.0,30.0", "0.98,22.0")),
    ("1,3,1,0.001,-0.01", f"{0.005 * 50e6!r},{abs(0.005 + 0.05j)!r},50.0", ("1.02,0,30", "0.98,0")),
    ("1,1,2," + f"{LOSS!r},{CURRENT!r}", "0.01,0.1,50.0", ("1.02,0.0,30.0", "0.98,0.0")),
    ("1,1,2," + f"{LOSS * 1.21!r},{CURRENT * 1.21!r}", "0.01,0.1,50.0", ("1.02,110.0,30.0", "0.98,22.0")),
]


@pytest.mark.parametrize(("codes", "impedance", "windings"), CODES)
def test_codes_of_two_windings(read, codes, impedance, windings):
    text = f"2,3,0,'1 ',{codes},2,'T',1\n{impedance}\n{windings[0]}\n{windings[1]}\n" + THREE_FOUR
    row = read(raw_text(transformer=text)).transformers[0]
    case = read(raw_text(transformer=text, branch="1,2,'1 ',0.0,0.1,0.0", fixed_shunt="", switched_shunt=""))
    y = admittance(case).toarray()[1:3, 1:3]
    y[0, 0] -= 1 / 0.1j  # the line to bus 1
    y[1, 1] -= 1 / 0.2j  # the transformer to bus 4
    expected = two_port(0.01 + 0.1j, 1.02, 0.98, 30.0, 0.001 - 0.01j)
    np.testing.assert_allclose(y, expected, rtol=1e-13, atol=1e-13)
    assert (row.shift_deg, row.status) == (30.0, 1)


THREE_FOUR = "3,4,0,'1 ',1,1,1,0.0,0.0,2,'U',1\n0.0,0.2,100.0\n1.0,0.0,0.0\n1.0,0.0"
WINDINGS = (
    "2,3,4,'1 ',{codes},0.0,0.0,2,'T',{stat}\n{z},1.0,0.0\n1.01,0.0,0.0\n1.00,0.0,-30.0\n0.99,0.0,0.0\n"
)
Z = "0.01,0.10,100.0,0.02,0.16,100.0,0.03,0.20,100.0"
Z_OWN = "0.005,0.05,50.0,0.04,0.32,200.0,0.03,0.20,100.0"
# Winding 1 without impedance: z12 + z31 = z23.
Z_FLAT = "0.01,0.10,100.0,0.03,0.30,100.0,0.02,0.20,100.0"
# Winding 3 of resistance alone: x23 + x31 = x12, in digits that do not cancel exactly.
Z_RESISTIVE = "0.03,0.05,100.0,0.035,0.031,100.0,0.025,0.019,100.0"


@pytest.mark.parametrize(
    ("codes", "z", "legs"),
    [
        ("1,1,1", Z, (0.01 + 0.07j, 0.03j, 0.02 + 0.13j)),
        ("1,2,1", Z_OWN, (0.01 + 0.07j, 0.03j, 0.02 + 0.13j)),
        ("1,1,1", Z_FLAT, (1e-9j, 0.01 + 0.1j, 0.02 + 0.2j)),
        ("1,1,1", Z_RESISTIVE, (0.01 + 0.019j, 0.02 + 0.031j, 0.015 + 0j)),
    ],
)
def test_three_windings_are_a_star(read, codes, z, legs):
    """The star seen from its three buses, against the same from the definition."""
    text = WINDINGS.format(codes=codes, z=z, stat=1)
    case = read(raw_text(transformer=text, branch="1,2,'1 ',0.0,0.1,0.0", fixed_shunt="", switched_shunt=""))
    y = admittance(case).toarray()
    y[1, 1] -= 1 / 0.1j
    inner = y[1:4, 1:4]
    if len(case.buses) == 5:
        inner = inner - np.outer(y[1:4, 4], y[4, 1:4]) / y[4, 4]
    ratio = np.array([1.01, np.exp(-1j * np.pi / 6), 0.99])
    a = 1 / np.array(legs)
    star = np.diag(a) - np.outer(a, a) / a.sum()
    expected = star / np.outer(ratio.conj(), ratio)
    # The flat star is compared with one whose first leg is 1e-9, which bounds the difference.
    # Inverses of 1/0.015 cancel to 1e-13 of them.
    np.testing.assert_allclose(inner, expected, rtol=0, atol=1e-11 if legs[0].imag > 1e-6 else 1e-5)


@pytest.mark.parametrize(
    ("stat", "out"), [(1, []), (2, ["w2"]), (3, ["w3"]), (4, ["w1"])], ids=["all", "2", "3", "1"]
)
def test_windings_out_of_service(read, stat, out):
    text = (
        WINDINGS.format(codes="1,1,1", z=Z, stat=stat)
        + THREE_FOUR
        + "\n"
        + THREE_FOUR.replace("3,4,0", "2,3,0")
    )
    case = read(raw_text(transformer=text))
    found = [row.name[-2:] for row in case.transformers if "-w" in row.name and not row.status]
    assert found == out


@pytest.mark.parametrize(("winding", "code", "regulating"), [(1, 1, ["w1"]), (2, 2, ["w2"]), (3, -1, [])])
def test_each_winding_has_its_tap_changer(read, winding, code, regulating):
    lines = WINDINGS.format(codes="1,1,1", z=Z, stat=1).splitlines()
    lines[1 + winding] += f",0.0,0.0,0.0,{code},2"
    text = "\n".join([*lines, THREE_FOUR, THREE_FOUR.replace("3,4,0", "2,3,0")])
    case = read(raw_text(transformer=text))
    assert [row.name[-2:] for row in case.transformers if row.regulating] == regulating


def test_the_second_of_two_windings_has_no_tap_changer(read):
    text = THREE_FOUR + ",0.0,0.0,0.0,1,3\n" + THREE_FOUR.replace("3,4,0", "2,3,0")
    assert not any(row.regulating for row in read(raw_text(transformer=text)).transformers)


def test_out_of_service_star_leaves_nothing(read):
    text = (
        WINDINGS.format(codes="1,1,1", z=Z, stat=0) + THREE_FOUR + "\n" + THREE_FOUR.replace("3,4,0", "2,3,0")
    )
    case = read(raw_text(transformer=text))
    assert len(case.buses) == 4


def test_a_plant_has_one_share(read):
    """Where units of a bus differ in RMPCT the last counts, as of every record that PSS/E reads again."""
    unit = "{},'{}',50.0,0.0,600.0,-600.0,1.0,3,100.0,0.0,0.3,0.0,0.0,1.0,1,{}"
    slack = raw_text().split("BEGIN GENERATOR DATA\n")[1].splitlines()[0]
    rows = [slack, *(unit.format(*row) for row in ((2, "G1", 100.0), (2, "G2", 30.0), (4, "1", 60.0)))]
    text = raw_text(generator="\n".join(rows)).replace("'FOUR        ',  10.0,1", "'FOUR        ',  10.0,2")
    with pytest.warns(PsmrWarning, match=r"case.raw:20 .*shares \(RMPCT\).*G2-G1 100, G2-G2 30.*counts: 30"):
        case = read(text)
    assert [row.share for row in case.generators] == [100.0, 30.0, 30.0, 60.0]
    q = power_flow(case).q
    assert q[1] + q[2] == pytest.approx(q[3] / 2, rel=1e-9)


def test_a_plant_shares_with_those_that_regulate_its_own_bus(read):
    """Its RMPCT counts then: unit 2 gives 30 for each 60 of unit 4."""
    unit = "{},'1',50.0,0.0,600.0,-600.0,1.0,{},100.0,0.0,0.3,0.0,0.0,1.0,1,{}"
    slack = raw_text().split("BEGIN GENERATOR DATA\n")[1].splitlines()[0]
    rows = [slack, unit.format(2, 0, 30.0), unit.format(4, 2, 60.0)]
    case = read(
        raw_text(generator="\n".join(rows)).replace("'FOUR        ',  10.0,1", "'FOUR        ',  10.0,2")
    )
    q = power_flow(case).q
    assert q[1] == pytest.approx(q[2] / 2, rel=1e-9)


def test_remote_regulation_holds_the_other_bus(read, tmp_path):
    """VS belongs to the bus IREG; in MATPOWER the own bus is held at its solution."""
    case = read(raw_text().replace("-40.0,1.02,0,100.0", "-40.0,1.03,3,100.0"))
    unit = case.generators[1]
    assert (unit.bus, unit.v, unit.control_bus, unit.share) == (2, 1.03, 3, 100.0)
    flow = power_flow(case)
    assert abs(flow.by_number()[3]) == pytest.approx(1.03, abs=1e-12)
    for name in ("again.raw", "again.m", "again.toml"):
        write_case(case, tmp_path / name)
        again = read_case(tmp_path / name)
        assert power_flow(again).voltage == pytest.approx(flow.voltage, abs=1e-9)
        assert (again.generators[1].control_bus == 3) == (name != "again.m")


@pytest.mark.parametrize(
    ("bus", "words"), [(1, "bus 1, which is a swing"), (77, "bus 77, which is not there or out of service")]
)
def test_a_bus_that_cannot_be_regulated(read, bus, words):
    """As in PSS/E the machine holds its own bus at VS then."""
    with pytest.warns(
        PsmrWarning, match=rf"case.raw:\d+ \(generator\): G2-G1 regulates {words}; .* 1\.03 pu"
    ):
        case = read(raw_text().replace("-40.0,1.02,0,100.0", f"-40.0,1.03,{bus},100.0"))
    assert (case.generators[1].v, case.generators[1].control_bus) == (1.03, 0)


def test_devices_without_a_model(read):
    records = "'GEN 1',2,0,8\n'GEN 2',2,0,0"
    text = raw_text(facts=records)
    with pytest.raises(CaseError, match=r"case.raw:\d+ \(facts\): .* no model .*GEN 1"):
        read(text)
    with pytest.warns(PsmrWarning, match="GEN 1") as warned:
        read(text, skip_unknown_models=True)
    assert len(warned) == 1


WRONG = {
    "version": (
        ", 33, 0, 1",
        ", 28, 0, 1",
        1,
        "REV = '28': must be one of 23, 24, 25, 26, 27, 29, 30, 31, 32, 33, 34, 35, 36",
    ),
    "change case": ("0, 100.0, 33", "2, 100.0, 33", 1, "IC = '2': must be one of 0, 1"),
    "base": ("0, 100.0, 33", "0, -100.0, 33", 1, "SBASE = '-100.0': must be > 0"),
    "frequency": ("1, 50.0 /", "1, 0.0 /", 1, "BASFRQ = '0.0': must be > 0"),
    "type of bus": ("100.0,3,1", "100.0,7,1", 4, "IDE = '7': must be one of 1, 2, 3, 4"),
    "voltage": ("1.02,0.0", "0.0,0.0", 5, "VM = '0.0': must be > 0"),
    "nan": ("1.02,0.0", "nan,0.0", 5, "VM = 'nan': must be a finite number"),
    "infinite": ("1.02,0.0", "1e999,0.0", 5, "VM = '1e999': must be a finite number"),
    "base voltage": ("'TWO         ', 100.0", "'TWO         ', -1.0", 5, "BASKV = '-1.0'"),
    "quotation mark": ("'TWO         '", "'TWO         ", 5, "not closed"),
    "load's bus": ("2,'1 ',1,1,1,40.0", "77,'1 ',1,1,1,40.0", 10, "I = '77': there is no bus"),
    "status": ("2,'1 ',1,1,1,40.0", "2,'1 ',5,1,1,40.0", 10, "STATUS = '5'"),
    "limits": ("60.0,-40.0,1.02", "-60.0,-40.0,1.02", 19, "QT = '-60.0': must be at least QB = -40"),
    "no reactance": ("1,2,'1 ',0.01,0.10,", "1,2,'1 ',0.01,,", 22, "X = missing: must be given"),
    "cw": ("2,3,0,'1 ',1,1,1", "2,3,0,'1 ',4,1,1", 27, "CW = '4': must be one of 1, 2, 3"),
    "cz": ("2,3,0,'1 ',1,1,1", "2,3,0,'1 ',1,0,1", 27, "CZ = '0': must be one of 1, 2, 3"),
    "cm": ("2,3,0,'1 ',1,1,1", "2,3,0,'1 ',1,1,3", 27, "CM = '3': must be one of 1, 2"),
    "ratio": ("1.02,0.0,30.0", "-1.02,0.0,30.0", 29, "WINDV = '-1.02': must be > 0"),
    "winding base": ("0.01,0.1,100.0", "0.01,0.1,0.0", 28, "SBASE1-2 = '0.0': must be > 0"),
    "winding's bus": ("2,3,4,'1 '", "2,3,9,'1 '", 31, "K = '9': there is no bus"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_line(read, name):
    old, new, line, message = WRONG[name]
    text = raw_text()
    assert old in text
    with pytest.raises(CaseError, match=rf"case\.raw:{line} .*{re.escape(message)}"):
        read(text.replace(old, new, 1))


def test_swing_without_generator(read):
    """The largest generator left in the island is the swing."""
    with pytest.warns(PsmrWarning, match=r"\(G2-G1\): the island of bus 2 has no swing .* G2-G1 is it now"):
        case = read(raw_text().replace("1.0,1,100.0,200.0,0.0", "1.0,0,100.0,200.0,0.0"))
    assert [(row.name, row.control, row.v) for row in case.generators] == [("G2-G1", "slack", 1.02)]


def test_no_bus(read):
    with pytest.raises(CaseError, match=r"case\.raw: there is no bus; is this the whole file\?"):
        read("0, 100.0, 33, 0, 1, 60.0 /\n\n\n" + "0\n" * 18 + "Q\n")


def test_no_generator_in_service(read):
    text = (
        raw_text().replace("100.0,3,1", "100.0,1,1").replace("1.0,1,100.0,200.0,0.0", "1.0,0,100.0,200.0,0.0")
    )
    with pytest.raises(CaseError, match=r"case\.raw: no generator is in service: nothing feeds the network"):
        read(text.replace("1.0,1,100.0,90.0,0.0", "1.0,0,100.0,90.0,0.0"))


def test_island_without_slack(read):
    with pytest.warns(PsmrWarning, match=r"\(G1\): the island of bus 1 has no swing .* the largest there"):
        case = read(raw_text().replace("100.0,3,1", "100.0,2,1"))
    assert [row.control for row in case.generators] == ["slack", "pv"]


@pytest.mark.parametrize("section", ["LOAD", "GENERATOR", "AREA"])
def test_missing_section(read, section):
    text = re.sub(rf"0 / END OF {section} DATA.*\n", "", raw_text())
    with pytest.raises(CaseError, match=r"case\.raw:\d+ .*"):
        read(text)


@pytest.mark.parametrize("section", ["GENERATOR", "BRANCH", "TRANSFORMER", "AREA"])
def test_a_q_ends_the_file_after_any_section(read, section):
    """Sections that are left out are empty; a file without its Q has to have them."""
    whole = raw_text().replace("2,'G1',", "  @! a comment\n2,'G1',")
    if section == "GENERATOR":
        whole = whole.replace("2,'TWO         ', 100.0,2", "2,'TWO         ', 100.0,3")
    cut = whole[: whole.index("\n", whole.index(f"0 / END OF {section} DATA"))]
    case = read(cut + "\nQ\n")
    assert len(case.lines) == (0 if section == "GENERATOR" else 3)
    with pytest.raises(CaseError, match="the file ends before"):
        read(cut)


def test_buses_by_name_are_said(read):
    with pytest.raises(
        CaseError, match=r"I = 'TWO .*are buses given by their names. Save the case with bus numbers"
    ):
        read(raw_text().replace("2,'1 ',1,1,1,40.0", "'TWO         ',1,1,1,1,40.0"))


@pytest.mark.parametrize("lines", [1, 3, 8, 15, 27, 30])
def test_file_cut_short(read, lines):
    text = "\n".join(raw_text().splitlines()[:lines])
    with pytest.raises(CaseError, match=rf"case\.raw:{lines}: .*the file ends before the .* section"):
        read(text)


def test_encoding(read):
    with pytest.warns(
        PsmrWarning, match=r"case\.raw:5: is not text in UTF-8 \(byte \d+, 0xe9\); read as cp12"
    ):
        case = read(raw_text().encode().replace(b"TWO", b"T\xe9O"))
    assert case.buses[1].name == read(raw_text().replace("TWO", "TéO")).buses[1].name
    # Bytes that are no letter in either: GBK, and a letter in UTF-8 cut short.
    for name in (b"T\x81O", "\u4e09\u5cfd".encode("gbk"), "\u534e\u534e".encode()[:5]):
        with pytest.warns(PsmrWarning, match=r"case\.raw:5: is not text in UTF-8 .*; read as cp1252"):
            case = read(raw_text().encode().replace(b"TWO", name))
        assert [bus.number for bus in case.buses] == [bus.number for bus in read(raw_text()).buses]
    with pytest.raises(CaseError, match=r"case\.raw:5: has the control character '\\x00'"):
        read(raw_text().replace("TWO", "T\0O"))
    with pytest.raises(CaseError, match="empty"):
        read("\n\n")


def test_free_format(read):
    """Blanks in place of commas, fields left out, comments, and lines that end early."""
    text = raw_text(load="2 '1 ' 1 1 1 40.0 10.0 / the rest is zero\n\n/ a comment\n3,,,,,1.0D1,5")
    loads = read(text).loads
    assert [(load.name, load.p_mw, load.q_mvar) for load in loads] == [
        ("load2", 40.0, 10.0),
        ("load3", 10.0, 5.0),
    ]


def test_last_section_may_have_blocks(read):
    """Substations have sections of their own within; nothing in them is read."""
    blocks = "1,'SUB',0.0\n0 / BEGIN SUBSTATION NODE DATA\n1,'NODE',1\n0 / END OF SUBSTATION NODE DATA\n0"
    assert read(raw_text(35, substation=blocks)) == read(raw_text(35))


def test_other_words_for_sections(read):
    text = raw_text().replace("END OF IMPEDANCE", "END OF TRANSFORMER IMPEDANCE")
    text = text.replace("BEGIN IMPEDANCE", "BEGIN TRANSFORMER IMPEDANCE").replace(
        "BRANCH", "NON-TRANSFORMER BRANCH"
    )
    text = text.replace("FIXED SHUNT", "FIXED BUS SHUNT").replace("VSC DC", "VOLTAGE SOURCE CONVERTER")
    assert read(text) == read(raw_text())


CORRECTED = "1.02,0.0,30.0", "1.02,0.0,30.0,0,0,0,0,0,1.1,0.9,1.1,0.9,33,7"
TABLES = {
    33: "7,0.9,1.2,1.0,1.0,1.1,0.8",
    34: "7,0.9,1.2,0.3,1.0,1.0,0.0\n1.1,0.8,-0.2,0.0,0.0,0.0",
    36: "7,0.9,1.2,0.3,1.0,1.0,0.0\n1.1,0.8,-0.2,0.0,0.0",
}


@pytest.mark.parametrize("version", TABLES)
def test_impedance_correction(read, version):
    """The ratio 1.02 / 0.98 = 1.040816 is between the points 1 and 1.1."""
    text = raw_text(version, impedance_correction=TABLES[version]).replace(
        "1.02,0.0,30.0",
        CORRECTED[1].replace(
            "0,0,0,0,0,1.1",
            "0,0,0,0,0,0,0,0,0,0,0,0,0,0,1.1" if version == 34 else "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1.1",
        )
        if version > 33
        else CORRECTED[1],
    )
    plain, found = (
        next(row for row in read(t).transformers if row.name == "transformer2-3")
        for t in (raw_text(version), text)
    )
    part = (1.02 / 0.98 - 1.0) / 0.1
    factor = 1 - 0.2 * part - (0.0 if version == 33 else 0.2j * part)
    assert complex(found.r, found.x) == pytest.approx(complex(plain.r, plain.x) * factor)
    assert found.correction[:3] == (0.9, 1.2, 0.0 if version == 33 else 0.3)


def test_impedance_correction_by_angle(read):
    """The table's points leave the range of ratios: degrees. Beyond its ends it is that of the end."""
    table = "7,-30.0,1.5,0.0,1.0,20.0,2.0"
    text = raw_text(impedance_correction=table).replace(*CORRECTED)
    plain, found = (
        next(row for row in read(t).transformers if row.name == "transformer2-3") for t in (raw_text(), text)
    )
    assert complex(found.r, found.x) == pytest.approx(complex(plain.r, plain.x) * 2.0)


def test_a_missing_or_short_impedance_correction_table(read):
    words = (
        r"case\.raw:29 .*TAB = 7: there is no impedance correction table .*; the impedance is taken as given"
    )
    with pytest.warns(PsmrWarning, match=words):
        case = read(raw_text().replace(*CORRECTED))
    assert [row.x for row in case.transformers] == [row.x for row in read(raw_text()).transformers]
    with pytest.raises(
        CaseError, match=r"V0 = '7': its table must have two points or more, with ascending T"
    ):
        read(raw_text(impedance_correction="7,1.1,1.0,0.9,1.0").replace(*CORRECTED))


def test_a_transformer_without_impedance_has_a_small_reactance(tmp_path):
    """PSS/E takes a branch of up to 1e-4 pu (THRSHZ) for none; behind the second ratio, 0.98, as any."""
    old = "0.01,0.1,100.0"
    assert old in raw_text()
    (tmp_path / "case.raw").write_text(raw_text().replace(old, "0.0,0.0,100.0", 1))
    with pytest.warns(
        PsmrWarning, match=r"X1-2: transformer\S+ has no impedance; x = 0\.0001 pu stands for it"
    ):
        case = read_case(tmp_path / "case.raw")
    (tmp_path / "case.raw").write_text(raw_text())
    usual = read_case(tmp_path / "case.raw")
    assert min(row.x for row in case.transformers) == pytest.approx(1e-4 * 0.98**2, rel=1e-12)
    assert [row.tap for row in case.transformers] == [row.tap for row in usual.transformers]

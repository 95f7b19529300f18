"""FACTS devices of RAW files, and DC lines of MATPOWER files, in the power flow."""

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError, PsmrWarning
from tests.files.raw import raw_text
from tests.internals import power_flow


@pytest.fixture
def read(tmp_path):
    def one(record, **options):
        (tmp_path / "case.raw").write_text(raw_text(33, facts=record))
        return psmr.read_case(tmp_path / "case.raw", **options)

    return one


def test_a_statcom_holds_a_voltage(read):
    """Without limits it holds its voltage; with limits it gives its most of 1 Mvar."""
    with pytest.warns(
        PsmrWarning, match=r"STAT: a FACTS device, holds bus 4 at 1\.02 pu within 1 Mvar; held"
    ):
        case = read("'STAT',4,0,1,0.0,0.0,1.02,1.0")
    row = case.generators[-1]
    assert (row.name, row.bus, row.control, row.p_mw, row.held) == ("facts-STAT", 4, "pv", 0.0, True)
    assert (row.q_min_mvar, row.q_max_mvar) == (-1.0, 1.0)
    flow = power_flow(case, reactive_limits=False)
    assert flow.by_number()[4] == pytest.approx(1.02 * np.exp(1j * flow.angle[3]))
    limited = power_flow(case, reactive_limits=True)
    assert abs(flow.q[-1]) > 0.01
    assert "facts-STAT" in limited.at_limit
    assert abs(limited.q[-1]) == pytest.approx(0.01)


def test_a_series_element_delivers_its_power(read):
    """At J it delivers 20 + j5 MVA; I gives 20 MW, and what the same current takes at its voltage."""
    case = read("'UPFC',2,3,1,20.0,5.0,1.02,50.0")
    rows = {row.name: row for row in case.loads if row.held}
    assert (rows["facts-UPFC-J"].p_mw, rows["facts-UPFC-J"].q_mvar) == (-20.0, -5.0)
    assert rows["facts-UPFC-I"].p_mw == 0.0
    assert rows["facts-UPFC-I"].q_mvar == pytest.approx(5.0 * 1.02 / 1.00)
    assert case.generators[-1].p_mw == -20.0


def test_a_series_impedance_and_a_bypass(read):
    case = read("'TCSC',2,3,3,0.0,0.0,1.0,0.0,9999,0.9,1.1,1,0,0.05,100,1,0.01,0.2")
    row = next(row for row in case.lines if row.name == "facts-TCSC-series")
    assert (row.from_bus, row.to_bus, row.r, row.x) == (2, 3, 0.01, 0.2)
    with pytest.warns(PsmrWarning, match=r"2-3: has no impedance; buses 2 and 3 are one"):
        case = read("'TCSC',2,3,2,0.0,0.0,1.0,0.0")
    assert 3 not in {bus.number for bus in case.buses}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ("'F',9,0,1", r"I = '9': there is no bus"),
        ("'F',2,9,1", r"J = '9': there is no bus"),
        ("'F',2,0,1,0,0,0.0", r"VSET = '0\.0': must be > 0"),
        ("'F',2,0,1,0,0,1.0,-5.0", r"SHMX = '-5\.0': must be >= 0"),
        ("'F',2,3,3,0,0,1.0,0.0", r"SET2 = missing: must be a reactance"),
        ("'F',2,3,5", r"psmr has no model of facts: F; .*--skip-unknown-models"),
    ],
)
def test_what_is_wrong(read, record, words):
    with pytest.raises(CaseError, match=words):
        read(record)


MATPOWER = """function mpc = two
mpc.version = '2';
mpc.baseMVA = 100;
mpc.bus = [
	1	3	0	0	0	0	1	1.0	0	230	1	1.1	0.9;
	2	1	50	10	0	0	1	1.0	0	230	1	1.1	0.9;
];
mpc.gen = [
	1	50	0	100	-100	1.0	100	1	250	10;
];
mpc.branch = [
	1	2	0.01	0.1	0	250	250	250	0	0	1	-360	360;
];
mpc.dcline = [
	1	2	1	20	19	0	0	1.0	0.99	0	50	-10	10	-30	30	0.5	0.02;
	1	2	0	20	19	0	0	1.0	0.99	0	50	-10	10	-30	30	0	0;
];
"""


def test_a_dc_line_of_matpower(tmp_path):
    """20 MW less 0.5 MW and 2 % arrive; both ends hold their voltages, as toggle_dcline does."""
    (tmp_path / "two.m").write_text(MATPOWER)
    with pytest.warns(PsmrWarning, match=r"dcline1-2: a DC line of 20 MW from bus 1, 19\.1 MW to bus 2"):
        case = psmr.read_case(tmp_path / "two.m", frequency_hz=60.0)
    assert [(g.name, g.bus, g.control, g.p_mw, g.held) for g in case.generators[1:]] == [
        ("dcline1-2-from", 1, "pv", -20.0, True),
        ("dcline1-2-to", 2, "pv", pytest.approx(19.1), True),
    ]
    flow = power_flow(case)
    assert flow.v == pytest.approx([1.0, 0.99])
    (tmp_path / "bad.m").write_text(MATPOWER.replace("0.99\t0\t50\t-10\t10\t-30", "0.99\t0\t50\t-10\t10\t40"))
    with pytest.raises(
        CaseError, match=r"bad\.m:15 \(mpc\.dcline\): QmaxT = 30: must be at least QminT = 40"
    ):
        psmr.read_case(tmp_path / "bad.m", frequency_hz=60.0)


def test_a_multi_terminal_line_of_rawx(tmp_path):
    """Its converters, DC buses and links are tables of their own; (321 - 29 I) I = 321 as in RAW."""
    import json

    def table(fields, *rows):
        return {"fields": fields.split(), "data": [list(row) for row in rows]}

    network = {
        "caseid": table(
            "ic sbase rev xfrrat nxfrat basfrq title1 title2", [0, 100.0, 35, 0, 0, 60.0, "T", ""]
        ),
        "bus": table(
            "ibus name baskv ide area zone owner vm va",
            [1, "A", 500.0, 3, 1, 1, 1, 1.0, 0.0],
            [2, "B", 230.0, 1, 1, 1, 1, 1.0, 0.0],
        ),
        "generator": table(
            "ibus machid pg qg qt qb vs mbase stat", [1, "1", 0.0, 0.0, 99.0, -99.0, 1.0, 100.0, 1]
        ),
        "acline": table("ibus jbus ckt rpu xpu bpu stat", [1, 2, "1", 0.0, 0.01, 0.0, 1]),
        "ntermdc": table("name nconv ndcbs ndcln mdc vconv vcmod vconvn", ["M", 2, 2, 1, 1, 1, 400.0, 0]),
        "ntermdcconv": table(
            "name ib nbrdg angmx angmn rc xc ebas tr tap tpmx tpmn tstp setvl dcpf marg cnvcod",
            ["M", 1, 4, 10, 8, 0, 19, 500.0, 0.22, 1, 1.1, 0.9, 0.01, 321.0, 1, 0.15, 3],
            ["M", 2, 4, 20, 18, 0, 10, 230.0, 0.45, 1, 1.1, 0.9, 0.01, -321.0, 1, 0, 1],
        ),
        "ntermdcbus": table(
            "name idc ib area zone dcname idc2 rgrnd owner",
            ["M", 1, 1, 1, 1, "X", 0, 0, 1],
            ["M", 2, 2, 1, 1, "Y", 0, 0, 1],
        ),
        "ntermdclink": table("name idc jdc dcckt met rdc ldc", ["M", 1, 2, "1", 1, 29.0, 0]),
    }
    (tmp_path / "case.rawx").write_text(json.dumps({"network": network}))
    loads = psmr.read_case(tmp_path / "case.rawx").loads
    assert [row.p_mw for row in loads] == pytest.approx(
        [321 * (321 - np.sqrt(321**2 - 4 * 29 * 321)) / 58, -321.0]
    )

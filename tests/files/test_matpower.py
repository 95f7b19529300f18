"""MATPOWER case files: what is read, and the message for everything that can be wrong."""

import re
import warnings

import numpy as np
import pytest

import psmr
from psmr import read_case
from psmr.errors import CaseError, PsmrWarning
from tests.internals import admittance, power_flow

GOOD = """\
function mpc = small
%SMALL  a case; with brackets [ and ' in its comments
mpc.version = '2';
mpc.baseMVA = 100;
mpc.bus = [ % bus_i type Pd Qd Gs Bs area Vm Va baseKV zone Vmax Vmin
\t1\t3\t0\t0\t0\t0\t1\t1.0\t5\t100\t1\t1.1\t0.9;
\t2\t2\t10\t5\t1\t2\t1\t1.0\t0\t100\t1\t1.1\t0.9;
\t3, 1, 20, -5, 0, 0, 1, 1.0, 0, 20, 1, 1.1, 0.9
\t4\t4\t20\t5\t0\t0\t1\t1.0\t0\t20\t1\t1.1\t0.9; ];
mpc.gen = [
\t1\t0\t0\tInf\t-Inf\t1.02\t0\t1\t200\t0\t0;
\t2\t30\t0\t50\t-50\t1.01\t100\t1\t200\t0\t0;
\t2\t30\t0\t50\t-50\t1.01\t100\t0\t200\t0\t0;
\t3\t5\t2\t50\t-50\t1.01\t100\t1\t200\t0\t0;
];
mpc.branch = [
\t1\t2\t0.01\t0.1\t0.02\t0\t0\t0\t0\t0\t1;
\t1\t2\t0.01\t0.1\t0.02\t0\t0\t0\t0\t0\t0;
\t2\t3\t0.01\t0.1\t0.04\t0\t0\t0\t0.95\t-10\t1;
\t3\t4\t0.01\t0.1\t0.04\t0\t0\t0\t0.95\t0\t1;
];
mpc.gencost = [2 0 0 3 0.1 5 150];
mpc.bus_name = {
\t'one; [';
\t'two';
};
"""


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "small.m"
        path.write_text(text)
        return read_case(path, **({"frequency_hz": 50.0} | options))

    return read


def test_what_is_read(read):
    case = read(GOOD)
    assert (case.name, case.base_mva, case.frequency_hz) == ("small", 100.0, 50.0)
    assert [bus.number for bus in case.buses] == [1, 2, 3]
    assert [(load.bus, load.p_mw, load.q_mvar) for load in case.loads] == [(2, 10, 5), (3, 20, -5)]
    assert [(g.name, g.control, g.rating_mva) for g in case.generators] == [
        ("G1", "slack", 100.0),
        ("G2", "pv", 100.0),
        ("G3", "pq", 100.0),
    ]
    assert (case.generators[0].v, case.generators[0].angle_deg) == (1.02, 5.0)
    assert [(line.name, line.status) for line in case.lines] == [("line1-2", 1), ("line1-2-2", 0)]
    assert [row.name for row in case.transformers] == ["transformer2-3"]


def test_branch_is_the_manual_s(read):
    """MATPOWER User's Manual, equation (3.2): charging on both sides of the impedance, behind the tap."""
    case = read(GOOD.replace("\t2\t2\t10\t5\t1\t2", "\t2\t2\t10\t5\t0\t0").replace("0.1\t0.02", "1e9\t0"))
    y, tap = 1 / (0.01 + 0.1j), 0.95 * np.exp(-1j * np.radians(10))
    expected = [
        [(y + 0.02j) / 0.95**2, -y / tap.conjugate()],
        [-y / tap, y + 0.02j],
    ]
    np.testing.assert_allclose(admittance(case).toarray()[1:, 1:], expected, rtol=0, atol=1e-8)


def test_frequency_is_said_or_warned_about(read):
    with pytest.warns(PsmrWarning, match="no frequency; 60 Hz"):
        assert read(GOOD, frequency_hz=None).frequency_hz == 60.0


TWO = """function mpc = two
mpc.version = '2'; mpc.baseMVA = 100;
mpc.bus = [1 3 0 0 0 0 1 1 0 230 1 1.1 0.9; 2 2 20 5 0 0 1 1 0 230 1 1.1 0.9];
mpc.gen = [
1 0 0 99 -99 1 1000 1 99 0
2 30 0 99 -99 1 100 1 99 0
2 20 0 50 -50 1 50 1 50 0
2 20 0 50 -50 1 50 0 50 0];
mpc.branch = [1 2 0.01 0.2 0 0 0 0 0 0 1];
"""
GENROU = "'GENROU' {} 6.0 0.05 0.5 0.06 4 0 1.6 1.55 0.3 0.5 0.2 0.1 0.0 0.0 /\n"
PLANTS = "".join(f"{bus} {GENROU.format(ident)}" for bus, ident in ((1, 1), (2, 1), (2, 2), (2, 3)))


def test_a_dyr_file(read, tmp_path):
    """Generators of a bus are 1, 2, ... in the order of mpc.gen; the run is that of the same RAW file."""
    dyr = tmp_path / "x.dyr"
    dyr.write_text(PLANTS + "2 'LDSHBL' 1 58.5 0.1 0.5 0 0 0 0 0 0 0.05 /\n")
    case = read(TWO, dynamics=dyr, frequency_hz=60.0)
    assert [(g.name, [d.type for d in g.devices]) for g in case.generators] == [
        *((name, ["GENROU"]) for name in ("G1", "G2", "G2-2"))
    ]
    assert [row.devices[0].parameters["s_n"] for row in case.generators] == [1000.0, 100.0, 50.0]
    assert case.mechanical == "power"
    assert [(row.acts_on, row.device.type) for row in case.relays] == [("load2", "UnderFrequencyShedding")]
    # As in PSS/E a run bends loads below 0.7 pu.
    assert case.loads[0].v_min == 0.7
    paths = psmr.write_case(case, tmp_path / "same.raw")
    same = psmr.read_case(*paths)
    events = [psmr.Fault(bus=2, start=0.1, clear=0.15, x=0.1)]
    runs = [
        psmr.simulate(psmr.build(c), psmr.SingleRate("TM", 0.005), 0.5, events, certify=False)
        for c in (case, same)
    ]
    np.testing.assert_allclose(runs[0].values("*.omega"), runs[1].values("*.omega"), rtol=0, atol=1e-12)


def test_a_machine_whose_reactance_the_network_has_not(read, tmp_path):
    dyr = tmp_path / "x.dyr"
    dyr.write_text(PLANTS.replace(f"1 {GENROU.format(1)}", "1 'GENCLS' 1 4 0 /\n", 1))
    words = r"x\.dyr:1: GENCLS: its reactance is ZX of a RAW file, which .*small\.m:5 \(mpc\.gen\) has not"
    with pytest.raises(CaseError, match=words):
        read(TWO, dynamics=dyr, frequency_hz=60.0)


def test_loads_keep_their_power_at_low_voltage(read):
    """A load of 65 + j28 MVA behind j0.5 pu: V2 is the upper root of the quadratic of two buses, 0.65280.

    Below 0.7 pu PSS/E bends the power (PQBRAK), MATPOWER does not; pandapower's runpp finds the same.
    """
    text = TWO.replace("2 2 20 5", "2 1 65 28").replace("2 30 0 99 -99 1 100 1", "2 30 0 99 -99 1 100 0")
    text = text.replace("2 20 0 50 -50 1 50 1", "2 20 0 50 -50 1 50 0").replace("0.01 0.2", "0 0.5")
    case = read(text, frequency_hz=60.0)
    assert case.loads[0].v_min == 0.0
    p, q, x = 0.65, 0.28, 0.5
    half = 0.5 - q * x
    square = half + np.sqrt(half**2 - x**2 * (p**2 + q**2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", PsmrWarning)
        flow = power_flow(case)
    assert flow.v[1] == pytest.approx(np.sqrt(square), abs=1e-10)
    assert flow.v[1] == pytest.approx(0.65280, abs=5e-6)
    assert not flow.reduced


@pytest.mark.parametrize(("high", "good"), [("-1e-8", True), ("-0.1", False)])
def test_limits_that_cross_by_rounding(read, high, good):
    text = TWO.replace("2 30 0 99 -99", f"2 30 0 {high} 0")
    if good:
        with pytest.warns(PsmrWarning, match=r"Qmax = -1e-08 is below Qmin = 0 by rounding; both are 0"):
            assert read(text, frequency_hz=60.0).generators[1].q_max_mvar == 0.0
    else:
        with pytest.raises(CaseError, match=r"Qmax = -0\.1: must be at least Qmin = 0"):
            read(text, frequency_hz=60.0)


WRONG = {
    "version": ("'2'", "'3'", 3, "psmr reads versions '1' and '2'"),
    "base": ("= 100;", "= 0;", 4, "baseMVA = 0.0: must be > 0"),
    "expression": ("= 100;", "= 10 * base;", 4, "'10 * base' is not a number: there is no number 'base'"),
    "statement": ("mpc.gencost = ", "mpc.gen(1, 2) = ", 22, "[2 0 0 3 0.1 5 150]' is not understood"),
    "twice": ("mpc.gencost", "mpc.gen", 22, "mpc.gen is given twice"),
    "type": ("2\t2\t10", "2\t5\t10", 7, "type = 5: must be one of 1, 2, 3, 4"),
    "number": ("2\t2\t10", "1\t2\t10", 7, "bus_i = 1: is taken by"),
    "fraction": ("2\t2\t10", "2.5\t2\t10", 7, "bus_i = 2.5: must be a whole number"),
    "nan": ("2\t2\t10", "2\t2\tNaN", 7, "Pd = nan: must be a finite number"),
    "infinite": ("2\t2\t10", "2\t2\tInf", 7, "Pd = inf: must be a finite number"),
    "columns": ("\t0.9;\n\t2", ";\n\t2", 6, "has 12 columns; must have at least 13"),
    "limits": ("30\t0\t50\t-50", "30\t0\t-60\t-50", 12, "Qmax = -60: must be at least Qmin = -50"),
    "bus": ("\t2\t3\t0.01", "\t2\t9\t0.01", 19, "tbus = 9: there is no bus"),
    "impedance": ("0.01\t0.1\t0.04", "0\t0\t0.04", 19, "x = 0: must not be 0"),
    "ratio": ("0.95\t-10", "-0.95\t-10", 19, "ratio = -0.95: must be >= 0"),
    "voltage": ("-50\t1.01", "-50\t0", 12, "Vg = 0: must be > 0"),
    "bracket": ("\n];\nmpc.branch", "\nmpc.branch", 10, "not closed"),
    "function": ("mpc.gencost = [2 0 0 3 0.1 5 150]", "mpc = ext2int(mpc)", 22, "may change the case"),
    "loop": ("mpc.gencost = [2 0 0 3 0.1 5 150]", "for k = 1:3", 22, "carries out no loops"),
    "order": ("mpc.gencost = [2 0 0 3 0.1 5 150]", "[PV, PQ] = idx_bus", 22, "idx_bus has 'PQ'"),
    "index": ("mpc.gencost = [2 0 0 3 0.1 5 150]", "mpc.bus(:, 14) = 1", 22, "from 1 to 13"),
    "sizes": ("mpc.gencost = [2 0 0 3 0.1 5 150]", "mpc.bus(:, 3) = mpc.gen(1, :)", 22, "the same size"),
    "matrix product": (
        "mpc.gencost = [2 0 0 3 0.1 5 150]",
        "mpc.bus(:, 3) = mpc.bus(:, 3) * mpc.bus(:, 4)",
        22,
        ".* is",
    ),
    "missing": ("mpc.gen = [", "mpc.other = [", 23, "mpc.gen is missing"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_line(read, name):
    old, new, line, message = WRONG[name]
    assert old in GOOD
    with pytest.raises(CaseError, match=rf"small\.m:{line}\b.*{re.escape(message)}"):
        read(GOOD.replace(old, new, 1))


def test_units_are_converted_as_the_file_says(read):
    """The statements at the end of MATPOWER's distribution cases: ohms on the first bus's voltage, kW."""
    conversion = """\
[PQ, PV, REF, NONE, BUS_I, BUS_TYPE, PD, QD, GS, BS, BUS_AREA, VM, ...
    VA, BASE_KV, ZONE, VMAX, VMIN, LAM_P, LAM_Q, MU_VMAX, MU_VMIN] = idx_bus;
[F_BUS, T_BUS, BR_R, BR_X, BR_B] = idx_brch;
Vbase = mpc.bus(1, BASE_KV) * 1e3;      %% in Volts
Sbase = mpc.baseMVA * 1e6;              %% in VA
mpc.branch(:, [BR_R BR_X]) = mpc.branch(:, [BR_R BR_X]) / (Vbase^2 / Sbase);
mpc.bus(:, [PD, QD]) = mpc.bus(:, [PD, QD]) / 1e3;
pf = 0.8;
mpc.bus(:, QD) = mpc.bus(:, PD) * sin(acos(pf));
fixed = 0;
if fixed
    for k = 1:3
        mpc.gen(k, PG) = 1;
    end
end
"""
    case = read(GOOD + conversion)
    # 100 kV and 100 MVA: 100 ohms are 1 pu; 10 kW, and 0.6 of it in kvar.
    assert [(load.p_mw, load.q_mvar) for load in case.loads] == [
        pytest.approx((0.01, 0.006), rel=1e-12),
        pytest.approx((0.02, 0.012), rel=1e-12),
    ]
    assert (case.lines[0].r, case.lines[0].x) == pytest.approx((1e-4, 1e-3), rel=1e-12)
    assert case.generators[1].p_mw == 30.0


def test_fields_within_fields_and_unused_numbers_are_passed_over(read):
    more = "mpc.reserves.zones = [\n 1 1;\n];\nnb = size(mpc.bus, 1);\nmpc.gencost(:, 5) = nb;\n"
    assert len(read(GOOD + more).buses) == 3


def test_version_1_has_the_same_columns(read):
    """A function of version 1 returns its matrices one by one (MATPOWER User's Manual, appendix B)."""
    text = GOOD.replace("function mpc = small", "function [baseMVA, bus, gen, branch] = small")
    text = text.replace("mpc.version = '2';\n", "").replace("mpc.", "")
    assert len(read(text).buses) == 3
    assert len(read(GOOD.replace("'2'", "'1'")).buses) == 3


def test_numbers_may_be_expressions(read):
    assert read(GOOD.replace("mpc.baseMVA = 100", "mpc.baseMVA = 50/3*6")).base_mva == pytest.approx(100.0)
    assert read(GOOD.replace("\t3\t5\t2\t50", "\t3\t1/4\t2\t50")).generators[2].p_mw == 0.25


def test_a_resistance_alone_and_a_voltage_that_is_not_known(read):
    """As in pglib's case1803_snem and in results that MATLAB saves, with NaN for none."""
    text = GOOD.replace("0.01\t0.1\t0.04", "0.01\t0\t0.04", 1).replace(
        "2\t1\t1.0\t0\t100", "2\t1\tNaN\tNaN\t100"
    )
    case = read(text)
    assert [(row.r, row.x) for row in case.transformers] == [(0.01, 0.0)]
    assert [bus.v for bus in case.buses] == [1.0, None, 1.0]

"""RAW files of public repositories, made small: what PSS/E passes over, takes for one, or rounds."""

import json
import warnings

import numpy as np
import pytest

import psmr
from psmr import build, read_case, simulate, write_case
from psmr.errors import CaseError, EventError, PsmrWarning
from tests.files.raw import TWELVE, raw_text
from tests.files.test_psse_versions import as_rawx
from tests.internals import find_branch, find_bus, power_flow, read_sections

SECTIONS = (
    "BUS",
    "LOAD",
    "FIXED SHUNT",
    "GENERATOR",
    "BRANCH",
    "TRANSFORMER",
    *("AREA", "TWO-TERMINAL DC", "VSC DC LINE", "IMPEDANCE CORRECTION", "MULTI-TERMINAL DC"),
    *("MULTI-SECTION LINE", "ZONE", "INTER-AREA TRANSFER", "OWNER", "FACTS DEVICE", "SWITCHED SHUNT"),
    *("GNE", "INDUCTION MACHINE"),
)


def raw(buses, loads=(), generators=(), branches=(), transformers=()):
    """Return a RAW file: buses (number, type, v, angle[, name]), loads (bus, p, q), generators (bus,
    identifier, p, q, qt, qb, vs[, status]), branches (i, j, circuit, r, x[, status])."""
    records = {
        "BUS": [
            f"{n},'{(*name, f'BUS {n}')[0]}',230,{kind},1,1,1,{v},{angle}"
            for n, kind, v, angle, *name in buses
        ],
        "LOAD": [f"{n},'1',1,1,1,{p},{q},0,0,0,0,1,1,0" for n, p, q in loads],
        "GENERATOR": [
            f"{n},'{i}',{p},{q},{qt},{qb},{vs},0,100,0,0.2,0,0,1,{(*on, 1)[0]},100,999,-999,1,1"
            for n, i, p, q, qt, qb, vs, *on in generators
        ],
        "BRANCH": [
            f"{i},{j},'{k}',{r},{x},0,0,0,0,0,0,0,0,{(*on, 1)[0]},1,0,1,1" for i, j, k, r, x, *on in branches
        ],
        "TRANSFORMER": list(transformers),
    }
    lines = ["0, 100.0, 33, 0, 1, 60.0 / made for a test", "DAILY", ""]
    for section in SECTIONS:
        lines += [*records.get(section, ()), f"0 / END OF {section} DATA"]
    return "\n".join([*lines, "Q", ""])


SWING = (1, "1", 20.0, 0.0, 99.0, -99.0, 1.0)
LINE = (1, 2, "1", 0.01, 0.1)


@pytest.fixture
def read(tmp_path):
    def read(text, dyr=None, **options):
        path = tmp_path / "case.raw"
        path.write_text(text)
        if dyr is not None:
            (tmp_path / "case.dyr").write_text(dyr)
        return read_case(path, tmp_path / "case.dyr" if dyr is not None else None, **options)

    return read


def test_a_machine_at_a_bus_of_type_1_does_not_count(read):
    """V2 is the root of the two-bus equation with a load of -50 + j21 MVA alone: 0.98230 pu at 3.040 degrees.

    That is what PSS/E does: the stored solution of a public case of 4,287 buses (jbarberia/PSSE34to33)
    balances at 26 of 27 such buses without the machine, and at none with it.
    """
    text = raw(
        [(1, 3, 1.0, 0), (2, 1, 1.0, 0)],
        [(2, -50, 21)],
        [(1, "1", -48, 0, 99, -99, 1.0), (2, "G1", 50, -21, 21, -21, 1.0)],
        [LINE],
    )
    words = (
        r"case\.raw:11 \(generator\): 1 machine \(G2-G1 50 MW, -21 Mvar, line 11\) in service at buses of"
        r" type 1 \(IDE = 1\), which PSS/E passes over; 50 MW left out\. .* IDE = 2, with QT = QB = QG"
    )
    with pytest.warns(PsmrWarning, match=words):
        case = read(text)
    assert [row.name for row in case.generators] == ["G1"]
    flow = power_flow(case)
    z, s = 0.01 + 0.1j, 0.5 - 0.21j
    v2 = 1.0 + 0j
    for _ in range(100):
        v2 = 1 + z * np.conj(s / v2)
    assert flow.voltage[1] == pytest.approx(v2, abs=1e-9)
    assert abs(v2) == pytest.approx(0.98230, abs=5e-6)
    assert np.degrees(np.angle(v2)) == pytest.approx(3.040, abs=5e-4)
    assert complex(flow.p[0], flow.q[0]) * 100 == pytest.approx(-49.695 + 24.05j, abs=0.006)
    # As the message says, it counts with IDE = 2 and QT = QB = QG; its records are passed over else.
    text = text.replace("2,'BUS 2',230,1", "2,'BUS 2',230,2")
    kept = read(text.replace("50,-21,21,-21", "50,-21,-21,-21"))
    assert [(row.name, row.control, row.q_mvar) for row in kept.generators[1:]] == [("G2-G1", "pq", -21.0)]


@pytest.mark.parametrize("written_by_others", [True, False])
def test_a_machine_at_a_bus_of_type_1_counts_in_a_solution_with_it(read, written_by_others):
    """The stored voltages are those of the two-bus equation with the machine, or without it.

    A counter-example to PSS/E's rule is what PowSyBl exports: its stored solution counts the machine.
    """
    z, v2 = 0.01 + 0.1j, 1.0 + 0j
    for _ in range(100):
        v2 = 1 - z * np.conj((0.5 + 0.1j - (0.3 + 0.05j) * written_by_others) / v2)
    buses = [(1, 3, 1.0, 0), (2, 1, round(abs(v2), 5), round(float(np.degrees(np.angle(v2))), 4))]
    text = raw(buses, [(2, 50, 10)], [SWING, (2, "1", 30, 5, 9, -9, 1.0)], [LINE])
    words = "30 MW counted: the voltages of the file are" if written_by_others else "30 MW left out"
    with pytest.warns(PsmrWarning, match=rf"1 machine \(G2 30 MW, 5 Mvar, line 11\) .* passes over; {words}"):
        case = read(text)
    assert power_flow(case).voltage[1] == pytest.approx(v2, abs=1e-9)
    assert len(case.generators) == 1 + written_by_others


def test_records_of_a_machine_that_does_not_count_are_passed_over(read):
    text = raw([(1, 3, 1.0, 0), (2, 1, 1.0, 0)], [(2, 20, 5)], [SWING, (2, "1", 5, 1, 9, -9, 1.0)], [LINE])
    with pytest.warns(PsmrWarning, match=r"1 machine \(G2 5 MW, 1 Mvar, line \d+\) in service"):
        case = read(text, "1 'GENCLS' 1 0 0 /\n2 'GENCLS' 1 4 0 /\n")
    assert [row.name for row in case.generators] == ["G1"]


def test_machines_at_buses_of_type_1_alone(read):
    text = raw([(1, 1, 1.0, 0), (2, 1, 1.0, 0)], [(2, 20, 5)], [SWING], [LINE])
    with pytest.raises(
        CaseError, match=r"no generator counts: 1 machine \(G1 20 MW, .*; give one of these IDE = 3"
    ):
        read(text)


def test_what_psmr_writes_counts(read, tmp_path):
    """A generator of given P and Q goes to a bus of type 2 with QT = QB, where PSS/E counts it."""
    text = raw([(1, 3, 1.0, 0), (2, 2, 1.0, 0)], [(2, 50, 21)], [SWING, (2, "1", 30, 5, 5, 5, 1.03)], [LINE])
    case = read(text)
    assert case.generators[1].control == "pq"
    (path,) = write_case(case, tmp_path / "again.raw")
    with warnings.catch_warnings():
        warnings.simplefilter("error", PsmrWarning)
        again = read_case(path)
    np.testing.assert_allclose(power_flow(again).voltage, power_flow(case).voltage, rtol=0, atol=1e-12)


@pytest.mark.parametrize("x", [1e-4, 0.0])
@pytest.mark.parametrize("controls", [(0, 0), (2, 3)])
def test_plants_on_a_branch_without_impedance_hold_one_voltage(read, x, controls):
    """Two set-points, 1.02 and 1.00 pu, on R = 0 and X <= THRSHZ: one voltage in PSS/E, 1.02 here.

    In a public case (PSID, buses 3106 and 30003) 94 of 377 buses were off by more than 1e-3 pu with the two,
    with 1.02 at both all are within 1.4e-4.
    """
    at = [bus or k + 2 for k, bus in enumerate(controls)]
    buses = [(1, 3, 1.0, 0), *((n, 2 if n in (2, 3) else 1, 1.0, 0) for n in (2, 3))]
    text = raw(
        buses,
        [(2, 40, 25)],
        [(1, "1", 10, 0, 99, -99, 1.0), (2, "A", 20, 0, 9.8, -9.8, 1.02), (3, "B", 20, 0, 7.2, -7.2, 1.0)],
        [(1, 2, "1", 0.02, 0.3), (2, 3, "@1", 0.0, x)],
    )
    who = rf"G2-A 1\.02 at bus {at[0]}, G3-B 1 at bus {at[1]}"
    words = rf"\(G3-B\): generators ask for different .* \({who}\); all hold 1\.02, that of the lowest"
    with pytest.warns(PsmrWarning, match=words):
        case = read(text)
    flow = power_flow(case)
    assert flow.v[1:] == pytest.approx(1.02, abs=1e-12)
    # Of its 25 Mvar and of the line's the two give all, and none against each other.
    assert abs(flow.q[1:]).max() * 100 < 35


def test_the_set_point_of_a_swing_goes_first(read):
    text = raw(
        [(1, 1, 1.0, 0), (2, 2, 1.0, 0), (3, 3, 1.0, 0)],
        [(1, 40, 25)],
        [(2, "1", 20, 0, 99, -99, 1.02), (3, "1", 20, 0, 99, -99, 1.01)],
        [LINE, (2, 3, "1", 0.0, 1e-4)],
    )
    with pytest.warns(PsmrWarning, match=r"all hold 1\.01, the swing's"):
        case = read(text)
    assert {row.v for row in case.generators} == {1.01}


@pytest.mark.parametrize("form", ["raw", "rawx"])
def test_the_file_s_own_threshold(tmp_path, form):
    """THRSHZ stands in the system-wide data from version 34 on."""
    line = f"1,2,'Z ',0.0,0.0005,0.0,'',{TWELVE},0,0,0,0,1"
    text = raw_text(35).replace("\n0 / END OF BRANCH", f"\n{line}\n0 / END OF BRANCH")
    for threshold, held in ((0.0001, 1.02), (0.001, 1.05)):
        path = tmp_path / "case.raw"
        path.write_text(text.replace("THRSHZ=0.0001", f"THRSHZ={threshold}"))
        if form == "rawx":
            content = json.loads(as_rawx(read_sections(path)))
            content["network"]["general"] = {"fields": ["thrshz", "pqbrak"], "data": [threshold, 0.7]}
            path = tmp_path / "case.rawx"
            path.write_text(json.dumps(content))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PsmrWarning)
            assert read_case(path).generators[1].v == held


@pytest.mark.parametrize(
    ("high", "low", "good"), [("-1e-8", "0.0", True), ("-5e-7", "0", True), ("-0.01", "0", False)]
)
def test_limits_that_cross_by_rounding(read, high, low, good):
    """QT = -1e-8 below QB = 0 is what an optimiser leaves of 0 (ttinoco/PFNET, ieee14_v33.raw)."""
    text = raw([(1, 3, 1.0, 0), (2, 1, 1.0, 0)], [(2, 20, 5)], [(1, "1", 20, 0, high, low, 1.0)], [LINE])
    if good:
        with pytest.warns(PsmrWarning, match=rf"QT = {high} is below QB = 0 by rounding; both are 0"):
            case = read(text)
        assert (case.generators[0].q_min_mvar, case.generators[0].q_max_mvar) == (0.0, 0.0)
    else:
        with pytest.raises(CaseError, match=r"QT = '-0.01': must be at least QB = 0"):
            read(text)


WINDINGS = ["0.01,0.1,100,0.02,0.16,100,0.03,0.2,100,1,0", "1,0,0", "1,0,0", "1,0,0"]


@pytest.mark.parametrize(
    ("section", "record", "words"),
    [
        (
            "LOAD",
            "9,'1',0,1,1,5,1,0,0,0,0,1,1,0",
            r"\(load\): I = 9: there is no bus .*; load, out of service, is left",
        ),
        ("GENERATOR", "9,'1',5,0,9,-9,1,0,100,0,.2,0,0,1,0", r"\(generator\): I = 9: there is no bus"),
        ("BRANCH", "2,9,'1',0.01,0.1,0,0,0,0,0,0,0,0,0,1,0,1,1", r"\(branch\): J = 9: there is no bus"),
        ("FIXED SHUNT", "9,'1',0,0,5", r"\(fixed shunt\): I = 9: there is no bus"),
        (
            "TRANSFORMER",
            "1,9,0,'1',1,1,1,0,0,2,'',0\n0,0.1,100\n1,0,0\n1,0",
            r"J = 9: there is no bus .*; the transformer, out",
        ),
        (
            "TRANSFORMER",
            "\n".join(["1,2,9,'1',1,1,1,0,-0.01,2,'',3", *WINDINGS]),
            r"\(transformer\): K = 9: there is no bus .*; winding 3, out of service, is left out",
        ),
        (
            "TRANSFORMER",
            "\n".join(["9,1,2,'1',2,1,2,50,0.001,2,'',4", *WINDINGS]).replace(
                "1,0,0\n1,0,0\n1,0,0", "230,230,0\n230,0,0\n230,0,0"
            ),
            r"\(transformer\): I = 9: there is no bus .*; winding 1, out of service, is left out",
        ),
    ],
)
def test_what_is_out_of_service_at_a_bus_that_is_not_written(read, section, record, words):
    """A winding out of service whose bus the program left out with it: the rest is read."""
    text = raw([(1, 3, 1.0, 0), (2, 1, 1.0, 0)], [(2, 20, 5)], [SWING], [LINE])
    end = f"0 / END OF {section} DATA"
    with pytest.warns(PsmrWarning, match=words):
        case = read(text.replace(end, f"{record}\n{end}"))
    assert [row.status for row in case.transformers] == ([1, 1] if "winding" in words else [])
    assert power_flow(case).v[1] == pytest.approx(power_flow(read(text)).v[1], abs=0.02)
    on = {"LOAD": "9,'1',1,", "FIXED SHUNT": "9,'1',1,"}.get(section)
    if on:
        with pytest.raises(CaseError, match="I = '9': there is no bus with this number"):
            read(text.replace(end, f"{record.replace(on.replace(',1,', ',0,'), on)}\n{end}"))


def test_the_swing_s_voltage_is_that_of_a_solution_of_the_file(read):
    """PSS/E holds VM at a swing, as the solved savnw_tuned.raw of tamu-engineering-research shows.

    Its swing has VM = 1.0 and the VS = 1.04 of the sample case that it was made of; the stored voltages
    balance at VM, and the stored reactive power of each machine is met within 0.02 Mvar.
    """
    z, s, v2 = 0.01 + 0.1j, 0.2 + 0.1j, 1.0 + 0j
    for _ in range(100):
        v2 = 1 - z * np.conj(s / v2)
    machine = (1, "1", 20, 10, 99, -99, 1.04)

    def text(v, angle):
        return raw([(1, 3, 1.0, 0), (2, 1, round(v, 5), round(angle, 4))], [(2, 20, 10)], [machine], [LINE])

    with pytest.warns(
        PsmrWarning, match=r"\(G1\): VS = 1\.04 and VM = 1 at a swing: .* at VM, which is held"
    ):
        solved = read(text(abs(v2), np.degrees(np.angle(v2))))
    assert power_flow(solved).voltage[1] == pytest.approx(v2, abs=1e-9)
    # What is no solution is a start: VS is held.
    for v, angle in ((abs(v2), -3.0), (0.97, np.degrees(np.angle(v2))), (1.0, 0.0)):
        assert read(text(v, angle)).generators[0].v == 1.04


NAMES = raw(
    [(1, 3, 1.0, 0, "NORTH 1.5"), (3, 1, 1.0, 0, "TWIN"), (4, 1, 1.0, 0, "SOUTH"), (5, 1, 1.0, 0, "TWIN")],
    [(3, 20, 5)],
    [SWING],
    [(1, 3, "1", 0.01, 0.2), (1, 4, "1", 0.01, 0.2), (3, 4, "1", 0, 0), (4, 5, "1", 0.01, 0.2)],
)


def test_buses_by_their_names_and_of_joined_buses(read):
    """Bus 4 is one with bus 3: "1-4" is still line1-4, and the names of the file are names of events."""
    with pytest.warns(PsmrWarning, match="buses 3 and 4 are one, bus 3"):
        case = read(NAMES, "1 'GENCLS' 1 0 0 /\n")
    assert [bus.aliases for bus in case.buses] == [("NORTH 1.5",), ("TWIN", "4", "SOUTH"), ("TWIN",)]
    system = build(case)
    for given, branch in (("1-4", "line1-4"), ("4-1", "line1-4"), ("1-3", ""), ("SOUTH-5", "line4-5")):
        if branch:
            assert find_branch(system, given, "test").name == branch
        else:
            with pytest.raises(
                EventError, match="2 branches join the buses of '1-3'; name one of line1-3, line1-4"
            ):
                find_branch(system, given, "test")
    assert [find_bus(system, bus, "test") for bus in (4, "bus4", "SOUTH", "NORTH  1.5")] == [
        "bus3",
        "bus3",
        "bus3",
        "bus1",
    ]
    with pytest.raises(EventError, match="2 buses are called 'TWIN'; give one of bus3, bus5"):
        find_bus(system, "TWIN", "test")
    events = [psmr.Fault(bus="SOUTH", start=0.1, clear=0.15, x=0.1), psmr.LineTrip("1-4", start=0.3)]
    run = simulate(system, psmr.SingleRate("TM", 0.01), 0.5, events, certify=False)
    assert [words for _, words in run.instants] == [
        "fault at bus3",
        "fault at bus3 cleared",
        "line1-4 tripped",
    ]
    np.testing.assert_array_equal(run["SOUTH.v"], run["bus3.v"])
    shed = psmr.When("NORTH 1.5.v < 1.1", psmr.LoadTrip(bus="SOUTH", start=0.0, fraction=0.5))
    run = simulate(system, psmr.SingleRate("TM", 0.01), 0.1, [shed], certify=False)
    assert [words for _, words in run.instants] == ["50 % of the load at bus3 trips (NORTH 1.5.v < 1.1)"]
    np.testing.assert_array_equal(run["NORTH 1.5.v"], run["bus1.v"])


def test_names_of_buses_through_toml_and_raw(read, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)
        case = read(NAMES)
        (path,) = write_case(case, tmp_path / "again.toml")
        assert read_case(path).buses == case.buses
        assert case.edit(buses=case.tables["buses"]).buses[1].aliases == ("TWIN", "4", "SOUTH")
    with pytest.warns(PsmrWarning, match="bus3 is called 4, SOUTH, too"):
        (path,) = write_case(case, tmp_path / "again.raw")
    assert [bus.aliases for bus in read_case(path).buses] == [("NORTH 1.5",), ("TWIN",), ("TWIN",)]


OPEN = raw(
    [(1, 3, 1.0, 0), (2, 2, 1.0, 0)],
    [(2, 20, 5)],
    [(1, "1", 0, 0, 999, -999, 1.0), (2, "1", 50, 0, 99, -99, 1.0)],
    [(1, 2, "1", 0.01, 0.2), (1, 2, "2", 0.01, 0.2, 0)],
)
MACHINE = "2 'GENROU' 1 6.0 0.05 0.5 0.06 4 0 1.6 1.55 0.3 0.5 0.2 0.1 0.0 0.0 /\n"


@pytest.mark.parametrize(
    "event",
    [
        psmr.LineClose("line1-2-2", start=0.5),
        psmr.LineTrip("line1-2-2", start=0.2, reclose=0.5),
        psmr.ParameterStep("line1-2-2", "status", 1.0, start=0.5),
    ],
)
def test_a_line_that_starts_open_is_closed(read, event):
    """At the instant of closing the machine's power rises to what half the impedance asks for.

    Behind X'' = 0.2 pu its flux stays, and so does the source behind ZX of the infinite bus.
    """
    system = build(read(OPEN, "1 'GENCLS' 1 0 0 /\n" + MACHINE))
    run = simulate(system, psmr.SingleRate("TM", 0.01), 0.6, [event], certify=False)
    (t, words), p = run.instants[0], run["G2.p"].to_numpy()
    assert t == 0.5
    assert "line1-2-2" in words
    after = int(np.searchsorted(run.t, 0.5, side="right")) - 1
    assert p[after - 1] == pytest.approx(50.0, abs=1e-6)
    z, x, load = 0.01 + 0.2j, 0.2j, 0.2 + 0.05j
    angle = 0.0
    for _ in range(50):  # 0.3 pu into the line, at 1 pu at both ends
        angle += 0.2 * (0.3 - (np.exp(1j * angle) * np.conj((np.exp(1j * angle) - 1) / z)).real)
    v2 = np.exp(1j * angle)
    e1 = 1 + x * (1 - v2) / z
    e2 = v2 + x * (np.conj(load / v2) - (1 - v2) / z)
    for _ in range(200):
        v2 = (e1 / (x + z / 2) + e2 / x - np.conj(load / v2)) / (1 / (x + z / 2) + 1 / x)
    assert p[after] == pytest.approx(100 * (v2 * np.conj((e2 - v2) / x)).real, abs=1e-5)


def test_closing_what_is_closed_and_tripping_what_is_open(read):
    system = build(read(OPEN, "1 'GENCLS' 1 0 0 /\n" + MACHINE))
    with pytest.raises(
        EventError, match=r"closing of line 1-2: line1-2 is in service already at t = 0\.5 s; drop"
    ):
        psmr.LineClose("line1-2", start=0.5).changes(system)
    with pytest.raises(EventError, match=r"out of service already; .* \(a LineClose closes it\)"):
        psmr.LineTrip("line1-2-2", start=0.5).changes(system)

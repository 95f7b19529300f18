"""DC lines of RAW files: what their converters take, by the circuit's own equations, and held in a run."""

import numpy as np
import pytest

from psmr import Fault, VariableStep, build, read_case, simulate, write_case
from psmr.errors import CaseError, PsmrWarning
from tests.files.raw import raw_text
from tests.internals import power_flow

ENDS = "2,2,20,10,0,5,100,0.2,1.0\n3,2,20,15,0,5,20,1.0,1.0"
DYR = "1 'GENCLS' 1 4 0 /\n2 'GENCLS' 'G1' 4 0 /\n"


@pytest.fixture
def read(tmp_path):
    def read(dyr=None, version=33, **sections):
        changed = {key.replace("_", " "): text for key, text in sections.items()}
        changed = {key.replace("two ", "two-"): text for key, text in changed.items()}
        (tmp_path / "case.raw").write_text(raw_text(version, **changed))
        (tmp_path / "case.dyr").write_text(dyr or "")
        return read_case(tmp_path / "case.raw", tmp_path / "case.dyr" if dyr else None)

    return read


@pytest.mark.parametrize(
    ("mode", "set_point", "compounded"),
    [(1, 30.0, 0.0), (1, 30.0, 2.0), (1, -30.0, 0.0), (1, -30.0, 2.0), (2, 1200.0, 2.0)],
)
def test_two_terminal(read, mode, set_point, compounded):
    """Powers and power factors solve the circuit: V_r = V_i + I R, VSCHD = V_i + I RCOMP, cos = V / V_0."""
    first = f"'LINE 1',{mode},5.0,{set_point},25.0,0,{compounded},0.1,R"
    with pytest.warns(PsmrWarning, match=r"case\.raw:\d+ .*LINE_1: a DC line, held at its powers in a run: "):
        case = read(two_terminal_dc=f"{first}\n{ENDS}")
    rectifier, inverter = (load for load in case.loads if load.held)
    assert (rectifier.bus, inverter.bus) == (2, 3)
    assert (rectifier.name, inverter.name) == ("dc-LINE_1-rectifier", "dc-LINE_1-inverter")
    p_r, p_i = rectifier.p_mw, -inverter.p_mw
    # The losses are I^2 R.
    current = np.sqrt((p_r - p_i) / 5.0)
    v_i = p_i / current
    assert v_i + current * compounded == pytest.approx(25.0)
    if mode == 2:
        assert current == pytest.approx(1.2)
    else:
        assert (p_r if set_point > 0 else p_i) == pytest.approx(30.0)
    # Two bridges of 5 ohms behind 100 kV * 1.02 pu * 0.2 and 20 kV * 1.0 pu.
    for load, volts, ac in ((rectifier, v_i + 5 * current, 20.4), (inverter, v_i, 20.0)):
        angle = np.arccos((volts + 2 * 3 / np.pi * 5 * current) / (2 * 3 * np.sqrt(2) / np.pi * ac))
        assert load.q_mvar == pytest.approx(abs(load.p_mw) * tangent(angle, 5 * current / ac), rel=1e-6)


def tangent(angle, x):
    """Tangent of the phase of the first harmonic of the current of a bridge, whose valves' currents commute.

    From the crossing of two phase voltages on the current of one grows as cos(angle) - cos(theta), to the
    whole where that is sqrt(2) x, and falls 120 degrees later in the same way; the voltage is highest 60
    degrees after the crossing.
    """
    theta = np.linspace(0.0, 2 * np.pi, 400_001)
    rise = np.clip((np.cos(angle) - np.cos(np.minimum(theta, np.pi))) / (np.sqrt(2) * x), 0.0, 1.0)
    current = rise - np.interp(theta - 2 * np.pi / 3, theta, rise, left=0.0)
    first = np.trapezoid(current * np.exp(-1j * theta), theta)
    return np.tan(np.angle(np.exp(-1j * np.pi / 3) / first))


def test_the_margin_angle_at_its_end(read):
    """A pole of a public system (jbarberia/PSSE34to33, sadi.raw, PSS/E 34.6), at its stored voltages.

    GAMMX = GAMMN = 17 degrees hold the margin angle where VSCHD would ask for 17.76: (V_d0 cos 17 - drop)
    gives 2.53833 kA and -1462.54 MW. The stored voltages balance with 809.5 and 799.8 Mvar a pole.
    """
    first = "'5',1,10.47,1530.0,600.0,558.0,10.47,0.1,'R',0.0,100,1.0"
    ends = (
        f"2,4,17.5,12.5,0.0,6.134,{500.0 * 0.99391 / 1.02!r},0.2546,0.996,1.25,0.925,0.0125,0,0,0,'1',0.0\n"
        f"3,4,17.0,17.0,0.0,5.689,{345.0 * 1.03939!r},0.3536,1.0375,1.305,0.966,0.0125,0,0,0,'1',0.0"
    )
    with pytest.warns(PsmrWarning):
        rectifier, inverter = (load for load in read(two_terminal_dc=f"{first}\n{ends}").loads if load.held)
    assert (rectifier.p_mw, inverter.p_mw) == (1530.0, pytest.approx(-1462.54, abs=0.005))
    assert rectifier.q_mvar == pytest.approx(809.5, abs=1.0)
    assert inverter.q_mvar == pytest.approx(799.8, abs=0.05)
    # Capacitors in series change the angle: it is left as VSCHD asks for.
    with pytest.warns(PsmrWarning):
        other = read(two_terminal_dc=f"{first}\n{ends}".replace("'1',0.0", "'1',2.0"))
    assert [load.p_mw for load in other.loads if load.held][1] == pytest.approx(-1461.92, abs=0.005)


def test_a_margin_angle_more_than_a_step_of_the_tap_beyond_its_end_is_said(read):
    """The pole above at 520 kV in place of 600: its angle would be far from 17 degrees, the end."""
    first = "'5',1,10.47,1530.0,520.0,558.0,10.47,0.1,'R',0.0,100,1.0"
    ends = (
        f"2,4,17.5,12.5,0.0,6.134,{500.0 * 0.99391 / 1.02!r},0.2546,0.996,1.25,0.925,0.0125,0,0,0,'1',0.0\n"
        f"3,4,17.0,17.0,0.0,5.689,{345.0 * 1.03939!r},0.3536,1.0375,1.305,0.966,0.0125,0,0,0,'1',0.0"
    )
    with pytest.warns(
        PsmrWarning, match=r"VSCHD asks for a margin angle of .* ANMN = 17 to ANMX = 17; the tap"
    ):
        read(two_terminal_dc=f"{first}\n{ends}")


def test_margin_angles_within_their_ends(read):
    """IEEE 300 (LLNL/GridDyn, written by PSS/E): its stored voltages need 34.37 and 40.25 Mvar.

    VSCHD is held by a margin angle of 20.13 degrees. By the power factor V_d / V_d0 alone it is 34.48, 40.30.
    """
    first = "'1',1,6.2,-100.0,460.0,300.0,0.0,0.1,I"
    ends = (
        f"2,4,20,15,0,6.8,{115 * 1.0435 / 1.02!r},0.7478,0.99365,1.5,0.51,0.00625\n"
        f"3,4,18,20,0,6.8,{115 * 0.99819!r},0.7478,0.935,1.5,0.51,0.00625"
    )
    with pytest.warns(PsmrWarning):
        held = [load for load in read(two_terminal_dc=f"{first}\n{ends}").loads if load.held]
    assert held[1].p_mw == pytest.approx(-100.0)
    assert [load.q_mvar for load in held] == pytest.approx((34.37, 40.25), abs=0.05)


CDC4T = "5 15 .02 .01 .5 .6 .1 5 .6 .1 8 200 10 10 100 10 600 20 1500 25 1500 .1 /"


@pytest.mark.parametrize(("mode", "set_point"), [(1, 28.0), (1, -28.0), (2, 1200.0)])
@pytest.mark.parametrize("model", ["CDC4T", "CDC6T"])
def test_the_record_of_a_line_makes_it_a_device(read, tmp_path, model, mode, set_point):
    """It starts at rest with what the line carries in the power flow, and its AC powers are those of DC."""
    first = f"'LINE 1',{mode},5.0,{set_point},25.0,15,0.0,0.1,R"
    further = "" if model == "CDC4T" else ".4 .05 .02 .3 .02 .4 .05 .02 .02 .02 /"
    record = f"'LINE 1' '{model}' {CDC4T.rstrip('/') if further else CDC4T}{further}\n"
    with pytest.warns(PsmrWarning, match="no inductance of LINE_1, taken as .* H, and no regulators"):
        case = read(f"{DYR}{record}", two_terminal_dc=f"{first}\n{ENDS}")
    with pytest.warns(PsmrWarning, match="held at its powers"):
        held = read(DYR, two_terminal_dc=f"{first}\n{ENDS}")
    assert [(row.name, row.p_mw) for row in held.loads] == [
        (row.name, pytest.approx(row.p_mw, rel=1e-14)) for row in case.loads
    ]
    system = build(case)
    value = dict(zip((*system.names_x, *system.names_y), system.w0, strict=False))
    line = "dc-LINE_1"
    v_r, v_i, i = (value[f"{line}{name}"] for name in ("-rectifier-bus.v", "-inverter-bus.v", ".i"))
    assert value[f"{line}-rectifier.p_ac"] == pytest.approx(v_r * i, abs=1e-12)
    assert value[f"{line}-inverter.p_ac"] == pytest.approx(-v_i * i, abs=1e-12)
    assert max(abs(system.f(system.x0, system.y0)).max(), abs(system.g(system.x0, system.y0)).max()) < 1e-10
    write_case(case, tmp_path / "again.toml")
    assert read_case(tmp_path / "again.toml") == case


def test_a_record_of_a_line_that_is_not_there_is_left_out(read):
    first = "'LINE 1',1,5.0,30.0,25.0,0,0.0,0.1,R"
    with pytest.warns(PsmrWarning, match="there is no DC line 'LINE_2' in service in the RAW file; did you"):
        case = read(f"{DYR}'LINE 2' 'CDC4T' {CDC4T}\n", two_terminal_dc=f"{first}\n{ENDS}")
    assert not case.dc_converters


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_a_line_with_two_records_is_refused(read):
    record, first = f"'LINE 1' 'CDC4T' {CDC4T}\n", "'LINE 1',1,5.0,30.0,25.0,0,0.0,0.1,R"
    with pytest.raises(CaseError, match=r"case\.dyr:4: CDC4T: LINE_1 has a record already; keep one"):
        read(f"{DYR}{record}{record}", two_terminal_dc=f"{first}\n{ENDS}")


def test_a_line_without_current_stays_held(read):
    with pytest.warns(PsmrWarning, match="CDC4T: LINE_1 carries no current at the start, and is held"):
        case = read(
            f"{DYR}'LINE 1' 'CDC4T' {CDC4T}\n", two_terminal_dc=f"'LINE 1',1,5.0,0.0,25.0,0,0,.1,R\n{ENDS}"
        )
    assert not case.dc_converters
    assert len([load for load in case.loads if load.held]) == 2


def test_blocked(read):
    case = read(two_terminal_dc=f"'LINE 1',0,5.0,30.0,25.0,0,0.0,0.1,R\n{ENDS}")
    assert not any(load.held for load in case.loads)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2,2,20", "77,2,20", r"IP = '77': there is no bus"),
        ("3,2,20", "3,-1,20", r"NB = '-1': must be > 0"),
        (",20,1.0,1.0", ",2,1.0,1.0", r"EBAS = '2': must give a no-load voltage of at least the 22\.87 kV"),
        ("1,5.0,30.0", "3,5.0,30.0", r"MDC = '3': must be one of 0, 1, 2"),
        ("1,5.0,30.0", "1,5.0,-900.0", r"SETVL = '-900.0': must be a power that VSCHD = 25 kV"),
    ],
)
def test_impossible_lines(read, old, new, message):
    text = f"'LINE 1',1,5.0,30.0,25.0,0,2.0,0.1,R\n{ENDS}"
    assert old in text
    with pytest.raises(CaseError, match=rf"case\.raw:\d+ \(two-terminal dc\): {message}"):
        read(two_terminal_dc=text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "kv"), [("3,2,20", "3,0,20", "0 kV"), (",20,1.0,1.0", ",8,1.0,1.0", "")]
)
def test_a_converter_that_cannot_give_the_voltage(read, old, new, kv):
    """Without bridges, or with a no-load voltage below the line's, it is said to draw no reactive power."""
    assert old in ENDS
    place = ENDS.rindex(old) if kv else ENDS.index(old)
    ends = ENDS[:place] + new + ENDS[place + len(old) :]
    with pytest.warns(PsmrWarning, match=rf"no-load voltage of .*{kv}, below the 2\d\.\d+ kV of the line"):
        case = read(two_terminal_dc=f"'LINE 1',1,5.0,30.0,25.0,0,2.0,0.1,R\n{ends}")
    assert 0.0 in [load.q_mvar for load in case.loads if load.held]


def test_a_line_to_an_isolated_bus_is_left_out(read):
    ends = ENDS.replace("\n3,2,20", "\n5,2,20")
    assert ends != ENDS
    with pytest.warns(PsmrWarning, match=r"IP = 5 is an isolated bus \(IDE = 4\); the line is left out"):
        case = read(two_terminal_dc=f"'LINE 1',1,5.0,30.0,25.0,0,2.0,0.1,R\n{ends}")
    assert not any(load.held for load in case.loads)


def test_held_in_a_run(read):
    """Loads are converted, the DC line is not; its powers are those of the file in the equilibrium."""
    first = "'LINE 1',1,5.0,30.0,25.0,0,0.0,0.1,R"
    with pytest.warns(PsmrWarning):
        case = read(DYR, two_terminal_dc=f"{first}\n{ENDS}")
    system = build(case, loads="impedance")
    kinds = {d.name: d.parameters for d in system.devices if d.name.startswith(("load", "dc-"))}
    assert all(p["p_z"] == (0.0 if name.startswith("dc-") else 1.0) for name, p in kinds.items())


VSC = "'V 1',1,2.0\n2,2,1,-20.0,1.01,10.0,0.1,5.0\n3,1,2,50.0,0.9,10.0,0.1,5.0"


VSCDCT = f"{2 * '0.02 0 2.0 0.05 0.02 1.2 0.0 1.2 0.1 20 -20 0 0 '} 0.05 0.05 /"


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_a_source_that_holds_its_voltage_without_an_integral(read):
    """Its error gives the reactive power: q = KP (v_ref - v). With neither gain nothing holds the voltage."""
    vsc = VSC.replace("10.0,0.1,5.0", "10.0,0.1,5.0,50.0")
    record = VSCDCT.split()
    record[3] = "0"
    case = read(f"{DYR}'V 1' 'VSCDCT' {' '.join(record)}\n", vsc_dc=vsc)
    system = build(case)
    row = case.dc_converters[0]
    k_ac, error = float(record[2]) * 50 / 100, system.w0[system.index(f"{row.name}.ac_ref")]
    error -= system.w0[system.index(f"{row.name}.v_m")]
    assert k_ac * error == pytest.approx(-next(x for x in case.loads if x.name == row.name).q_mvar / 100)
    record[2] = "0"
    with pytest.raises(CaseError, match=r"k_ac = k_iac = 0: nothing holds the AC voltage"):
        build(read(f"{DYR}'V 1' 'VSCDCT' {' '.join(record)}\n", vsc_dc=vsc))
    record[3] = "-1"
    with pytest.raises(CaseError, match=r"TAC1 = '-1': must be >= 0 s, 0 for no integral"):
        read(f"{DYR}'V 1' 'VSCDCT' {' '.join(record)}\n", vsc_dc=vsc)


@pytest.mark.parametrize("ohms", [2.0, 0.0])
def test_the_record_of_a_source_line_makes_it_a_device(read, tmp_path, ohms):
    """It starts at rest with what the line carries, and its AC powers are DC power and losses."""
    vsc = VSC.replace("'V 1',1,2.0", f"'V 1',1,{ohms}").replace("10.0,0.1,5.0", "10.0,0.1,5.0,50.0")
    with pytest.warns(PsmrWarning, match="no DC capacitors of V_1, taken as 5 ms of the ratings each"):
        case = read(f"{DYR}'V 1' 'VSCDCT' {VSCDCT}\n", vsc_dc=vsc)
    with pytest.warns(PsmrWarning, match="held at its powers"):
        held = {row.name.removeprefix("netted-"): row for row in read(DYR, vsc_dc=vsc).loads}
    system = build(case)
    value = dict(zip((*system.names_x, *system.names_y), system.w0, strict=False))
    for row in case.dc_converters:
        assert held[row.name].p_mw == pytest.approx(next(x for x in case.loads if x.name == row.name).p_mw)
        at = f"{row.dc_bus}.v", f"{row.name}.i"
        dc = value[at[0]] * value[at[1]] * 100 + row.loss_mw + row.loss_kv * abs(value[at[1]]) * 100 / 50
        assert value[f"{row.name}.p_ac"] * 100 == pytest.approx(dc, abs=1e-9)
    assert max(abs(system.f(system.x0, system.y0)).max(), abs(system.g(system.x0, system.y0)).max()) < 1e-10
    write_case(case, tmp_path / "again.toml")
    assert read_case(tmp_path / "again.toml") == case
    # A bolted fault at the end that holds the DC voltage neither drains nor overfills the capacitors.
    run = simulate(system, VariableStep(1e-5), 1.0, [Fault(bus=3, start=0.1, clear=0.2)])
    volts = run[f"{case.dc_buses[0].name}.v"]
    assert 0.4 < volts.min() < volts.max() < 1.6
    assert volts.iloc[-1] == pytest.approx(volts.iloc[0], abs=1e-3)


def test_voltage_source(read):
    """The end that holds the DC voltage gives 20 MW less the losses of both ends and of the line."""
    with pytest.warns(
        PsmrWarning, match=r"V_1: a VSC line, held .*: 20 MW from bus 2, -19\.\d+ MW from bus 3"
    ):
        case = read(vsc_dc=VSC)
    holding = case.generators[-1]
    assert (holding.name, holding.bus, holding.control, holding.p_mw) == ("vsc-V_1-1", 2, "pv", -20.0)
    # A bus has one voltage: that of the generator which is there.
    assert holding.v == 1.02
    other = next(load for load in case.loads if load.held)
    # In kW: 10 + 0.1 a ampere at each end, and the current's 2 ohm.
    into_line = 20.0 - (10.0 + 0.1 * 20.0 / 50.0 * 1000) / 1000
    current = np.roots([-2.0, -50.0, into_line]).real
    current = current[current > 0][0]
    at_other = 50.0 * current
    given = at_other - (10.0 + 0.1 * at_other / 50.0 * 1000) / 1000
    assert other.p_mw == pytest.approx(-given, rel=1e-9)
    assert other.q_mvar == pytest.approx(given * np.tan(np.arccos(0.9)))
    assert power_flow(case).mismatch < 1e-10


def test_voltage_source_in_a_run(read):
    """A converter that holds a voltage is held at its power and at what its voltage asked for."""
    with pytest.warns(PsmrWarning, match=r"vsc-V_1-1\): has no dynamic model; netted"):
        case = read(DYR, vsc_dc=VSC)
    assert [g.name for g in case.generators] == ["G1", "G2-G1"]
    assert sum(load.held for load in case.loads) == 2
    build(case, loads="impedance")


def test_held_is_kept_in_toml(read, tmp_path):
    with pytest.warns(PsmrWarning):
        case = read(vsc_dc=VSC)
    write_case(case, tmp_path / "case.toml")
    assert read_case(tmp_path / "case.toml") == case


def test_limits_of_a_voltage_source(read):
    """The end at bus 3 asks for more than MAXQ: with limits it is held there; SMAX is its rating."""
    ends = "2,1,2,50.0,0.9,10.0,0.1,5.0\n3,2,1,-20.0,1.05,10.0,0.1,5.0,45.0,900.0,0.1,4.0,-3.0,0,100.0"
    with pytest.warns(PsmrWarning):
        case = read(vsc_dc=f"'V 1',1,2.0\n{ends}")
    row = case.generators[-1]
    assert (row.name, row.v, row.rating_mva, row.q_min_mvar, row.q_max_mvar) == ("vsc-V_1-2", 1.05, 45, -3, 4)
    free, limited = power_flow(case), power_flow(case, reactive_limits=True)
    assert free.q[-1] > 0.04
    assert limited.q[-1] == pytest.approx(0.04)
    with pytest.raises(CaseError, match=r"MAXQ = '4\.0': must be at least MINQ = 5"):
        read(vsc_dc=f"'V 1',1,2.0\n{ends.replace('4.0,-3.0', '4.0,5.0')}")


@pytest.mark.parametrize("version", [33, 35])
def test_a_voltage_source_that_regulates_another_bus(read, version):
    """With its share of the power for that, RMPCT; without SMAX its rating is unknown."""
    node = "0," if version == 35 else ""
    ends = f"2,1,2,50.0,0.9,10.0,0.1,5.0\n3,2,1,-20.0,1.05,10.0,0.1,5.0,0,0,1,40,-30,4,{node}60.0"
    case = read(version=version, vsc_dc=f"'V 1',1,2.0\n{ends}")
    held = case.generators[-1]
    assert (held.bus, held.v, held.control_bus, held.share) == (3, 1.05, 4, 60.0)
    assert held.rating_mva == case.base_mva
    assert power_flow(case).by_number()[4] == pytest.approx(1.05 * np.exp(1j * power_flow(case).angle[3]))


def test_a_voltage_that_a_generator_holds_otherwise(read):
    """The voltage that is nearest to the stored one counts."""
    with pytest.warns(
        PsmrWarning, match=r"different voltages of bus 2 \(G2-G1 1\.02, .* 1\.01\); held at 1\.02"
    ):
        read(vsc_dc=VSC)


def test_written_as_raw_it_is_said_that_a_line_is_no_longer_held(read, tmp_path):
    """A load or generator of a RAW file is converted or netted as any other; the warning names each end."""
    with pytest.warns(PsmrWarning):
        case = read(vsc_dc=VSC)
    with pytest.warns(
        PsmrWarning, match="vsc-V_1-2, vsc-V_1-1: ends of DC lines become loads and generators"
    ):
        write_case(case, tmp_path / "again.raw")


def test_a_line_with_capacitors_in_series_stays_held(read):
    ends = ENDS.replace("0.2,1.0", "0.2,1.0,1.5,0.5,0.00625,0,0,0,'1',1.0")
    with pytest.warns(PsmrWarning, match="LINE_1 is held at its powers: capacitors in series .XCAP. have no"):
        case = read(
            f"{DYR}'LINE 1' 'CDC4T' {CDC4T}\n", two_terminal_dc=f"'LINE 1',1,5.0,30.0,25.0,0,0,.1,R\n{ends}"
        )
    assert not case.dc_converters

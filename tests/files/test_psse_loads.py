"""Load records of a DYR file: whom they are for, which goes before which, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError, PsmrWarning
from tests.files.psse.traces import HERE, TRACES, differences, trapezoidal

RAW, MACHINES = HERE / "LOAD" / "ThreeBusMulti.raw", HERE / "LOAD" / "ThreeBus_GENROU.dyr"
PARTS = "0.5 0.5 0 0.6 0.4 0 0 0 0 2 0 1 2 0"


@pytest.fixture
def read(tmp_path):
    def read(records, raw=None, **options):
        path = tmp_path / "case.dyr"
        path.write_text(MACHINES.read_text() + records)
        if raw is not None:
            (tmp_path / "case.raw").write_text(raw)
        return psmr.read_case(RAW if raw is None else tmp_path / "case.raw", path, **options)

    return read


def kinds(case):
    return {
        row.name: row.characteristic and (row.characteristic.type, row.characteristic.parameters["a_1"])
        for row in case.loads
    }


@pytest.mark.parametrize(("trace", "exponent"), [("load, constant power", 0), ("load, constant current", 1)])
def test_against_psse(tmp_path, trace, exponent):
    """Exponents 0 and 1 for all loads: PSS/E's own runs with constant power and current."""
    trace = next(t for t in TRACES if t.name == trace)
    n = " ".join([str(exponent)] * 6)
    record = f"\n0 'IEELAL' '*' 1 0 0 1 0 0 0 0 {n} /\n"
    (tmp_path / "case.dyr").write_text((HERE / trace.dyr).read_text() + record)
    given = psmr.read_case(HERE / trace.raw, tmp_path / "case.dyr")
    found = trapezoidal(replace(trace, t_end=5.0), psmr.build(given))
    for name, (off, kind) in differences(replace(trace, t_end=5.0), HERE, found).items():
        assert off < {"pu": 3e-4, "deg": 5e-3}[kind], name


def test_a_record_for_one_load(read):
    case = read(f"103 'IEELBL' '2' {PARTS} /\n")
    assert kinds(case) == {"load102": None, "load103": None, "load103-2": ("LoadCharacteristic", 0.5)}


def test_the_frequency_needs_a_state(read):
    case = read("102 'IEELBL' 1 1 0 0 1 0 0 1.5 -2 1 0 0 2 0 0 /\n")
    assert kinds(case)["load102"] == ("FrequencyCharacteristic", 1.0)
    system = psmr.build(case)
    assert "load102.angle" in system.names_x
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-8


def test_the_nearer_record_goes_before(read):
    """One load, owner, zone, area, all: in this order, whatever that of the file."""
    rows = {"AL": (0, 0.1), "AR": (1, 0.2), "ZN": (1, 0.3), "OW": (1, 0.4), "BL": (103, 0.5)}
    other = {name: part for name, (_, part) in rows.items()}
    for last in range(1, len(rows) + 1):
        chosen = list(rows)[:last]
        text = "".join(
            f"{rows[name][0]} 'IEEL{name}' '*' {rows[name][1]} 0.5 0 1 0 0 0 0 1 1 1 1 1 1 /\n"
            for name in reversed(chosen)
        )
        found = kinds(read(text))
        assert found["load103"][1] == other[chosen[-1]]
        assert found["load102"][1] == other[chosen[-1] if last < 5 else "OW"]


def test_loads_stay_where_the_rest_is_converted(read):
    case = read(f"103 'IEELBL' '2' {PARTS} /\n", loads="impedance")
    assert [row.impedance for row in case.loads] == [True, True, False]
    assert case.loads[2].characteristic is not None


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ("103 'IEELBL' '2' 1 0 0 /", r"case.dyr:\d+: IEELBL: has 3 values; must have 14: a_1 a_2"),
        (
            "103 'IEELBL' '2' 1 -1 0 1 0 0 0 0 0 0 0 0 0 0 /",
            r"case.dyr:\d+ \(load103-2\): a_1 \+ a_2 \+ a_3 = 0: must be > 0",
        ),
        (
            f"103 'IEELBL' '2' {PARTS} /\n103 'IEELBL' '2' {PARTS} /",
            r"case.dyr:\d+: IEELBL: .*case.dyr:\d+ gives load '2' at bus 103 a model already",
        ),
        (f"103 'IEELBL' '2' x{PARTS} /", r"case.dyr:\d+ .*: a_1 = 'x0.5': must be a finite number"),
        (f"103 'IEELBX' '2' {PARTS} /", r"psmr has no model 'IEELBX'; did you mean 'IEELBL'"),
    ],
)
def test_what_is_wrong_is_refused(read, records, message):
    with pytest.raises(CaseError, match=message):
        read(records + "\n")


@pytest.mark.parametrize(("at", "there"), [("103 'IEELBL' '3'", "'1', '2'"), ("104 'IEELBL' '1'", "none")])
def test_a_record_of_no_load_is_left_out(read, at, there):
    number, _, ident = at.split()
    words = rf"dyr:\d+: IEELBL: there is no load {ident} at bus {number} .*this bus: {there}\); left out"
    with pytest.warns(PsmrWarning, match=words):
        case = read(f"{at} {PARTS} /\n")
    assert not any(row.characteristic for row in case.loads)


def test_parts_of_current_and_impedance_are_no_power(read):
    raw = RAW.read_text().replace("50.000,    30.000,     0.000", "50.000,    30.000,     5.000")
    with pytest.raises(CaseError, match="has parts of constant current or impedance"):
        read(f"103 'IEELBL' '2' {PARTS} /\n", raw)


FAN = "1 0.01 0.1 3.0 0.005 0.08 0.15 0.175 0 0 0 0 80 0 0.4"


def test_motors(read):
    """A double cage on its own base, and a single one on a multiple of its load."""
    one = "2 0.01 0.1 3.0 0.005 0.08 0 0 1 0 1.2 0 0 1.3 0.5"
    case = read(f"103 'CIM6BL' '2' {FAN} 0 9999 9999 1 0 0 0 0 0 /\n102 'CIM5BL' 1 {one} 0.6 12 3 2 1 /\n")
    first, _, second = case.loads
    assert (second.motor.type, first.motor.type) == ("CIM6", "CIM5")
    assert {k: second.motor.parameters[k] for k in ("s_n", "cages", "a", "x_2")} == {
        **{"s_n": 80.0, "cages": 2.0, "a": 1.0, "x_2": 0.175}
    }
    assert {k: first.motor.parameters[k] for k in ("s_n", "cages", "d")} == {
        "s_n": 65.0,
        "cages": 1.0,
        "d": 2.0,
    }
    # It drops at 0.6 pu after 12 cycles, by a breaker of 3.
    (row,) = case.relays
    assert (row.name, row.acts_on, row.bus) == ("drop-load102", "load102", 102)
    given = row.device.parameters
    assert (given["low"], given["pickup"], given["breaker"]) == pytest.approx((0.6, 0.2, 0.05))
    system = psmr.build(case)
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-8


def test_the_torque_of_a_motor_is_one_at_its_speed_at_the_start(read):
    """CIMW is CIM6 with the constant part that makes the parts 1 there."""
    case = read(f"103 'CIMWBL' '2' {FAN} 0 0 0 0.5 0.2 0.4 1.5 /\n")
    (motor,) = (load.motor for load in case.loads if load.motor)
    assert (motor.type, motor.parameters["e"]) == ("CIMW", 1.5)
    system = psmr.build(case)
    w = system.parameter("load103-2", "w_0")
    assert 1 - w == pytest.approx(system.w0[system.index("load103-2.slip")], abs=1e-10)
    c_0 = 1 - 0.5 * w**2 - 0.2 * w - 0.4 * w**1.5
    other = psmr.build(read(f"103 'CIM6BL' '2' {FAN} 0 0 0 0.5 0.2 0.4 1.5 {c_0!r} 0 /\n"))
    fault, scheme = psmr.Fault(bus=103, start=0.1, clear=0.2, x=0.1), psmr.SingleRate("TM", h=0.005)
    mine, theirs = (
        psmr.simulate(s, scheme, 0.5, [fault], certify=False)["load103-2.slip"] for s in (system, other)
    )
    assert np.abs(mine - theirs).max() < 1e-8
    assert mine.max() > 2 * mine.iloc[0]


def test_a_motor_drops_at_a_low_voltage(read):
    case = read(f"103 'CIM6BL' '2' {FAN} 0.6 6 3 1 0 0 0 0 0 /\n")
    fault = psmr.Fault(bus=103, start=0.1, clear=0.25)
    scheme = psmr.SingleRate("TM", h=0.005)
    run = psmr.simulate(psmr.build(case), scheme, t_end=0.5, events=[fault], certify=False)
    ((t, words),) = run.outcome.acted
    assert t == pytest.approx(0.1 + 9 / 60, abs=0.005)
    assert words.startswith("drop-load103-2: load103-2 tripped")
    assert np.abs(run["load103-2.p"].to_numpy()[run.t > 0.3]).max() == 0.0


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ("103 'CIM5BL' '2' 1 2 /", r"CIM5BL: has 2 values; must have 20: circuit r_s"),
        (
            f"103 'CIM6BL' '2' {FAN.replace(' 0 0 0 0 80', ' 1 0.1 1.2 0.4 80')} 0 0 0 1 0 0 0 0 0 /",
            r"S\(E1\) = 0.1 and S\(E2\) = 0.4: psmr has this motor without saturation only",
        ),
        (f"103 'CIM6BL' '2' {FAN.replace(' 80 0 ', ' 0 0 ')} 0 0 0 1 0 0 0 0 0 /", "MBASE = 0 and PMULT = 0"),
        (f"103 'CIM6BL' '2' {FAN} 0 0 0 0 0 0 0 0 0 /", r"a \+ b \+ d \+ c_0 = 0"),
        (f"103 'CIM6BL' '2' {FAN.replace('1 0.01', '3 0.01')} 0 0 0 1 0 0 0 0 0 /", "circuit = 3.0: must be"),
    ],
)
def test_what_no_motor_can_be(read, records, message):
    with pytest.raises(CaseError, match=message):
        read(records + "\n")

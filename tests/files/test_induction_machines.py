"""Induction machines of RAW files: the powers of their circuit, and messages."""

import cmath

import pytest

from psmr import read_case
from psmr.errors import CaseError, PsmrWarning
from tests.files.raw import raw_text

CIRCUIT = "0.01,0.1,3.0,0.02,0.08,999,999,0.0"


@pytest.fixture
def read(tmp_path):
    def read(machine):
        path = tmp_path / "case.raw"
        end = "0 / END OF GNE DATA, BEGIN INDUCTION MACHINE DATA"
        text = raw_text()
        assert end in text
        path.write_text(text.replace(end, f"{end}\n{machine}"))
        return read_case(path)

    return read


def powers(case):
    (row,) = [row for row in case.loads if row.name.startswith("motor")]
    return row.p_mw, row.q_mvar


def drawn(v, slip):
    """The circuit by itself: stator, magnetising branch and one rotor."""
    rotor = 0.02 / slip + 0.08j
    z = 0.01 + 0.1j + 1 / (1 / 3j + 1 / rotor)
    current = v / z
    within = v - (0.01 + 0.1j) * current
    shaft = abs(within / rotor) ** 2 * 0.02 / slip * (1 - slip)
    return v * current.conjugate(), shaft


@pytest.mark.parametrize("slip", [0.01, 0.02, -0.015])
def test_powers_are_those_of_the_circuit(read, slip):
    """By the terminal power, and by the power at the shaft."""
    v = 1.02  # bus 2 in the file
    power, shaft = drawn(v, slip)
    for code, asked in ((2, power.real), (1, shaft)):
        with pytest.warns(PsmrWarning, match=r"motor2: an induction machine, held in a run at its powers"):
            case = read(f"2,'1',1,1,2,1,1,1,1,1,10.0,0.0,{code},{asked * 10!r},1,1,1,1,1,{CIRCUIT}")
        assert complex(*powers(case)) == pytest.approx(power * 10, rel=1e-9)


def test_a_machine_without_a_rotor_takes_its_power_and_its_magnetising_current(read):
    with pytest.warns(PsmrWarning, match="an induction machine"):
        case = read("2,'1',1,1,2,1,1,1,1,1,10.0,0.0,1,10.0,1,1,1,1,1")
    assert powers(case) == pytest.approx((10.0, 1.02**2 / 2.5 * 10))


def test_rated_voltage_and_status(read):
    """Per unit on RATEKV: at half the base voltage the machine sees twice as much."""
    with pytest.warns(PsmrWarning, match="an induction machine"):
        case = read(f"2,'1',1,1,2,1,1,1,1,1,10.0,50.0,2,5.0,1,1,1,1,1,{CIRCUIT}")
    p, q = powers(case)
    assert p == pytest.approx(5.0)
    assert q > drawn(2.04, 1e-9)[0].imag * 10
    assert not [row for row in read("2,'1',0").loads if row.name.startswith("motor")]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            f"2,'1',1,1,2,1,1,1,1,1,10.0,0,2,99.0,1,1,1,1,1,{CIRCUIT}",
            r"PSET = '99.0': must be at most 2\d\.\d+ MW",
        ),
        ("2,'1',1,1,2,1,1,1,1,1,0.0,0,2,5.0", "MBASE = '0.0': must be > 0"),
        ("77,'1',1,1,2,1,1,1,1,1,10.0,0,2,5.0", "I = '77': there is no bus"),
    ],
)
def test_what_is_wrong(read, record, message):
    with pytest.raises(CaseError, match=rf"case\.raw:\d+ \(induction machine\): {message}"):
        read(record)


def test_slip_zero_takes_only_magnetising_current():
    assert cmath.isclose(drawn(1.0, 1e-12)[0], 1 / (0.01 + 3.1j).conjugate(), rel_tol=1e-9)

"""Tap changers in a run: positions and instants against the closed form of a circuit."""

import numpy as np
import pytest

import psmr

SOURCE, LINE, LEAKAGE = 1e-4j, 0.5j, 0.1j
"""Impedances of the source, of each of two parallel lines, and of the transformer, in pu."""

LOAD = complex(0.5, 0.1)
"""Power of the load at the start in pu; it is a constant impedance."""

HEAD = """
format = "psmr-case"
version = 1
name = "behind a tap changer"
base_mva = 100.0
frequency_hz = 50.0

[[bus]]
number = 1

[[bus]]
number = 2

[[bus]]
number = 3

[[line]]
from = 1
to = 2
x = 0.5

[[line]]
from = 1
to = 2
x = 0.5
circuit = 2

[[load]]
bus = 3
p_mw = 50.0
q_mvar = 10.0
model = "impedance"

[[generator]]
name = "G1"
bus = 1
control = "slack"
v = 1.05

[generator.machine]
type = "InfiniteBus"
s_n = 100.0
x_d1 = 0.0001
"""

ROW = {"from": 2, "to": 3, "x": 0.1, "tap": 1.0}
CHANGER = {
    **{"v_set": 1.0, "half_band": 0.01, "tap_min": 0.84, "tap_max": 1.16, "positions": 33},
    **{"t_first": 30.0, "t_next": 10.0},
}
TRIP = psmr.LineTrip("line1-2-2", start=1.0)


def case(tmp_path, kind="TapChanger", row=ROW, **given):
    """The case with one transformer, T1, and its tap changer."""
    tables = [("[[transformer]]", {"name": '"T1"', **row})]
    tables += [("[transformer.tap_changer]", {"type": f'"{kind}"', **CHANGER, **given})]
    lines = [f"{head}\n" + "\n".join(f"{k} = {v}" for k, v in values.items()) for head, values in tables]
    file = tmp_path / "case.toml"
    file.write_text(HEAD + "\n" + "\n\n".join(lines) + "\n", encoding="utf-8")
    return psmr.read_case(file)


def voltage(lines, tap, emf, load):
    """Return the voltage at bus 3, of an impedance `load` behind a ratio at bus 2 and a number of lines."""
    return abs(emf / tap * load / (load + LEAKAGE + (LINE / lines + SOURCE) / tap**2))


@pytest.fixture(scope="module")
def circuit():
    """The load's impedance and the source's voltage, from the power flow's solution at the start."""
    v3 = 1.0
    for _ in range(200):
        # Bus 1 is held at 1.05 pu: the voltage at bus 3 that belongs to a constant power.
        load = v3**2 / LOAD.conjugate()
        v3 = abs(1.05 * load / (load + LEAKAGE + LINE / 2))
    load = v3**2 / LOAD.conjugate()
    current = 1.05 / (load + LEAKAGE + LINE / 2)
    return abs(1.05 + SOURCE * current), load


def moves(run):
    """(time, position) of each move of a run."""
    return [(c.t, act.value) for c in run.changes for act in c.acts if act.kind == "tap"]


def expected(circuit, low, first, further, begin=1.0, position=17.0, towards=-1):
    """(time, position) of the moves that bring the voltage above `low`, each 0.01 of the ratio."""
    emf, load = circuit
    found, t = [], begin
    while voltage(1, 1.0 + 0.01 * (position - 17), emf, load) < low:
        t += first if not found else further
        position += towards
        found.append((t, position))
    return found


@pytest.mark.parametrize("scheme", [psmr.VariableStep(1e-6), psmr.SingleRate("TM", h=0.01)], ids=["v", "tm"])
def test_moves_are_at_their_instants_until_the_voltage_is_in_the_band(tmp_path, circuit, scheme):
    """By hand: the first move 30 s after the trip, the others 10 s apart, as many as the circuit needs."""
    run = psmr.simulate(psmr.build(case(tmp_path)), scheme, 120.0, [TRIP], certify=False)
    wanted = expected(circuit, 0.99, 30.0, 10.0)
    assert len(wanted) >= 3
    np.testing.assert_allclose(moves(run), wanted, atol=1e-9)
    ratio = 1.0 + 0.01 * (wanted[-1][1] - 17)
    assert run["LTC1.v"].iloc[-1] == pytest.approx(voltage(1, ratio, *circuit), abs=1e-9)
    assert run["LTC1.position"].iloc[-1] == wanted[-1][1]

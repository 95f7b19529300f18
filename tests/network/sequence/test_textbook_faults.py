"""Worked examples of unbalanced faults from textbooks, to the digits that are printed."""

from dataclasses import dataclass, field
from math import sqrt

import pytest

import psmr

SOLID = 1e-9
"""Impedance of a fault without one, in pu."""


def machine(name, bus, *, s_n, x1, x2, x0, r1=0.0, **more):
    """A generator without load behind its reactance; `more` is the rest of its sequence data."""
    model = {"type": "ClassicalMachine", "s_n": s_n, "h": 5.0, "d": 0.0, "x_d1": x1, "r_a": r1}
    return (
        {"name": name, "bus": bus, "control": "pv", "p_mw": 0.0, "v": 1.0, "machine": model},
        {"element": name, "x2": x2, "x0": x0, **more},
    )


@dataclass
class Example:
    """A system at rest with voltages of 1 pu, in the units of its book, and a solid fault at a bus."""

    base_mva: float
    base_kv: float
    buses: int
    fault: tuple[int, str]
    machines: list
    lines: list = field(default_factory=list)
    transformers: list = field(default_factory=list)
    sequence: list = field(default_factory=list)
    fault_x: float = SOLID

    @property
    def volts(self):
        return self.base_kv * 1e3 / sqrt(3)

    @property
    def amperes(self):
        return self.base_mva * 1e3 / sqrt(3) / self.base_kv

    def signals(self):
        """What the example finds at the first moment of the fault, in pu."""
        generators, data = zip(*self.machines, strict=True)
        generators[0]["control"] = "slack"
        case = psmr.make_case(
            "a textbook example", base_mva=self.base_mva, frequency_hz=60.0,
            buses=[{"number": k} for k in range(1, self.buses + 1)], lines=self.lines,
            transformers=self.transformers, generators=list(generators), sequence=[*data, *self.sequence],
        )  # fmt: skip
        bus, phases = self.fault
        fault = psmr.Fault(bus=bus, start=0.0, clear=0.1, phases=phases, x=self.fault_x)
        scheme = psmr.SingleRate("TM", h=0.005)
        run = psmr.simulate(psmr.build(case), scheme, 0.2, events=[fault], certify=False)
        return lambda name: run[name].iloc[1]


def test_three_buses_two_plants_of_saadat():
    # Saadat, Power System Analysis (1999), example 10.6 (b): phase a of bus 3 to ground through j 0.1. Data
    # (5bus_Saadat.xlsx) and printed values (test_unbalanced_faults.py) as GridCal has them; its buses 0 to 4
    # are 1 to 5 here. Neutrals of both generators through 0.25 / 3, a delta at the second one.
    grounded = {"x2": 0.15, "x0": 0.05, "x_ground": 0.25 / 3}
    example = Example(
        base_mva=100.0, base_kv=138.0, buses=5, fault=(3, "ag"), fault_x=0.1,
        machines=[machine(name, bus, s_n=100.0, x1=0.15, **grounded) for name, bus in (("G1", 4), ("G2", 5))],
        lines=[
            {"from": 1, "to": 2, "x": 0.125},
            {"from": 1, "to": 3, "x": 0.15},
            {"from": 2, "to": 3, "x": 0.25},
        ],
        transformers=[{"from": 4, "to": 1, "x": 0.1}, {"from": 2, "to": 5, "x": 0.1}],
        sequence=[
            {"element": "line1-2", "x0": 0.3},
            {"element": "line1-3", "x0": 0.35},
            {"element": "line2-3", "x0": 0.7125},
            {"element": "transformer4-1", "connection": "YNyn", "x0": 0.1},
            {"element": "transformer2-5", "connection": "YNd", "x0": 0.1},
        ],
    )  # fmt: skip
    signal = example.signals()
    printed = {
        "0": [0.12844037, 0.05963303, 0.32110092, 0.09633028, 0.0],
        "1": [0.88073394, 0.88990826, 0.79816514, 0.92844037, 0.93394495],
        "2": [0.11926606, 0.11009174, 0.20183486, 0.07155963, 0.06605505],
    }
    for part, values in printed.items():
        found = [signal(f"bus{bus}.v_{part}") for bus in range(1, 6)]
        assert found == pytest.approx(values, abs=6e-9), part


def test_a_motor_behind_a_transformer_of_stevenson():
    # Stevenson, Elements of Power System Analysis (1982), example 12.5: phase a of the motor's bus to ground.
    # Data and printed values: Python-Textbook-Companions (ChapterNo12). Per unit on 7.5 MVA: generator 0.10,
    # neutral through 0.05; transformer 0.10, grounded star at the generator, delta at the motor; motor
    # 0.2 x 7500 / 5001.117, in the zero sequence 0.15 with its neutral.
    x_motor = 0.2 * 7500 / 5001.117
    example = Example(
        base_mva=7.5, base_kv=0.6, buses=2, fault=(1, "ag"),
        machines=[
            machine("G2", 2, s_n=7.5, x1=0.1, x2=0.1, x0=0.05, x_ground=0.05),
            machine("M1", 1, s_n=7.5, x1=x_motor, x2=x_motor, x0=0.15),
        ],
        transformers=[{"from": 2, "to": 1, "x": 0.1}],
        sequence=[{"element": "transformer2-1", "connection": "YNd", "x0": 0.1}],
    )  # fmt: skip
    signal = example.signals()
    assert [signal("bus2.v_1"), signal("bus2.v_2")] == pytest.approx([0.84616, 0.15384], abs=6e-6)
    assert signal("bus2.v_0") == pytest.approx(0.0, abs=1e-9)
    # The current in the fault, 3 V0 / Z0 of the motor: 7.6927 pu.
    assert 3 * signal("bus1.v_0") / 0.15 == pytest.approx(7.6927, abs=6e-5)


# Chakrabarti, Soni, Gupta and Bhatnagar, A Textbook on Power System Engineering, part III chapter 4; values
# as printed by Python-Textbook-Companions (CHAPT3_4), which says that it carries more digits than the book.


@pytest.mark.parametrize(
    ("phases", "volts", "fault_amperes"),
    [
        ("bc", {"a": 3984, "b": 1992, "c": 1992}, 4348),
        ("bcg", {"a": 4035, "b": 0, "c": 0}, abs(complex(-4348, 2445))),
    ],
)
def test_a_generator_with_a_reactor_in_its_neutral(phases, volts, fault_amperes):
    # Example 3.4.1: 15 MVA, 6.9 kV, 25, 25 and 8 %, a reactor of 6 % between neutral and ground. The current
    # is that of the line to the fault; the printed parts are whole amperes.
    x = 1e-7
    example = Example(
        base_mva=15.0, base_kv=6.9, buses=2, fault=(2, phases),
        machines=[machine("G1", 1, s_n=15.0, x1=0.25, x2=0.25, x0=0.08, x_ground=0.06)],
        lines=[{"from": 1, "to": 2, "x": x}], sequence=[{"element": "line1-2", "x0": x}],
    )  # fmt: skip
    signal = example.signals()
    for phase, expected in volts.items():
        assert round(signal(f"bus2.v_{phase}") * example.volts) == expected
    for phase in "bc":
        assert signal(f"line1-2.i_{phase}") * example.amperes == pytest.approx(fault_amperes, abs=0.6)


def test_a_phase_to_ground_at_the_end_of_a_line_with_resistance():
    # Example 3.4.3: 10 MVA, 6.6 kV; ohms of the generator 0.5 + j 4.7, 0.2 + j 0.6 and j 0.43, of the line
    # 0.36 + j 0.25 and 2.9 + j 0.95 in the zero sequence. Fault current 1364 A, sound phases 2638 and 3255 V.
    z = 6.6**2 / 10.0
    example = Example(
        base_mva=10.0, base_kv=6.6, buses=2, fault=(2, "ag"),
        machines=[machine("G1", 1, s_n=10.0, x1=4.7 / z, r1=0.5 / z, x2=0.6 / z, r2=0.2 / z, x0=0.43 / z)],
        lines=[{"from": 1, "to": 2, "r": 0.36 / z, "x": 0.25 / z}],
        sequence=[{"element": "line1-2", "r0": 2.9 / z, "x0": 0.95 / z}],
    )  # fmt: skip
    signal = example.signals()
    assert round(signal("line1-2.i_a") * example.amperes) == 1364
    assert [round(signal(f"line1-2.i_{part}") * example.amperes) for part in "012"] == [455, 455, 455]
    assert [round(signal(f"bus2.v_{phase}") * example.volts) for phase in "bc"] == [2638, 3255]


def test_two_phases_to_ground_beyond_two_generators_in_parallel():
    # Example 3.4.4: 11 kV; ohms of either generator j 0.6, j 0.4 and j 0.2, its neutral through j 0.2; of the
    # feeder 0.4 + j 0.7 and 0.7 + j 3.0. Fault currents -5128 - j 933 and 4654 + j 3172 A, neutrals at 229 V.
    z = 11.0**2 / 50.0
    data = {"s_n": 50.0, "x1": 0.6 / z, "x2": 0.4 / z, "x0": 0.2 / z, "x_ground": 0.2 / z}
    example = Example(
        base_mva=50.0, base_kv=11.0, buses=2, fault=(2, "bcg"),
        machines=[machine("G1", 1, **data), machine("G2", 1, **data)],
        lines=[{"from": 1, "to": 2, "r": 0.4 / z, "x": 0.7 / z}],
        sequence=[{"element": "line1-2", "r0": 0.7 / z, "x0": 3.0 / z}],
    )  # fmt: skip
    signal = example.signals()
    found = [signal(f"line1-2.i_{phase}") * example.amperes for phase in "abc"]
    assert found == pytest.approx([0.0, abs(-5128 - 933j), abs(4654 + 3172j)], abs=0.7)
    assert round(3 * signal("line1-2.i_0") * example.amperes * 0.1) == 229

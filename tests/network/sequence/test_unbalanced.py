"""Unbalanced faults against a nodal solution of all three phases, and against worked examples."""

import numpy as np
import pytest

import psmr
from psmr.errors import CaseError, EventError, PsmrWarning

CASE = """
format = "psmr-case"
version = 1
name = "two sources, a star-delta transformer, lines in a ring"
base_mva = 100.0
frequency_hz = 60.0
bus = [{number = 1}, {number = 2}, {number = 3}, {number = 4}]
transformer = [{from = 2, to = 1, r = 0.005, x = 0.1, shift_deg = 30.0}]
line = [
    {from = 2, to = 3, r = 0.01, x = 0.1, b = 0.08},
    {from = 3, to = 4, r = 0.02, x = 0.15, b = 0.1},
    {from = 2, to = 4, r = 0.015, x = 0.12, b = 0.06},
]
shunt = [{bus = 4, b_mvar = 20.0}]
load = [
    {bus = 3, p_mw = 60.0, q_mvar = 20.0, model = "impedance"},
    {bus = 4, p_mw = 40.0, q_mvar = 30.0, model = "impedance"},
]

[[generator]]
name = "G1"
bus = 1
control = "slack"
v = 1.02
[generator.machine]
type = "ClassicalMachine"
s_n = 200.0
h = 5.0
d = 0.0
r_a = 0.01
x_d1 = 0.3

[[generator]]
name = "G4"
bus = 4
control = "pv"
p_mw = 30.0
v = 1.0
[generator.machine]
type = "ClassicalMachine"
s_n = 100.0
h = 4.0
d = 0.0
x_d1 = 0.25

[[sequence]]
element = "transformer2-1"
connection = "YNd"
r0 = 0.004
x0 = 0.09
x_ground = 0.02

[[sequence]]
element = "line2-3"
r0 = 0.03
x0 = 0.28
b0 = 0.05

[[sequence]]
element = "line3-4"
r0 = 0.05
x0 = 0.4
b0 = 0.06

[[sequence]]
element = "line2-4"
r0 = 0.04
x0 = 0.35
b0 = 0.03

[[sequence]]
element = "shunt4"
connection = "YN"

[[sequence]]
element = "load3"
connection = "YN"

[[sequence]]
element = "load4"
connection = "D"

[[sequence]]
element = "G1"
r2 = 0.02
x2 = 0.2
x0 = 0.08
x_ground = 0.05

[[sequence]]
element = "G4"
x2 = 0.2
x0 = 0.1
r_ground = 0.03
"""

A = np.exp(2j * np.pi / 3)
T = np.array([[1, 1, 1], [1, A**2, A], [1, A, A**2]])  # from zero, positive, negative to a, b, c
EYE, NONE = np.eye(3), np.zeros((3, 3))
ORDER = "abc"


def phases(zero, positive, negative):
    """The 3 x 3 matrix of an element that is the same in all phases."""
    return T @ np.diag([zero, positive, negative]) @ np.linalg.inv(T)


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    path = tmp_path_factory.mktemp("case") / "ring.toml"
    path.write_text(CASE)
    return psmr.build(psmr.read_case(path))


class Nodal:
    """The whole system in phases: a node a bus and phase, machines as voltages behind their impedance."""

    def __init__(self, system):
        self.system = system
        self.size = 4
        self.y = np.zeros((12, 12), dtype=complex)
        self.i = np.zeros(12, dtype=complex)
        z = phases(1 / (0.004 + 0.09j), 1 / (0.005 + 0.1j), 1 / (0.005 + 0.1j))
        # Star with grounded neutral at bus 2, delta at bus 1: a winding stands between two phases of the
        # delta, and its voltage leads that of the phase by 30 degrees.
        delta = np.array([[1, -1, 0], [0, 1, -1], [-1, 0, 1]]) / np.sqrt(3)
        star = np.linalg.inv(np.linalg.inv(z) + 0.02j * np.ones((3, 3)))
        windings = np.hstack([EYE, -delta])
        self.add([2, 1], windings.T @ star @ windings)
        self.lines = {
            (2, 3): (0.03 + 0.28j, 0.05, 0.01 + 0.1j, 0.08),
            (3, 4): (0.05 + 0.4j, 0.06, 0.02 + 0.15j, 0.1),
            (2, 4): (0.04 + 0.35j, 0.03, 0.015 + 0.12j, 0.06),
        }
        self.shunt(4, 0.2j * EYE)
        for name, grounded in (("load3", True), ("load4", False)):
            get = {key: system.parameter(name, key) for key in ("p", "q", "v_0")}
            y = complex(get["p"], -get["q"]) / get["v_0"] ** 2
            self.shunt(int(name[-1]), phases(y if grounded else 0, y, y))
        base = 0.5
        self.machine("G1", 1, base * (0.01 + 0.3j), base * (0.02 + 0.2j), base * (0.08j + 3 * 0.05j))
        self.machine("G4", 4, 0.25j, 0.2j, 0.1j + 3 * 0.03)

    def add(self, buses, block):
        rows = np.concatenate([np.arange(3) + 3 * (bus - 1) for bus in buses])
        self.y[np.ix_(rows, rows)] += block

    def shunt(self, bus, block):
        self.add([bus], block)

    def machine(self, name, bus, z1, z2, z0):
        self.shunt(bus, phases(1 / z0, 1 / z1, 1 / z2))
        device = next(d for d in self.system.devices if d.name.startswith(name))
        at = {key: self.system.w0[self.system.index(f"{device.name}.{key}")] for key in ("e", "delta")}
        e = at["e"] * np.exp(1j * at["delta"])
        self.i[3 * bus - 3 : 3 * bus] += e / z1 * np.array([1, A**2, A])

    def line(self, ends, part=1.0, buses=None):
        z0, b0, z1, b1 = self.lines[ends]
        series = phases(1 / (z0 * part), 1 / (z1 * part), 1 / (z1 * part))
        shunt = phases(0.5j * b0 * part, 0.5j * b1 * part, 0.5j * b1 * part)
        self.add(buses or ends, np.block([[series + shunt, -series], [-series, series + shunt]]))

    def grow(self):
        """A node more; its number."""
        y, i = self.y, self.i
        self.y, self.i = (
            np.zeros((len(y) + 3, len(y) + 3), dtype=complex),
            np.zeros(len(y) + 3, dtype=complex),
        )
        self.y[: len(y), : len(y)], self.i[: len(y)] = y, i
        self.size += 1
        return self.size

    def fault(self, bus, joined, z):
        at = [ORDER.index(phase) for phase in joined.removesuffix("g")]
        block = np.zeros((3, 3), dtype=complex)
        if joined == "abc":
            block = EYE / z
        elif len(joined) == 2 and joined.endswith("g"):
            block[at[0], at[0]] = 1 / z
        elif not joined.endswith("g"):
            block[np.ix_(at, at)] = np.array([[1, -1], [-1, 1]]) / z
        else:  # two phases joined, and the joint grounded through z
            self.tie = [(bus, at[0]), (bus, at[1])]
            block[at[0], at[0]] = 1 / z
        self.shunt(bus, block)

    def solve(self, ties=()):
        """Voltages, with pairs of nodes joined."""
        n = len(self.i)
        into = np.eye(n)
        gone = []
        for a, b in ties:
            first, second = (3 * (bus - 1) + phase for bus, phase in (a, b))
            into[second, first] = 1.0
            gone.append(second)
        into = np.delete(into, gone, axis=1)
        return (into @ np.linalg.solve(into.T @ self.y @ into, into.T @ self.i)).reshape(-1, 3)


def start(system, event):
    return psmr.simulate(system, psmr.SingleRate("TM", h=0.005), 0.2, events=[event], certify=False)


def compare(run, v):
    """The first point after the fault begins: phases and sequences of all buses."""
    parts = np.linalg.inv(T) @ v[:4].T
    for bus in range(1, 5):
        own = [run[f"bus{bus}.v_{part}"].iloc[1] for part in "abc012"]
        expected = [*np.abs(v[bus - 1]), *np.abs(parts[:, bus - 1])]
        assert own == pytest.approx(expected, abs=1e-9), bus


KINDS = ("abc", "ag", "bg", "cg", "ab", "bc", "ca", "abg", "bcg", "cag")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bus", [1, 3])
def test_a_fault_at_a_bus_is_that_of_all_three_phases(system, kind, bus):
    nodal = Nodal(system)
    for ends in nodal.lines:
        nodal.line(ends)
    nodal.fault(bus, kind, 0.02 + 0.01j)
    run = start(system, psmr.Fault(bus=bus, start=0.0, clear=0.1, phases=kind, r=0.02, x=0.01))
    compare(run, nodal.solve([nodal.tie] if hasattr(nodal, "tie") else []))


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_along_a_line_is_that_of_all_three_phases(system, kind):
    nodal = Nodal(system)
    nodal.line((2, 3))
    nodal.line((3, 4))
    nodal.grow()
    nodal.line((2, 4), 0.3, (2, 5))
    nodal.line((2, 4), 0.7, (5, 4))
    nodal.fault(5, kind, 0.02 + 0.01j)
    event = psmr.Fault(line="2-4", at=0.3, start=0.0, clear=0.1, phases=kind, r=0.02, x=0.01)
    run = start(system, event)
    v = nodal.solve([nodal.tie] if hasattr(nodal, "tie") else [])
    compare(run, v)
    # The current into the line at bus 2.
    z0, b0, z1, b1 = nodal.lines[2, 4]
    series = phases(1 / (0.3 * z0), 1 / (0.3 * z1), 1 / (0.3 * z1))
    i = series @ (v[1] - v[4]) + phases(0.15j * b0, 0.15j * b1, 0.15j * b1) @ v[1]
    expected = [*np.abs(i), *np.abs(np.linalg.inv(T) @ i)]
    assert [run[f"line2-4.i_{part}"].iloc[1] for part in "abc012"] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("kind", ["a", "b", "c", "ab", "bc", "ca"])
@pytest.mark.parametrize("at", [None, 0.3])
def test_open_phases_are_those_of_all_three_phases(system, kind, at):
    nodal = Nodal(system)
    nodal.line((2, 3))
    nodal.line((3, 4))
    nodal.grow()
    if at is None:
        nodal.line((2, 4), 1.0, (5, 4))
        near = 2
    else:
        nodal.grow()
        nodal.line((2, 4), at, (2, 6))
        nodal.line((2, 4), 1 - at, (5, 4))
        near = 6
    closed = [k for k, phase in enumerate(ORDER) if phase not in kind]
    event = psmr.OpenPhases(line="2-4", phases=kind, start=0.0, close=0.1, at=at)
    run = start(system, event)
    v = nodal.solve([((near, k), (5, k)) for k in closed])
    compare(run, v)


def test_a_network_that_changes_changes_what_the_fault_is(system):
    fault = psmr.Fault(bus=3, start=0.0, clear=0.15, phases="ag", r=0.01)
    trip = psmr.LineTrip("2-4", start=0.05)
    together = psmr.simulate(system, psmr.SingleRate("TM", h=0.005), 0.2, events=[fault, trip], certify=False)
    k = int(np.flatnonzero(together.t == 0.05)[-1])
    nodal = Nodal(system)
    nodal.line((2, 3))
    nodal.line((3, 4))
    nodal.fault(3, "ag", 0.01 + 1e-4j)
    # The angles have moved since the start: the sources are those of the run.
    nodal.i[:] = 0.0
    for name, bus, z in (("G1", 1, 0.5 * (0.01 + 0.3j)), ("G4", 4, 0.25j)):
        device = next(d.name for d in system.devices if d.name.startswith(name))
        e = system.w0[system.index(f"{device}.e")] * np.exp(1j * together[f"{device}.delta"].iloc[k])
        nodal.i[3 * bus - 3 : 3 * bus] = e / z * np.array([1, A**2, A])
    v = nodal.solve()
    assert [together[f"bus3.v_{p}"].iloc[k] for p in ORDER] == pytest.approx(list(np.abs(v[2])), abs=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('connection = "YNd"', 'connection = "Dd"', "the winding D has no grounded neutral"),
        ('connection = "YNd"', 'connection = "Ynd"', "must be one of YN, Y, D, YNyn"),
        ('element = "line2-4"', 'element = "line2-5"', "there is none of this name; did you mean 'line2-4'"),
        ('element = "line2-4"', 'element = "line3-4"', "has a row of sequence data already"),
        ('element = "G4"\nx2 = 0.2', 'element = "G4"\nb0 = 0.2', "is no data of a generator, which takes r2"),
        ('element = "load4"\nconnection = "D"', 'element = "load4"\nconnection = "D"\ng0 = 0.1',
         "no zero-sequence path leads through D"),
        ('x0 = 0.35', 'x0 = 0.0', "x0 = 0.0: must not be 0"),
    ],
)  # fmt: skip
def test_sequence_data_that_cannot_be(tmp_path, old, new, words):
    path = tmp_path / "ring.toml"
    path.write_text(CASE.replace(old, new))
    with pytest.raises(CaseError, match=words) as refusal:
        psmr.read_case(path)
    line = path.read_text().splitlines().index("[[sequence]]")
    assert int(str(refusal.value).partition("ring.toml:")[2].partition(":")[0].split()[0]) > line


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        # Example 12.1: Va1 = 0.64286, Va2 = -0.50000, Va0 = -0.14286, Va = 0, |Vb| = |Vc|.
        ("ag", {"1": 0.64286, "2": 0.5, "0": 0.14286, "a": 0.0}),
        # Example 12.2: Va1 = Va2 = 0.58333, Va0 = 0, Va = 1.17, Vb = -0.58333.
        ("bc", {"1": 0.58333, "2": 0.58333, "0": 0.0, "a": 1.16667, "b": 0.58333, "c": 0.58333}),
    ],
)
def test_the_unloaded_generator_of_stevenson(kind, expected):
    # Stevenson, Elements of Power System Analysis, examples 12.1 and 12.2: 20 MVA, x1 = 0.25, x2 = 0.35,
    # x0 = 0.10, at its terminals without load; values as printed by Python-Textbook-Companions (ChapterNo12).
    case = psmr.make_case(
        "an unloaded generator", base_mva=20.0, frequency_hz=60.0,
        buses=[{"number": 1}, {"number": 2}], lines=[{"from": 1, "to": 2, "x": 0.1}],
        generators=[
            {
                "name": "G1", "bus": 1, "control": "slack", "v": 1.0,
                "machine": {"type": "ClassicalMachine", "s_n": 20.0, "h": 5.0, "d": 0.0, "x_d1": 0.25},
            }
        ],
        sequence=[{"element": "G1", "x2": 0.35, "x0": 0.10}, {"element": "line1-2", "x0": 0.3}],
    )  # fmt: skip
    run = start(psmr.build(case), psmr.Fault(bus=1, start=0.0, clear=0.1, phases=kind, x=1e-9))
    found = {part: run[f"bus1.v_{part}"].iloc[1] for part in expected}
    assert found == pytest.approx(expected, abs=6e-6)


def test_a_second_place_is_refused_while_the_first_is_unbalanced(system):
    first = psmr.Fault(bus=3, start=0.0, clear=0.1, phases="ag")
    with pytest.raises(EventError, match="unbalanced at bus3 and line2-4 at one time"):
        psmr.simulate(
            system, psmr.VariableStep(), 0.2, [first, psmr.OpenPhases("2-4", start=0.05)], certify=False
        )
    later = psmr.OpenPhases("2-4", start=0.15)
    run = psmr.simulate(system, psmr.VariableStep(), 0.2, [first, later], certify=False)
    assert run["bus3.v_2"].iloc[-1] > 0.001


def test_what_is_assumed_is_said_with_the_devices():
    with pytest.warns(PsmrWarning, match=r"lines: z0 = 3 z1 \(line4-5, .*transformers: z0 = z1 .*give them"):
        start(psmr.build(psmr.case("wscc9")), psmr.Fault(bus=5, start=0.0, clear=0.1, phases="ag"))


def test_a_case_keeps_its_sequence_data_in_a_file_of_its_own_and_says_where_not(tmp_path):
    path = tmp_path / "ring.toml"
    path.write_text(CASE)
    case = psmr.read_case(path)
    psmr.write_case(case, tmp_path / "again.toml")
    assert psmr.read_case(tmp_path / "again.toml").sequence == case.sequence
    with pytest.warns(PsmrWarning, match="sequence data of transformer2-1"):
        psmr.write_case(case, tmp_path / "again.raw")
    with pytest.warns(PsmrWarning, match="9 rows of sequence data"):
        psmr.write_case(case, tmp_path / "again.m")


def test_a_line_that_is_left_out_takes_its_sequence_data_with_it(tmp_path):
    path = tmp_path / "ring.toml"
    path.write_text(CASE)
    case = psmr.read_case(path)
    edited = case.edit(lines=case.tables["lines"].drop(index="line2-4"))
    assert {row.element for row in case.sequence} - {row.element for row in edited.sequence} == {"line2-4"}

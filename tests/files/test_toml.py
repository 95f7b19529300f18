"""Reading case files: what is read, and the message for everything that can be wrong."""

import pickle
import re

import pytest

from psmr import Case, SingleRate, read_case
from psmr.errors import CaseError, InputError, PsmrWarning, SchemeError
from tests.internals import Lines

GOOD = """\
format = "psmr-case"
version = 1
name = "two buses"
base_mva = 100.0
frequency_hz = 50

[[bus]]
number = 1
base_kv = 20

[[bus]]
number = 2

[[line]]
from = 1
to = 2
r = 0.01
x = 0.1
b = 0.02

[[transformer]]
from = 1
to = 2
x = 0.2
tap = 1.05
shift_deg = 5.0

[[shunt]]
bus = 2
b_mvar = 10.0

[[load]]
bus = 2
p_mw = 50.0
q_mvar = 10.0
model = "impedance"

[[generator]]
name = "G1"
bus = 1
control = "slack"
v = 1.02

[generator.machine]
type = "ClassicalMachine"
s_n = 100.0
h = 5.0
d = 0.0
x_d1 = 0.3
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "case.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_good_case(write):
    case = read_case(write(GOOD))
    assert (case.name, case.base_mva, case.frequency_hz) == ("two buses", 100.0, 50.0)
    assert [bus.name for bus in case.buses] == ["bus1", "bus2"]
    assert case.lines[0].name == "line1-2"
    assert case.transformers[0].name == "transformer1-2"
    assert case.shunts[0].name == "shunt2"
    assert case.loads[0].name == "load2"
    assert case.loads[0].p_zip == (1.0, 0.0, 0.0)
    assert case.generators[0].devices[0].name == "G1"
    assert case.generators[0].devices[0].parameters["h"] == 5.0
    assert str(case) == "two buses: 2 buses, 1 lines, 1 transformers, 1 loads, 1 generators (100 MVA, 50 Hz)"
    assert pickle.loads(pickle.dumps(case)) == case


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        ("wscc9.toml", [f"{kind}{i}" for i in (1, 2, 3) for kind in ("G", "AVR", "GOV", "PSS")]),
        ("sauer-pai.toml", [f"{kind}{i}" for i in (1, 2, 3) for kind in ("G", "AVR")]),
        (
            "wscc9-ibr.toml",
            [f"{kind}{i}" for i in (1, 2) for kind in ("G", "AVR", "GOV", "PSS")] + ["C1", "C2"],
        ),
    ],
)
def test_names_of_the_cases(wscc9, name, devices):
    case = read_case(wscc9 / name)
    assert isinstance(case, Case)
    assert [device.name for generator in case.generators for device in generator.devices] == devices
    assert [load.name for load in case.loads] == ["load5", "load6", "load8"]
    assert [row.name for row in case.transformers] == ["transformer1-4", "transformer2-7", "transformer3-9"]
    assert case.lines[2].name == "line5-7"


def test_zip_fractions(write):
    text = GOOD.replace('model = "impedance"', "p_zip = [0.5, 0.3, 0.2]\nq_zip = [1, 0, 0]")
    assert read_case(write(text)).loads[0].p_zip == (0.5, 0.3, 0.2)


def test_names_can_be_given(write):
    text = GOOD.replace("number = 1\n", 'number = 1\nname = "north"\n').replace(
        'type = "ClassicalMachine"', 'type = "ClassicalMachine"\nname = "unit"'
    )
    case = read_case(write(text))
    assert case.buses[0].name == "north"
    assert case.generators[0].devices[0].name == "unit"


# What is replaced by what in the good file, and the message; the path in front of the line is left out.
WRONG = {
    "unknown bus in a line": (
        "to = 2\nr =",
        "to = 12\nr =",
        ":14 [[line]] (line1-12): to_bus = 12: there is no bus with this number; did you mean '2'?",
    ),
    "unknown bus of a load": (
        "bus = 2\np_mw",
        "bus = 7\np_mw",
        "[[load]] (load7): bus = 7: there is no bus with this number",
    ),
    "unknown bus of a generator": (
        "bus = 1\ncontrol",
        "bus = 3\ncontrol",
        "[[generator]] (G1): bus = 3: there is no bus",
    ),
    "bus twice": ("number = 2", "number = 1", "number = 1: taken by"),
    "name twice": ("[[shunt]]", '[[shunt]]\nname = "load2"', "name = 'load2': taken by"),
    "name with a dot": (
        "number = 2",
        'number = 2\nname = "a.b"',
        "name = 'a.b': must be a name without dots, blanks and control",
    ),
    "missing field": ("x = 0.1\n", "", ":14 [[line]]: x is missing; add it as a number"),
    "misspelt field": ("b_mvar", "b_mvr", "there is no field 'b_mvr'; did you mean 'b_mvar'?"),
    "misspelt head": (
        "base_mva",
        "base_mwa",
        "there is no field or table 'base_mwa'; did you mean 'base_mva'?",
    ),
    "misspelt table": (
        "[[shunt]]",
        "[[shund]]",
        ":28: there is no field or table 'shund'; did you mean 'shunt'?",
    ),
    "wrong type": ("x = 0.1\n", 'x = "0.1"\n', ":18 [[line]]: x = '0.1': must be a number"),
    "bool for a number": ("x = 0.1\n", "x = true\n", "x = True: must be a number"),
    "fraction for a whole number": ("number = 2", "number = 2.5", "number = 2.5: must be a whole number"),
    "nan": ("p_mw = 50.0", "p_mw = nan", ":32 [[load]]: p_mw = nan: must be finite"),
    "inf": ("x = 0.2", "x = inf", ":21 [[transformer]]: x = inf: must be finite"),
    "nan parameter": ("h = 5.0", "h = nan", "[generator.machine] (G1): h = nan: must be finite"),
    "negative inertia": (
        "h = 5.0",
        "h = -5.0",
        "(G1): h = -5.0: must be > 0 (inertia constant on the machine base, s)",
    ),
    "text parameter": ("h = 5.0", 'h = "5"', "h = '5': must be a number"),
    "missing parameter": ("h = 5.0\n", "", "h is missing; ClassicalMachine needs it: inertia constant"),
    "misspelt parameter": (
        "x_d1 =",
        "x_d2 =",
        "ClassicalMachine has no parameter 'x_d2'; did you mean 'x_d1'?",
    ),
    "parameter of the head": ("d = 0.0", "d = 0.0\nf_n = 50.0", "ClassicalMachine has no parameter 'f_n'"),
    "unknown component": (
        "ClassicalMachine",
        "ClasicalMachine",
        "is no machine; did you mean 'ClassicalMachine'?; known:",
    ),
    "component in another role": ("ClassicalMachine", "PssSpeed", "type = 'PssSpeed' is no machine"),
    "no type": ('type = "ClassicalMachine"\n', "", "[generator.machine]: type is missing; a machine can be:"),
    "unknown role": (
        "[generator.machine]",
        "[generator.machin]",
        "there is no field 'machin'; did you mean 'machine'?",
    ),
    "no impedance": (
        "r = 0.01\nx = 0.1",
        "r = 0\nx = 0",
        "x = 0.0: the branch has no impedance; join the two buses",
    ),
    "branch from a bus to itself": ("to = 2\nr =", "to = 1\nr =", "to_bus = 1: must be another bus"),
    "status": ("b = 0.02", "b = 0.02\nstatus = 2", "status = 2: must be 1 (in service) or 0"),
    "tap": ("tap = 1.05", "tap = 0.0", "tap = 0.0: must be > 0"),
    "no slack": (
        'control = "slack"',
        'control = "pv"\np_mw = 10',
        'the island of buses 1, 2 has no slack; set control = "slack"',
    ),
    "control": (
        'control = "slack"',
        'control = "slak"',
        "control = 'slak': must be one of slack, pv, pq; did you mean 'slack'?",
    ),
    "control lacks a value": ("v = 1.02\n", "", "[[generator]]: v is missing; control = 'slack' needs it"),
    "load model": (
        '"impedance"',
        '"impedence"',
        "must be impedance, current, power, exponential, motor, composite, characteristic; "
        "did you mean 'impedance'?",
    ),
    "no load model": ('model = "impedance"\n', "", "[[load]]: model is missing; give model ="),
    "fractions": (
        'model = "impedance"',
        "p_zip = [0.5, 0.3, 0.3]\nq_zip = [1, 0, 0]",
        "p_zip = (0.5, 0.3, 0.3): must add up to 1, not 1.1",
    ),
    "fractions alone": (
        'model = "impedance"',
        "p_zip = [1, 0, 0]",
        "[[load]]: q_zip is missing; a load by its parts needs p_zip and q_zip",
    ),
    "fractions beside a model": (
        'model = "impedance"',
        'model = "power"\np_zip = [1, 0, 0]',
        ":37 [[load]]: p_zip has no place beside model = 'power'; keep one of them",
    ),
    "exponential load without an exponent": (
        'model = "impedance"',
        'model = "exponential"\nexponent_p = 1.3',
        "[[load]]: exponent_q is missing; model = 'exponential' needs exponent_p and exponent_q",
    ),
    "exponent without its model": (
        'model = "impedance"',
        'model = "impedance"\nexponent_p = 1.3',
        ":37 [[load]]: exponent_p has no place beside model = 'impedance'",
    ),
    "motor without its table": (
        'model = "impedance"',
        'model = "motor"',
        "[[load]]: motor is missing; model = 'motor' needs a table [load.motor]",
    ),
    "motor of no type": (
        'model = "impedance"',
        'model = "motor"\n\n[load.motor]\ns_n = 60.0',
        ":38 [load.motor]: type is missing; a motor can be: CIM5, CIM6, CIMW, InductionMotor",
    ),
    "parameter of a motor": (
        'model = "impedance"',
        'model = "motor"\n\n[load.motor]\ntype = "InductionMotor"\nx_ss = 0.1',
        ":38 [load.motor] (load2): InductionMotor has no parameter 'x_ss'; did you mean 'x_s'?",
    ),
    "motor beside another model": (
        'model = "impedance"',
        'model = "power"\n\n[load.motor]\ntype = "InductionMotor"',
        "motor has no place beside model = 'power'; keep one of them",
    ),
    "exponent as a text": (
        'model = "impedance"',
        'model = "exponential"\nexponent_p = "1.3"\nexponent_q = 2',
        ":37 [[load]]: exponent_p = '1.3': must be a number",
    ),
    "fraction type": (
        'model = "impedance"',
        'p_zip = [1, 0, "0"]\nq_zip = [1, 0, 0]',
        "p_zip = '0': must be a number",
    ),
    "format": (
        '"psmr-case"',
        '"psmr-study"',
        ":1: format = 'psmr-study': must be \"psmr-case\" for a case file",
    ),
    "version": ("version = 1", "version = 2", ":2: version = 2: this psmr reads version 1"),
    "base": ("base_mva = 100.0", "base_mva = 0.0", "base_mva = 0.0: must be a finite number > 0"),
    "corrupt": ("number = 2", "number = = 2", "is not valid TOML: Invalid value (at line 12, column 10)"),
    "table as a value": (
        "[[bus]]\nnumber = 1\nbase_kv = 20\n\n[[bus]]\nnumber = 2\n",
        "bus = 3\n",
        "bus = 3: must be a list",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_file_names_place_and_remedy(write, what):
    old, new, message = WRONG[what]
    assert GOOD.count(old) >= 1
    path = write(GOOD.replace(old, new, 1))
    with pytest.raises(CaseError, match=re.escape(message)) as caught:
        read_case(path)
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, InputError)


def test_two_slacks_on_an_island(write):
    second = GOOD[GOOD.index("[[generator]]") :].replace('"G1"', '"G2"').replace("bus = 1", "bus = 2")
    with pytest.warns(
        PsmrWarning, match=r"\[\[generator\]\] \(G2\): the slacks at buses 1, 2 are in one island"
    ):
        read_case(write(GOOD + "\n" + second))


def test_island_without_slack(write):
    text = GOOD.replace("[[shunt]]", "[[bus]]\nnumber = 9\n\n[[shunt]]")
    with pytest.raises(CaseError, match=r"the island of bus 9 has no slack"):
        read_case(write(text))


def test_branch_out_of_service_makes_an_island(write):
    text = GOOD.replace("b = 0.02", "b = 0.02\nstatus = 0").replace("tap = 1.05", "tap = 1.05\nstatus = 0")
    with pytest.raises(CaseError, match=r"the island of bus 2 has no slack"):
        read_case(write(text))


def test_exciter_without_machine(write, wscc9):
    text = (wscc9 / "wscc9.toml").read_text(encoding="utf-8")
    first = text.index("[generator.machine]")
    text = text[:first] + text[text.index("[generator.exciter]") :]
    with pytest.raises(
        CaseError, match=r"\(G1\): a plant needs one machine or one converter; G1 has neither"
    ):
        read_case(write(text))


def test_two_voltages_at_one_bus(write, wscc9):
    text = (wscc9 / "wscc9-ibr.toml").read_text(encoding="utf-8")
    head, tail = text.split('name = "C2"')
    with pytest.raises(
        CaseError, match=r"\(C2\): v = 1\.03: C1 holds bus 3 at 1\.025; one voltage for a bus"
    ):
        read_case(write(head + 'name = "C2"' + tail.replace("v = 1.025", "v = 1.03", 1)))


def test_missing_file(tmp_path):
    with pytest.raises(CaseError, match=r"nothing\.toml: cannot be read: No such file or directory"):
        read_case(tmp_path / "nothing.toml")


def test_binary_file(tmp_path):
    path = tmp_path / "case.toml"
    path.write_bytes(b"name = \xff\xfe")
    with pytest.raises(CaseError, match=r"case\.toml:1: is not text in UTF-8 \(byte 7, 0xff\)"):
        read_case(path)


def test_unknown_suffix(tmp_path):
    with pytest.raises(
        CaseError,
        match=r"case\.xlsx: psmr reads \.toml, \.raw, \.rawx, \.epc, \.m and knows no format '\.xlsx'",
    ):
        read_case(tmp_path / "case.xlsx")


def test_lines_of_nested_tables():
    text = "a = 1\n[[g]]\nn = 1\n[g.m]\nh = 2\n[[g]]\nn = 2\n[g.m] # second\nx = 1\nh = 3\n"
    lines = Lines(text)
    assert lines.table(("g", 1, "m")) == 8
    assert lines.key(("g", 1, "m"), "h") == 10
    assert lines.key(("g", 0, "m"), "h") == 5
    assert lines.key((), "a") == 1
    # A key may be a table of its own.
    assert (lines.key((), "g"), lines.key(("g", 1), "m")) == (2, 8)
    # A key that is not written is answered with its table's line.
    assert lines.key(("g", 1, "m"), "d") == 8


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("x = 5,0", "a decimal has a point: 5.0"),
        ('name = "BUS 16', "a text begins and ends with the same quote"),
        ("name = BUS 16", "a text stands in quotes"),
        ("x = 2 s", "a number stands without its unit: 2"),
        ("name = \u201cx\u201d", "quotes are straight ones"),
        ("x = True", "write true or false, in small letters"),
        ("x: 2.0", "one = stands between name and value"),
        ("x = 2.0;", "a line ends without a semicolon"),
        ("x = 2.0 // s", "a comment begins with #"),
        (r'name = "C:\data"', "between single quotes a backslash stands for itself"),
    ],
)
def test_a_slip_in_a_line_is_said_in_words(tmp_path, line, hint):
    path = tmp_path / "case.toml"
    path.write_text(f"a = 1\n{line}\n")
    with pytest.raises(CaseError, match=rf"case\.toml:2: is not valid TOML: .*; {re.escape(hint)}$"):
        read_case(path)


def test_a_choice_is_found_by_other_capitals_and_its_name_elsewhere():
    for given, right in (("fem", "FEM"), ("trapezoidal", "TM"), ("backward euler", "BEM")):
        with pytest.raises(SchemeError, match=f"did you mean '{right}'"):
            SingleRate(given, 0.01)

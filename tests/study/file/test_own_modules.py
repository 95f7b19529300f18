"""Components and schemes of the user's own, in a module beside the case or the study that names it."""

import re
import sys

import numpy as np
import pytest

import psmr
from psmr.cli import main
from psmr.errors import CaseError, InputError, PsmrWarning, StudyError
from tests.files.raw import raw_text
from tests.files.test_psse_dyr import GOOD

COMPONENT = '''
from dataclasses import dataclass

from psmr import Component, Parameter
from psmr.integrate.schemes.one_step import NEW, NOW, OneStep, Program, Rate, Stage


class MyAvr(Component):
    """A lag with a gain, between limits."""

    role = "exciter"
    records = ("MYAVR k t",)
    states = ("v_f",)
    inputs = ("v_re", "v_im", "v_s", "v_ref")
    optional = {"v_s": 0.0}
    limits = {"v_f": ("e_min", "e_max")}

    k = Parameter("pu", "gain")
    t = Parameter("s", "time constant")
    e_min = Parameter("pu", "lower limit", default=-5.0)
    e_max = Parameter("pu", "upper limit", default=5.0)

    @staticmethod
    def equations(m, v, p):
        error = v.v_ref + v.v_s - m.sqrt(v.v_re**2 + v.v_im**2)
        return ((p.k * error - v.v_f) / p.t,), (), ()


class Bare(Component):
    states = ("v_f",)


@dataclass(frozen=True, repr=False)
class Theta(OneStep):
    theta: float = 0.5

    def program(self, h, before=()):
        rates = (("k1", 1 - self.theta),)
        stage = Stage("step", "all", NEW, NOW, rates, self.theta, at=(1.0,), matrix="new")
        return Program((Rate("k1", "step"), stage))
'''
STUDY = """
format = "psmr-study"
version = 1
case = "case.toml"
modules = ["mine"]

[scheme]
type = "Theta"
h = 0.01

[simulation]
t_end = 0.5

[[event]]
type = "load-trip"
bus = 5
start = 0.1
fraction = 0.5
"""
SEXS = "1 'sexs' 1 0.1 10.0 100.0 0.1 0.0 5.0 /"
EXCITER = '[generator.exciter]\ntype = "MyAvr"\nk = 50.0\nt = 0.05\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with mine.py and the WSCC 9-bus case, whose G1 has the exciter of mine.py."""
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    text = psmr.case_path("wscc9").read_text(encoding="utf-8")
    text = text.replace("version = 1\n", 'version = 1\nmodules = ["mine"]\n', 1)
    text, count = re.subn(r"\[generator\.exciter\]\n(?:.+\n)+", EXCITER, text, count=1)
    assert count == 1
    (tmp_path / "case.toml").write_text(text)
    (tmp_path / "mine.py").write_text(COMPONENT)
    (tmp_path / "study.toml").write_text(STUDY)
    yield tmp_path
    sys.path[:] = path
    sys.modules.pop("mine", None)


def test_a_case_names_a_component(folder):
    """G1's field voltage of 1.08 pu follows from its data; the set-point from k (v_ref - |v|) = v_f."""
    case = psmr.read_case("case.toml", allow_code=True)
    system = psmr.build(case)
    v_f = system.x0[system.names_x.index("AVR1.v_f")]
    v_ref = system.w0[system.index("AVR1.v_ref")]
    assert v_ref == pytest.approx(1.04 + v_f / 50.0, rel=1e-10)
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-9
    assert "MyAvr" in case.tables
    again = folder / "sub" / "again.toml"
    again.parent.mkdir()
    psmr.write_case(case, again)
    with pytest.raises(CaseError, match=r"there is no mine\.py in .*sub.*; put the file there"):
        psmr.read_case(again, allow_code=True)
    (folder / "sub" / "mine.py").write_text(COMPONENT)
    assert psmr.read_case(again, allow_code=True).generators[0].devices[1].parameters == {
        "k": 50.0,
        "t": 0.05,
    }


def test_a_program_names_the_module(folder):
    text = (folder / "case.toml").read_text().replace('modules = ["mine"]\n', "")
    (folder / "case.toml").write_text(text)
    with pytest.raises(CaseError, match=r"type = 'MyAvr' is no exciter"):
        psmr.read_case("case.toml")
    assert psmr.read_case("case.toml", modules=("mine",)).modules == ("mine",)
    with pytest.raises(CaseError, match=r"modules = 'mine': must be a list"):
        psmr.read_case("case.toml", modules="mine")


def test_a_study_names_a_scheme_whose_run_is_saved_and_loaded(folder):
    assert main(["run", "study.toml", "--allow-code", "-o", "out", "--save"]) == 0
    run = psmr.load_run(folder / "out" / "run.psmr", modules=["mine"])
    assert str(run.scheme).startswith("Theta, theta = 0.5, h = 0.01 s")
    assert run.certificate.stable
    # The theta method with 1/2 is the trapezoidal rule.
    other = psmr.simulate(run.system, psmr.SingleRate("TM", h=0.01), 0.5, run.events, certify=False)
    assert np.abs(run.x - other.x).max() < 1e-9
    with pytest.raises(InputError, match=r"holds a \w+ of the module mine, .*load_run\(path, modules="):
        psmr.load_run(folder / "out" / "run.psmr")
    assert main(["plot", "out/run.psmr", "--modules", "mine", "--signals", "AVR1.*", "-o", "p.svg"]) == 0
    (folder / "mine.py").write_text(COMPONENT + "\n# another thought\n")
    with pytest.warns(PsmrWarning, match="mine is not as it was when the run was saved"):
        psmr.load_run(folder / "out" / "run.psmr", modules=["mine"])


def test_a_sweep_on_two_processes(folder):
    text = STUDY.replace("psmr-study", "psmr-sweep").split("[[event]]")[0]
    axis = '[[axis]]\ntype = "parameter"\ndevice = "AVR1"\nname = "k"\nvalues = [20.0, 60.0]\n'
    (folder / "sweep.toml").write_text(f"{text}\n{axis}")
    swept = psmr.sweep("sweep.toml", workers=2, report=False, allow_code=True)
    assert list(swept.table["status"]) == ["done", "done"]


def test_what_changed_is_imported_anew(folder):
    first = psmr.read_case("case.toml", allow_code=True).generators[0].devices[1].component
    assert psmr.read_case("case.toml", allow_code=True).generators[0].devices[1].component is first
    (folder / "mine.py").write_text(COMPONENT.replace("default=5.0", "default=6.0"))
    second = psmr.read_case("case.toml", allow_code=True).generators[0].devices[1].component
    assert (first.e_max.default, second.e_max.default) == (5.0, 6.0)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import numpy\n\nprint(numpy.nothing)\n", r"mine\.py:3: AttributeError: .*nothing"),
        ("x = 1\nif x\n", r"mine\.py:2: SyntaxError: expected ':'"),
        ("\n\nimport nowhere\n", r"mine\.py:3: ModuleNotFoundError: No module named 'nowhere'"),
        ("raise SystemExit('out')\n", r"mine\.py:1: SystemExit: out"),
        (
            COMPONENT.replace("p.k *", "p.kk *"),
            r"mine\.py:26: MyAvr\.equations: .*parameter 'kk'; did you mean 'k'",
        ),
        (COMPONENT.replace("m.sqrt", "math.sqrt"), r"mine\.py:25: MyAvr\.equations: NameError: name 'math'"),
        (COMPONENT.replace(", (), ()", ", ()"), r"mine\.py: MyAvr\.equations: must return three tuples"),
        (COMPONENT.replace("MyAvr", "MyAvrs"), r"there is no exciter of this name; did you mean 'MyAvrs'"),
        (COMPONENT.replace('role = "exciter"', ""), r"MyAvr of the module mine declares no role; write"),
        (COMPONENT.replace('"exciter"', '"governor"'), r"is a governor .* and no exciter"),
    ],
)
def test_what_is_wrong_with_a_module(folder, source, words):
    (folder / "mine.py").write_text(source)
    with pytest.raises(CaseError, match=words):
        psmr.read_case("case.toml", allow_code=True)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mine.py", r'must be the name of a module, as import takes it; write "mine"'),
        ("min", r"there is no min\.py in .*; did you mean 'mine'"),
        ("random", r"Python has a module of this name; rename the file"),
    ],
)
def test_a_name_that_is_no_module(folder, name, words):
    (folder / "random.py").write_text(COMPONENT)
    text = (folder / "case.toml").read_text().replace('["mine"]', f'["{name}"]')
    (folder / "case.toml").write_text(text)
    with pytest.raises(CaseError, match=rf"case\.toml:4.*{words}"):
        psmr.read_case("case.toml", allow_code=True)


def test_a_component_in_the_place_of_one_of_psmr(folder):
    (folder / "mine.py").write_text(COMPONENT.replace("MyAvr", "SEXS"))
    text = (folder / "case.toml").read_text().replace('"MyAvr"', '"SEXS"')
    (folder / "case.toml").write_text(text)
    with pytest.warns(PsmrWarning, match=r"SEXS is that of the module mine, in place of psmr's"):
        case = psmr.read_case("case.toml", allow_code=True)
    assert case.generators[0].devices[1].component.__module__ == "mine"


def test_a_study_whose_scheme_is_not_there(folder):
    (folder / "study.toml").write_text((folder / "study.toml").read_text().replace('"Theta"', '"Thetas"'))
    with pytest.raises(StudyError, match=r"type = 'Thetas': must be .*did you mean 'Theta'"):
        psmr.read_study("study.toml", allow_code=True)


def test_a_record_of_a_dyr_file(folder):
    (folder / "case.raw").write_text(raw_text())
    (folder / "case.dyr").write_text(GOOD.replace(SEXS, "1 'MyAvr' 1 50 0.05 /"))
    case = psmr.read_case("case.raw", "case.dyr", modules=["mine"])
    device = next(device for device in case.generators[0].devices if device.role == "exciter")
    assert device.component.__name__ == "MyAvr"
    assert device.parameters == {"k": 50.0, "t": 0.05}
    system = psmr.build(case)
    assert np.abs(system.g(system.x0, system.y0)).max() < 1e-8
    with pytest.raises(CaseError, match="psmr has no model 'MYAVR'"):
        psmr.read_case("case.raw", "case.dyr")
    (folder / "case.dyr").write_text(GOOD.replace(SEXS, "1 'BARE' 1 /"))
    with pytest.raises(CaseError, match=r"case\.dyr:7: Bare of the module mine declares no role"):
        psmr.read_case("case.raw", "case.dyr", modules=["mine"])


def test_new_component_and_new_study_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    assert main(["new", "component", "my_avr"]) == 0
    assert main(["run", "my_avr-study.toml", "--allow-code"]) == 0
    assert "one machine with MyAvr: OK" in capsys.readouterr().out
    assert main(["new", "study", "first"]) == 0
    assert psmr.read_study("first.toml").case.read().name == "WSCC 9-bus"
    assert main(["new", "study", "second", "my_avr-case.toml", "--allow-code"]) == 0
    assert main(["check", "second.toml", "--allow-code"]) == 0
    assert main(["new", "study", "first"]) == 2
    assert "first.toml: is there already" in capsys.readouterr().err
    assert main(["new", "component", "no-name"]) == 2
    sys.path[:] = path
    sys.modules.pop("my_avr", None)

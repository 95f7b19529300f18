"""Modules that a file of somebody else's names are imported where the reader allows it, and nowhere else."""

import json
import shutil
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

import psmr
from psmr.cli import main
from psmr.errors import CaseError, InputError, PsmrWarning, StudyError
from tests.study.file.test_own_modules import COMPONENT, STUDY, folder  # noqa: F401  (a fixture)

RUN = "from pathlib import Path\n\nPath(__file__).with_name('it-ran').touch()\n"
SWEEP = STUDY.replace("psmr-study", "psmr-sweep").split("[[event]]")[0] + (
    '[[axis]]\ntype = "parameter"\ndevice = "AVR1"\nname = "k"\nvalues = [20.0, 60.0]\n'
)


@pytest.fixture
def strangers(folder):  # noqa: F811
    """Case, study, a study of the case, and sweep that name mine.py, which leaves a file where it runs."""
    (folder / "mine.py").write_text(RUN + COMPONENT)
    (folder / "sweep.toml").write_text(SWEEP)
    (folder / "of-case.toml").write_text(
        STUDY.replace('modules = ["mine"]\n', "").replace('type = "Theta"\nh = 0.01', "tolerance = 1e-4")
    )
    return folder


def ran(folder):  # noqa: F811
    """Return whether mine.py was run since this was last asked."""
    found = (folder / "it-ran").exists()
    (folder / "it-ran").unlink(missing_ok=True)
    return found


COMMANDS = [
    "run study.toml -o out",
    "run of-case.toml -o out",
    "check study.toml",
    "check of-case.toml",
    "check case.toml",
    "modes case.toml",
    "modes case.toml --network",
    "partition case.toml --delta 20",
    "deformation study.toml",
    "deformation of-case.toml",
    "deformation case.toml --method TM --h 0.01",
    "response study.toml --input AVR2.v_ref --output G2.omega",
    "response case.toml --input AVR2.v_ref --output G2.omega",
    "scan case.toml --bus 3",
    "tune case.toml --accuracy 1% --up-to 2Hz",
    "explain study.toml",
    "explain of-case.toml",
    "convert case.toml other.toml",
    "sweep sweep.toml -o out",
    "plot study.toml -o p.svg",
    "plot of-case.toml of-case.toml -o p.svg",
    "compare study.toml trace.csv",
    "new study another case.toml",
    "view study.toml --no-browser",
    "view of-case.toml --no-browser",
    "view case.toml --no-browser",
]


@pytest.mark.parametrize("words", COMMANDS)
def test_no_command_imports_what_a_file_names_unasked(strangers, capsys, words):
    if words.startswith("view"):
        pytest.importorskip("bokeh")
    (strangers / "trace.csv").write_text("time,G1.omega\n0,1\n0.1,1\n0.2,1\n")
    assert main(words.split()) == 2
    shown = capsys.readouterr()
    assert not ran(strangers)
    assert "mine" not in sys.modules
    place = "case.toml:4" if "case.toml" in words else "sweep.toml:5" if "sweep" in words else "study.toml:5"
    assert f"{place}: modules: reading this file would run mine ({strangers / 'mine.py'})" in shown.err
    assert "where you trust that code, give --allow-code (from Python allow_code=True)" in shown.err
    assert "Traceback" not in shown.err


@pytest.mark.parametrize(
    "words",
    [
        "run study.toml --allow-code -o out",
        "run of-case.toml --allow-code -o out",
        "check of-case.toml --allow-code",
        "modes case.toml --allow-code",
        "explain study.toml --allow-code",
        "convert case.toml other.toml --allow-code",
        "plot of-case.toml --allow-code -o p.svg",
        "modes case.toml --modules mine",
    ],
)
def test_what_is_allowed_is_imported(strangers, words):
    assert main(words.split()) == 0
    assert ran(strangers)


@pytest.mark.parametrize(
    ("read", "error"),
    [
        (lambda: psmr.read_case("case.toml"), CaseError),
        (lambda: psmr.read_study("study.toml"), StudyError),
        (lambda: psmr.read_study("of-case.toml").case.read(), CaseError),
        (lambda: psmr.read_sweep("sweep.toml"), StudyError),
        (lambda: psmr.sweep("sweep.toml"), StudyError),
        (lambda: psmr.sweep(psmr.read_study("of-case.toml"), (psmr.CaseAxis(("case.toml",)),)), CaseError),
        (lambda: psmr.view("study.toml", show=False), StudyError),
    ],
)
def test_no_function_imports_it_unasked(strangers, read, error):
    with pytest.raises(error, match=r"reading this file would run mine .*allow_code=True"):
        read()
    assert not ran(strangers)


def test_no_file_allows_itself(strangers):
    for name in ("case.toml", "study.toml"):
        text = (strangers / name).read_text().replace("version = 1\n", "version = 1\nallow_code = true\n", 1)
        (strangers / name).write_text(text)
    with pytest.raises(StudyError, match="no field or table 'allow_code'"):
        psmr.read_study("study.toml")
    with pytest.raises(CaseError, match="no field or table 'allow_code'"):
        psmr.read_case("case.toml")
    assert not ran(strangers)


def test_an_installed_module_is_code_too(strangers):
    """`import this` prints, and what is installed may do more."""
    text = (strangers / "case.toml").read_text().replace('"mine"', '"this"')
    (strangers / "case.toml").write_text(text)
    with pytest.raises(CaseError, match="would run the installed module this;"):
        psmr.read_case("case.toml")


def test_the_permission_is_no_part_of_a_study(strangers):
    """Two readers of one study have equal studies, and a sweep goes on whoever allowed it."""
    study = psmr.read_study("of-case.toml", allow_code=True)
    assert study == psmr.read_study("of-case.toml")
    assert "allow_code" not in psmr.Sweep(study, (psmr.CaseAxis(("case.toml",)),)).definition()["case"]
    assert replace(study.case, path="other.toml").allow_code


def test_a_sweep_and_its_processes_have_the_permission(strangers):
    swept = psmr.sweep("sweep.toml", workers=2, report=False, allow_code=True, folder="out")
    assert list(swept.table["status"]) == ["done", "done"]
    study = psmr.read_study("of-case.toml", allow_code=True)
    swept = psmr.sweep(study, (psmr.CaseAxis(("case.toml",)),), workers=1, report=False, folder="other")
    assert list(swept.table["status"]) == ["done"]


def test_a_saved_run_asks_the_same(strangers, capsys):
    assert main(["run", "study.toml", "--allow-code", "-o", "out", "--save"]) == 0
    ran(strangers)
    sys.modules.pop("mine")
    with pytest.raises(
        InputError, match=r"of the module mine, .*; --allow-code .*allow_code=True.* imports all"
    ):
        psmr.load_run("out/run.psmr")
    assert main(["plot", "out/run.psmr", "-o", "p.svg"]) == 2
    assert not ran(strangers)
    assert psmr.load_run("out/run.psmr", allow_code=True).t[-1] == 0.5
    assert main(["plot", "out/run.psmr", "--allow-code", "-o", "p.svg"]) == 0
    assert ran(strangers)
    assert main(["plot", "study.toml", "--modules", "mine", "-o", "p.svg"]) == 2
    assert (
        "--modules: study.toml is a study, which names its own; give --allow-code" in capsys.readouterr().err
    )


def test_the_page_gives_no_permission(strangers):
    pytest.importorskip("bokeh")
    text = psmr.case_path("wscc9/fault").read_text()
    (strangers / "plain.toml").write_text(
        text.replace('case = "', f'case = "{psmr.case_path("wscc9").parent}/', 1)
    )
    served = psmr.view("plain.toml", show=False)
    try:
        before = served.bench.text
        with pytest.raises(StudyError, match="study:1: modules: reading this file would run mine"):
            served.bench.edit('modules = ["mine"]\n' + before)
        with pytest.raises(CaseError, match="reading this file would run mine"):
            served.bench.change(case=str(strangers / "case.toml"), event=[])
        assert served.bench.text == before
    finally:
        served.stop()
    assert not ran(strangers)


def test_what_a_report_says_repeats_the_run(strangers):
    assert main(["run", "of-case.toml", "--allow-code", "-o", "out"]) == 0
    assert "<pre>psmr run of-case.toml --allow-code</pre>" in (strangers / "out" / "report.html").read_text()
    shutil.rmtree(strangers / "out")


def test_the_page_finds_modules_beside_its_study(strangers, monkeypatch):
    pytest.importorskip("bokeh")
    (strangers / "elsewhere").mkdir()
    monkeypatch.chdir(strangers / "elsewhere")
    served = psmr.view(strangers / "study.toml", show=False, allow_code=True)
    served.stop()
    assert served.bench.study.recipe.kind == "Theta"


def test_a_saved_run_does_not_choose_among_modules(strangers, monkeypatch):
    """The file says where mine.py was; one that is installed is not looked for there."""
    assert main(["run", "study.toml", "--allow-code", "-o", "out", "--save"]) == 0
    ran(strangers)
    sys.modules.pop("mine")
    sys.path[:] = [place for place in sys.path if Path(place) != strangers]
    (strangers / "site").mkdir()
    (strangers / "site" / "mine.py").write_text(COMPONENT)
    monkeypatch.syspath_prepend(strangers / "site")
    (strangers / "elsewhere").mkdir()
    monkeypatch.chdir(strangers / "elsewhere")
    with pytest.warns(PsmrWarning, match="mine is not as it was when the run was saved"):
        psmr.load_run("../out/run.psmr", modules=("mine",))
    assert not ran(strangers)
    assert sys.modules["mine"].__file__ == str(strangers / "site" / "mine.py")


@pytest.mark.parametrize("file", ["__init__.py", "\0", "", "/", 3, None, "//host/share/mine.py"])
def test_where_a_module_was_may_be_any_text(strangers, file):
    assert main(["run", "study.toml", "--allow-code", "-o", "out", "--save"]) == 0
    (strangers / "mine.py").rename(strangers / "out" / "mine.py")
    sys.modules.pop("mine")
    with zipfile.ZipFile("out/run.psmr") as old, zipfile.ZipFile("out/other.psmr", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "head.json":
                head = json.loads(content) | {"modules": {"mine": {"file": file, "digest": ""}}}
                content = json.dumps(head).encode()
            new.writestr(name, content)
    with pytest.warns(PsmrWarning, match="mine is not as it was"):
        assert psmr.load_run("out/other.psmr", allow_code=True).t[-1] == 0.5


def test_a_saved_run_that_unpacks_to_more_than_the_memory(tmp_path):
    """A few kilobytes of zeros, packed, say that they are 2**50 bytes."""
    with zipfile.ZipFile(tmp_path / "run.psmr", "w") as file:
        file.writestr("head.json", "{}")
        file.getinfo("head.json").file_size = 2**50
    with pytest.raises(
        InputError, match=r"run\.psmr: says that it holds .*, more than the .* of memory that are free"
    ):
        psmr.load_run(tmp_path / "run.psmr")

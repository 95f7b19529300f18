import dataclasses
import re
from pathlib import Path

import pytest

from psmr import Fault, LineTrip, LoadTrip, Multirate, SetPoint, SingleRate, VariableStep, read_study
from psmr.errors import PsmrWarning, StudyError
from tests.internals import (
    EVENTS,
    HEAD,
    HOMES,
    MONITORS,
    SIMULATION,
    CaseFile,
    Output,
    Split,
    scheme_fields,
    specification,
)


@pytest.fixture
def write(tmp_path, study_text):
    def writer(*changes, text=study_text):
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "study.toml"
        path.write_text(text)
        return path

    return writer


def test_a_study_is_read_whole(write, wscc9):
    study = read_study(write())
    assert (study.name, study.case.path, study.t_end) == ("small", wscc9 / "wscc9.toml", 0.5)
    assert study.recipe.split == Split(delta=20.0)
    assert study.recipe.choices == {"h_slow": 0.05, "h_fast": 0.005}
    assert study.events == (LoadTrip(5, 0.1, 0.5),)
    assert study.output == Output("out", ("*.omega",))


def test_a_study_says_how_its_case_is_read(write, tmp_path):
    (tmp_path / "a.dyr").touch()
    (tmp_path / "a.raw").touch()
    how = 'dynamics = "a.dyr"\nskip_unknown_models = true\nfrequency_hz = 50.0\nreactive_limits = true\n'
    text = f'format = "psmr-study"\nversion = 1\ncase = "a.raw"\n{how}[scheme]\ntype = "single"\n'
    study = read_study(write(text=text + 'method = "TM"\nh = 0.01\n'))
    assert study.case == CaseFile(tmp_path / "a.raw", tmp_path / "a.dyr", True, 50.0, True)


def test_every_event_can_be_written(write):
    text = """
[[event]]
type = "fault"
bus = "bus5"
start = 0.1
clear = 0.2
trip = "5-7"
x = 0.01
[[event]]
type = "line-trip"
line = "4-5"
start = 0.1
reclose = 0.2
[[event]]
type = "set-point"
device = "AVR1"
name = "v_ref"
value = 1.1
start = 0.3
[output]"""
    assert read_study(write(("[output]", text))).events[1:] == (
        Fault("bus5", 0.1, 0.2, "5-7", x=0.01),
        LineTrip("4-5", 0.1, 0.2),
        SetPoint("AVR1", "v_ref", 1.1, 0.3),
    )


def test_the_scheme_is_made_for_the_system(write, system):
    linear = system.linearise()
    scheme = read_study(write()).recipe.scheme(linear)
    assert isinstance(scheme, Multirate)
    assert (scheme.h_slow, scheme.ratio, scheme.split.delta) == (0.05, 10, 20.0)
    for fast in ('fast_devices = ["AVR1", "AVR2"]', 'fast_variables = ["AVR1.v_m", "AVR2.v_m"]'):
        split = read_study(write(("delta = 20.0", fast))).recipe.scheme(linear).split
        assert split.fast_x[split.names_x.index("AVR2.v_m")]
        assert not split.fast_x[split.names_x.index("AVR3.v_m")]


def test_a_single_rate_scheme(write, system):
    lines = 'type = "multirate"\ndelta = 20.0\nh_slow = 0.05\nh_fast = 0.005'
    study = read_study(write((lines, 'type = "single"\nmethod = "TM"\nh = 0.01')))
    assert study.recipe.scheme(system.linearise()) == SingleRate("TM", 0.01)


@pytest.mark.parametrize(
    "name", ["fault", "fault-published", "load-trip", "fault-ibr", "fault-renewable", "deformation"]
)
def test_the_studies_in_the_repository_are_right(wscc9, name):
    study = read_study(wscc9 / f"{name}.toml")
    assert study.case.path.parent == wscc9
    assert (study.t_end is None) == (name == "deformation")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('format = "psmr-study"', ""),
            r"study.toml:1: format is missing: must be \"psmr-study\" for a study file",
        ),
        (('"psmr-study"', '"psmr-case"'), r"this is a case file, try `psmr check`"),
        (
            ("version = 1", "version = 2"),
            r"study.toml:2: version = 2: this psmr reads version 1; update psmr",
        ),
        (("version = 1", "version = true"), r"study.toml:2: version = True: must be a whole number"),
        (
            ('name = "small"', "nam = 1"),
            r"study.toml:3: there is no field or table 'nam'; did you mean 'name'\?",
        ),
        (
            ("wscc9.toml", "wscc8.toml"),
            r"study.toml:4: case = .*there is no such file beside .* did you mean 'wscc9.toml'\?",
        ),
        (
            ("[scheme]", "[schema]"),
            r"study.toml:6: there is no field or table 'schema'; did you mean 'scheme'\?",
        ),
        (
            ('type = "multirate"', ""),
            r'study.toml:6 \[scheme\]: type is missing; add it as one of "multirate", "single"',
        ),
        (
            ('"multirate"', '"multi"'),
            r"study.toml:7 \[scheme\]: type = 'multi': must be one of .* did you mean 'multirate'\?",
        ),
        (
            ('"multirate"', '"self-adjusting"'),
            r"study.toml:7 \[scheme\]: type = .self-adjusting.*psmr.VariableStep; write type = .variable.",
        ),
        (
            ("h_slow = 0.05", "h_slw = 0.05"),
            r"study.toml:9 \[scheme\]: there is no field 'h_slw'; did you mean 'h_slow'\?",
        ),
        (("h_slow = 0.05", ""), r"study.toml:6 \[scheme\]: h_slow is missing; add it as a finite number"),
        (
            ("h_slow = 0.05", 'h_slow = "0.05"'),
            r"study.toml:9 \[scheme\]: h_slow = '0.05': must be a finite number",
        ),
        (
            ("h_slow = 0.05", "h_slow = nan"),
            r"study.toml:9 \[scheme\]: h_slow = nan: must be a finite number",
        ),
        (("h_slow = 0.05", "h_slow = true"), r"h_slow = True: must be a finite number"),
        (
            ("h_slow = 0.05", "h_slow = 0.052"),
            r"\[scheme\]: h_slow = 0.052 s is not a whole multiple of h_fast = 0.005 s; try",
        ),
        (("h_fast = 0.005", ""), r"\[scheme\]: a multirate scheme needs h_fast \(s\) or ratio, one of them"),
        (("h_fast = 0.005", "h_fast = 0.005\nratio = 10"), r"needs h_fast \(s\) or ratio, one of them"),
        (
            ("h_fast = 0.005", 'h_fast = 0.005\npredictor = "TEM"'),
            r'study.toml:11 .*must be one of "FEM", "TM", "BEM", "extrapolation"; did you',
        ),
        (
            ("h_fast = 0.005", 'h_fast = 0.005\ncorrections = "conv"'),
            r'must be a whole number.*or "converge"; did you mean',
        ),
        (("h_fast = 0.005", "h_fast = 0.005\ncorrections = -1"), r"corrections = -1: must be 0, 1, 2"),
        (
            ("delta = 20.0", ""),
            r"exactly one of delta \(1/s\), fast_devices and fast_variables; none is given",
        ),
        (
            ("delta = 20.0", 'delta = 20.0\nfast_devices = ["G1"]'),
            r"fast_devices and fast_variables; several is given",
        ),
        (("delta = 20.0", "fast_devices = [1]"), r"fast_devices = \[1\]: must be a list of texts"),
        (("t_end = 0.5", "t_end = -0.5"), r"study.toml:13 \[simulation\]: t_end = -0.5: must be > 0 in s"),
        (
            ("[simulation]\nt_end = 0.5", ""),
            r"\[\[event\]\]: events need a run; add \[simulation\] with t_end",
        ),
        (
            ('type = "load-trip"', ""),
            r'study.toml:15 \[\[event\]\]: type is missing; add it as one of "line-trip", "line-close"',
        ),
        (
            ('"load-trip"', '"loadtrip"'),
            r"study.toml:16 \[\[event\]\]: type = 'loadtrip': .* did you mean 'load-trip'\?",
        ),
        (
            ("fraction = 0.5", "frction = 0.5"),
            r"study.toml:19 \[\[event\]\]: there is no field 'frction'; did you mean 'fraction'\?",
        ),
        (
            ("fraction = 0.5", "fraction = 1.5"),
            r"study.toml:15 \[\[event\]\]: load trip at bus5: fraction = 1.5; must be above 0",
        ),
        (("bus = 5", "bus = 5.0"), r"bus = 5.0: must be a whole number or a text in quotes"),
        (
            ('["*.omega"]', '"*.omega"'),
            r"study.toml:23 \[output\]: signals = '\*.omega': must be a list of texts",
        ),
        (
            ('folder = "out"', 'folder = "out"\nfigure = "jpg"'),
            r'figure = \'jpg\': must be one of "png", "svg", "pdf", "none"',
        ),
        (("version = 1", "version = "), r"study.toml:2: is not valid TOML: .*line 2"),
        (("t_end = 0.5", "t_stop = 0.5"), r"there is no field 't_stop'; write t_end=0.5"),
        (("t_end = 0.5", 't_end = "0.5 s"'), r"a number stands without quotes and without its unit"),
        (("[simulation]", "[sim]"), r"there is no field or table 'sim'; did you mean 'simulation'"),
        (("bus = 5", "node = 5"), r"there is no field 'node'; write bus=5"),
        (('"out"', r'"C:\results"'), r"cannot be printed; between single quotes a backslash stands for"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(write, change, message):
    with pytest.raises(StudyError, match=message):
        read_study(write(change))


FAULT = 'type = "fault"\nbus = 5\nstart = {}\nclear = {}\n\n[output]'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("t_end = 0.5", "t_end = 5000"),
            r"toml:13 .*t = 0.1 s and the run goes on to 5000 s; times are in s",
        ),
        (("[output]", "[[event]]\n" + FAULT.format(1, 6)), r"toml:21 .*the fault lasts 5 s; times are in s"),
        (("h_slow = 0.05", "h_slow = 5"), r"toml:9 .*h_slow = 5: a step of 5 s; times are in s, not in ms"),
    ],
)
def test_times_that_look_like_milliseconds_are_doubted(write, change, message):
    with pytest.warns(PsmrWarning, match=message):
        read_study(write(change))


@pytest.mark.parametrize("kind", ["[]", "{}", "5"])
def test_a_type_that_is_no_text_is_named(write, kind):
    """A list cannot be looked up among the types: it was a traceback once."""
    with pytest.raises(
        StudyError, match=r'\[\[event\]\]: type = .*: must be one of "line-trip", "line-close", "open-phases"'
    ):
        read_study(write(('type = "load-trip"', f"type = {kind}")))


def test_a_path_too_long_for_any_file_is_named(write, wscc9):
    with pytest.raises(StudyError, match=r"study.toml:4: case = 'a+\.\.\.: there is no such file"):
        read_study(write((str(wscc9 / "wscc9.toml"), "a" * 5000)))


def test_every_field_of_a_study_is_in_the_documentation():
    page = (Path(__file__).parents[3] / "docs" / "files.md").read_text(encoding="utf-8")
    page += (Path(__file__).parents[3] / "docs" / "events.md").read_text(encoding="utf-8")
    records = (*EVENTS.values(), *MONITORS.values(), Output)
    tables = (HEAD, SIMULATION, *map(scheme_fields, HOMES), *map(specification, records))
    missing = {name for table in tables for name in table if not re.search(rf"`{name}\b", page)}
    assert not missing


def test_events_must_be_a_list_of_tables(write):
    with pytest.raises(StudyError, match=r"event must be a list of tables; write \[\[event\]\] for each"):
        read_study(write(("[[event]]", "[event]")))


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(
        StudyError, match=r"no.toml: cannot be read: No such file or directory; is the path right\?"
    ):
        read_study(tmp_path / "no.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\x00\xfe")
    with pytest.raises(StudyError, match=r"bytes.toml:1: is not text in UTF-8 \(byte 0, 0xff\)"):
        read_study(tmp_path / "bytes.toml")


@pytest.mark.parametrize(
    ("table", "scheme"),
    [
        ('type = "slow-manifold"\ndelta = 20.0\nh = 0.02', "SlowManifold"),
        ('type = "smes"\nh = 0.005\ndelta = 1e-3\nmicro = 2', "Smes"),
        ('type = "adaptive"\nmethod = "Adams"\nrtol = 1e-5', "Adaptive"),
        ('type = "arc-length"\nmethod = "RK4"\nh = 0.001', "ArcLength"),
    ],
)
def test_every_scheme_can_be_written(write, study_text, system, table, scheme):
    start, end = study_text.index("[scheme]"), study_text.index("[simulation]")
    text = f"{study_text[:start]}[scheme]\n{table}\n\n{study_text[end:]}"
    made = read_study(write(text=text)).recipe.scheme(system.linearise())
    assert type(made).__name__ == scheme


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('type = "smes"\nh = 0.005\nmicro = 2', r"\[scheme\].*micro needs delta beside it"),
        ('type = "smes"\nh = 0.005\ndelta = 1e-3\nmicro = 2\nmargin = 0.1', "margin is for the search"),
        ('type = "adaptive"\nmethod = "adams"', r"method = 'adams': must be one of.*'Adams'"),
        ('type = "slow-manifold"\nh = 0.02', "needs exactly one of delta"),
        ('type = "slow_manifold"\nh = 0.02', "did you mean 'slow-manifold'"),
    ],
)
def test_a_wrong_scheme_table_is_named(write, study_text, table, message):
    start, end = study_text.index("[scheme]"), study_text.index("[simulation]")
    with pytest.raises(StudyError, match=message):
        read_study(write(text=f"{study_text[:start]}[scheme]\n{table}\n\n{study_text[end:]}"))


SEVERAL = """
format = "psmr-study"
version = 1
case = "{case}"

[scheme]
type = "single"
method = "{method}"
h = 0.005

[simulation]
t_end = 2.0

[[event]]
type = "fault"
bus = 55
start = 1.0
clear = 1.1

[[event]]
type = "{type}"
line = "5-78"
start = 1.5

[output]
folder = "{folder}"
signals = {signals}
"""


def test_mistakes_of_a_file_come_at_once(wscc9, tmp_path):
    path = tmp_path / "bad.toml"
    given = {"case": wscc9 / "wscc9.toml", "folder": tmp_path / "out", "signals": '"a"'}
    path.write_text(SEVERAL.format(method="TRAP", type="linetrip", **given))
    with pytest.raises(StudyError) as caught:
        read_study(path)
    assert str(caught.value).startswith("3 mistakes:")
    for words in ("bad.toml:8 [scheme]: method", "bad.toml:21 [[event]]: type = 'linetrip'", "bad.toml:27"):
        assert words in str(caught.value)


@pytest.mark.parametrize(("signals", "count"), [('["G1.omga", "bus5.v", "bus55.v"]', 4), ('["G1.omega"]', 2)])
def test_names_that_the_case_does_not_have_come_at_once_with_their_lines(wscc9, tmp_path, signals, count):
    from tests.internals import run_study

    path = tmp_path / "bad.toml"
    given = {"case": wscc9 / "wscc9.toml", "folder": tmp_path / "out", "signals": signals}
    path.write_text(SEVERAL.format(method="TM", type="line-trip", **given))
    with pytest.raises(StudyError) as caught:
        run_study(read_study(path))
    assert str(caught.value).startswith(f"{count} mistakes:")
    for words in ("bad.toml:14 [[event]]: fault at bus55: there is no bus 55", "bad.toml:20 [[event]]"):
        assert words in str(caught.value)
    assert ("there is no signal 'G1.omga'; did you mean 'G1.omega'" in str(caught.value)) == (count == 4)
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


def test_what_is_done_beside_the_simulation_is_said(wscc9, tmp_path):
    from tests.internals import run_study

    study = dataclasses.replace(read_study(wscc9 / "fault.toml"), t_end=0.1, events=())
    said = []
    run_study(study, tmp_path, extra={"save": True}, stage=said.append)
    assert said == ["writing run.csv", "writing run.psmr", "drawing report.html"]


@pytest.mark.parametrize(
    ("table", "scheme"),
    [
        ("", VariableStep()),
        ("[scheme]\ntolerance = 1e-3\n", VariableStep(1e-3)),
        ('[scheme]\ntype = "variable"\nmethod = "TR-BDF2"\n', VariableStep(method="TR-BDF2")),
    ],
)
def test_the_steps_follow_the_error_where_no_scheme_is_named(write, study_text, table, scheme):
    start, end = study_text.index("[scheme]"), study_text.index("[simulation]")
    study = read_study(write(text=f"{study_text[:start]}{table}\n{study_text[end:]}"))
    assert study.recipe.scheme(None) == scheme


def test_a_wrong_tolerance_is_named_with_its_line(write, study_text):
    start, end = study_text.index("[scheme]"), study_text.index("[simulation]")
    with pytest.raises(
        StudyError, match=r"study.toml:\d+ \[scheme\]: tolerance = 2.0: must be a number above"
    ):
        read_study(write(text=f"{study_text[:start]}[scheme]\ntolerance = 2.0\n\n{study_text[end:]}"))


def test_an_output_without_a_folder_goes_where_one_without_the_table_goes(write):
    from tests.internals import usual_folder

    study = read_study(write(('folder = "out"', "")))
    assert study.output is not None
    assert study.output.folder == str(usual_folder(study.source)) == "results/study"
    assert study.output.signals == ("*.omega",)


def test_a_field_that_the_scheme_refuses_is_said_at_its_line(tmp_path, wscc9):
    path = tmp_path / "study.toml"
    path.write_text(
        f'format = "psmr-study"\nversion = 1\nname = "a"\ncase = "{wscc9 / "wscc9.toml"}"\n\n[scheme]\n'
        'type = "variable"\ntolerance = 2\n\n[simulation]\nt_end = 1.0\n'
    )
    with pytest.raises(StudyError, match=r"study\.toml:8 \[scheme\]: tolerance = 2"):
        read_study(path)

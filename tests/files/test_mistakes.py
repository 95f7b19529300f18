"""All mistakes of a file at once, each with file and line; what is unlikely; and files that are none."""

import os
import re

import pytest

import psmr
from psmr import read_case, read_study, read_sweep
from psmr.errors import CaseError, InputError, PsmrWarning, StudyError
from tests.files.raw import raw_text
from tests.internals import SHOWN, Mistakes, unreadable

ROUND = "1 'GENROU' 1 8.0 0.03 0.4 0.05 6.5 0.0 1.8 1.7 0.3 0.55 0.25 0.06 0.1 0.4 /\n"
CLASSIC = "2 'GENCLS' 'G1' 4.0 0.0 /\n"


def pair(tmp_path, dyr, raw=None):
    (tmp_path / "case.raw").write_text(raw or raw_text())
    (tmp_path / "case.dyr").write_text(dyr)
    return tmp_path / "case.raw", tmp_path / "case.dyr"


def test_raw_and_dyr(tmp_path):
    """Mistakes of three sections and of two records; unknown models are counted."""
    raw = raw_text().replace("1.02,0.0", "nan,0.0").replace("2,'1 ',1,1,1,40.0", "77,'1 ',1,1,1,40.0")
    raw = raw.replace("2,3,0,'1 ',1,1,1", "2,3,0,'1 ',4,1,1")
    dyr = "1 'ABC' 1 1 /\n2 'ABC' 'G1' 1 /\n1 'TGOV1' 1 0.05 /\n"
    with pytest.raises(CaseError) as error:
        read_case(*pair(tmp_path, dyr, raw))
    lines = str(error.value).splitlines()
    assert lines[0] == "5 mistakes:"
    expected = [
        r"case\.raw:5 \(bus\): VM = 'nan'",
        r"case\.raw:10 \(load\): I = '77': there is no bus",
        r"case\.raw:\d+ \(transformer\): CW = '4'",
        r"case\.dyr:1: psmr has no model 'ABC' \(2 records of it\)",
        r"case\.dyr:3: TGOV1: has 1 values",
    ]
    assert all(re.search(words, line) for words, line in zip(expected, lines[1:], strict=True))


def test_toml(wscc9, tmp_path):
    text = (wscc9 / "wscc9.toml").read_text().replace("x = ", "y = ", 2)
    (tmp_path / "case.toml").write_text(text)
    with pytest.raises(CaseError, match=r"4 mistakes:(\n  .*case\.toml:\d+ .*){4}") as error:
        read_case(tmp_path / "case.toml")
    assert str(error.value).count("there is no field 'y'") == 2
    assert str(error.value).count("x is missing") == 2


def test_matpower(wscc9, tmp_path):
    text = (wscc9 / "wscc9.m").read_text().replace("\t1\t3\t", "\t1\t7\t", 1)
    assert "\t1\t7\t" in text
    (tmp_path / "case.m").write_text(text.replace("\t2\t2\t", "\t2\t8\t", 1))
    with pytest.raises(CaseError, match=r"\(mpc\.bus\): type = 7.*\n.*\(mpc\.bus\): type = 8"):
        read_case(tmp_path / "case.m", frequency_hz=60.0)


def test_so_many_are_listed():
    mistakes = Mistakes()

    def wrong(k):
        raise CaseError(f"file:{k}: wrong")

    for k in range(SHOWN + 7):
        mistakes.attempt(wrong, k)
    with pytest.raises(CaseError) as error:
        mistakes.finish()
    lines = str(error.value).splitlines()
    assert (len(lines), lines[0], lines[-1].strip()) == (SHOWN + 2, "57 mistakes:", "... and 7 more")


UNLIKELY = {
    "T''d0": ("8.0 0.03", "0.02 0.03", "T''d0 is above T'd0: t_d02 = 0.03, t_d01 = 0.02"),
    "T''q0": ("0.4 0.05", "0.04 0.05", "T''q0 is above T'q0: t_q02 = 0.05, t_q01 = 0.04"),
    "saturation": ("0.1 0.4", "0.4 0.1", r"S\(1\.2\) is below S\(1\.0\): s_12 = 0\.1, s_10 = 0\.4"),
    "large inertia": (
        "6.5 0.0",
        "6.5e5 0.0",
        "h = 650000 s: an inertia constant is between 0.01 and 10000 s",
    ),
    "small inertia": ("6.5 0.0", "0.001 0.0", "h = 0.001 s: an inertia constant"),
}


@pytest.mark.parametrize("what", UNLIKELY)
def test_unlikely_machines(tmp_path, what):
    """They warn with file and line when they are read, and are findings of a check."""
    old, new, message = UNLIKELY[what]
    assert old in ROUND
    with pytest.warns(PsmrWarning, match=rf"case\.dyr:1 \(G1\): GENROU: {message}"):
        case = read_case(*pair(tmp_path, ROUND.replace(old, new) + CLASSIC))
    assert re.search(message, psmr.check(case, modes=False).about("data")[0].message)


def test_unlikely_branch(tmp_path):
    raw = raw_text().replace("1,2,'1 ',0.01,0.10", "1,2,'1 ',0.0,1e-7")
    with pytest.warns(PsmrWarning, match=r"case\.raw:22 .*\(line1-2\): the impedance is 1e-07 pu"):
        read_case(*pair(tmp_path, ROUND + CLASSIC, raw))


@pytest.mark.parametrize("frequency", ["15.0", "401.0", "5000.0"])
def test_frequency(tmp_path, frequency):
    raw = raw_text().replace("1, 50.0 /", f"1, {frequency} /")
    with pytest.raises(
        CaseError, match=r"case.raw:1 .*BASFRQ = .*: must be between 16 \(railways\) and 400 Hz"
    ):
        read_case(pair(tmp_path, "", raw)[0])


def test_matpower_bounds_that_are_not_needed(wscc9, tmp_path):
    """Pmax below Pmin and infinite bounds say nothing about the power flow."""
    lines = (wscc9 / "wscc9.m").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("mpc.gen "))
    for i in range(start + 1, start + 4):
        cells = lines[i].strip().rstrip(";").split("\t")
        cells[3], cells[4], cells[8], cells[9] = "Inf", "-Inf", "-Inf", "Inf"
        lines[i] = "\t" + "\t".join(cells) + ";"
    (tmp_path / "case.m").write_text("\n".join(lines))
    case = read_case(tmp_path / "case.m", frequency_hz=60.0)
    assert case.generators[0].q_max_mvar == float("inf")


def test_toml_with_a_byte_order_mark(wscc9, tmp_path):
    (tmp_path / "case.toml").write_bytes(b"\xef\xbb\xbf" + (wscc9 / "wscc9.toml").read_bytes())
    assert read_case(tmp_path / "case.toml") == read_case(wscc9 / "wscc9.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = " + "[" * 2000 + "]" * 2000, "is not valid TOML: brackets are nested too deep"),
        ("a = " + "9" * 4400, "is not valid TOML: a number has too many digits"),
        ("a" + ".a" * 100_000 + " = 1", "has a name of more than 32 parts"),
        ("b = {a = 1, 'x'" + '."y" . z' * 50_000 + " = 1}", "has a name of more than 32 parts"),
    ],
)
@pytest.mark.parametrize(("read", "error"), [(read_case, CaseError), (read_study, StudyError)])
def test_toml_that_python_cannot_hold(tmp_path, text, message, read, error):
    (tmp_path / "case.toml").write_text(text)
    with pytest.raises(error, match=rf"case\.toml(:\d+)?: {message}"):
        read(tmp_path / "case.toml")


def test_name_with_a_control_character(wscc9, tmp_path):
    text = (wscc9 / "wscc9.toml").read_text().replace("number = 1\n", 'number = 1\nname = "a\\u0000b"\n', 1)
    (tmp_path / "case.toml").write_text(text)
    with pytest.raises(CaseError, match=r"name = 'a\\x00b': has a character that cannot be printed"):
        read_case(tmp_path / "case.toml")


@pytest.mark.parametrize("suffix", [".toml", ".raw", ".m", ".rawx"])
def test_no_regular_file(tmp_path, suffix):
    """A pipe is refused before it is opened: to open it would wait for a writer that never comes."""
    pipe = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    with pytest.raises(CaseError, match=r"cannot be read: it is no regular file \(a pipe or device\)"):
        read_case(pipe)
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(CaseError, match="cannot be read: it is a folder"):
        read_case(tmp_path / f"folder{suffix}")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "path = None: must be the path of a file"),
        (3, "path = 3: must be the path of a file"),
        (b"case.raw", "path is of the type bytes: must be the path of a file"),
        ("", "the path of a case is empty"),
    ],
)
def test_no_path(given, words):
    with pytest.raises(CaseError, match=words):
        read_case(given)


def test_mistakes_of_one_file_stand_in_the_order_of_lines(wscc9, tmp_path):
    text = f"""format = "psmr-study"
version = 1
case = "{wscc9 / "wscc9.toml"}"
bad = 3
[scheme]
type = "multirate"
tolerance = "x"
[simulation]
t_end = "y"
[[event]]
type = "fault"
bus = 5
start = "q"
[[monitor]]
type = "nothing"
[output]
folder = 3
"""
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(StudyError) as error:
        read_study(tmp_path / "study.toml")
    lines = [int(number) for number in re.findall(r"study\.toml:(\d+)", str(error.value))]
    assert lines == [4, 5, 7, 9, 13, 15, 17]


@pytest.mark.parametrize(
    ("format", "reader"),
    [
        ("psmr-case", "`psmr check` or `psmr modes`"),
        ("psmr-study", "`psmr run`"),
        ("psmr-sweep", "`psmr sweep`"),
    ],
)
def test_a_file_of_another_kind_says_which_command_reads_it(tmp_path, format, reader):
    (tmp_path / "file.toml").write_text(f'# first\nformat = "{format}"\nversion = 1\n')
    for read, own in ((read_case, "psmr-case"), (read_study, "psmr-study"), (read_sweep, "psmr-sweep")):
        if own != format:
            kind = format.removeprefix("psmr-")
            words = rf'file\.toml:2: format = .*: must be "{own}" .*; this is a {kind} file, try {reader}'
            with pytest.raises(InputError, match=words):
                read(tmp_path / "file.toml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 'x.toml:1: the file is empty; begin with format = "psmr-study"'),
        ("version = 1\n", 'x.toml:1: format is missing: must be "psmr-study"'),
        (f'x = "{"[" * 99}"\ny = {"[" * 3000}{"]" * 3000}', "x.toml:2: is not valid TOML: brackets"),
        (f"version = 1\n\nx = {'9' * 5000}", "x.toml:3: is not valid TOML: a number has too many digits"),
        ('format = "psmr-study"\nversion = 1\ncase = "."', "x.toml:3: case = '.': is a folder; name"),
        ('format = "psmr-study"\nversion = 1\n[output]\nsignals = []', "empty: name at least one"),
    ],
)
def test_studies_that_are_none(tmp_path, text, words):
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(StudyError, match=words) as error:
        read_study(tmp_path / "x.toml")
    assert "sys.set_int" not in str(error.value)


def test_long_values_are_cut(tmp_path):
    raw = raw_text().replace("1.02,0.0", f"{'7' * 5000},0.0")
    with pytest.raises(CaseError, match=r"VM = '7{199}\.\.\.: must be a finite number"):
        read_case(pair(tmp_path, "", raw)[0])


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        ("9" * 5000, ":2: is no valid JSON: a number has too many"),
        ("[" * 10**5, ":2: is no valid JSON: brackets"),
    ],
)
def test_json_that_python_cannot_hold(tmp_path, inner, words):
    (tmp_path / "case.rawx").write_text('{"network":\n' + inner)
    with pytest.raises(CaseError, match=words) as error:
        read_case(tmp_path / "case.rawx")
    assert "sys.set_int" not in str(error.value)


def test_what_may_not_be_read():
    words = unreadable("case.raw", PermissionError(13, "Permission denied"))
    assert words.startswith("case.raw: cannot be read: Permission denied; ask for the permission")
    assert unreadable("case.raw", FileNotFoundError(2, "No such file")).endswith("is the path right?")


@pytest.mark.parametrize("suffix", [".toml", ".raw", ".m"])
def test_impossible_paths(suffix):
    with pytest.raises(CaseError, match=r"^x{100}\.\.\.x+\.\w+: cannot be read: File name too long"):
        read_case("x" * 5000 + suffix)
    with pytest.raises(CaseError, match="cannot be read: embedded null byte"):
        read_case("a\0b" + suffix)


def test_limits_that_cross_come_with_the_others(tmp_path):
    dyr = (
        ROUND
        + "1 'SEXS' 1 0.1 10.0 100.0 0.1 5.0 -5.0 /\n1 'TGOV1' 1 -0.05 0.49 33.0 0.0 2.1 7.0 0.0/\n"
        + CLASSIC
    )
    with pytest.raises(CaseError) as error:
        read_case(*pair(tmp_path, dyr))
    assert re.search(
        r"case\.dyr:2 \(AVR1\): the lower limit e_min = 5 is above the upper limit e_max = -5",
        str(error.value),
    )
    assert re.search(r"case\.dyr:3 \(GOV1\): r = -0\.05", str(error.value))

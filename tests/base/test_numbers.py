"""Numbers in texts: digits 0 to 9 in every format and option, and sizes that a network can have.

Python's float and int read the digits of every script, "١٢" as 12 and "１" as 1; Unicode has 65 other sets.
"""

import math
from pathlib import Path

import pytest

import psmr
from psmr.cli import main
from psmr.errors import CaseError, EventError, InputError, StudyError
from tests.internals import event_of, real_in, whole_in

CASES = Path(__file__).parents[2] / "cases"
ARABIC, WIDE = "\u0661\u0662", "\uff11"  # 12, and a 1 of full width


@pytest.mark.parametrize(
    "text", [ARABIC, WIDE, "1" + WIDE, "1_000", "", "-", "0x10", "1 2", "1e", "1e" + WIDE]
)
def test_what_is_no_number(text):
    for read in (real_in, whole_in):
        with pytest.raises(ValueError, match="not a"):
            read(text)


def test_what_is_a_number():
    assert [real_in(t) for t in ("1", " -1.5 ", "+.5", "2.", "1e-3", "1E5")] == [1, -1.5, 0.5, 2, 1e-3, 1e5]
    assert (real_in("1e400"), real_in("-Infinity"), math.isnan(real_in("nan"))) == (math.inf, -math.inf, True)
    assert [whole_in(t) for t in ("12", " -3 ", "+4")] == [12, -3, 4]


@pytest.mark.parametrize("digit", [ARABIC, WIDE])
def test_files_of_psse_and_matpower(tmp_path, digit):
    raw = (CASES / "wscc9" / "wscc9.raw").read_text(encoding="utf-8")
    dyr = (CASES / "kundur" / "kundur.dyr").read_text(encoding="utf-8")
    m = (CASES / "wscc9" / "wscc9.m").read_text(encoding="utf-8")
    number = next(k for k, line in enumerate(raw.splitlines()) if line.lstrip().startswith("1,"))
    lines = raw.splitlines()
    lines[number] = lines[number].replace("1,", f"{digit},", 1)
    (tmp_path / "a.raw").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(
        CaseError, match=rf"a.raw:{number + 1} \(bus\): I = '{digit}': must be a whole number"
    ):
        psmr.read_case(tmp_path / "a.raw")
    (tmp_path / "a.dyr").write_text(dyr.replace("6.5", f"{digit}.5", 1), encoding="utf-8")
    with pytest.raises(CaseError, match=rf"a.dyr:\d+ \(GENROU\): h = '{digit}.5': must be a finite number"):
        psmr.read_case(CASES / "kundur" / "kundur.raw", tmp_path / "a.dyr")
    (tmp_path / "a.m").write_text(m.replace("mpc.baseMVA = 100", f"mpc.baseMVA = {digit}"), encoding="utf-8")
    with pytest.raises(CaseError, match=rf"a.m:\d+ \(mpc.baseMVA\): '{digit}' is not a number"):
        psmr.read_case(tmp_path / "a.m", frequency_hz=60)


@pytest.mark.parametrize("digit", [ARABIC, WIDE])
def test_texts_and_tables_of_studies(tmp_path, digit):
    with pytest.raises(InputError, match="loads = "):
        psmr.read_case(CASES / "wscc9" / "wscc9.toml", loads=f"p={digit},0,0 q=1,0,0")
    (tmp_path / "a.csv").write_text(f"t,p\n0,1\n1,{digit}\n", encoding="utf-8")
    with pytest.raises(EventError, match=rf"a.csv:3: p = '{digit}': must be a number"):
        psmr.TimeSeries(tmp_path / "a.csv", "p", "load5.p")
    with pytest.raises(StudyError, match=rf"a.csv:2: start = '{digit}': must be a finite number"):
        event_of("a.csv:2", {"type": "fault", "bus": "5", "start": digit, "clear": "1.1"})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--h", WIDE], f"argument --h: invalid float value: '{WIDE}'"),
        (["--corrections", WIDE], f"argument --corrections: '{WIDE}': must be a whole number or converge"),
        (["--least-damped", WIDE], f"argument --least-damped: invalid int value: '{WIDE}'"),
    ],
)
def test_options(options, words, capsys):
    with pytest.raises(SystemExit):
        main(["deformation", str(CASES / "wscc9" / "wscc9.toml"), *options])
    assert words in capsys.readouterr().err


def test_an_overflow_by_scale_has_its_line(tmp_path):
    (tmp_path / "a.csv").write_text("t,p\n0,1\n1,1e300\n2,1e400\n")
    with pytest.raises(EventError, match=r"a.csv:3: p = 1e\+300 times scale = 1e\+10 is too large"):
        psmr.TimeSeries(tmp_path / "a.csv", "p", "load5.p", scale=1e10)
    with pytest.raises(EventError, match=r"a.csv:4: p = 1e400: must be finite"):
        psmr.TimeSeries(tmp_path / "a.csv", "p", "load5.p")


# A line's place, in psmr's own format: the table of the row.
SIZES = [
    (
        "h = 23.64",
        "h = 1e30",
        r":\d+ \[generator.machine\] \(G1\): h = 1e\+30: must be between -1e\+09 and 1e\+09",
    ),
    (
        "t_d01 = 8.96",
        "t_d01 = 1e30",
        r"\(G1\): t_d01 = 1e\+30: must be between .*another unit\? \(open-circuit",
    ),
    ("t_d01 = 8.96", "t_d01 = 1e400", r"\(G1\): t_d01 = inf: must be finite"),
    (
        "base_kv = 16.5",
        "base_kv = 1e10",
        r":\d+ \[\[bus\]\]: base_kv = 10000000000.0: must be between",
    ),
    ("base_mva = 100.0", "base_mva = 1e30", r"base_mva = 1e\+30: must be at most 1e\+09; is it in MVA\?"),
]


@pytest.mark.parametrize(("old", "new", "words"), SIZES)
def test_a_size_that_no_network_has(tmp_path, old, new, words):
    text = (CASES / "wscc9" / "wscc9.toml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "a.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(CaseError, match=words):
        psmr.read_case(tmp_path / "a.toml")


def test_a_limit_may_be_beyond_everything(tmp_path):
    """1e30 is how some programs write that there is no limit."""
    text = (CASES / "wscc9" / "wscc9.toml").read_text(encoding="utf-8")
    (tmp_path / "a.toml").write_text(text.replace("p_max = 1.", "p_max = 1e30 # ", 1), encoding="utf-8")
    plain, wide = psmr.build(psmr.case("wscc9")), psmr.build(psmr.read_case(tmp_path / "a.toml"))
    assert wide.x0 == pytest.approx(plain.x0, abs=1e-12)

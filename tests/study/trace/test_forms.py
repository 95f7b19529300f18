"""The forms in which other programs write a trace: each is the same trace."""

import re

import numpy as np
import pytest

import psmr
from psmr.errors import InputError

EVENTS = [psmr.Fault(bus=5, start=0.5, clear=0.6, trip="5-7")]
TIMES = np.concatenate([np.linspace(0.01, 0.49, 25), np.linspace(0.61, 2.0, 70)])
HERTZ, DEGREES = 60.0, 180.0 / np.pi
NAMES = ("G2.omega", "bus5.v", "G2.p", "bus5.angle")


@pytest.fixture(scope="module")
def run():
    return psmr.simulate(psmr.build(psmr.case("wscc9")), psmr.VariableStep(1e-7), 2.0, EVENTS)


@pytest.fixture(scope="module")
def values(run):
    return run.at(TIMES, NAMES).to_numpy()


def lines(values, separator=",", times=TIMES, form="{:.9g}", decimal="."):
    """Return the lines of numbers of a trace."""
    rows = np.column_stack([times, values])
    text = [separator.join(form.format(x).replace(".", decimal) for x in row) for row in rows]
    return "\n".join(text) + "\n"


HEAD = "t,G2.omega,bus5.v,G2.p,bus5.angle\n"
TIME_LAST = "G2.omega,bus5.v,G2.p,bus5.angle,time\n"
MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
FIRST = r"\n([\d.]+),[\d.]+"
SCALED = np.array([HERTZ, 100.0, 0.01, DEGREES])
PSSE = np.array([1.0, 1.0, 0.01, 1.0])
TITLES = "PSS(R)E 35 case of nine buses\nsecond title line\n"
UNITS = "G2.omega [Hz],bus5.v [%],G2.p [pu],bus5.angle [deg]\n"
OF_PSSE = "SPD 2[GEN-2 18.0]1,VOLT 5[BUS-5 230.00],POWR 2[GEN-2 18.0]1,bus5.angle"

# What is written of the values, in the units of each form.
FORMS = {
    "plain": lambda v: HEAD.replace("t", "time", 1) + lines(v),
    "time in brackets": lambda v: HEAD.replace("t", "Time [s]", 1) + lines(v),
    "first column": lambda v: HEAD.replace("t", "Zeit", 1) + lines(v),
    "milliseconds": lambda v: HEAD.replace("t", "t (ms)", 1) + lines(v, times=1e3 * TIMES),
    "semicolons": lambda v: HEAD.replace(",", ";") + lines(v, ";"),
    "decimal commas": lambda v: HEAD.replace(",", ";") + lines(v, ";", decimal=","),
    "tabs and commas": lambda v: HEAD.replace(",", "\t") + lines(v, "\t", decimal=","),
    "tabs": lambda v: HEAD.replace(",", "\t") + lines(v, "\t"),
    "blanks": lambda v: HEAD.replace(",", " ") + lines(v, "   "),
    "aligned": lambda v: HEAD.replace(",", " ") + lines(v, " ", form="{:18.9e}"),
    "Fortran": lambda v: HEAD.replace(",", " ") + lines(v, " ", form="{:.9e}").replace("e", "D"),
    "quoted": lambda v: '"t","G2.omega","bus5.v","G2.p","bus5.angle"\n' + lines(v, ", "),
    "quoted numbers": lambda v: HEAD + re.sub(r"[^,\n]+", r'"\g<0>"', lines(v)).replace(".", ","),
    "comments": lambda v: "# by another program\n% and its version\n" + HEAD + lines(v),
    "titles": lambda v: TITLES + HEAD + lines(v),
    "blank lines": lambda v: "\n\n" + HEAD + "\n" + lines(v) + "\n\n",
    "a mark and CRLF": lambda v: MARK + (HEAD + lines(v)).replace("\n", "\r\n"),
    "a comma at the end": lambda v: HEAD.replace("\n", ",\n") + lines(v).replace("\n", ",\n"),
    "time last": lambda v: TIME_LAST + lines(np.column_stack([v[:, 1:], TIMES]), times=v[:, 0]),
    "units in names": lambda v: "t," + UNITS + lines(v * SCALED),
    "a line of units": lambda v: HEAD + "s,Hz,%,pu,deg\n" + lines(v * SCALED),
    "a line of units in brackets": lambda v: HEAD + "[s],[Hz],[%],[pu],[deg]\n" + lines(v * SCALED),
    "gaps": lambda v: HEAD + re.sub(FIRST, r"\n\1,", lines(v), count=3),
    "not a number": lambda v: HEAD + re.sub(FIRST, r"\n\1,NaN", lines(v), count=3),
    "channels of PSS/E": lambda v: f"Time(s),{OF_PSSE}\n" + lines((v - [1, 0, 0, 0]) * PSSE),
    "other columns": lambda v: HEAD.replace("\n", ",CHNL 7\n") + lines(np.column_stack([v, TIMES])),
    "part of the run": lambda v: HEAD + lines(v[30:60], times=TIMES[30:60]),
    "beyond the run": lambda v: HEAD + lines(v) + "2.5,1,1,1,1\n3,1,1,1,1\n",
    "before the run": lambda v: HEAD + "-0.1,1,1,1,1\n" + lines(v),
}


def compared(run, path, **given):
    found = psmr.compare_trace(run, psmr.read_trace(path, **given))
    table = found.table.set_index("signal")
    assert sorted(table.index) == sorted(NAMES)
    assert (table.rms < 1e-6 * np.maximum(table.range, 1.0)).all()
    return found


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_trace(form, run, values, tmp_path):
    path = tmp_path / "trace.csv"
    path.write_bytes(FORMS[form](values).encode())
    found = compared(run, path)
    assert (found.left_out, found.unknown) == {
        "beyond the run": (2, ()),
        "before the run": (1, ()),
        "other columns": (0, ("CHNL 7",)),
    }.get(form, (0, ()))
    assert ("Left out, no signals of the run: CHNL 7" in str(found)) == (form == "other columns")
    assert ("Read as: G2.omega = 'SPD 2[GEN-2 18.0]1' + 1; " in str(found)) == (form == "channels of PSS/E")
    gaps = found.table.set_index("signal").points
    assert gaps.max() - gaps["G2.omega"] == (3 if form in ("gaps", "not a number") else 0)


def test_channels_of_pscad(run, values, tmp_path):
    """Ten channels a file, their names and units in the file beside them; a time that the run has later."""
    names = ["bus5.v", *(f"own{k}" for k in range(9)), "G2.omega", "G2.p", "bus5.angle"]
    units = {"G2.p": "kW", "bus5.angle": "deg"}
    text = [
        f'PGB({k}) Output Desc="{name}" Group="Main" Max=2.0 Min=-2.0 Units="{units.get(name, "")}"'
        for k, name in enumerate(names, 1)
    ]
    (tmp_path / "nine.inf").write_text("\n".join(text) + "\n")
    (tmp_path / "nine_02.out").write_text("nine\n" + lines(values[:, [0, 2, 3]] * [1, 1e3, DEGREES], "  "))
    found = psmr.compare_trace(run, psmr.read_trace(tmp_path / "nine_02.out"))
    assert sorted(found.table.signal) == ["G2.omega", "G2.p", "bus5.angle"]
    assert (found.table.rms < 1e-6 * np.maximum(found.table.range, 1.0)).all()


@pytest.mark.parametrize(
    "columns",
    [
        "column,signal\nspeed,G2.omega\nv,bus5.v\np,G2.p\nangle,bus5.angle\n",
        "speed;G2.omega;pu\nv;bus5.v;pu\np;G2.p;MW\nangle;bus5.angle;rad\n",
        "# by number\n2,G2.omega\n3,bus5.v\n4,G2.p\n5,bus5.angle\n",
        "speed,G2.omega,1,0\nv,bus5.v,1\np,G2.p,1,0\nangle,bus5.angle,rad\n",
    ],
)
def test_a_map_by_name_or_number_with_units_or_scales(columns, run, values, tmp_path):
    (tmp_path / "trace.csv").write_text("t,speed,v,p,angle\n" + lines(values))
    (tmp_path / "map.csv").write_text(columns)
    found = compared(run, tmp_path / "trace.csv", columns=tmp_path / "map.csv")
    assert "G2.omega = 'speed'" in str(found)


def test_what_a_map_leaves_out_is_recognised_by_its_name(run, values, tmp_path):
    (tmp_path / "trace.csv").write_text("t,speed,bus5.v,G2.p,bus5.angle\n" + lines(values))
    (tmp_path / "map.csv").write_text("column,signal\nspeed,G2.omega\n")
    found = compared(run, tmp_path / "trace.csv", columns=tmp_path / "map.csv")
    assert sorted(found.table.signal) == ["G2.omega", "G2.p", "bus5.angle", "bus5.v"]


@pytest.mark.parametrize("other", ["G2.omega", "SPD 2"])
def test_a_map_decides_which_of_two_columns_is_a_signal(other, run, values, tmp_path):
    (tmp_path / "trace.csv").write_text(f"t,speed,{other}\n" + lines(values[:, [0, 3]]))
    (tmp_path / "map.csv").write_text("speed,G2.omega\n")
    found = psmr.compare_trace(run, psmr.read_trace(tmp_path / "trace.csv", columns=tmp_path / "map.csv"))
    assert found.table.signal.tolist() == ["G2.omega"]
    assert found.table.rms.max() < 1e-6


def test_a_trace_of_another_beginning_is_shifted(run, values, tmp_path):
    """0.35 s, more than the differences at one instant would tell."""
    (tmp_path / "trace.csv").write_text(HEAD + lines(values, times=TIMES + 0.35))
    found = psmr.compare_trace(run, psmr.read_trace(tmp_path / "trace.csv"))
    assert found.shift == pytest.approx(0.35, abs=1e-4)
    compared(run, tmp_path / "trace.csv", shift=-0.35)


def test_a_shift_that_takes_points_out_of_the_run_explains_nothing_of_them(tmp_path):
    """Few points of another model, 0.2 s late: a shift by seconds would compare what has settled alone."""
    machine = psmr.case("wscc9").edit({"G3.h": 1.2 * 3.01})
    other = psmr.simulate(psmr.build(machine), psmr.VariableStep(1e-6), 8.0, EVENTS)
    times = np.concatenate([np.linspace(0.5, 2.0, 16), np.linspace(2.5, 7.5, 12)])
    (tmp_path / "trace.csv").write_text(
        "t,G2.omega,G3.omega\n"
        + lines(other.at(times, ["G2.omega", "G3.omega"]).to_numpy(), times=times + 0.2)
    )
    run = psmr.simulate(psmr.build(psmr.case("wscc9")), psmr.VariableStep(1e-6), 8.0, EVENTS)
    found = psmr.compare_trace(run, psmr.read_trace(tmp_path / "trace.csv"))
    assert found.shift == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t,G2.omega [kV]\n0.1,1.0\n0.2,1.0\n", r"'kV' is no unit of G2.omega, which is in pu; give scale"),
        ("t,G2.omega,G2.omega\n0.1,1.0,1.0\n0.2,1.0,1.0\n", "'G2.omega' is the signal of two columns"),
        ("t,G2.omega,SPD 2\n0.1,1.0,1.0\n0.2,1.0,1.0\n", "G2.omega is the signal of two columns"),
        ("t [h],G2.omega\n0.1,1.0\n0.2,1.0\n", r"the times are 't \[h\]': 'h' must be one of s, sec"),
        ("t,G2.omega\n0.1,1.0\n,1.0\n0.2,1.0\n", "trace.csv:3: the times are 't', and this line has none"),
        ("G2.omega\n1.0\n2.0\n", "a trace has a line of names and at least two lines of numbers"),
        ("0.1,1.0\n0.2,1.0\n", "the run has no signal '2'"),
        ("t,G2.omega\n7,1.0\n8,1.0\n", "the times are 7 to 8 s; --shift S moves them"),
        (
            "t,G2.omega,bus5.v\n0.1,1.0,1\n0.2,1.0,1\n9,1,1\n0.3,1,1\n",
            "trace.csv:5: the times are 't': t = 0.3 s",
        ),
    ],
)
def test_what_is_wrong_is_said(text, words, run, tmp_path):
    (tmp_path / "trace.csv").write_text(text)
    with pytest.raises(InputError, match=words):
        psmr.compare_trace(run, psmr.read_trace(tmp_path / "trace.csv"))


def test_a_name_of_two_columns_in_a_map_is_refused(run, tmp_path):
    (tmp_path / "trace.csv").write_text("t,a,a\n0.1,1.0,1.0\n0.2,1.0,1.0\n")
    (tmp_path / "map.csv").write_text("a,G2.omega\n")
    with pytest.raises(InputError, match="there are 2 columns 'a'; name it by its number, from 1"):
        psmr.read_trace(tmp_path / "trace.csv", tmp_path / "map.csv")

"""A run against traces: of the same model, of another one, late, and of the wrong form."""

import json

import numpy as np
import pytest

import psmr
from psmr.cli import main
from psmr.errors import InputError

EVENTS = [psmr.Fault(bus=5, start=0.5, clear=0.6, trip="5-7")]
SIGNALS = ["G1.omega", "G2.omega", "G3.omega", "bus5.v", "bus7.v"]


@pytest.fixture(scope="module")
def system():
    return psmr.build(psmr.case("wscc9"))


@pytest.fixture(scope="module")
def run(system):
    return psmr.simulate(system, psmr.SingleRate("TM", h=0.02), 3.0, EVENTS)


def written(path, run, times, shift=0.0):
    table = run.at(times, SIGNALS)
    table.index = table.index + shift
    table.to_csv(path, index_label="time")
    return path


@pytest.fixture(scope="module")
def exact(system):
    return psmr.simulate(system, psmr.VariableStep(1e-9), 3.0, EVENTS)


def test_a_trace_of_the_same_model_differs_by_numerics_alone(run, exact, tmp_path):
    """The error of the trapezoidal rule at 20 ms, known from the run at 1e-9."""
    times = np.linspace(0.01, 2.99, 299)
    found = psmr.compare_trace(run, psmr.read_trace(written(tmp_path / "trace.csv", exact, times)))
    assert found.numerics > 0.999
    assert found.shift == 0.0
    off = exact.at(times, SIGNALS).to_numpy() - run.at(times, SIGNALS).to_numpy()
    for row in found.table.itertuples():
        column = off[:, SIGNALS.index(row.signal)]
        assert row.rms == pytest.approx(np.sqrt(np.mean(column**2)), rel=1e-6)
        assert row.numerics == pytest.approx(row.rms, rel=1e-3)
        assert abs(row.largest) == pytest.approx(np.abs(column).max(), rel=1e-6)
    assert "numerical error explains" in str(found)


def test_a_trace_of_another_model_names_the_device(system, exact, tmp_path):
    """Half the inertia of machine 3: its own speed differs most, and nothing of that is numerics."""
    other = psmr.build(psmr.case("wscc9").edit({"G3.h": 0.5 * 3.01}))
    trace = psmr.simulate(other, psmr.VariableStep(1e-9), 3.0, EVENTS)
    path = written(tmp_path / "trace.csv", trace, np.linspace(0.01, 2.99, 299))
    found = psmr.compare_trace(exact, psmr.read_trace(path))
    assert found.devices.device[0] == "G3"
    assert found.numerics < 1e-4


def test_a_late_trace_is_said_and_shifted(exact, tmp_path):
    """4 ms, found from the differences at a hundredth of the period of a swing, to a tenth."""
    path = written(tmp_path / "late.csv", exact, np.linspace(0.7, 2.9, 221), shift=0.004)
    found = psmr.compare_trace(exact, psmr.read_trace(path))
    assert found.shift == pytest.approx(0.004, rel=0.1)
    assert "--shift -0.0" in str(found)
    found = psmr.compare_trace(exact, psmr.read_trace(path, shift=-0.004))
    assert found.shift == 0.0
    assert found.table.rms.max() < 1e-5


def test_both_values_at_an_event_are_compared(exact, tmp_path):
    path = tmp_path / "trace.csv"
    before, after = (
        exact.at([0.5], ["bus5.v"], side=side)["bus5.v"].iloc[0].item() for side in ("before", "after")
    )
    assert before - after > 0.9
    path.write_text(f"t,bus5.v\n0.4,{before!r}\n0.5,{before!r}\n0.5,{after!r}\n7.0,1.0\n")
    found = psmr.compare_trace(exact, psmr.read_trace(path))
    assert found.table.rms[0] < 1e-6
    assert found.left_out == 1


def test_the_command_takes_names_and_units_from_a_map(tmp_path, monkeypatch, capsys):
    """PSS/E's speed deviation in pu becomes psmr's speed; a device's name is in the answer."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trace.csv").write_text("Time(s),SPD 2\n0.1,0.0\n0.2,0.0\n0.3,0.0\n")
    (tmp_path / "map.csv").write_text("column,signal,scale,offset\nSPD 2,G2.omega,1,1\n")
    study = 'format = "psmr-study"\nversion = 1\ncase = "wscc9"\n[simulation]\nt_end = 0.5\n'
    (tmp_path / "study.toml").write_text(study)
    assert (
        main(
            [
                "compare",
                "study.toml",
                "trace.csv",
                "--map",
                "map.csv",
                "-o",
                "table.csv",
                "--json",
                "--figure",
                "compare.svg",
            ]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert [row["device"] for row in found["devices"]] == ["G2"]
    assert found["signals"][0]["rms"] < 1e-9
    assert "<svg" in (tmp_path / "compare.svg").read_text()
    assert (tmp_path / "table.csv").read_text().startswith("signal,rms,largest,t,numerics,model,range,part")


def test_the_figure_shows_the_most_different_signals_with_their_numerics(run, exact, tmp_path):
    """The trace over the run, and below the trace less the run beside the reference less the run."""
    times = np.linspace(0.01, 2.99, 299)
    found = psmr.compare_trace(run, psmr.read_trace(written(tmp_path / "trace.csv", exact, times)))
    speeds, off, *voltages = found.plot().axes
    names = [name for name in found.table.signal if name.endswith(".omega")]
    assert sorted(text.get_text() for text in speeds.texts if text.get_text() in ("G1", "G2", "G3")) == [
        *("G1", "G2", "G3")
    ]
    dashed = [line for line in speeds.get_lines() if len(line.get_xdata()) == len(times)]
    differences = [line for line in off.get_lines() if len(line.get_xdata()) == len(times)]
    for k, name in enumerate(names):
        theirs, ours = exact.at(times, [name])[name], run.at(times, [name])[name]
        assert dashed[k].get_ydata() == pytest.approx(theirs, abs=1e-12)
        assert differences[2 * k].get_ydata() == pytest.approx(theirs - ours, abs=1e-12)
        assert differences[2 * k + 1].get_ydata() == pytest.approx(theirs - ours, abs=1e-6)
    assert len(voltages) == 2


def test_the_figure_of_a_run_at_rest_shows_a_trace_that_moves(system, tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("t,G2.omega\n0.1,1.0\n0.2,1.05\n0.3,0.95\n")
    rest = psmr.simulate(system, psmr.SingleRate("TM", h=0.02), 0.5)
    above, _ = psmr.compare_trace(rest, psmr.read_trace(path)).plot().axes
    assert above.get_ylim()[0] <= 0.95
    assert above.get_ylim()[1] >= 1.05


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t,G2.omega\n0.1,1.0\n", "a trace has a line of names and at least two lines of numbers"),
        ("# of PSS/E\nt,G2.omega\n0.1,1.0\n0.2,x\n", r"trace.csv:4: G2.omega = 'x' is not a number"),
        ("t,G2.omega\n0.1,1.0\n0.2\n", "trace.csv:3: 1 entries; the first line of numbers has 2"),
        ("t,G2.omega\n0.1,1.0\n0.2,inf\n", "trace.csv:3: every entry must be a finite number"),
        ("t,G2.omega\n0.1,nan\n0.2,\n", "'G2.omega' has no number"),
        (
            "t,G2.omega\n0.2,1.0\n0.1,1.0\n",
            "trace.csv:3: the times are 't': t = 0.1 s: times must not descend",
        ),
        ("t,G2.speed\n0.1,1.0\n0.2,1.0\n", r"the run has no signal 'G2.speed'.*--map FILE"),
        ("t,G2.omega\n11,1.0\n12,1.0\n", "no point is within the run, 0 to 3 s"),
    ],
)
def test_a_trace_that_cannot_be_is_refused(text, words, exact, tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        psmr.compare_trace(exact, psmr.read_trace(path))


def test_a_map_that_cannot_be_is_refused(tmp_path, capsys):
    trace, columns = tmp_path / "trace.csv", tmp_path / "map.csv"
    trace.write_text("t,a\n0.1,1.0\n0.2,1.0\n")
    for text, words in (
        ("a,G2.omega,0,1\n", "scale = 0: must not be 0"),
        ("a,G2.omega,2,x\n", "scale and offset: not a number: 'x'"),
        ("a\n", "must be column,signal and, where it needs them, a unit"),
        ("b,G2.omega\n", "there is no column 'b'"),
    ):
        columns.write_text(text)
        assert main(["compare", "wscc9/fault", str(trace), "--map", str(columns)]) == 2
        assert words in capsys.readouterr().err

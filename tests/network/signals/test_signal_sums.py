"""Sums and differences of signals in runs, in what a run keeps, in files and in matrices."""

import numpy as np
import pandas as pd
import pytest

import psmr
from psmr.errors import InputError

SUMS = ["G1.delta - G2.delta", "sum(load*.p)", "0.5 * bus5.v + 0.5 * bus6.v", "bus5.angle - bus6.angle"]
SCHEME = psmr.SingleRate("TM", h=0.01)
FAULT = psmr.Fault(bus=7, start=0.1, clear=0.15)


@pytest.fixture(scope="module")
def wscc9():
    return psmr.build(psmr.case("wscc9"))


@pytest.fixture(scope="module")
def run(wscc9):
    return psmr.simulate(wscc9, SCHEME, t_end=0.5, events=[FAULT])


def test_a_run_has_sums_of_its_signals(run):
    found = run[SUMS]
    loads = ["load5.p", "load6.p", "load8.p"]
    expected = [
        run["G1.delta"] - run["G2.delta"],
        run[loads].sum(axis=1),
        (run["bus5.v"] + run["bus6.v"]) / 2,
        run["bus5.angle"] - run["bus6.angle"],
    ]
    for name, values in zip(SUMS, expected, strict=True):
        assert np.allclose(found[name], values, rtol=1e-14, atol=1e-14)


def test_a_run_keeps_and_writes_sums(wscc9, run, tmp_path):
    kept = psmr.simulate(wscc9, SCHEME, t_end=0.5, events=[FAULT], record=[*SUMS, "G2.omega"])
    assert np.array_equal(kept[SUMS].to_numpy(), run[SUMS].to_numpy())
    kept.save(tmp_path / "run.psmr")
    assert psmr.load_run(tmp_path / "run.psmr")[SUMS[0]].equals(kept[SUMS[0]])
    run.to_csv(tmp_path / "run.csv", SUMS)
    assert list(pd.read_csv(tmp_path / "run.csv").columns) == ["t", *SUMS]
    for one in (run, kept):
        labels = [ax.get_ylabel() for ax in one.plot(SUMS[:2]).axes]
        assert "rad" in labels[0]
        assert "MW" in labels[1]


def test_matrices_have_sums_as_outputs(wscc9):
    own = wscc9.state_space("AVR1.v_ref", ["G1.delta - G2.delta", "bus5.frequency - bus6.frequency"])
    parts = wscc9.state_space("AVR1.v_ref", ["G1.delta", "G2.delta", "bus5.frequency", "bus6.frequency"])
    assert own.output_units == ("rad", "Hz")
    for a, b in ((own.C, parts.C), (own.D, parts.D)):
        assert np.allclose(a, [b[0] - b[1], b[2] - b[3]], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("G1.delta - G9.delta", r"G1.delta - G9.delta: there is no signal 'G9.delta'; did you mean"),
        ("sum(Q*.p)", r"there is no signal 'Q\*.p'"),
        ("2 * bus5.volt", r"there is no signal 'bus5.volt'; did you mean 'bus5.v'"),
    ],
)
def test_a_sum_of_what_is_not_there_is_refused(run, name, words):
    with pytest.raises(InputError, match=words):
        run[name]

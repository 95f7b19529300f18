"""What a macro step does, in words: the counts are those of the run."""

import json
from dataclasses import replace

import numpy as np
import pytest

import partitioning
import psmr
from psmr import Multirate, SingleRate, cli, explain
from psmr.errors import SchemeError
from tests.internals import integrate, moved_along_mode


@pytest.fixture(params=["wscc9", "wscc9-ibr"], scope="module")
def system(request, wscc9):
    return psmr.build(psmr.read_case(wscc9 / f"{request.param}.toml"))


@pytest.fixture(scope="module")
def split(system):
    return partitioning.by_participation(system.linearise(), 20.0, algebraic="fast")


OPTIONS = [
    {"predictor": "TM"},
    {"predictor": "TM", "predict": "slow"},
    {"predictor": "FEM"},
    {"predictor": "TM", "corrections": 2, "epsilon": 1e-300},
    {"predictor": "BEM", "solution": "BEM", "interpolation": "spline"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_counted_matrices_are_those_of_the_run(system, split, options):
    scheme = Multirate(split, 0.01, 5, **options)
    w = moved_along_mode(system)  # at rest the corrections would agree at once
    start = (w[: system.n], w[system.n : system.n + system.m])
    counters = integrate(system, scheme, 10 * scheme.step, start=start).counters
    assert counters.refreshes == 0
    expected = {order: 10 * count for order, count in explain(system, scheme).factorisations.items()}
    assert dict(counters.factorisations) == expected


@pytest.mark.parametrize("method", ["TM", "BEM", "SDIRK2", "FEM", "RK4"])
def test_counted_matrices_of_single_rate(system, method):
    scheme = SingleRate(method, 5e-4)
    run = integrate(system, scheme, 10 * scheme.step)
    expected = {order: 10 * count for order, count in explain(system, scheme).factorisations.items()}
    assert dict(run.counters.factorisations) == expected


def test_what_is_read_across_the_partition(system):
    linear = system.linearise()
    split = partitioning.by_participation(linear, 20.0)
    found = explain(system, Multirate(split, 0.01, 5))
    jacobian = linear.jacobian().toarray()
    fast = np.concatenate([split.fast_x, split.fast_y])
    rows = np.concatenate([split.fast_x, split.fast_g])
    names = (*system.names_x, *system.names_y)
    used = {names[j] for j in np.flatnonzero((jacobian[rows] != 0).any(axis=0) & ~fast)}
    assert used <= set(found.read_slow)
    assert set(found.read_slow) <= set(split.slow)
    assert set(found.read_fast) <= set(split.fast)


def test_words(system, split):
    scheme = Multirate(
        split, 0.05, 10, predictor="FEM", predict="slow", interpolation="spline", corrections=1
    )
    text = str(explain(system, scheme)).replace("\n", " ")
    for words in (
        "the fast ones held",
        "Forward Euler",
        "On the cubic",
        "10 steps, each",
        "Slow step",
        ", once.",
    ):
        assert words in " ".join(text.split())


@pytest.mark.parametrize(
    ("interpolation", "curve"), [("linear", "line through"), ("spline", "parabola through")]
)
def test_extrapolation_solves_nothing(system, split, interpolation, curve):
    scheme = Multirate(split, 0.01, 5, "extrapolation", interpolation=interpolation, predict="slow")
    found = explain(system, scheme)
    text = " ".join(str(found).split())
    assert f"All variables are extrapolated on the {curve}" in text
    assert "nothing is solved" in text
    fast = int(split.fast_x.sum() + split.fast_y.sum())
    slow = system.n + system.m - fast
    expected = {fast: 5, slow: 1} if fast != slow else {fast: 6}
    assert dict(found.factorisations) == expected
    # In a run the prediction after an event, here the start, is the only one that is solved.
    w = moved_along_mode(system)
    start = (w[: system.n], w[system.n : system.n + system.m])
    made = integrate(system, scheme, 10 * scheme.step, start=start).counters.factorisations_by_role
    assert made["predictor"] == 1
    assert (made["fast"], made["slow"]) == (50, 10)


def test_extrapolated_states_are_completed_by_the_algebraic_equations(system, split):
    scheme = Multirate(split, 0.01, 5, "extrapolation")
    text = " ".join(str(explain(system, scheme)).split())
    assert "The states are extrapolated on the line" in text
    assert "x = x(extrapolated)" in text
    w = moved_along_mode(system)
    start = (w[: system.n], w[system.n : system.n + system.m])
    made = integrate(system, scheme, 10 * scheme.step, start=start).counters.factorisations_by_role
    assert made["predictor"] == 1
    assert made["algebraic"] == 9


def test_everything_on_one_side(system):
    linear = system.linearise()
    fast = explain(system, Multirate(partitioning.all_fast(linear), 0.05, 10))
    assert dict(fast.factorisations) == dict(fast.single_rate)
    slow = explain(system, Multirate(partitioning.all_slow(linear), 0.05, 10))
    assert slow.factorisations == {system.n + system.m: 1}


def test_partition_of_another_system_is_refused(system, split, wscc9):
    other = psmr.build(psmr.read_case(wscc9 / "sauer-pai.toml"))
    with pytest.raises(SchemeError, match=r"partition of .* of another system"):
        explain(other, Multirate(split, 0.05, 10))


def test_unknown_scheme_is_refused(system):
    with pytest.raises(SchemeError, match="scheme = 'TM': must be a scheme; use psmr"):
        explain(system, "TM")


def test_command(wscc9, capsys):
    assert cli.main(["explain", str(wscc9 / "fault-published.toml")]) == 0
    out = capsys.readouterr().out
    assert "1. Partition" in out
    assert "Matrices factorised with modified Newton: 10 of order" in out
    assert cli.main(["explain", str(wscc9 / "fault-published.toml"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["factorisations"]


def test_scheme_with_a_longer_ratio_only_changes_the_fast_part(system, split):
    short = Multirate(split, 0.01, 5)
    long = replace(short, ratio=10)
    order = int(split.fast_x.sum() + split.fast_y.sum())
    assert explain(system, long).factorisations[order] - explain(system, short).factorisations[order] == 5

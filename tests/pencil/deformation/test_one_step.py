"""The step is written once: what changes in a scheme's file changes all that reads it."""

import dataclasses

import numpy as np
import pytest

import partitioning
import psmr
from tests import systems
from tests.internals import integrate, linear_system, matrices, steady_program, words
from tests.internals import multirate_program_module as multirate
from tests.internals import tableaux_module as tableaux
from tests.pencil.oracle import random_dae


def simulated(linear, scheme, start):
    run = integrate(linear_system(linear), scheme, scheme.step, start=(start, np.zeros(linear.m)))
    return np.hstack([run.x, run.y])


FIELDS = [
    {},
    {"corrections": 1},
    {"predictor": "TM", "predict": "slow"},
    {"coupling": "mean"},
    {"interface": "schur"},
    {"coupling": "mean", "interface": "schur", "predictor": "TM"},
]


@pytest.mark.parametrize("fields", FIELDS, ids=str)
def test_a_changed_coefficient_changes_simulator_and_pencil_alike(monkeypatch, fields):
    linear = random_dae(3)
    split = partitioning.by_hand(linear, fast=list(linear.names_x[:2]))
    scheme = psmr.Multirate(split, 0.04, 4, **fields)
    start = np.random.default_rng(0).standard_normal(linear.n)
    before = simulated(linear, scheme, start)
    changed = dict(tableaux.COEFFICIENTS) | {"TM": (0.4, 0.6)}  # the theta method
    monkeypatch.setattr(multirate, "COEFFICIENTS", changed)
    after = simulated(linear, scheme, start)
    assert np.abs(after[1] - before[1]).max() > 1e-4
    T = psmr.step_operator(linear, scheme)
    assert np.abs(T @ after[0] - after[1]).max() < 1e-12


def test_words_and_counts_follow_the_program():
    linear = random_dae(3)
    split = partitioning.by_hand(linear, fast=list(linear.names_x[:2]))
    sizes = {"all": (6, 4), "fast": (2, 0), "slow": (4, 4)}
    implicit = steady_program(psmr.Multirate(split, 0.04, 4, predictor="BEM"))
    explicit = steady_program(psmr.Multirate(split, 0.04, 4, predictor="FEM"))
    assert "Backward Euler" in str(words(implicit, 0.04, sizes, "dishonest"))
    assert "Forward Euler" in str(words(explicit, 0.04, sizes, "dishonest"))
    assert matrices(implicit, sizes) == {10: 1, 2: 4, 8: 1}
    assert matrices(explicit, sizes) == {4: 1, 2: 4, 8: 1}


@pytest.mark.parametrize(("gain", "unstable"), [(0.6, False), (0.8, True)])
def test_an_algebraic_loop_bounds_extrapolation_at_any_step(gain, unstable):
    """z^3 = k (3 z^2 - 3 z + 1) of a parabola leaves the unit circle at k = gain^2 = 1/2; g solved, none."""
    linear = systems.one(systems.Loop, {"a": 1.0, "b": 1.0}, gain=gain).linearise()
    split = partitioning.by_hand(linear, ["D.a", "D.y_a"])
    split = dataclasses.replace(split, fast_g=np.array([True, False]))

    def radius(predict, interpolation, interface="held"):
        scheme = psmr.Multirate(
            split, 1e-4, 2, "extrapolation", interpolation=interpolation, predict=predict, interface=interface
        )
        return np.abs(np.linalg.eigvals(psmr.step_operator(linear, scheme))).max()

    k = gain**2
    expected = np.abs(np.roots([1.0, -3.0 * k, 3.0 * k, -k])).max()
    assert (expected > 1.0) == unstable
    assert radius("slow", "spline") == pytest.approx(max(1.0, expected), abs=1e-3)
    assert radius("slow", "linear") < 1.0
    assert radius("all", "spline") < 1.0
    assert radius("all", "linear") < 1.0
    assert radius("slow", "spline", "schur") < 1.0


def test_the_couplings_are_said():
    linear = random_dae(3)
    split = partitioning.by_hand(linear, fast=list(linear.names_x[:2]))
    sizes = {"all": (6, 4), "fast": (2, 0), "slow": (4, 4)}
    scheme = psmr.Multirate(split, 0.04, 4, "TM", coupling="mean", interface="schur")
    said = words(steady_program(scheme), 0.04, sizes, "dishonest")
    assert "The fast variables are their mean over the macro step." in str(said)
    assert "by the Schur complement" in str(said)
    assert "w = 2 w(leg) + -1 w(t)" in str(said)
    assert [entry.heading for entry in said][-2:] == [
        "Carry the slow variables to t + 0.04 s",
        "Slow algebraic variables at t + 0.04 s",
    ]
    assert matrices(steady_program(scheme), sizes) == {10: 1, 2: 4, 8: 1, 4: 1}

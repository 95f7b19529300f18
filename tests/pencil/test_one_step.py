"""The step is written once: what changes in a scheme's file changes all that reads it."""

import numpy as np
import pytest

import partitioning
import psmr
from psmr.dae.system.linear_system import linear_system
from psmr.numerics.run.integrate import integrate
from psmr.numerics.schemes import multirate, tableaux
from psmr.numerics.step.description import words
from psmr.numerics.step.work import matrices
from tests.pencil.oracle import random_dae


def simulated(linear, scheme, start):
    run = integrate(linear_system(linear), scheme, scheme.step, start=(start, np.zeros(linear.m)))
    return np.hstack([run.x, run.y])


@pytest.mark.parametrize("fields", [{}, {"corrections": 1}, {"predictor": "TM", "predict": "slow"}], ids=str)
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
    implicit = psmr.Multirate(split, 0.04, 4, predictor="BEM").steady_program()
    explicit = psmr.Multirate(split, 0.04, 4, predictor="FEM").steady_program()
    assert "Backward Euler" in str(words(implicit, 0.04, sizes, "dishonest"))
    assert "Forward Euler" in str(words(explicit, 0.04, sizes, "dishonest"))
    assert matrices(implicit, sizes) == {10: 1, 2: 4, 8: 1}
    assert matrices(explicit, sizes) == {4: 1, 2: 4, 8: 1}

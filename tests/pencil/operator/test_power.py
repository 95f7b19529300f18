"""Many equal steps in closed form are the steps written out: the operator against the pencil."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
from scipy.sparse.linalg import splu

import partitioning
import psmr
from psmr.pencil import macro_pencil
from tests.internals import step_map

REST = list(
    itertools.product(
        ("all", "slow"), ("TM", "BEM"), (("held", 0), ("held", 2), ("schur", 0)), ("end", "mean")
    )
)

SLOW = partial(pytest.param, marks=pytest.mark.slow)


@pytest.fixture(scope="module")
def linear():
    return psmr.build(psmr.case("wscc9")).linearise()


@pytest.mark.parametrize("interpolation", ["linear", SLOW("spline")])
@pytest.mark.parametrize("predictor", ["FEM", "TM", "BEM", "extrapolation"])
@pytest.mark.parametrize("algebraic", [SLOW("fast"), "participation"])
def test_the_power_of_a_fast_step_is_the_steps(linear, algebraic, predictor, interpolation):
    split = partitioning.by_participation(linear, delta=20.0, algebraic=algebraic)
    draw = np.random.default_rng(0).standard_normal
    for predict, solution, (interface, corrections), coupling in REST:
        scheme = psmr.Multirate(
            split,
            0.02,
            11,
            predictor=predictor,
            solution=solution,
            interpolation=interpolation,
            predict=predict,
            corrections=corrections,
            coupling=coupling,
            interface=interface,
        )
        operator = psmr.step_operator(linear, scheme)
        left, right = macro_pencil(linear, scheme)  # every fast step an equation of its own
        written_out = splu(left.tocsc()).solve(right[:, -len(operator) :].toarray())[-len(operator) :]
        assert np.abs(operator - written_out).max() < 1e-12 * np.abs(written_out).max(), scheme
        state = draw(len(operator))
        assert step_map(linear, scheme).apply(state) == pytest.approx(written_out @ state, rel=0, abs=1e-10)

"""The step as a map on vectors with memory, of spline or extrapolation: its matrix, its eigenvectors."""

import numpy as np
import pytest

from psmr import Multirate, step_operator
from psmr.pencil import macro_pencil
from tests.internals import step_map
from tests.pencil.oracle import partition, random_dae

PAIRS = [("FEM", "TM"), ("TM", "TM"), ("BEM", "TM"), ("TM", "BEM"), ("BEM", "BEM")]


def spline(linear, pair=("TM", "TM"), ratio=4):
    split = partition(linear, [0, 1], [0, 2])
    return Multirate(split, 0.04, ratio, *pair, interpolation="spline")


@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
@pytest.mark.parametrize("ratio", [1, 2, 5])
def test_the_map_is_the_matrix(pair, ratio):
    linear = random_dae(2)
    scheme = spline(linear, pair, ratio)
    there, T = step_map(linear, scheme), step_operator(linear, scheme)
    assert T.shape == (there.order, there.order)
    columns = np.column_stack([there.apply(e) for e in np.eye(there.order)])
    assert np.abs(columns - T).max() < 1e-12 * max(1.0, np.abs(T).max())
    rng = np.random.default_rng(0)
    v = rng.standard_normal(there.order) + 1j * rng.standard_normal(there.order)
    assert np.abs(there.apply(v) - T @ v).max() < 1e-12 * np.abs(T @ v).max()


@pytest.mark.parametrize("interpolation", ["linear", "spline"])
@pytest.mark.parametrize("corrections", [0, 1])
@pytest.mark.parametrize("predict", ["all", "slow"])
def test_an_extrapolation_remembers_what_it_reads(interpolation, corrections, predict):
    linear = random_dae(2)
    split = partition(linear, [0, 1], [0, 2])
    scheme = Multirate(
        split,
        0.04,
        4,
        "extrapolation",
        "TM",
        interpolation,
        corrections=corrections,
        predict=predict,
        interface="held",
    )
    there, T = step_map(linear, scheme), step_operator(linear, scheme)
    size, kept = linear.n + linear.m, len(there.history_of)
    assert kept == (size if predict == "all" else (~split.fast_x).sum() + (~split.fast_y).sum())
    assert there.sizes == (size, kept, kept)[: 2 if interpolation == "linear" else 3]
    columns = np.column_stack([there.apply(e) for e in np.eye(there.order)])
    assert np.abs(columns - T).max() < 1e-12 * np.abs(T).max()
    left, right = (matrix.toarray() for matrix in macro_pencil(linear, scheme))
    stacked = np.linalg.eigvals(np.linalg.solve(left, right))
    for z in np.linalg.eigvals(T):
        if abs(z) > 0.1:
            assert np.abs(stacked - z).min() < 1e-9
    # The prediction is the polynomial through what is remembered: its share of the memory is that of the run.
    assert np.abs(T[:size, size:]).max() > 1e-6


def test_the_memory_holds_the_slow_parts_of_the_last_two_steps():
    linear = random_dae(2)
    there = step_map(linear, spline(linear))
    size = linear.n + linear.m
    slow = int((~spline(linear).split.fast_x).sum() + (~spline(linear).split.fast_y).sum())
    assert there.sizes == (size, slow, slow)
    rng = np.random.default_rng(1)
    state = rng.standard_normal(there.order)
    after = there.apply(state)
    assert np.array_equal(after[size : size + slow], state[:size][there.history_of])
    assert np.array_equal(after[size + slow :], state[size : size + slow])
    # The memory is read: the same w with another past goes elsewhere.
    other = state.copy()
    other[size:] = rng.standard_normal(2 * slow)
    assert np.abs(there.apply(other)[:size] - after[:size]).max() > 1e-6


def test_an_eigenvector_continues_into_the_memory():
    linear = random_dae(2)
    scheme = spline(linear)
    there, T = step_map(linear, scheme), step_operator(linear, scheme)
    values, vectors = np.linalg.eig(T)
    size = linear.n + linear.m
    for z, v in zip(values, vectors.T, strict=True):
        if abs(z) > 0.2:  # of small ones the memory is the larger part by 1/z², with its rounding
            whole = there.extended(v[:size], z)
            assert np.abs(whole - v).max() < 1e-9
            assert np.abs(there.apply(whole) - z * whole).max() < 1e-9
    assert (np.abs(values) > 0.2).sum() >= 4


def test_without_a_spline_there_is_no_memory():
    linear = random_dae(2)
    there = step_map(linear, Multirate(partition(linear, [0, 1], [0, 2]), 0.04, 4, "TM", "TM"))
    assert there.sizes == (linear.n + linear.m,)
    assert len(there.extended(np.ones(there.size), 0.5)) == there.size

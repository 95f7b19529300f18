"""Passes over vectors: the largest entry and its place, NaN included; where the variables of blocks are."""

import numpy as np
import pytest

import psmr
from tests.internals import (
    SCATTERED,
    VECTOR_CHUNK,
    BlockPositions,
    largest_part,
    largest_size,
    lean,
    make_block,
    position,
    positions_of,
)


@lean
def open_places(block, found):
    places = positions_of(block)
    for i in range(found.size):
        found[i] = position(places, i)
    return places.first


SIZES = (1, 7, VECTOR_CHUNK, VECTOR_CHUNK + 1, 3 * VECTOR_CHUNK + 5)


def numbers(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return values of all sizes and signs, and points on both sides of 1."""
    random = np.random.default_rng(size)
    values = random.standard_normal(size) * 10.0 ** random.uniform(-9, 3, size)
    return values, 3.0 * random.standard_normal(2 * size + 5)


def both(size: int) -> list[BlockPositions]:
    """Return places side by side, and the same ones as they are where they are not known to be."""
    variables = np.arange(3, 3 + size, dtype=np.uint32)
    return [
        BlockPositions(3, variables),
        BlockPositions(SCATTERED, variables),
        BlockPositions(SCATTERED, 2 * variables[::-1] % size),
    ]


@pytest.mark.parametrize("size", SIZES)
def test_the_largest_size_is_that_of_numpy(size):
    values, _ = numbers(size)
    assert largest_size(values) == np.abs(values).max()
    assert largest_size(np.zeros(0)) == 0.0


@pytest.mark.parametrize("size", SIZES)
def test_the_largest_part_is_that_of_numpy_with_its_place(size):
    values, w = numbers(size)
    for places in both(size):
        parts = np.abs(values) / (1e-3 * np.maximum(1.0, np.abs(w[places.variables])))
        assert largest_part(values, places, w, 1e-3) == (parts.max(), parts.argmax())
    assert largest_part(np.zeros(size), both(size)[0], w, 1.0) == (0.0, 0)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("nan", [np.nan, -np.nan])
def test_nan_is_larger_than_everything_wherever_it_is(size, nan):
    values, w = numbers(size)
    values[0] = np.inf
    for at in {0, size // 2, size - 1}:
        broken = values.copy()
        broken[at] = nan
        assert np.isnan(largest_size(broken))
        for places in both(size)[:2]:
            largest, place = largest_part(broken, places, w, 1.0)
            assert np.isnan(largest)
            assert place == at


def test_blocks_know_where_their_variables_lie_side_by_side(wscc9):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    size, n = system.n + system.m, system.n
    for places, first in (
        (np.arange(size), 0),
        (np.arange(n, size), n),
        (np.delete(np.arange(size), 2), SCATTERED),
        (np.r_[0, 2, 1, 3:size], SCATTERED),
    ):
        block = make_block(system, "step", system.parameters, system.w0, places, places)
        found = np.zeros(places.size, np.int64)
        assert open_places(block.address, found) == first
        assert found.tolist() == places.tolist()

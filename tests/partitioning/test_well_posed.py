import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import partitioning
from partitioning import PartitionError
from tests.internals import WORST_CONDITION, condition, scaled


def blocks(linear, split):
    gy = scaled(linear)
    pairs = ((split.fast_g, split.fast_y), (~split.fast_g, ~split.fast_y))
    return [condition(gy[rows][:, columns]) for rows, columns in pairs]


def test_equations_are_paired_with_variables_and_not_with_positions(make):
    # Rows written the other way round: position by position the fast block would be the zero in the corner.
    linear = make(
        np.diag([-1.0, -1000.0]), gx=np.eye(2), gy=[[0.0, 1.0], [1.0, 0.0]], names_g=("of_y1", "of_y0")
    )
    linear = make(
        np.diag([-1.0, -1000.0]), gx=[[0, 1.0], [1.0, 0]], gy=[[0, 1.0], [1.0, 0]], names_g=("b", "a")
    )
    split = partitioning.by_participation(linear, 20.0)
    assert list(split.fast_y) == [False, True]
    assert list(split.fast_g) == [True, False]
    assert list(split.table["equation"]) == ["", "", "a", "b"]


def test_rectangular_current_balance(network):
    # Written position by position (v_re with i_re), a lossless network would have a zero diagonal.
    lonely = partitioning.by_hand(network, ["bus2.v_re"])
    assert lonely.fast == ("bus2.v_re", "bus2.v_im")
    split = partitioning.by_participation(network, 20.0)
    assert {"C1.e_re", "C1.e_im", "bus1.v_re", "bus1.v_im"} <= set(split.fast)
    assert {"G4.e_re", "bus4.v_re"} <= set(split.slow)
    for s in (lonely, split):
        assert max(blocks(network, s)) < 100.0
        assert not s.table["moved"].any()


def test_only_one_component_of_a_voltage_without_groups(network):
    import dataclasses

    free = dataclasses.replace(network, groups=np.arange(12))
    lossless = dataclasses.replace(free, gy=free.gy.multiply(abs(free.gy) > 4.0).tocsc())
    split = partitioning.by_hand(lossless, ["bus2.v_re"])
    assert split.table.set_index("variable").loc["bus2.v_re", "equation"] == "bus2.i_im"
    naive = lossless.gy[split.fast_y][:, split.fast_y]
    assert naive.nnz == 0
    assert max(blocks(lossless, split)) < 100.0


def test_scattered_rows_are_paired_as_well_as_ordered_ones(make):
    # Diagonally dominant with shuffled rows: only the old diagonal has the largest product.
    order = 3000
    ladder = np.diag(np.full(order, 2.5)) - np.diag(np.ones(order - 1), 1) - np.diag(np.ones(order - 1), -1)
    shuffle = np.random.default_rng(6).permutation(order)
    split = partitioning.by_device(make([[-1.0]], gy=ladder[shuffle]), ["D5", "D2999"])
    assert sorted(shuffle[split.fast_g]) == [5, 2999]


def test_relative_gains_find_the_pairing_that_the_largest_entries_miss(make):
    # The largest product of entries pairs (0, 0), (1, 1), (2, 2); then the slow block [[2, 2], [2, 2]] is
    # singular.
    gy = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 2.0], [1.5, 2.0, 2.0]])
    linear = make(np.diag([-1.0]), gx=np.ones((3, 1)), gy=gy)
    split = partitioning.by_hand(linear, ["D0.y"])
    assert max(blocks(linear, split)) < WORST_CONDITION


def test_a_group_that_leaves_a_block_singular_moves(make):
    # 0 = y0 + y1 + x0, 0 = y0 - y1 + y2, 0 = y2 + x1 with y0, y1 fast and one equation that reads neither
    # alone: whatever two equations are chosen for (y0, y2), what is left for y1 must contain it.
    gy = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 1.0], [0.0, 1.0, 0.0]])
    linear = make(np.diag([-1.0, -2.0]), gx=np.ones((3, 2)), gy=gy, names_y=("a.y", "b.y", "c.y"))
    for chosen in (["a.y"], ["b.y"], ["c.y"], ["a.y", "b.y"], ["a.y", "c.y"], ["b.y", "c.y"]):
        split = partitioning.by_hand(linear, chosen)
        assert max(blocks(linear, split)) < WORST_CONDITION
        if split.table["moved"].any():
            reason = split.table.loc[split.table["moved"], "reason"].iloc[0]
            assert reason.startswith("moved to the ")
            assert "block of gy had condition" in reason


def test_an_unstable_split_is_repaired_and_says_so(two_rates):
    def radius(split):
        return 1e6 if split.fast_x[1] and not split.fast_x[0] else 0.9

    split = partitioning.by_participation(two_rates, 20.0, spectral_radius=radius)
    assert split.fast_x.all()
    row = split.table.set_index("variable").loc["G1.e_q"]
    assert row["reason"] == "moved to the fast side: the macro step had spectral radius 1e+06 (limit 1)"
    assert row["moved"]
    assert str(split).endswith("(delta = 20 1/s, 1 moved to make it well posed)")


def test_the_repair_moves_no_more_than_it_must(make):
    linear = make(np.diag([-1.0, -2.0, -3.0, -4.0, -1000.0]))

    def radius(split):
        return (
            2.0 - 0.4 * split.fast_x[1] - 0.4 * split.fast_x[3] - 0.3 * (split.fast_x[1] and split.fast_x[3])
        )

    split = partitioning.by_participation(linear, 20.0, spectral_radius=radius)
    assert split.fast == ("D1.x", "D3.x", "D4.x")


def test_only_algebraic_variables_become_slow(make):
    linear = make(np.diag([-1.0, -1000.0, -2.0]), gx=[[0.0, 1.0, 0.0]], gy=[[-1.0]])

    def radius(split):
        """Stable without the fast algebraic variable, without the fast state, or with everything fast."""
        good = not split.fast_y[0] or not split.fast_x[1] or split.fast_x.all()
        return 0.5 if good else 2.0

    split = partitioning.by_participation(linear, 20.0, spectral_radius=radius)
    assert split.fast == ("D1.x",)
    assert split.table["reason"][3].startswith("moved to the slow side")


def test_nothing_repairs_it(two_rates):
    message = (
        r"3 \(limit 1\), most implicated is G1.e_q; .*\(its largest Re\(lambda\) is -1 1/s\), give limit"
    )
    with pytest.raises(PartitionError, match=message):
        partitioning.by_participation(two_rates, 20.0, spectral_radius=lambda split: 3.0)
    with pytest.raises(PartitionError, match="no well-posed split found"):
        partitioning.by_participation(two_rates, 20.0, spectral_radius=lambda split: float("nan"))


def test_an_unstable_system_is_judged_by_its_own_growth(two_rates):
    growth = float(np.exp(0.3 * 0.05))
    split = partitioning.by_participation(two_rates, 20.0, spectral_radius=lambda s: growth, limit=growth)
    assert not split.table["moved"].any()
    for limit in (0.0, float("nan"), "1"):
        with pytest.raises(PartitionError, match=r"limit = .*finite number > 0"):
            partitioning.by_participation(two_rates, 20.0, limit=limit)


def test_a_unit_radius_to_rounding_is_stable(two_rates):
    split = partitioning.by_participation(two_rates, 20.0, spectral_radius=lambda s: 1.0 + 3e-8)
    assert not split.table["moved"].any()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 8), m=st.integers(1, 14), delta=st.floats(0.01, 200.0)
)
def test_every_split_of_a_random_index_one_dae_is_well_posed(make, seed, n, m, delta):
    rng = np.random.default_rng(seed)
    gy = rng.standard_normal((m, m)) * (rng.random((m, m)) < 0.3)
    gy[np.arange(m), rng.permutation(m)] += rng.choice([-1.0, 1.0], m) * rng.uniform(0.5, 2.0, m)
    if np.linalg.cond(gy) > 1e6:
        return
    fx = -np.diag(10.0 ** rng.uniform(-1, 3, n)) + 0.1 * rng.standard_normal((n, n))
    gx, fy = rng.standard_normal((m, n)), 0.1 * rng.standard_normal((n, m))
    labels = rng.integers(0, n + m, n + m)
    linear = make(fx, fy, gx, gy, groups=labels)
    split = partitioning.by_participation(linear, delta)
    assert split.fast_g.sum() == split.fast_y.sum()
    assert max(blocks(linear, split)) <= max(WORST_CONDITION, condition(scaled(linear)))
    fast = np.concatenate([split.fast_x, split.fast_y])
    for label in np.unique(labels):
        assert len(set(fast[labels == label])) == 1
    assert list(split.table["side"]) == ["fast" if side else "slow" for side in fast]
    untouched = ~split.table["moved"].to_numpy()
    alone = np.isin(labels, np.flatnonzero(np.bincount(labels) == 1))
    asked = split.table["magnitude"].to_numpy() > delta
    assert np.array_equal(fast[untouched & alone], asked[untouched & alone])


def test_a_search_without_end_is_given_up(two_rates, monkeypatch):
    monkeypatch.setattr("partitioning.repair.MOST", 2)
    tried = iter([2.0, 0.5, 1.9, 1.8, 1.7])
    with pytest.raises(PartitionError, match="no well-posed split among the 2 that were tried"):
        partitioning.by_participation(two_rates, 20.0, spectral_radius=lambda split: next(tried))

import dataclasses
import pickle

import numpy as np
import pytest

import partitioning
from partitioning import PartitionError


def test_the_threshold_decides_by_the_mode_of_each_variable(two_rates):
    split = partitioning.by_participation(two_rates, 20.0)
    assert split.fast == ("AVR1.v_m", "AVR1.v_c")
    assert split.slow == ("G1.e_q", "G1.v_f", "AVR1.v_ref")
    assert str(split) == "1 of 2 states and 1 of 3 algebraic variables fast (delta = 20 1/s)"
    row = split.table.set_index("variable").loc["AVR1.v_c"]
    assert (row["kind"], row["device"], row["side"], row["equation"]) == ("algebraic", "AVR1", "fast", "D1.g")
    assert row["magnitude"] == pytest.approx(1000.0, rel=1e-12)
    assert row["frequency_hz"] == 0.0
    assert row["reason"] == "its mode has |lambda| = 1000 > delta = 20"
    assert split.table.set_index("variable").loc["AVR1.v_ref", "reason"] == "no state moves it"
    assert not split.table["moved"].any()


def test_the_threshold_is_strict_and_zero_is_allowed(two_rates):
    assert partitioning.by_participation(two_rates, 0.0).fast_x.all()
    assert not partitioning.by_participation(two_rates, 1e9).fast_x.any()


def test_every_algebraic_variable_fast_on_request(two_rates):
    split = partitioning.by_participation(two_rates, 20.0, algebraic="fast")
    assert split.fast_y.all()
    assert split.fast_g.all()
    assert list(split.fast_x) == [False, True]
    assert str(split).endswith("(delta = 20 1/s, algebraic variables fast)")


def test_a_group_follows_its_fastest_variable(make):
    linear = make(np.diag([-1.0, -50.0, -3.0]), groups=[7, 7, 2])
    split = partitioning.by_participation(linear, 20.0)
    assert list(split.fast_x) == [True, True, False]
    assert split.table["reason"][0] == "in one group with D1.x, which is fast"


def test_frequency_is_that_of_the_imaginary_part(make):
    a = np.array([[-1.0, 2 * np.pi * 3], [-2 * np.pi * 3, -1.0]])
    table = partitioning.by_participation(make(a), 1.0).table
    assert np.allclose(table["frequency_hz"], 3.0, rtol=1e-12)
    assert (table["imag"] > 0).all()


def test_choice_by_device_and_by_hand(two_rates):
    assert partitioning.by_device(two_rates, ["AVR1"]).fast == ("AVR1.v_m", "AVR1.v_c", "AVR1.v_ref")
    assert partitioning.by_hand(two_rates, ["G1.e_q"]).fast == ("G1.e_q",)
    assert partitioning.by_hand(two_rates, []) == partitioning.all_slow(two_rates)
    assert partitioning.all_fast(two_rates).slow == ()
    assert str(partitioning.by_device(two_rates, ["G1"])).endswith("(by device)")
    assert str(partitioning.all_fast(two_rates)).endswith("(by hand)")


@pytest.mark.parametrize("delta", [float("nan"), -1.0, "20", None, True])
def test_a_threshold_that_is_no_number_above_zero(two_rates, delta):
    with pytest.raises(PartitionError, match=r"delta = .*number >= 0 in 1/s"):
        partitioning.by_participation(two_rates, delta)


def test_unknown_names_point_to_the_nearest(two_rates):
    with pytest.raises(PartitionError, match="no device with variables named 'AVR2'; did you mean 'AVR1'"):
        partitioning.by_device(two_rates, ["AVR2"])
    with pytest.raises(PartitionError, match=r"no variable 'AVR1.v_mm'; did you mean 'AVR1.v_m'"):
        partitioning.by_hand(two_rates, ["AVR1.v_mm"])
    with pytest.raises(PartitionError, match=r"a list of names is needed; try fast=\['AVR1'\]"):
        partitioning.by_device(two_rates, "AVR1")
    with pytest.raises(PartitionError, match="algebraic = 'quick': must be 'participation' or 'fast'"):
        partitioning.by_participation(two_rates, 20.0, algebraic="quick")


def test_groups_of_the_wrong_length(make):
    with pytest.raises(PartitionError, match="one label for each of the 1 states and 0 algebraic"):
        partitioning.all_fast(make([[-1.0]], groups=[0, 1]))


def test_a_record_of_arrays_that_disagree(two_rates):
    split = partitioning.all_slow(two_rates)
    with pytest.raises(PartitionError, match="1 fast algebraic equations for 0 fast algebraic variables"):
        dataclasses.replace(split, fast_g=np.array([True, False, False]))
    with pytest.raises(PartitionError, match="fast_x has shape"):
        dataclasses.replace(split, fast_x=np.zeros(5, bool))
    with pytest.raises(PartitionError, match="algebraic = 'x'"):
        dataclasses.replace(split, algebraic="x")


def test_equality_hash_and_pickle_go_by_content(two_rates):
    split, same = (partitioning.by_participation(two_rates, 20.0) for _ in range(2))
    other = partitioning.by_participation(two_rates, 21.0)
    assert split == same
    assert hash(split) == hash(same)
    assert split != other
    assert split != "split"
    again = pickle.loads(pickle.dumps(split))
    assert again == split
    assert again.table.equals(split.table)
    for partition in (split, again):
        with pytest.raises(ValueError, match="read-only"):
            partition.fast_x[0] = True


def test_the_widest_gap_is_suggested_first(make):
    linear = make(np.diag([-1.0, -2.0, -900.0, -1000.0, 0.0]))
    table = partitioning.suggest_delta(linear)
    assert list(table.columns) == ["delta", "below", "above", "ratio", "fast_states", "fast_algebraic"]
    assert table.loc[0, "delta"] == pytest.approx(np.sqrt(2.0 * 900.0))
    assert table.loc[0, "ratio"] == pytest.approx(450.0)
    assert list(table["fast_states"]) == [2, 3, 1]
    split = partitioning.by_participation(linear, table.loc[0, "delta"])
    assert split.fast_x.sum() == table.loc[0, "fast_states"]
    assert len(partitioning.suggest_delta(linear, rows=1)) == 1
    assert partitioning.suggest_delta(make([[-1.0]])).empty
    with pytest.raises(PartitionError, match="rows = 0"):
        partitioning.suggest_delta(linear, rows=0)

"""Devices that go out of service: the rest runs as if they had never been there, their own variables stay.

The reference is a system assembled without them, started from the same point; it knows nothing of all this.
"""

import numpy as np
import pytest

import partitioning
import psmr
from psmr import (
    Adaptive,
    ArcLength,
    Device,
    Multirate,
    SingleRate,
    SlowManifold,
    Smes,
    VariableStep,
    assemble,
)
from psmr.errors import EventError
from tests import systems
from tests.conftest import ROOT
from tests.internals import Change, integrate

G2 = ("G2", "AVR2", "GOV2", "PSS2")
TRIP, END = 0.2, 0.8


@pytest.fixture(scope="module")
def system():
    return psmr.build(psmr.read_case(ROOT / "cases" / "wscc9" / "wscc9.toml"))


@pytest.fixture(scope="module")
def plant(system):
    return tuple(d.name for d in system.devices if d.name in G2)


def names_of(system):
    return (*system.names_x, *system.names_y)


def belongs(name, devices):
    return name.rpartition(".")[0] in devices


def without(system, devices, x, y):
    """Return the system assembled without some devices, at the point (x, y) of the whole."""
    values = dict(zip((*names_of(system), *system.names_u), (*x, *y, *system.u0), strict=True))
    left = [d for d in system.devices if d.name not in devices]
    return assemble(left, {k: v for k, v in values.items() if not belongs(k, devices)})


def fast_side(system, split, devices):
    """Return the same split of the variables that are left."""
    sides = np.concatenate([split.fast_x, split.fast_y])
    fast = [
        name for name, side in zip(names_of(split), sides, strict=True) if side and not belongs(name, devices)
    ]
    return partitioning.by_hand(system.linearise(), fast)


def by_participation(system):
    return partitioning.by_participation(system.linearise(), 20.0)


SCHEMES = {
    "single": (lambda split: SingleRate("TM", 0.01), False),
    "explicit": (lambda split: SingleRate("RK4", 0.001), False),
    "multirate": (lambda split: Multirate(split, 0.02, 4, predictor="TM"), True),
    "multirate, slow predicted": (lambda split: Multirate(split, 0.02, 4, predict="slow"), True),
    "multirate, mean": (lambda split: Multirate(split, 0.02, 4, "TM", coupling="mean"), True),
    "multirate, Schur": (
        lambda split: Multirate(split, 0.02, 4, "TM", coupling="mean", interface="schur"),
        True,
    ),
    "multirate, corrected": (lambda split: Multirate(split, 0.02, 4, corrections=1, predictor="BEM"), True),
    "slow manifold": (lambda split: SlowManifold(split, 0.01), True),
    "SMES": (lambda split: Smes(0.004, 0.0005, micro=2), False),
    "variable step": (lambda split: VariableStep(1e-9), False),
    "adaptive": (lambda split: Adaptive("RK54", rtol=1e-9, atol=1e-11), False),
    "Adams": (lambda split: Adaptive("Adams", rtol=1e-9, atol=1e-11), False),
    "arc length": (lambda split: ArcLength("RK4", 0.003), False),
}


@pytest.mark.parametrize("kind", SCHEMES)
def test_the_rest_runs_as_if_the_plant_had_never_been_there(system, plant, kind):
    make, parted = SCHEMES[kind]
    split = by_participation(system)
    trip = Change(TRIP, out=plant, label="G2 trips")
    ours = integrate(system, make(split), END, [trip])
    before, after = np.flatnonzero(ours.t == TRIP)
    rest = without(system, plant, ours.x[before], ours.y[before])
    scheme = make(fast_side(rest, split, plant) if parted else None)
    reference = integrate(rest, scheme, END - TRIP)
    every = slice(None)
    if isinstance(scheme, Adaptive | VariableStep):
        # The one measures the error over all states, also those that rest, the other against the jump at the
        # trip, which the reference does not know: other steps.
        every = slice(-1, None)
    np.testing.assert_allclose(ours.t[after:][every] - TRIP, reference.t[every], atol=1e-9)
    for names, mine, its, theirs in (
        (system.names_x, ours.x, rest.names_x, reference.x),
        (system.names_y, ours.y, rest.names_y, reference.y),
    ):
        kept = [i for i, name in enumerate(names) if not belongs(name, plant)]
        left = [i for i, name in enumerate(names) if belongs(name, plant)]
        assert tuple(names[i] for i in kept) == its
        np.testing.assert_allclose(mine[after:, kept][every], theirs[every], atol=1e-7, rtol=1e-7)
        still = mine[after:, left]
        np.testing.assert_array_equal(still, np.broadcast_to(mine[before, left], still.shape))


FAST = [
    ("G2",),
    ("bus2",),
    ("bus2", "bus7"),
    ("AVR2", "GOV2"),
    ("bus2", "bus1", "bus3", "AVR2"),
    ("G2", "AVR2", "bus2"),
    ("bus1", "bus2", "bus3"),
    *[(f"bus{k}",) for k in range(4, 10)],
]


@pytest.mark.parametrize("fast", FAST, ids="+".join)
def test_a_plant_divided_over_both_sides_agrees_with_single_rate(system, plant, fast):
    split = partitioning.by_device(system.linearise(), fast)
    trip = [Change(TRIP, out=plant)]
    ours = integrate(system, Multirate(split, 0.005, 1, predictor="TM", corrections="converge"), END, trip)
    single = integrate(system, SingleRate("TM", 0.005), END, trip)
    # With equal steps the corrected scheme is the trapezoidal rule on all rows.
    np.testing.assert_allclose(ours.x, single.x, atol=1e-6)
    np.testing.assert_allclose(ours.y, single.y, atol=1e-6)


@pytest.mark.parametrize("fast", [("G2",), ("bus7",), ("bus2", "bus7")], ids="+".join)
def test_the_networks_response_leaves_out_what_is_out_of_service(system, plant, fast):
    """Recorded within a slow step, the slow variables of the plant that left are there too, and stay."""
    split = partitioning.by_device(system.linearise(), fast)
    trip = [Change(TRIP, out=plant)]
    scheme = Multirate(split, 0.02, 4, "TM", coupling="mean", interface="schur")
    every, macro = (integrate(system, scheme, 0.4, trip, every=each) for each in (True, False))
    assert every.y[-1] == pytest.approx(macro.y[-1], abs=1e-9)
    own = [k for k, name in enumerate(system.names_y) if belongs(name, plant)]
    after = np.flatnonzero(every.t == TRIP)[1]
    still = every.y[after:, own]
    np.testing.assert_allclose(still, np.broadcast_to(still[0], still.shape), rtol=0, atol=1e-12)


def test_rows_are_paired_anew_where_the_sides_need_it(system, plant):
    """A bus solved from its plant's equation leaves that side one equation short when the plant trips."""
    linear = system.linearise()
    n, m = system.n, system.m
    fast_y = np.array([name.startswith("bus2.") for name in system.names_y])
    own = np.flatnonzero([belongs(name, plant) for name in system.names_g])
    assert len(own) >= 2
    fast_g = np.zeros(m, dtype=bool)
    fast_g[own[:2]] = True
    split = partitioning.Partition(
        np.zeros(n, dtype=bool), fast_y, fast_g, None, "manual", linear.names_x, linear.names_y,
        linear.names_g, partitioning.by_device(linear, ["bus2"]).columns,
    )  # fmt: skip
    trip = [Change(TRIP, out=plant)]
    scheme = Multirate(split, 0.005, 1, predictor="TM", corrections="converge")
    single = integrate(system, SingleRate("TM", 0.005), END, trip)
    np.testing.assert_allclose(integrate(system, scheme, END, trip).x, single.x, atol=1e-6)


def test_work_goes_on_being_counted(system, plant):
    whole = integrate(system, SingleRate("TM", 0.01), 1.0).counters
    tripped = integrate(system, SingleRate("TM", 0.01), 1.0, [Change(0.5, out=plant)]).counters
    own = len(["i_d", "i_q", "t_m", "v_s"])  # algebraic variables of the plant, which leave the matrices
    assert tripped.orders == {role: order - own for role, order in whole.orders.items()}
    assert tripped.steps == whole.steps
    assert tripped.newton_iterations["step"] > whole.newton_iterations["step"]


def test_trips_of_several_plants_and_twice_the_same(system, plant):
    g3 = tuple(d.name for d in system.devices if d.name in ("G3", "AVR3", "GOV3", "PSS3"))
    both = integrate(
        system, SingleRate("TM", 0.01), 0.5, [Change(0.1, out=plant), Change(0.2, out=(*g3, *plant))]
    )
    one = integrate(system, SingleRate("TM", 0.01), 0.5, [Change(0.1, out=plant), Change(0.2, out=g3)])
    np.testing.assert_array_equal(both.x, one.x)


def test_states_at_a_limit_stay_there():
    """The derivative is zero, so that no limit holds the state and it leaves none."""
    system = assemble([Device("D", systems.Limited, {})])
    ours = integrate(system, SingleRate("TM", 0.01), 3.0, [Change(1.0, out=("D",))])
    assert ours.x[np.flatnonzero(ours.t == 1.0)[0]] == 0.5
    at = np.flatnonzero(ours.t == 1.0)[0]
    np.testing.assert_array_equal(ours.x[at:], np.broadcast_to(ours.x[at], ours.x[at:].shape))


def test_what_cannot_go_out_is_refused(system):
    with pytest.raises(EventError, match="trip: there is no device 'G22'; did you mean 'G2'"):
        integrate(system, SingleRate("TM", 0.01), 1.0, [Change(0.5, out=("G22",), label="trip")])
    with pytest.raises(
        EventError, match="adds to an equation of bus5, which cannot go out of service without"
    ):
        integrate(system, SingleRate("TM", 0.01), 1.0, [Change(0.5, out=("bus5",))])


def test_columns_keep_their_names_when_a_plant_goes_out(system, plant):
    engine = SingleRate("TM", 0.01).engine(system, system.parameters, system.w0.copy(), False)
    engine.take_out_of_service(system, system.parameters, system.w0.copy(), plant)
    left = [name for name in system.names_y if not belongs(name, plant)]
    assert list(engine.blocks[0].columns) == [*system.names_x, *left]

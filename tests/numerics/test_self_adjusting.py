"""Steps of their own for the devices whose error asks for them: who is refined, accuracy, events, restart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import psmr
from psmr.dae.declare.component import Component, Parameter, positive
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.errors import SchemeError, SimulationError
from psmr.numerics.refine import atoms as atoms_module
from psmr.numerics.refine.atoms import atoms_of
from psmr.numerics.refine.extract import extract
from psmr.numerics.refine.frame import frame_of
from psmr.numerics.refine.level import level_for, place
from psmr.numerics.refine.nest import nest_for
from psmr.numerics.refine.split import (
    LEAST,
    PER_OPENING,
    PER_ROW_OPENED,
    PER_STEP,
    WORTH,
    Bins,
    add,
    bins,
    cheapest,
    clear,
    promise,
)
from psmr.numerics.refine.watch import PATIENCE, may_pay
from psmr.numerics.run.integrate import integrate
from psmr.numerics.run.trajectory import Change
from psmr.numerics.solve.block import make_block
from psmr.numerics.solve.ramps import Course, Following
from psmr.numerics.step.controller import MOST_CHANGE, SAFETY
from tests import systems


class Slow(Component):
    """A cell of a chain: x' = (left - x) / T, and what it shows of itself."""

    states = ("x",)
    algebraic = ("y",)
    inputs = ("left",)
    T = Parameter(unit="s", doc="time constant", check=positive, default=1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return ((v.left - v.x) / p.T,), (v.y - v.x + 0.1 * v.x**3,), ()


class Oscillator(Component):
    """An undamped oscillator of 1 Hz."""

    states = ("x", "v")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (2 * np.pi * v.v, -2 * np.pi * v.x), (), ()


class Rippling(Component):
    """A fast lag that is driven by a ripple of frequency f: x' = (left + a sin(2 pi f t) - x) / T."""

    states = ("x",)
    inputs = ("left",)
    T = Parameter(unit="s", doc="time constant", check=positive, default=2e-3)
    a = Parameter(unit="pu", doc="amplitude", default=0.5)
    f = Parameter(unit="Hz", doc="frequency", default=120.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return ((v.left + p.a * m.sin(2 * np.pi * p.f * v.t) - v.x) / p.T,), (), ()


class Waking(Component):
    """A lag that begins to ripple at a time, without an event."""

    states = ("x",)
    inputs = ("left",)
    at = Parameter(unit="s", doc="time", default=1.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        awake = 1.0 / (1.0 + m.exp(m.clip(1e3 * (p.at - v.t), -50.0, 50.0)))
        return ((v.left + awake * m.sin(600 * np.pi * v.t) - v.x) / 2e-3,), (), ()


class Wide(Component):
    """An oscillator of 3 Hz with so many lags that steps of its own would not pay."""

    states = tuple(f"x{k}" for k in range(70))

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        x = [getattr(v, f"x{k}") for k in range(70)]
        lags = (x[k - 1] - x[k] for k in range(2, 70))
        return (6 * np.pi * x[1], -6 * np.pi * x[0], *lags), (), ()


class Clipped(Component):
    """z' = clip(sin t, -h, h)."""

    states = ("x", "z")
    algebraic = ("y",)
    h = Parameter(unit="pu", doc="ceiling", default=0.5)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (m.cos(v.t), v.y), (m.clip(v.x, -p.h, p.h) - v.y,), ()


class Limited(Component):
    """z' = x, where x' = cos t stays within its limits."""

    states = ("x", "z")
    limits = {"x": ("low", "high")}
    low = Parameter(unit="pu", doc="lower limit", default=-0.5)
    high = Parameter(unit="pu", doc="upper limit", default=0.5)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (m.cos(v.t), v.x), (), ()


class Turning(Component):
    """A source that turns at 6 rad/s, and the phasor (u, v) behind its reactance at a load: x p = 0.4."""

    states = ("x",)
    algebraic = ("u", "v")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        square = v.u**2 + v.v**2
        behind = m.cos(v.x) + 0.4 * v.v / square, m.sin(v.x) - 0.4 * v.u / square
        return (6.0 + 0.0 * v.x,), (behind[0] - v.u, behind[1] - v.v), ()


def chain(
    cells: int = 300, rippling: tuple[int, ...] = (20,), beside: tuple[Device, ...] = (), **values: float
) -> Any:
    """A chain of slow cells, and lags that ripple at some of them; nothing reads these."""
    devices = [
        Device(f"C{k}", Slow, {"T": 0.5}, {} if k == 0 else {"left": f"C{k - 1}.y"}) for k in range(cells)
    ]
    devices += [Device(f"R{k}", Rippling, values, {"left": f"C{k}.y"}) for k in rippling]
    return assemble([*devices, *beside], {"C0.left": 1.0})


@pytest.fixture(scope="module")
def faulted(wscc9):
    system = psmr.build(psmr.read_case(wscc9 / "wscc9.toml"))
    return system, psmr.Fault(bus=5, start=0.5, clear=0.6, trip="5-7").changes(system)


def test_only_the_rippling_devices_are_refined():
    system = chain(rippling=(20, 45))
    run = psmr.simulate(system, psmr.SelfAdjusting(1e-3), 2.0, certify=False)
    late = run.activity.loc[:, [column for column in run.activity if column.left > 0.1]]
    assert set(late.index[(late > 1).any(axis=1)]) == {"R20", "R45"}
    # About seven steps a period of 1/120 s keep the error of a sine at 1e-3.
    assert (late.loc["R20"] > 1).all()
    assert late.loc["R20"].sum() > 3 * 120
    counters = run.stats.counters
    assert counters.refined_rows / counters.refined < 6
    assert counters.steps < 60


def test_who_ripples_harder_takes_smaller_steps():
    devices = [
        Device("C0", Slow, {}, {}),
        *(Device(f"C{k}", Slow, {}, {"left": f"C{k - 1}.y"}) for k in range(1, 2000)),
        *(Device(f"M{k}", Rippling, {"f": 10.0, "T": 0.02}, {"left": "C3.y"}) for k in range(200)),
        Device("F", Rippling, {"f": 1000.0, "T": 2e-4}, {"left": "C3.y"}),
    ]
    run = psmr.simulate(assemble(devices, {"C0.left": 1.0}), psmr.SelfAdjusting(1e-3), 1.0, certify=False)
    steps = run.activity.sum(axis=1)
    assert steps["F"] > 20 * steps["M7"] > 20 * run.activity.shape[1]
    assert set(steps.index) == {"F", *(f"M{k}" for k in range(200))}


def test_the_ripple_is_followed_and_the_chain_as_well():
    system = chain()
    fine = integrate(system, psmr.VariableStep(1e-8), 1.0)
    for tolerance in (1e-3, 1e-4, 1e-5):
        run = integrate(system, psmr.SelfAdjusting(tolerance), 1.0)
        single = integrate(system, psmr.VariableStep(tolerance), 1.0)
        assert np.abs(run.x[-1] - fine.x[-1]).max() < 3 * tolerance
        assert run.counters.refined
        assert run.counters.steps < 0.3 * single.counters.steps


@pytest.mark.parametrize("method", ["TR-BDF2", "ESDIRK32", "ESDIRK43"])
def test_the_error_follows_the_tolerance_across_a_fault(faulted, method):
    system, changes = faulted
    fine = integrate(system, psmr.VariableStep(1e-9), 3.0, changes)
    tolerances = np.array([1e-3, 1e-4, 1e-5, 1e-6])
    runs = [integrate(system, psmr.SelfAdjusting(t, method=method), 3.0, changes) for t in tolerances]
    errors = [np.abs(run.x[-1] - fine.x[-1]).max() for run in runs]
    assert np.polyfit(np.log(tolerances), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.25)


def test_without_anything_to_refine_it_is_the_variable_step(faulted):
    system, changes = faulted
    for tolerance in (1e-2, 1e-4):
        one = integrate(system, psmr.SelfAdjusting(tolerance), 5.0, changes)
        other = integrate(system, psmr.VariableStep(tolerance), 5.0, changes)
        assert one.counters.refined == 0
        np.testing.assert_array_equal(one.t, other.t)
        np.testing.assert_array_equal(one.x, other.x)
        np.testing.assert_array_equal(one.y, other.y)


def test_sets_are_made_where_something_may_stay_fast_and_once_for_all_runs(faulted, monkeypatch):
    made = []

    def noted(name):
        make = getattr(atoms_module, name)
        monkeypatch.setattr(atoms_module, name, lambda *given: made.append(name) or make(*given))

    noted("_entries")
    noted("_atoms")
    monkeypatch.setattr("psmr.numerics.refine.engine.nest_for", lambda *given: made.append("nest"))
    integrate(faulted[0], psmr.SelfAdjusting(1e-2), 5.0, faulted[1])
    assert not made
    monkeypatch.setattr("psmr.numerics.refine.engine.nest_for", nest_for)
    system = chain()
    for _ in range(2):
        assert integrate(system, psmr.SelfAdjusting(1e-3), 1.0).counters.refined
        assert made == ["_entries", "_atoms"]


def test_sets_are_found_while_a_run_in_another_thread_replaces_them():
    class Replaced(dict):
        """Forgets what it holds as soon as it has been asked, as another thread may make it do."""

        def __contains__(self, key):
            found = super().__contains__(key)
            self.clear()
            return found

        def get(self, key, default=None):
            found = super().get(key, default)
            self.clear()
            return found

    system = chain()
    everything = np.arange(system.n + system.m)
    block = make_block(system, "step", system.parameters, system.w0, everything, everything)
    block.kernels.shared_by_all("atoms", Replaced)
    first, second = (atoms_of(system, block, system.w0) for _ in range(2))
    assert first.names == second.names


def test_a_split_may_pay_where_few_variables_need_many_steps():
    system = chain()
    everything = np.arange(system.n + system.m)
    block = make_block(system, "step", system.parameters, system.w0, everything, everything)
    random, w = np.random.default_rng(2), 3.0 * np.abs(system.w0)
    found = []
    for share in np.geomspace(1e-3, 1.0, 200):
        scale = np.where(random.random(everything.size) < share, 1.0, 10.0 ** random.uniform(-6.0, 0.0))
        update = scale * random.random(everything.size)
        block.records.work.update[:] = update
        needs = np.sort((update / np.maximum(1.0, w[: update.size])) ** (1.0 / 3.0))[::-1]
        rank = np.arange(update.size) / update.size
        found.append(may_pay(block.address, 3.0, w))
        assert found[-1] == (needs / needs[0] + rank < 1.0 / WORTH).any()
    assert 20 < sum(found) < 180


def filled(devices: list[tuple[float, float]]) -> Bins:
    """Return bins with devices of an error and a number of rows."""
    found = bins()
    clear(found)
    for error, rows in devices:
        add(found, error, rows)
    return found


def test_where_no_split_of_variables_may_pay_none_of_devices_does():
    system = chain()
    size = system.n + system.m
    everything = np.arange(size)
    block = make_block(system, "step", system.parameters, system.w0, everything, everything)
    random, w = np.random.default_rng(3), np.zeros_like(system.w0)
    promised, refused = 0, 0
    for share in np.geomspace(1e-3, 1.0, 200):
        scale = np.where(random.random(size) < share, 1.0, 10.0 ** random.uniform(-12.0, 0.0))
        errors = block.records.work.update[:] = scale * random.random(size)
        ends = np.append(np.unique(random.integers(1, size, size // 3)), size)
        groups = np.split(errors, ends[:-1])
        gain = promise(
            filled([(float(group.max()), float(group.size)) for group in groups]), float(size), 3.0, 1.0
        )
        may = may_pay(block.address, 3.0, w)
        assert may or gain <= WORTH
        promised, refused = promised + (gain > WORTH), refused + (not may)
    assert promised > 20
    assert refused > 20


def test_the_cheapest_split_is_the_cheapest_of_all():
    """Devices with one bin each; every sequence of levels, and every step for the first of them."""
    power, random = 3.0, np.random.default_rng(4)

    def pace(error: float) -> float:
        return max(1.0 / MOST_CHANGE, error ** (1.0 / power) / SAFETY)

    def squares(devices: list[tuple[float, float]], steps: float) -> float:
        return sum(rows * (error / steps**power) ** 2 for error, rows in devices)

    def opened(devices: list[tuple[float, float]], steps: float) -> tuple[float, float]:
        """Least work of devices in levels within a number of steps, and what squared errors it leaves."""
        if not devices:
            return 0.0, 0.0
        work, left = levels(devices)
        return work + steps * (PER_OPENING + PER_ROW_OPENED * sum(rows for _, rows in devices)), left

    def levels(devices: list[tuple[float, float]]) -> tuple[float, float]:
        found, rows = [], sum(rows for _, rows in devices)
        for k, (error, _) in enumerate(devices):
            steps = pace(error)
            work, left = opened(devices[k + 1 :], steps)
            found.append((work + steps * (rows + PER_STEP), left + squares(devices[: k + 1], steps)))
        return min(found)

    for _ in range(100):
        places = np.sort(random.choice(np.arange(LEAST + 1, 12), 5, replace=False))
        devices = [(2.0**k * random.uniform(0.5, 0.99), float(random.integers(1, 1000))) for k in places]
        top, order = devices[-1][0], sum(rows for _, rows in devices)
        whole, together = order + PER_STEP, squares(devices, pace(top))
        # The common step suits a device, or a power of two that no device has.
        firsts = [2.0 ** (k - 1) for k in range(LEAST, places[-1]) if k not in places]
        firsts += [error for error, _ in devices]
        splits, lasting = [], [1.0]
        for first in firsts:
            slow = [device for device in devices if device[0] <= first]
            fast = devices[len(slow) :]
            work, left = opened(fast, pace(first))
            larger = (squares(slow, pace(first)) + left) / together
            splits.append(((work + pace(first) * whole) * larger ** (0.5 / power), pace(first)))
            if fast:
                part = (first / top) ** (1.0 / power)
                work = part * whole + sum(rows for _, rows in fast) + PER_STEP
                larger = (squares(slow, part) + squares(fast, 1.0)) / squares(devices, 1.0)
                lasting.append(whole / (work * larger ** (0.5 / power)))
        found = filled(devices)
        handed, _, again, again_steps, split, steps, alone = cheapest(found, order, power)
        assert alone == pytest.approx(pace(top) * whole)
        assert (split, steps) == pytest.approx(min(splits))
        shorter = [each for each in splits if SAFETY * each[1] >= 1.0]
        assert (again, again_steps) == pytest.approx(min(shorter, default=(np.inf, 1.0)))
        slow = [device for device in devices if device[0] < 1.0]
        work, left = opened(devices[len(slow) :], 1.0)
        larger = (squares(slow, 1.0) + left) / together
        assert handed == pytest.approx(work * larger ** (0.5 / power))
        assert promise(found, order, power, 1.0) == pytest.approx(max(lasting))


@pytest.mark.parametrize("component", [Clipped, Limited])
def test_a_step_of_all_ends_at_a_corner_of_what_is_not_refined(component):
    """Without, the errors are up to 7 tolerances behind ceilings, and 21 behind limits."""
    cornered = Device("K", component, {})
    fine = integrate(assemble([cornered], {}), psmr.VariableStep(1e-10), 6.0).x[-1, 1]
    system = chain(beside=(cornered,))
    errors = []
    for tolerance in map(float, np.logspace(-3.0, -5.0, 9)):
        run = integrate(system, psmr.SelfAdjusting(tolerance), 6.0)
        assert run.counters.refined
        errors.append(abs(run.x[-1, system.index("K.z")] - fine) / tolerance)
    assert np.median(errors) < 1
    assert np.sort(errors)[-2] < 3  # one of sixty may be further off: what is left to the error control


def test_an_undamped_oscillator_beside_a_ripple_keeps_its_amplitude():
    devices = [
        Device("O", Oscillator, {}, {}),
        *(Device(f"C{k}", Slow, {}, {} if k == 0 else {"left": f"C{k - 1}.y"}) for k in range(300)),
        Device("R", Rippling, {}, {"left": "C3.y"}),
    ]
    run = integrate(assemble(devices, {"O.x": 1.0}), psmr.SelfAdjusting(1e-6), 20.0)
    assert run.counters.refined
    assert np.hypot(run.x[-1, 0], run.x[-1, 1]) == pytest.approx(1.0, abs=1e-4)


def test_a_step_that_newton_does_not_solve_is_shortened_while_devices_are_refined():
    # The rate of the angle has no error, and the phasor turns by radians a step. (In longer runs some end on
    # the other solution, that of the lower voltage: Newton may solve such a step with either.)
    system = chain(beside=(Device("T", Turning, {}),))
    square = 0.5 * (1.0 + np.sqrt(1.0 - 4.0 * 0.4**2))
    place = system.index("T.u")
    system.w0[place : place + 2] = square, -0.4
    run = integrate(system, psmr.SelfAdjusting(1e-3), 14.0)
    assert run.counters.refined
    assert run.counters.rejected > 5
    assert run.counters.damped == 0
    u, v = run.y[-1, place - system.n : place - system.n + 2]
    assert np.hypot(u, v) == pytest.approx(np.sqrt(square), abs=1e-3)


def test_it_begins_anew_after_an_event_and_knows_new_parameters():
    system = chain()
    changes = [Change(0.5, (("R20", "a", 0.0),)), Change(0.8, inputs=(("C0.left", 0.2),))]
    run = psmr.simulate(system, psmr.SelfAdjusting(1e-4), 1.5, certify=False)
    assert (run.activity.loc["R20"] > 1).any()
    run = integrate(system, psmr.SelfAdjusting(1e-4), 1.5, changes)
    fine = integrate(system, psmr.VariableStep(1e-8), 1.5, changes)
    assert np.abs(run.x[-1] - fine.x[-1]).max() < 3e-4
    where = run.activity.devices.index("R20")
    quiet = run.activity.intervals[:, 0] > 0.55
    assert (run.activity.steps[where][quiet] == 1).all()
    assert np.count_nonzero(run.t == 0.5) == np.count_nonzero(run.t == 0.8) == 2


@pytest.mark.parametrize("at", [1.2, 1.3, 1.4])
def test_who_wakes_up_is_found_within_a_few_steps_of_the_short_ones(at):
    cells = [Device(f"C{k}", Slow, {"T": 0.5}, {"left": f"C{k - 1}.y"} if k else {}) for k in range(120)]
    devices = [*cells, Device("K", Waking, {"at": at}, {"left": "C3.y"}), Device("W", Wide, {}, {})]
    system = assemble(devices, {"C0.left": 1.0, "W.x0": 1.0})
    run = integrate(system, psmr.SelfAdjusting(1e-4, h_max=0.02), 1.5)
    assert run.activity.devices == ("K",)
    ends = run.activity.intervals[:, 1]
    first = ends[(run.activity.steps > 1).any(axis=0) & (ends > at)][0]
    assert np.count_nonzero((ends > at) & (ends < first)) <= 2 * PATIENCE


def test_a_device_out_of_service_stays_as_it_was():
    system = chain(rippling=(20, 45))
    run = integrate(system, psmr.SelfAdjusting(1e-3), 1.0, [Change(0.4, out=("R20",))])
    at = system.index("R20.x")
    after = run.t >= 0.4
    assert np.ptp(run.x[after, at][1:]) == 0.0
    assert set(run.activity.devices) == {"R20", "R45"}


def row_of_load(block, system, name):
    """Return the parameters that a block has of a load, its active power first; None where it has none."""
    group, row, column = system.parameter_place(name, "p")
    at = np.flatnonzero(block.kernels.selected[group] == row)
    return block.kernels.parameters[group][at[0], column:] if at.size else None


@pytest.mark.parametrize("name", ["wscc9.toml", "wscc9-gfm.toml", "wscc9-renewable.toml"])
def test_a_block_made_in_the_run_is_the_restricted_one(wscc9, name):
    system = psmr.build(psmr.read_case(wscc9 / name))
    w, size = system.w0.copy(), system.n + system.m
    everything = np.arange(size, dtype=np.uint32)
    parameters = [matrix.copy() for matrix in system.parameters]
    whole = make_block(system, "step", parameters, w, everything, everything)
    # At t = 0 the course is beyond what the parameters have: a block that does not follow it differs.
    loads = [d.name for d in system.devices if "p_rate" in d.component.ramps]
    course = Course.through([-1.0, 1.0], [0.5, 1.5])
    following = Following(
        {system.n + system.m: Course.line(0.0, float(w[system.n + system.m]), 0.2)},
        {system.parameter_place(name, "p"): course for name in loads[1:]},
    )
    whole.load(parameters, *system.constant_limits(parameters), following, w)
    atoms = atoms_of(system, whole, w)
    frame = frame_of(whole, atoms)
    level = level_for(whole, frame)
    random = np.random.default_rng(1)
    for share in (0.05, 0.3, 0.7, 1.0):
        chosen = (random.random(len(atoms.names)) < share).astype(np.int64)
        rows, read = np.zeros((2, size), np.uint32)
        order, reads = extract(
            frame, whole.address, level.address, np.array(level.bases), everything, everything, chosen, 1,
            rows, read,
        )  # fmt: skip
        variables = np.flatnonzero(chosen[atoms.of_variable])
        wanted = make_block(system, "fast", parameters, w, np.flatnonzero(chosen[atoms.of_row]), variables)
        wanted.load(parameters, *system.constant_limits(parameters), following, w)
        np.testing.assert_array_equal(rows[:order], wanted.kernels.row_indices)
        for part in ("matrix", "limits"):
            for field in getattr(wanted.records, part)._fields:
                if f"{part}.{field}" in ("matrix.table", "matrix.J", "matrix.F"):
                    continue
                of = getattr(getattr(wanted.records, part), field)
                made = getattr(getattr(level.records, part), field)[: level.row[place(f"{part}.{field}") + 1]]
                np.testing.assert_array_equal(made[: order or None], of[: order or None])
        other = w.copy()
        other[variables] += 1e-4 * random.standard_normal(order)
        one, two = other.copy(), other.copy()
        states = wanted.kernels.states
        wanted.records.work.known[:] = level.records.work.known[:states] = w[variables[:states]]
        from psmr.numerics.solve.solver import solve

        assert wanted.solve(one, 1e-2, 2, 1e-10, 0) == solve(level.address, two, 1e-2, 2, 1e-10, 0)
        np.testing.assert_allclose(two, one, rtol=0, atol=1e-12)
        in_block = [name for name in loads[1:] if row_of_load(wanted, system, name) is not None]
        assert np.count_nonzero(level.records.ramps.places) == len(in_block)
        assert all(row_of_load(wanted, system, name)[0] == 1.0 for name in in_block)
        assert set(read[:reads]).isdisjoint(variables)


def test_devices_that_cannot_stand_alone_are_one():
    """A: 0 = B.z - 1 has no equation for its own y; B: 0 = A.y + z."""

    class A(Component):
        algebraic = ("y",)
        inputs = ("z",)

        @staticmethod
        def equations(m: Any, v: Any, p: Any) -> Any:
            return (), (v.z - 1.0,), ()

    class B(Component):
        algebraic = ("z",)
        inputs = ("y",)

        @staticmethod
        def equations(m: Any, v: Any, p: Any) -> Any:
            return (), (v.y + v.z,), ()

    devices = [Device("A", A, {}, {"z": "B.z"}), Device("B", B, {}, {"y": "A.y"}), Device("C", Slow, {}, {})]
    system = assemble(devices, {"A.y": -1.0, "B.z": 1.0})
    everything = np.arange(system.n + system.m)
    whole = make_block(system, "step", system.parameters, system.w0, everything, everything)
    assert sorted(atoms_of(system, whole, system.w0).names) == ["A + B", "C"]


def test_work_is_counted_by_order():
    run = integrate(chain(), psmr.SelfAdjusting(1e-3), 1.0)
    counters = run.counters
    assert {"step", "event", "refined"} <= set(counters.orders)
    assert sum(counters.factorisations.values()) == sum(
        made for role, made in counters.factorisations_by_role.items() if role != "event"
    )
    assert any(order < 10 for order in counters.factorisations)
    assert counters.newton_iterations["refined"] > counters.refined


def test_what_is_refused_and_what_ends_a_run():
    with pytest.raises(SchemeError, match="tolerance = "):
        psmr.SelfAdjusting(0.0)
    with pytest.raises(SchemeError, match="h_max"):
        psmr.SelfAdjusting(h_max=-1.0)
    with pytest.raises(SchemeError, match="chooses its own steps"):
        psmr.step_operator(chain().linearise(), psmr.SelfAdjusting())
    with pytest.raises(SimulationError, match=r"D\.x"):
        integrate(systems.one(systems.Blowup, {"x": 1.0}), psmr.SelfAdjusting(1e-4), 2.0)
    with pytest.raises(SimulationError, match="most_steps = 5"):
        integrate(chain(), psmr.SelfAdjusting(1e-4, most_steps=5), 2.0)

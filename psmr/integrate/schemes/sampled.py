"""Two rates, both by their errors: what is sampled by fast steps, everything else at its own pace."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

import partitioning
from partitioning import Partition, PartitionError
from psmr.base.arguments import explains_keywords
from psmr.base.declared import Positive
from psmr.base.errors import SchemeError
from psmr.integrate.schemes.choices import check_partition
from psmr.integrate.schemes.multirate import lagrange_weights
from psmr.integrate.schemes.one_step import tableau_program
from psmr.integrate.schemes.scheme import ErrorControl, Scheme
from psmr.integrate.schemes.variable_step import AUTO, VariableStep
from psmr.integrate.step.program import NEW, NOW, OLDER, Add, Each, March, Program, Repeat, Restore, Stage
from psmr.integrate.tableaux import PAIRS, TABLEAUX

if TYPE_CHECKING:
    from psmr.dae.system.system import System

METHODS = (AUTO, *PAIRS)

LONG = 0.02
"""Period in s from which on samples are no reason for two rates: a step of the one rate ends at each."""

FAST_RULE = TABLEAUX["SDIRK2"]
"""Of the fast side: no stage has the rate before a jump, and the last one is the end."""

FAST_PART = 0.1
"""Part of the tolerance of a step that errors of fast steps may have: of what rings within them the two that
are compared are wrong alike."""

MOMENTS = ("mean", "slope")
COUNTED = 100
"""Fast steps that are counted in a step whose length is not known."""


def on_the_line(c: float) -> tuple[tuple[str, Each], ...]:
    """Return the moments with the values of their polynomials at the part c of a step."""
    return tuple(zip(MOMENTS, ((1.0,), (2.0 * c - 1.0,)), strict=True))


@functools.cache
def sampled_program(name: str) -> Program:
    """Return the program of a step: the fast side marches ahead, the slow side follows with a pair.

    What the fast variables are at the end decides on the slow algebraic ones there.
    """
    gamma = FAST_RULE.gamma
    point = "fast point"
    start = (("f(fast)", 0.0),)  # the rate of the last stage: where Newton starts
    first = Stage("fast", "fast", point, point, start, gamma, (gamma,), with_response=True, rate="f(fast)")
    # From the first stage the old point is gamma h f back.
    again = (("f(fast)", 1.0 - 2.0 * gamma),)
    second = Stage("fast", "fast", point, point, again, gamma, with_response=True)
    march = March((first, second), 1.0 - gamma, "fast end", MOMENTS, COUNTED)
    pair = PAIRS[name]
    slow = tableau_program(pair.tableau, keep_last=True, starts=pair.starts, beside=on_the_line)
    *stages, last = slow.instructions
    assert isinstance(last, Stage)
    last = replace(last, to="ahead")
    end = Stage("slow", "slow", NEW, "ahead", outside=(("fast end", (1.0,)),))
    return Program((march, *stages, last, end), history=2, carried=slow.carried, history_of="all")


def sampled_partition(system: System) -> Partition | None:
    """Return what is sampled in less than `LONG` as fast, with what reads it; None where no equation does.

    These are the variables of the devices that sample, of those with a row that reads what is sampled, and of
    a network with dynamics, which rings as fast. A device whose states are coupled with theirs both ways
    comes with them, and so on.
    """
    samplers = [sampler for sampler in system.samplers if sampler.period < LONG]
    if not samplers:
        return None
    at = np.concatenate([sampler.at for sampler in samplers])
    names = [n.rpartition(".")[0] for n in (*system.names_x, *system.names_y, *system.names_g)]
    devices, number = np.unique(names, return_inverse=True)
    size, n = system.n + system.m, system.n
    of_row = np.concatenate([number[:n], number[size:]])
    rings = [device.name for device in system.devices if device.component.instantaneous]
    chosen = np.isin(devices, [*rings, *(sampler.device for sampler in samplers)])
    read, pairs = False, [np.zeros(0, np.int64)]
    for group in system.groups:
        row, column = np.array(group.compiled.entries, np.intp).reshape(-1, 2).T
        rows, columns = group.row[:, row], group.index[:, column]
        own = np.isin(columns, at) & (rows < size)
        chosen[of_row[rows[own]]] = True
        read |= bool(own.any())
        states = (rows < n) & (columns < n)
        pairs.append(np.unique(number[rows[states]] * devices.size + number[columns[states]]))
    if not read:
        return None
    one, other = np.divmod(np.unique(np.concatenate(pairs)), devices.size)
    both = np.isin(one * devices.size + other, other * devices.size + one)
    one, other = one[both], other[both]
    while not chosen[other[chosen[one]]].all():
        chosen[other[chosen[one]]] = True
    fast = chosen[number]
    try:
        return Partition(
            fast[:n],
            fast[n:size],
            fast[size:],
            None,
            "device",
            system.names_x,
            system.names_y,
            system.names_g,
        )
    except PartitionError:  # other rows than those of the devices are solved for their variables
        return partitioning.by_device(system.linearise(), devices[chosen].tolist())


def repeatable(system: System) -> bool:
    """Return whether samples may be taken again: external code may keep states of its own."""
    return all(sampler.code is None or sampler.code.repeatable for sampler in system.samplers)


@explains_keywords(SchemeError)
@dataclass(frozen=True, repr=False)
class SampledMultirate(VariableStep):
    r"""Advance what is sampled with steps of its samples, and everything else as `VariableStep` does.

    Both steps follow an error. A macro step is one of `VariableStep` for the slow side; its length follows
    from the estimate of its pair, and from how far off that was which the fast side had read of the slow one.
    The fast side goes ahead of it with steps that end at each sample, divided where their own error asks for
    it (by doubling the steps at one point in 256): SDIRK2, which has no use for a rate from before a sample.
    It reads the slow states, and the levels of slow algebraic variables under the network's response, on the
    parabola through the last three points; the slow side sees the line that has the fast side's mean and
    first moment over the step (docs/theory.md). Events and limits are met as by `VariableStep`. Where nothing
    is sampled, nothing is slow, or external code keeps states of its own, so that it cannot sample again in a
    step that is rejected, it is `VariableStep`, of which a step ends at each sample.

    Parameters
    ----------
    tolerance, method, h_max, most_steps
        As of `VariableStep`; ``"BDF"`` is not among the methods.
    split
        Which variables are fast; None: the devices that sample more often than every 20 ms, those with an
        equation that reads what is sampled, a network with dynamics, and those whose states are coupled both
        ways with states of these.
    h_fast
        Longest fast step in s; None: the shortest period. Needed with a split where nothing is sampled.

    Raises
    ------
    SchemeError
        As `VariableStep`; for a split that is no partition; before a run for a split without samples and
        without `h_fast`, or with external code that keeps states of its own.
    """

    method: Annotated[str, METHODS] = AUTO
    split: Partition | None = None  # type: ignore[assignment,misc]
    h_fast: Annotated[float | None, Positive("s")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.split is not None:
            check_partition(self.split)

    def program(self, h: float, before: tuple[float, ...] = ()) -> Program:
        """See `Scheme`: the step that is tried."""
        return sampled_program(self.name)

    def engine(self, system: System, parameters: Any, w: Any, every: bool) -> Any:
        """See `Scheme`."""
        from psmr.integrate.constants import TUNED
        from psmr.integrate.control.engine import ControlledSteps

        split = sampled_partition(system) if self.split is None else self.split
        fast = np.zeros(1, bool) if split is None else np.concatenate([split.fast_x, split.fast_y])
        again = repeatable(system)
        if split is None or fast.all() or not fast.any() or (self.split is None and not again):
            own = VariableStep(self.tolerance, self.method, self.h_max, self.most_steps)
            return own.engine(system, parameters, w, every)
        if not again:
            raise SchemeError(
                f"{self}: a step that is rejected takes its samples again, and external code keeps states "
                "of its own; leave out split, so that a step of one rate ends at each sample, or take "
                "psmr.Multirate"
            )
        clocks = [(sampler.period, sampler.offset) for sampler in system.samplers]
        step, origin = min(clocks, default=(self.h_fast, float(w[-1])))
        if step is None:
            raise SchemeError(
                f"{self}: nothing is sampled, so that the fast step must be given: h_fast", field="h_fast"
            )
        tolerance = self.pair.tolerance_of_step(TUNED.run_tolerance * self.tolerance)
        grid = min(step, self.h_fast or step), origin, FAST_PART * tolerance
        return ControlledSteps(
            system, self.program(1.0), self.pair, tolerance, self.longest_step, self.most_steps, parameters,
            w, split, grid,
        )  # fmt: skip

    def on(self, system: System) -> SampledMultirate:
        """See `Scheme`: with the fast side and the fast step that it has there."""
        split = sampled_partition(system) if self.split is None else self.split
        shortest = min((sampler.period for sampler in system.samplers), default=self.h_fast)
        fast = min(shortest or np.inf, self.h_fast or np.inf)
        return self if split is None else replace(self, split=split, h_fast=fast)

    @property
    def error_control(self) -> ErrorControl:
        """See `Scheme`."""
        if self.split is None or self.h_fast is None:
            return VariableStep(self.tolerance, self.method, self.h_max, self.most_steps).error_control
        return ErrorControl(
            functools.partial(MarchedSteps.of, self.name, self.split, self.h_fast), dense=False
        )

    def __str__(self) -> str:
        fast = "" if self.h_fast is None else f", fast steps of {self.h_fast:g} s"
        return f"two rates by samples{fast}, {super().__str__()}"


@dataclass(frozen=True, repr=False)
class MarchedSteps(Scheme):
    """Macro steps of `SampledMultirate` of one size, as the pencil judges them.

    `pair`: Name of the pair of the slow side.
    `split`: Which variables are fast.
    `h_fast`, `ratio`: Fast step in s, and how many of them there are.
    """

    pair: str
    split: Partition  # type: ignore[misc]
    h_fast: float
    ratio: int

    @classmethod
    def of(cls, pair: str, split: Partition, h_fast: float, h: float) -> MarchedSteps:
        """Return that with a macro step next to h in s: some fast steps, or a part of one in two halves."""
        if h < 1.5 * h_fast:
            return cls(pair, split, h_fast / (2 * max(1, round(h_fast / h))), 2)
        return cls(pair, split, h_fast, round(h / h_fast))

    @property
    def step(self) -> float:
        """See `Scheme`."""
        return self.ratio * self.h_fast

    @property
    def two_rates(self) -> Any:
        """See `Scheme`."""
        return self

    def predicting_implicitly(self) -> None:
        """See `TwoRates`: nothing explicit is predicted for the slow side."""

    @property
    def corrections(self) -> int:
        """See `TwoRates`."""
        return 0

    def program(self, h: float, before: tuple[float, ...] = ()) -> Program:
        """See `Scheme`: a march is a loop of equal fast steps."""
        march, *slow = sampled_program(self.pair).instructions
        assert isinstance(march, March)
        count, nodes = max(1, round(h / self.h_fast)), np.array([0.0, *(-back / h for back in before)])
        begins = np.arange(count) / count
        names = (NOW, *OLDER)[: nodes.size]

        def stage(own: Stage, at: Any, base: str, to: str) -> Stage:
            weights = lagrange_weights(nodes, at)
            outside = tuple((name, tuple(weights[:, k].tolist())) for k, name in enumerate(names))
            rates = tuple((name, weight / count) for name, weight in own.rates if weight)
            return replace(
                own,
                base=base,
                to=to,
                rates=rates,
                gamma=own.gamma / count,
                at=tuple(at.tolist()),
                outside=outside,
            )

        within = FAST_RULE.gamma
        first, second = march.body
        middle = stage(first, begins + within / count, "fast point", "fast middle")
        end = stage(second, begins + 1.0 / count, "fast middle", "fast point")
        one, of_slope = 3.0 / count * (2.0 * begins + 1.0 / count - 1.0), 0.5 / count**2 / (1.0 - within)
        share, (mean, slope) = march.mean, march.moments
        body = (
            middle,
            Add("fast", mean, (share / count,)),
            Add("fast", slope, tuple((one * share - of_slope).tolist())),
            end,
            Add("fast", mean, ((1.0 - share) / count,)),
            Add("fast", slope, tuple((one * (1.0 - share) + of_slope).tolist())),
        )
        empty = (Add("fast", mean, (0.0,), anew=True), Add("fast", slope, (0.0,), anew=True))
        last = Add("fast", march.to, (1.0,), anew=True)
        return Program(
            (Restore("fast point", NOW), *empty, Repeat(count, body), last, *slow),
            history=2,
            history_of="all",
        )

    def __str__(self) -> str:
        return f"two rates by samples, {self.pair}, h = {self.step:g} s, fast steps of {self.h_fast:g} s"

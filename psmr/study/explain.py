"""What one macro step of a scheme does to a system, in words and counts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from partitioning import Partition
from psmr.base.arguments import check_arguments
from psmr.base.errors import first_few
from psmr.dae.system.system import System
from psmr.integrate.schemes.scheme import Scheme, damped_after_events, steady_program
from psmr.integrate.step.program import Side, matrices, words
from psmr.integrate.step.sides import require_same_system
from psmr.network.dynamic.switching import dynamic_elements

WIDTH = 110

# Names listed of a set; the rest is counted.
NAMES = 8


@dataclass(frozen=True)
class Explanation:
    """A macro step in words.

    Attributes
    ----------
    title
        System, sizes, scheme.
    steps
        (heading, sentences) in the order in which things happen.
    factorisations
        Matrices a macro step, by order, with a Jacobian kept for one step and every correction made.
    single_rate
        The same for single rate with the fast step over one macro step; None for single rate itself.
    read_slow, read_fast
        Slow variables that the fast equations read, and fast ones that the slow equations read.
    """

    title: str
    steps: tuple[tuple[str, tuple[str, ...]], ...]
    factorisations: Mapping[int, int]
    single_rate: Mapping[int, int] | None
    read_slow: tuple[str, ...] = ()
    read_fast: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = textwrap.wrap(self.title, WIDTH)
        for k, (heading, sentences) in enumerate(self.steps, 1):
            lines += ["", f"{k}. {heading}"]
            for sentence in sentences:
                lines += textwrap.wrap(sentence, WIDTH, initial_indent="   ", subsequent_indent="   ")
        lines += ["", f"Matrices factorised with modified Newton: {_matrices(self.factorisations)}."]
        if self.single_rate is not None:
            lines.append(f"Single rate at the fast step, over the same time: {_matrices(self.single_rate)}.")
        return "\n".join(lines)


def explain(system: System, scheme: Scheme) -> Explanation:
    """Say what one step, or macro step, of a scheme does to a system.

    Raises
    ------
    SchemeError
        For a partition of another system, or a scheme whose step is no program of stages.
    """
    check_arguments(explain, locals())
    if dynamic_elements(system):
        scheme = damped_after_events(scheme)
    two_rates, n, m = scheme.two_rates, system.n, system.m
    sizes: dict[Side, tuple[int, int]] = {"all": (n, m)}
    program = steady_program(scheme)
    steps: list[tuple[str, tuple[str, ...]]] = []
    read: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    if two_rates is not None:
        split = two_rates.split
        require_same_system(split, system)
        nf, mf = int(split.fast_x.sum()), int(split.fast_y.sum())
        sizes |= {"fast": (nf, mf), "slow": (n - nf, m - mf)}
        names = np.array((*system.names_x, *system.names_y))
        fast = np.concatenate([split.fast_x, split.fast_y])
        read = _read_across(system, split, names)
        lines = (f"{split}.", f"Fast: {_listed(names[fast])}.", f"Slow: {_listed(names[~fast])}.")
        steps.append(("Partition", lines))
    across = {
        "": (),
        "slow": (f"Read across the partition: {_listed(read[0])}.",),
        "fast": (f"Read by the slow rows: {_listed(read[1])}.",),
    }
    steps += [
        (heading, (*lines, *across[reads]))
        for heading, lines, reads in words(program, scheme.step, sizes, scheme.newton)
    ]
    oscillation = scheme.numerical_oscillation
    if oscillation is not None and (first := oscillation.first_step) is not None:
        steps += [
            (f"First step after an event: {heading[0].lower()}{heading[1:]}", lines)
            for heading, lines, _ in words(first, scheme.step, sizes, scheme.newton)
        ]
    name = "step" if two_rates is None else "macro step"
    sized = f"{system.name or 'the system'}, {n} states and {m} algebraic variables"
    title = f"One {name} of {scheme.step:g} s on {sized}: {scheme}."
    single = None if two_rates is None else {n + m: two_rates.ratio}
    return Explanation(title, tuple(steps), matrices(program, sizes), single, *read)


def _read_across(
    system: System, split: Partition, names: NDArray[np.str_]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the slow variables that the fast rows read, and the fast ones that the slow rows read."""
    fast = np.concatenate([split.fast_x, split.fast_y])
    fast_rows = np.concatenate([split.fast_x, split.fast_g])
    # The pattern and not the values: an entry that is 0 at this point is read all the same.
    pattern = system.jacobian(system.w0).tocoo()
    across = np.unique(pattern.col[fast_rows[pattern.row] & ~fast[pattern.col]])
    back = np.unique(pattern.col[~fast_rows[pattern.row] & fast[pattern.col]])
    return tuple(names[across]), tuple(names[back])


def _matrices(counted: Mapping[int, int]) -> str:
    return ", ".join(f"{count} of order {order}" for order, count in sorted(counted.items())) or "none"


def _listed(names: Iterable[str]) -> str:
    every = [str(name) for name in names]
    if not every:
        return "none"
    return f"{len(every)} ({first_few(every, NAMES)})"

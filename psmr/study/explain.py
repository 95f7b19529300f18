"""What one macro step of a scheme does to a system, in words and counts."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from psmr.dae.system.system import System
from psmr.errors import SchemeError
from psmr.numerics.schemes.scheme import Multirate, SingleRate
from psmr.numerics.schemes.tableaux import TABLEAUX

WIDTH = 110

# Names listed of a set; the rest is counted.
NAMES = 8

RULES = {
    "FEM": "Forward Euler: x + h f(t)",
    "TM": "Trapezoidal: x + h/2 (f(t) + f(t + h))",
    "BEM": "Backward Euler: x + h f(t + h)",
}
REFRESH = {
    "honest": "a matrix at every Newton iteration",
    "dishonest": "one matrix a solve, kept while Newton iterates",
    "very dishonest": "a matrix only where the convergence rate asks for one",
}


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
        Matrices a macro step, by order, with dishonest Newton and every correction made.
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
        lines += ["", f"Matrices factorised: {_matrices(self.factorisations)}."]
        if self.single_rate is not None:
            lines.append(f"Single rate at the fast step, over the same time: {_matrices(self.single_rate)}.")
        return "\n".join(lines)


def explain(system: System, scheme: object) -> Explanation:
    """Say what one step, or macro step, of a scheme does to a system.

    Raises
    ------
    SchemeError
        For a partition of another system, or a scheme that is neither `SingleRate` nor `Multirate`.
    """
    if isinstance(scheme, SingleRate):
        return _single(system, scheme)
    if isinstance(scheme, Multirate):
        return _multirate(system, scheme)
    raise SchemeError(
        f"a {type(scheme).__name__} scheme is not explained; explain takes SingleRate and Multirate"
    )


def _single(system: System, scheme: SingleRate) -> Explanation:
    tableau = TABLEAUX[scheme.method]
    n, m = system.n, system.m
    title = f"One step of {scheme.h:g} s on {_sized(system)}: {scheme}."
    steps: list[tuple[str, tuple[str, ...]]] = []
    solves = 0
    for i in range(tableau.stages):
        place = f"at t + {tableau.c[i]:.4g} h"
        if i == 0 and tableau.first_explicit:
            steps.append(("Evaluate f at t", ("The first stage is the point itself: nothing is solved.",)))
        elif tableau.A[i, i] == 0.0:
            words = f"{n} states from the rates before it, then {m} algebraic equations for y (order {m})."
            steps.append((f"Explicit stage {i + 1}, {place}", (words,)))
            solves += 1
        else:
            words = (
                f"{n} state rows and {m} algebraic rows together (order {n + m}); {REFRESH[scheme.newton]}."
            )
            steps.append((f"Implicit stage {i + 1}, {place}", (words,)))
    if not tableau.stiffly_accurate:
        words = f"{n} states from the weighted rates, then {m} algebraic equations for y (order {m})."
        steps.append(("Put the step together", (words,)))
        solves += 1
    # Implicit stages of a method share one matrix; so do the algebraic solves of a step.
    counted = {n + m: 1} if not tableau.explicit else {m: 1} if solves and m else {}
    return Explanation(title, tuple(steps), counted, None)


def _multirate(system: System, scheme: Multirate) -> Explanation:
    split = scheme.split
    if (split.names_x, split.names_y, split.names_g) != (system.names_x, system.names_y, system.names_g):
        raise SchemeError("split: the partition is of another system; make it from this system's linearise()")
    n, m, r = system.n, system.m, scheme.ratio
    fast = np.concatenate([split.fast_x, split.fast_y])
    fast_rows = np.concatenate([split.fast_x, split.fast_g])
    names = np.array((*system.names_x, *system.names_y))
    nf, mf = int(split.fast_x.sum()), int(split.fast_y.sum())
    ns, ms = n - nf, m - mf
    # The pattern and not the values: an entry that is 0 at this point is read all the same.
    pattern = system.jacobian(system.w0).tocoo()
    across = np.unique(pattern.col[fast_rows[pattern.row] & ~fast[pattern.col]])
    back = np.unique(pattern.col[~fast_rows[pattern.row] & fast[pattern.col]])
    read_slow, read_fast = tuple(names[across]), tuple(names[back])
    passes = 1 if scheme.corrections == "converge" else 1 + int(scheme.corrections)
    multi = nf + mf > 0 and ns + ms > 0
    steps = [
        ("Partition", (f"{split}.", f"Fast: {_listed(names[fast])}.", f"Slow: {_listed(names[~fast])}.")),
        *([_prediction(scheme, n, m, ns, ms)] if multi else []),
    ]
    if multi:
        steps.append(
            ("Interpolate the slow variables that the fast equations read", _interpolation(scheme, read_slow))
        )
    if nf + mf:
        solution = f"{RULES[scheme.solution]} with h = {scheme.h_fast:g} s."
        rows = f"{nf} state rows and {mf} algebraic rows (order {nf + mf})"
        words = f"{r} steps, each {rows}; {REFRESH[scheme.newton]}."
        steps.append((f"Fast steps to t + {scheme.h_slow:g} s", (solution, words)))
    if ns + ms:
        solution = f"{RULES[scheme.solution]} with h = {scheme.h_slow:g} s."
        words = f"{ns} state rows and {ms} algebraic rows together (order {ns + ms})."
        given = f"Read from the last fast step: {_listed(read_fast)}." if multi else ""
        steps.append(("Slow step", tuple(filter(None, (solution, words, given)))))
    if multi:
        steps.append(("Correct", (_corrections(scheme),)))
    counted: dict[int, int] = {}
    if multi:
        predicted = (n, m) if scheme.predict == "all" else (ns, ms)
        _add(counted, predicted[1] if scheme.predictor == "FEM" else sum(predicted), 1)
    _add(counted, nf + mf, r * passes)
    # The slow rows keep their matrix through the corrections of a macro step.
    _add(counted, ns + ms, 1)
    title = f"One macro step of {scheme.h_slow:g} s on {_sized(system)}: {scheme}."
    return Explanation(title, tuple(steps), counted, {n + m: r}, read_slow, read_fast)


def _sized(system: System) -> str:
    return f"{system.name or 'the system'}, {system.n} states and {system.m} algebraic variables"


def _prediction(scheme: Multirate, n: int, m: int, ns: int, ms: int) -> tuple[str, tuple[str, ...]]:
    if scheme.predict == "all":
        who, states, equations = "Every variable is predicted", n, m
    else:
        who, states, equations = (
            "The slow variables are predicted, the fast ones held",
            ns,
            ms,
        )
    rule = f"{who}. {RULES[scheme.predictor]} with h = {scheme.h_slow:g} s."
    if scheme.predictor == "FEM":
        work = (
            f"{states} states are explicit, then {equations} equations are solved for y (order {equations})."
        )
    else:
        order = states + equations
        work = f"{states} state rows and {equations} algebraic rows are solved together (order {order})."
    return f"Predict the point at t + {scheme.h_slow:g} s", (rule, work)


def _interpolation(scheme: Multirate, read: Sequence[str]) -> tuple[str, ...]:
    if scheme.interpolation == "linear":
        how = "On the line from the value at t to the prediction, at each fast step."
    else:
        how = (
            "On the cubic through the values at t - 2h, t - h and t and the prediction, at each fast step; "
            "after an event, "
            "while that history is short, on the line and then the parabola."
        )
    return (how, f"Read across the partition: {_listed(read)}.")


def _corrections(scheme: Multirate) -> str:
    if scheme.corrections == 0:
        return "Not done: the slow values that the fast steps saw are the predicted ones."
    condition = f"the slow solution differs from the prediction by more than {scheme.epsilon:g}"
    again = "it takes the prediction's place, and the steps from the interpolation on are done again"
    if scheme.corrections == "converge":
        return f"As long as {condition}, {again}. The matrices below are those of one pass."
    times = "once" if scheme.corrections == 1 else f"up to {scheme.corrections} times"
    return f"Where {condition}, {again}, {times}."


def _add(counted: dict[int, int], order: int, count: int) -> None:
    if order and count:
        counted[order] = counted.get(order, 0) + count


def _matrices(counted: Mapping[int, int]) -> str:
    return ", ".join(f"{count} of order {order}" for order, count in sorted(counted.items())) or "none"


def _listed(names: Iterable[str]) -> str:
    every = [str(name) for name in names]
    if not every:
        return "none"
    rest = f" and {len(every) - NAMES} more" if len(every) > NAMES else ""
    return f"{len(every)} ({', '.join(every[:NAMES])}{rest})"

"""From a scheme to blocks and a compiled loop."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from psmr.dae.declare.component import Component, parameters_of
from psmr.dae.system.system import System
from psmr.errors import SchemeError, SingularError
from psmr.numerics.run.time_grid import Span
from psmr.numerics.schemes.adaptive import Adaptive
from psmr.numerics.schemes.arc_length import ArcLength
from psmr.numerics.schemes.scheme import Multirate, SingleRate
from psmr.numerics.schemes.slow_manifold import SlowManifold
from psmr.numerics.schemes.smes import Smes
from psmr.numerics.schemes.tableaux import TABLEAUX, coefficients
from psmr.numerics.solve.block import Block, make_block
from psmr.numerics.solve.newton import POLICIES, renew
from psmr.numerics.solve.sides import read_by, rows_of_sides, sides
from psmr.numerics.step.interpolation import HISTORY
from psmr.numerics.step.macro_step import (
    FAST,
    PREDICTOR,
    PREDICTOR_ALGEBRAIC,
    SLOW,
    Plan,
    Store,
    run_multirate,
)
from psmr.numerics.step.one_step import ALGEBRAIC, WHOLE, Method, run_single
from psmr.numerics.steppers.explicit_engine import FlowEngine, SmesEngine
from psmr.numerics.steppers.manifold_engine import ManifoldEngine

Reals = NDArray[np.float64]
Scheme = SingleRate | Multirate | SlowManifold | Smes | Adaptive | ArcLength


class Engine(Protocol):
    """A scheme on a system, ready to march."""

    blocks: dict[int, Block]
    honest: bool

    def advance(self, span: Span, first: int, last: int, w: Reals, record: Reals) -> tuple[int, int]:
        """Take steps first..last-1 of the span; return (first step that was not completed, status)."""

    def forget(self, autonomous: bool) -> None:
        """Drop history, since w is about to jump; `autonomous` holds from here on."""

    def take_out(self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]) -> None:
        """Make the blocks anew with the devices in `out` out of service."""

    def corrections(self) -> int:
        """Return the corrections made so far."""

    def difference(self) -> float:
        """Return the last difference of slow solution and prediction."""


class SingleEngine:
    """Single rate."""

    def __init__(self, system: System, scheme: SingleRate, parameters: Sequence[Reals], w: Reals) -> None:
        tableau = TABLEAUX[scheme.method]
        self.honest = scheme.newton == "honest"
        self.method = Method(
            A=tableau.A.copy(),
            b=tableau.b.copy(),
            c=tableau.c.copy(),
            stiff=tableau.stiffly_accurate,
            rates=np.zeros((tableau.stages, system.n)),
            w0=w.copy(),
            policy=POLICIES[scheme.newton],
            tolerance=float(scheme.tolerance),
            autonomous=autonomous(system, parameters),
        )
        everything = np.arange(system.n + system.m)
        algebraic = everything[system.n :]
        self.blocks = {
            WHOLE: make_block(system, "step", parameters, w, everything, everything),
            ALGEBRAIC: make_block(system, "algebraic", parameters, w, algebraic, algebraic),
        }
        needed = {ALGEBRAIC: 0.0} if not tableau.stiffly_accurate else {}
        if tableau.gamma:
            needed[WHOLE] = scheme.h * tableau.gamma
        _prime(self.blocks, needed, w)

    def advance(self, span: Span, first: int, last: int, w: Reals, record: Reals) -> tuple[int, int]:
        """See `Engine`."""
        whole, algebraic = self.blocks[WHOLE].arrays, self.blocks[ALGEBRAIC].arrays
        ended: tuple[int, int] = run_single(
            whole, algebraic, self.method, span.times, span.steps, first, last, w, record
        )
        return ended

    def forget(self, autonomous: bool) -> None:
        """See `Engine`."""
        self.method = self.method._replace(autonomous=autonomous)

    def take_out(self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]) -> None:
        """See `Engine`."""
        for block in self.blocks.values():
            block.take_out(system, parameters, w, out)

    def corrections(self) -> int:
        """See `Engine`."""
        return 0

    def difference(self) -> float:
        """See `Engine`."""
        return 0.0


class MultirateEngine:
    """Several rates by a partition."""

    def __init__(
        self, system: System, scheme: Multirate, parameters: Sequence[Reals], w: Reals, every: bool
    ) -> None:
        self.honest = scheme.newton == "honest"
        fast, slow, fast_rows, slow_rows = sides(system, scheme)
        n, size = system.n, system.n + system.m
        everything = np.arange(size)
        all_predicted = scheme.predict == "all"
        predicted, rows = (everything, everything) if all_predicted else (slow, slow_rows)

        def block(role: str, rows: NDArray[Any], variables: NDArray[Any]) -> Block:
            return make_block(system, role, parameters, w, rows, variables)

        self.blocks = {
            WHOLE: block("step", everything, everything),
            PREDICTOR: block("predictor", rows, predicted),
            PREDICTOR_ALGEBRAIC: block("algebraic", rows[rows >= n], predicted[predicted >= n]),
            FAST: block("fast", fast_rows, fast),
            SLOW: block("slow", slow_rows, slow),
        }
        read = slow if every else read_by(self.blocks[WHOLE], fast_rows, slow)
        rule = {method: np.array(coefficients(method, 1.0)) for method in ("FEM", "TM", "BEM")}
        self.plan = Plan(
            predictor=rule[scheme.predictor],
            fast_rule=rule[scheme.solution],
            slow_rule=rule[scheme.solution],
            fast=fast.astype(np.uint32),
            slow=slow.astype(np.uint32),
            read=read.astype(np.uint32),
            history=HISTORY[scheme.interpolation],
            corrections=-1 if scheme.corrections == "converge" else int(scheme.corrections),
            epsilon=float(scheme.epsilon),
            policy=POLICIES[scheme.newton],
            tolerance=float(scheme.tolerance),
        )
        self.store = Store(
            w0=w.copy(),
            rates=np.zeros(n),
            predicted=w.copy(),
            older=np.zeros((2, w.size)),
            distances=np.zeros(2),
            nodes=np.array([1.0, 0.0, -1.0, -2.0]),
            weights=np.zeros(4),
            state=np.zeros(2, np.int64),
            difference=np.zeros(1),
            within=np.zeros((scheme.ratio if every else 0, size)),
        )
        needed = {
            FAST: scheme.h_fast * self.plan.fast_rule[1],
            SLOW: scheme.h_slow * self.plan.slow_rule[1],
        }
        if fast.size and slow.size:
            star = scheme.h_slow * self.plan.predictor[1]
            needed[PREDICTOR if star else PREDICTOR_ALGEBRAIC] = star
        _prime(self.blocks, needed, w)

    def advance(self, span: Span, first: int, last: int, w: Reals, record: Reals) -> tuple[int, int]:
        """See `Engine`."""
        # The order in which run_multirate takes them apart.
        blocks = tuple(self.blocks[i].arrays for i in (WHOLE, PREDICTOR, PREDICTOR_ALGEBRAIC, FAST, SLOW))
        ended: tuple[int, int] = run_multirate(
            blocks, span.times, span.steps, span.ratios, first, last, w, self.plan, self.store, record
        )
        return ended

    def forget(self, autonomous: bool) -> None:
        """See `Engine`."""
        self.store.state[0] = 0

    def take_out(self, system: System, parameters: Sequence[Reals], w: Reals, out: Collection[str]) -> None:
        """See `Engine`."""
        whole = self.blocks[WHOLE]
        whole.take_out(system, parameters, w, out)
        fast, slow = (self.blocks[side].kernels for side in (FAST, SLOW))
        rows = dict(zip((FAST, SLOW), rows_of_sides(whole, fast, slow, w), strict=True))
        if self.blocks[PREDICTOR].size != whole.size:  # only the slow set is predicted
            rows[PREDICTOR] = rows[SLOW]
            rows[PREDICTOR_ALGEBRAIC] = rows[SLOW][slow.states :]
        for number, block in self.blocks.items():
            if number != WHOLE:
                block.take_out(system, parameters, w, out, rows.get(number))
        if self.plan.read.size != self.plan.slow.size:  # otherwise all of them are read
            read = read_by(whole, rows[FAST], self.plan.slow)
            self.plan = self.plan._replace(read=read.astype(np.uint32))

    def corrections(self) -> int:
        """See `Engine`."""
        return int(self.store.state[1])

    def difference(self) -> float:
        """See `Engine`."""
        return float(self.store.difference[0])


def _prime(blocks: Mapping[int, Block], needed: Mapping[int, float], w: Reals) -> None:
    """Choose the pivots of the blocks that will be factorised, for the given h gamma, before the march."""
    for number, a in needed.items():
        block = blocks[number]
        if block.size and not renew(block.arrays, w, a):
            try:
                block.repivot()
            except SingularError as error:
                raise SingularError(f"start, {block.purpose}: {error}") from error


def autonomous(system: System, parameters: Sequence[Reals]) -> bool:
    """Return whether no equation reads the time: f at the end of a step then serves the start of the next.

    The parameters decide for components that read the time only while they ramp.
    """
    return not any(
        group.compiled.timed and _ramps(group.compiled.component, matrix)
        for group, matrix in zip(system.groups, parameters, strict=True)
    )


def _ramps(component: type[Component], matrix: Reals) -> bool:
    declared = tuple(parameters_of(component))
    rates = [declared.index(name) for name in component.ramps]
    return not rates or bool(matrix[:, rates].any())


def make_engine(
    system: System, scheme: Scheme, parameters: Sequence[Reals], w: Reals, every: bool
) -> Engine | FlowEngine:
    """Return the engine of a scheme.

    Raises
    ------
    SchemeError
        For a scheme of a type that cannot be marched, or a partition of another system.
    """
    if isinstance(scheme, SingleRate):
        return SingleEngine(system, scheme, parameters, w)
    if isinstance(scheme, Multirate):
        return MultirateEngine(system, scheme, parameters, w, every)
    if isinstance(scheme, SlowManifold):
        return ManifoldEngine(system, scheme, parameters, w, autonomous(system, parameters))
    if isinstance(scheme, Smes):
        return SmesEngine(system, scheme, parameters, w, every)
    if isinstance(scheme, Adaptive | ArcLength):
        return FlowEngine(system, scheme, parameters, w)
    raise SchemeError(
        f"scheme is a {type(scheme).__name__}; march takes SingleRate, Multirate, SlowManifold, Smes, "
        "Adaptive or ArcLength"
    )

"""Quasi-steady state: fast states at their equilibrium, slow ones followed with steps of seconds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from partitioning import Partition
from psmr.base.arguments import explains_keywords
from psmr.base.arrays import Reals
from psmr.base.declared import Positive
from psmr.base.errors import SchemeError
from psmr.dae.system.kept import kept
from psmr.dae.system.linear import LinearDae
from psmr.integrate.constants import TUNED
from psmr.integrate.schemes.choices import MOST_STEPS, check_fields
from psmr.integrate.schemes.one_step import UniformStep
from psmr.integrate.schemes.scheme import ErrorControl, Scheme, StepChoice, StepOperator
from psmr.integrate.schemes.stability import with_algebraic
from psmr.integrate.schemes.variable_step import VariableStep, no_one_operator
from psmr.integrate.solve.turning import in_frame, turned
from psmr.integrate.step.program import Program
from psmr.integrate.tableaux import ImplicitPair, Tableau

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psmr.dae.system.system import System

DELTA = 1.0
"""States that belong to a mode that is faster, in 1/s, rest where nothing is said."""

LARGEST = 2000
"""States up to which those that rest are found by the eigenvalues of the system."""


@explains_keywords(SchemeError)
@dataclass(frozen=True, repr=False)
class QuasiSteadyState(Scheme):
    r"""Keep fast states at their equilibrium, and follow the slow ones with steps of seconds.

    The long-term model of Van Cutsem and Vournas (Voltage Stability of Electric Power Systems, sections 6.4
    and 8.6): 0 = f_fast, 0 = g, x_slow' = f_slow, with the actions of devices at their instants. The slow
    states are advanced by the method of `psmr.VariableStep`, whose error their estimate holds below the
    tolerance; what acts, and a fault, moves the fast states to their next equilibrium at once. All angles
    turn with the frequency at which the plants are in equilibrium, so that governors take part.

    Swings, and all that decays faster than about a second, are left out: the certificate lists those modes,
    and by how much the others are off. Where the fast states have no equilibrium any more, or leave it, the
    run ends with an error that says when.

    Parameters
    ----------
    split
        Partition whose fast states are at rest; where they belong among the algebraic variables plays no
        part. None: the states that belong to modes faster than 1/s by their participation, with those of
        slower modes, one mode after the other, as long as they would not be stable by themselves.
    tolerance
        As for `psmr.VariableStep`.
    h_max
        Longest step in s.

    Raises
    ------
    SchemeError
        For a value out of range; and on a system where no choice of states has a stable equilibrium.
    """

    split: Partition | None = None
    tolerance: float = 1e-3
    h_max: Annotated[float, Positive("s")] = 10.0

    newton: ClassVar[str] = "very dishonest"

    def __post_init__(self) -> None:
        check_fields(self)
        _ = self.inner

    @property
    def inner(self) -> VariableStep:
        """What follows the slow states."""
        return VariableStep(self.tolerance, h_max=self.h_max)

    @property
    def pair(self) -> ImplicitPair:
        """Coefficients of the method and of its estimate."""
        return self.inner.pair

    @property
    def step_choice(self) -> StepChoice:
        """See `Scheme`."""
        return StepChoice(self.h_max)

    @property
    def error_control(self) -> ErrorControl:
        """See `Scheme`: between two points there is no dense output of states at rest."""
        return ErrorControl(self.at_step, dense=False)

    @property
    def accuracy(self) -> tuple[tuple[str, float, str], ...]:
        """See `Scheme`."""
        return self.inner.accuracy

    def finer(self, part: float) -> QuasiSteadyState | None:
        """See `Scheme`."""
        finer = self.inner.finer(part)
        return None if finer is None else replace(self, tolerance=finer.tolerance)

    def program(self, h: float, before: tuple[float, ...] = ()) -> Program:
        """See `Scheme`."""
        return self.inner.program(h, before)

    def on(self, system: System) -> QuasiSteadyState:
        """See `Scheme`: with the states that rest where none are given."""
        if self.split is not None:
            return self
        return replace(self, split=kept(system, "states at rest", (), lambda: split_at_rest(system), 1))

    def resting(self, system: System) -> NDArray[np.intp]:
        """See `Scheme`."""
        split = self.on(system).split
        assert split is not None
        return np.flatnonzero(split.fast_x)

    def at_step(self, h: float) -> QuasiSteadyStep:
        """Return the method with a fixed step of h in s, by what the pencil knows of it."""
        assert self.split is not None
        return QuasiSteadyStep(h, self.pair.tableau, tuple(np.array(self.split.names_x)[self.split.fast_x]))

    def engine(self, system: System, parameters: Sequence[Any], w: Any, every: bool) -> Any:
        """See `Scheme`."""
        from psmr.integrate.control.quasi_steady import QuasiSteadySteps

        return QuasiSteadySteps(
            self.resting(system), system, self.program(1.0), self.pair,
            self.pair.tolerance_of_step(TUNED.run_tolerance * self.tolerance), self.h_max, MOST_STEPS,
            parameters, w,
        )  # fmt: skip

    @property
    def operator(self) -> StepOperator:
        """See `Scheme`: there is none, but one for each step (`at_step`)."""
        return no_one_operator(self)

    def __str__(self) -> str:
        rest = "" if self.split is None else f", {np.count_nonzero(self.split.fast_x)} states at rest"
        return f"quasi-steady state{rest}, tolerance {self.tolerance:g}, steps up to {self.h_max:g} s"


@dataclass(frozen=True, repr=False)
class QuasiSteadyStep(UniformStep):
    """A step of h in s with some states at rest, by name: no scheme of a run, but what the pencil judges."""

    h: float
    method: Tableau
    at_rest: tuple[str, ...]

    newton: ClassVar[str] = "very dishonest"
    tolerance: ClassVar[float] = 1e-10

    @property
    def order(self) -> int:
        """See `Scheme`."""
        return self.method.order

    @property
    def operator(self) -> StepOperator:
        """See `Scheme`: the method on the slow states, whose equations have the others at rest."""
        return StepOperator(self._matrix, self.h)

    def _matrix(self, linear: LinearDae) -> Reals:
        linear.require_no_delays("equilibrium of what is at rest")
        A = linear.state_matrix()
        rest = np.isin(linear.names_x, self.at_rest)
        gain, slow = at_rest_gain(A, rest), ~rest
        s, vectors = np.linalg.eig(A[np.ix_(slow, slow)] + A[np.ix_(slow, rest)] @ gain)
        z = self.method.stability_function(self.h * s)
        step = np.real(vectors * z @ np.linalg.inv(vectors))
        T = np.zeros_like(A)
        T[np.ix_(slow, slow)], T[np.ix_(rest, slow)] = step, gain @ step
        return with_algebraic(linear, T)

    def __str__(self) -> str:
        return f"quasi-steady state by {self.method.name}, h = {self.h:g} s"


def at_rest_gain(A: Reals, rest: NDArray[np.bool_]) -> Reals:
    """Return G with x_rest = G x_slow at the equilibrium of the states at rest, of a state matrix A.

    Where the angles of all may turn together they do, and the first one stands still.
    """
    inner, outer = A[np.ix_(rest, rest)], A[np.ix_(rest, ~rest)]
    _, sizes, rows = np.linalg.svd(inner)
    if not sizes.size or sizes[-1] > TUNED.rounding * sizes[0]:
        return np.asarray(-np.linalg.solve(inner, outer), float)
    angles = np.abs(rows[-1]) > TUNED.negligible * np.abs(rows[-1]).max()
    k, first = len(inner), int(np.argmax(angles))
    bordered = np.zeros((k + 1, k + 1))
    bordered[:k, :k], bordered[:k, k], bordered[k, first] = inner, -angles.astype(float), 1.0
    known = np.vstack([outer, np.zeros((1, outer.shape[1]))])
    return np.asarray(-np.linalg.solve(bordered, known)[:k], float)


def split_at_rest(system: System) -> Partition:
    """Return the partition whose fast states rest, as `QuasiSteadyState` finds them.

    Raises SchemeError where there is none, and for more states than `LARGEST`.
    """
    if system.n > LARGEST:
        raise SchemeError(
            f"QuasiSteadyState: {system.n} states are too many to find those that rest by eigenvalues; give "
            "split=partitioning.by_device(linear, fast=[...])"
        )
    linear = system.linearise().without_delays()
    A = linear.state_matrix()
    s, right = np.linalg.eig(A)
    left = np.linalg.inv(right).T
    own = np.abs(s[np.abs(left * right).argmax(axis=1)])
    found = turned(system)
    angles = np.zeros(0, np.intp) if found is None else found.angles[: found.states]
    # All angles turn together, with what drives them: they rest, or none does.
    own[angles] = np.inf
    own[np.unique(linear.fx[angles].nonzero()[1])] = np.inf
    worst = 0j
    for least in sorted({DELTA, *own[own < DELTA].tolist()}, reverse=True):
        rest = own >= least
        inner = in_frame(A[np.ix_(rest, rest)], np.flatnonzero(np.isin(np.flatnonzero(rest), angles)))
        modes = np.linalg.eigvals(inner)
        worst = modes[int(modes.real.argmax())] if modes.size else -1.0
        if worst.real < -TUNED.negligible:
            return _partition(linear, rest, own, least)
    raise SchemeError(
        f"QuasiSteadyState: no choice of states has a stable equilibrium by itself (what is left decays by "
        f"{-worst.real:.3g} 1/s); plants need governors that hold the frequency, or take psmr.VariableStep"
    )


def _partition(linear: LinearDae, rest: NDArray[np.bool_], own: Reals, least: float) -> Partition:
    none = np.zeros(linear.m, bool)
    columns = {
        "variable": linear.names_x,
        "side": tuple(np.where(rest, "at rest", "slow").tolist()),
        "magnitude": tuple(own.tolist()),
    }
    return Partition(
        rest, none, none, least, "participation", linear.names_x, linear.names_y, linear.names_g,
        columns,
    )  # fmt: skip

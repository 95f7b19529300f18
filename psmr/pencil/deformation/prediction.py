"""Whether an explicit prediction can be used: how large what the slow variables excite comes back in it.

An explicit prediction multiplies a mode s by 1 + h_slow s, which for a fast one is hundreds, where an
implicit one stays below 1. The step operator does not show it: fast modes die away within the macro step, so
that every multiplier can be within the unit circle while each excitation of a fast state, as long as it
lasts, enters the slow variables through g, magnified, and is interpolated by the fast steps (equations (19)
and (20) of Huang and Tzounas). How large that is per unit of a state says little, since states have different
units. A loop has none:

    slow variables --(fast steps)--> fast states --(error of the prediction)--> slow variables

Its gain is the spectral radius of D R_i. R_i: a jump of the slow variables that the fast rows read to the
fast states after i fast steps. D: fast states at the start to the error of the predicted slow variables, the
explicit prediction less the trapezoidal one. Each correction takes the error once more through the macro
step. Under the network's response (``interface="schur"``) it is the level that is interpolated, in which what
the fast states do to the slow variables, and with it the error, cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from psmr.base.arrays import Reals
from psmr.base.errors import SingularError
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme, TwoRates
from psmr.integrate.solve.partition_sides import sides_of
from psmr.pencil.operator.equation import NEW, STATE, Equation
from psmr.pencil.operator.equations import StepEquations, step_equations
from psmr.pencil.operator.step_operator import Substitution

# Above it what the slow variables excite comes back larger than it was. Measured
# (docs/benchmarks/schemes.md): bus voltages err by 0.08 pu at most where the gain is below 0.9, by 0.1 pu and
# more from 1.5 on.
LARGEST_GAIN = 1.0

# Power iterations: those that turn the vector, and those over which its growth is averaged.
TURNING, AVERAGED = 8, 16


@dataclass(frozen=True)
class Amplification:
    """What an explicit prediction makes of the fast states.

    `gain`: Of the loop from the slow variables by the fast states and the prediction back to them.
    `variable`: The fast state by which most of it goes; "" where the loop is not closed.
    """

    gain: float
    variable: str = ""

    @property
    def breaks_down(self) -> bool:
        """Whether what the slow variables excite comes back larger than it was."""
        return self.gain > LARGEST_GAIN


def amplification(linear: LinearDae, scheme: Scheme) -> Amplification | None:
    """Return what the prediction of a scheme makes of the fast states; None where nothing explicit decides.

    A sparse factorisation for each kind of stage and 24 power iterations, at any size.

    Raises SchemeError for a partition of another system; SingularError when an equation of the step has no
    unique solution.
    """
    implicit = None if scheme.two_rates is None else scheme.two_rates.predicting_implicitly()
    if scheme.two_rates is None or implicit is None:
        return None
    loop = _Loop(linear, scheme, scheme.two_rates, implicit)
    return Amplification(0.0) if loop.read.size == 0 or loop.states.size == 0 else loop.amplification()


def objection(linear: LinearDae, scheme: Scheme) -> str:
    """Return a sentence on a prediction that breaks down, with what to do about it; "" where none does.

    Raises SchemeError, SingularError as `amplification`.
    """
    found = amplification(linear, scheme)
    two_rates = scheme.two_rates
    if two_rates is None or found is None or not found.breaks_down:
        return ""
    ratio = two_rates.ratio // 2
    while ratio > 1 and _breaks_down(linear, two_rates.with_ratio(ratio)):
        ratio //= 2
    held = ", or predict='slow'" if two_rates.predict == "all" else ""
    shorter = f", or h_slow = {ratio * two_rates.h_fast:.4g} s" if ratio > 1 else ""
    return (
        f"The explicit prediction breaks down at h_slow = {scheme.step:g} s: what the slow "
        f"variables excite in fast states, foremost {found.variable}, comes back {found.gain:.3g} times as "
        "large in those predicted, so that the run errs wherever fast states move; take predictor='TM', "
        f"'BEM' or 'extrapolation'{held}{shorter}."
    )


def _breaks_down(linear: LinearDae, scheme: Scheme) -> bool:
    found = amplification(linear, scheme)
    return found is not None and found.breaks_down


class _Loop:
    """The loop through the prediction, every matrix factorised once.

    `read`, `states`: Positions in w of the slow variables that the fast rows read, and of the fast states.
    """

    def __init__(self, linear: LinearDae, scheme: Scheme, two_rates: TwoRates, implicit: Scheme) -> None:
        self.linear, self.passes = linear, two_rates.passes
        sides = sides_of(linear, two_rates.split)
        read = np.unique(linear.jacobian().tocsr()[sides.fast_rows].indices)
        self.read = np.intersect1d(read, sides.slow)
        self.slow, self.states = sides.slow, sides.fast[sides.fast < linear.n]
        # The excitation after 1, 2, 4, ... fast steps, and at the end.
        stops = [2**k for k in range(two_rates.ratio.bit_length())]
        self.at = sorted({*stops, two_rates.ratio})
        # Given the prediction, one pass is the step that is corrected until it agrees.
        self.corrected = Substitution(step_equations(linear, two_rates.converged(), stops=stops))
        self.step = self.corrected.step
        self.fast = {
            int(e.unknown.removeprefix("fast point ")): e
            for e in self.step.equations
            if e.unknown.startswith("fast point ")
        }
        self.predictions = [_prediction(step_equations(linear, each)) for each in (scheme, implicit)]
        try:
            self.algebraic = splu(csc_matrix(linear.gy)) if linear.m else None
        except RuntimeError as error:
            raise SingularError(
                "g_y is singular: no prediction determines the algebraic variables"
            ) from error

    def amplification(self) -> Amplification:
        """Return the largest gain over the times of the excitation, by power iteration on all at once."""
        errors = np.zeros((self.linear.n + self.linear.m, len(self.at)))
        errors[self.read] = np.random.default_rng(0).standard_normal((len(self.read), len(self.at)))
        growth = np.zeros(len(self.at))
        for k in range(TURNING + AVERAGED):
            length = np.linalg.norm(errors[self.read], axis=0)
            errors = errors / np.where(length > 0.0, length, 1.0)
            excited = self._excited(errors)
            errors = self._predicted(excited)
            if k >= TURNING:
                length = np.linalg.norm(errors[self.read], axis=0)
                growth += np.log(np.maximum(length, np.finfo(float).tiny)) / AVERAGED
        most = int(growth.argmax())
        return Amplification(float(np.exp(growth[most])), self._most(excited[:, most], errors[:, most]))

    def _excited(self, jump: Reals) -> Reals:
        """Return (n + m, k) what a jump of the slow variables excites, each column after its fast steps."""
        blocks = self._known(jump) | {NEW: jump}
        found = np.zeros_like(jump)
        for i, equation in self.fast.items():
            blocks[equation.unknown] = self.corrected.solve(equation, blocks)
            for column in (k for k, at in enumerate(self.at) if at == i):
                found[self.states, column] = blocks[equation.unknown][self.states, column]
        if self.algebraic is not None:
            n = self.linear.n
            found[n:] = -self.algebraic.solve(np.ascontiguousarray(self.linear.gx @ found[:n]))
        return found

    def _predicted(self, excited: Reals) -> Reals:
        """Return the error of the slow variables that the last pass interpolates."""
        explicit, implicit = (step.solve(equation, {STATE: excited}) for step, equation in self.predictions)
        errors = np.zeros_like(excited)
        errors[self.slow] = (explicit - implicit)[self.slow]
        for _ in range(self.passes - 1):
            known = self._known(np.zeros_like(errors)) | {NEW: errors}
            errors = np.zeros_like(errors)
            errors[self.slow] = self.corrected.solve_all(known)[NEW][self.slow]
        return errors

    def _known(self, w: Reals) -> dict[str, Reals]:
        """Return the blocks of the state where the macro points up to the start are w."""
        now, *before = self.step.state
        return {now: w} | dict.fromkeys(before, w[self.step.history_of])

    def _most(self, excited: Reals, errors: Reals) -> str:
        """Return the fast state that contributes most to an error of the prediction."""
        weight = np.zeros_like(errors)
        weight[self.read] = errors[self.read]
        back = np.zeros_like(errors)
        for sign, (step, equation) in zip((1.0, -1.0), self.predictions, strict=True):
            adjoint = step.factors(equation).solve(weight, trans="T")
            back += sign * sum(np.asarray(term.T @ adjoint) for _, term in equation.terms)
        if self.algebraic is not None:  # a state is excited together with what follows it at once
            n = self.linear.n
            back[:n] -= self.linear.gx.T @ self.algebraic.solve(back[n:], trans="T")
        share = np.abs(back * excited)[self.states]
        return self.linear.names_x[int(self.states[share.argmax()])]


def _prediction(step: StepEquations) -> tuple[Substitution, Equation]:
    return Substitution(step), next(e for e in step.equations if e.unknown == "predicted")

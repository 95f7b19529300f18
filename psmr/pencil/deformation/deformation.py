"""How much a scheme bends the modes of a system: every multiplier, the mode that each belongs to, the report.

The modes are found once; any step of a one-step method then costs next to nothing (`one_step_spectra`). The
step operator has the same multipliers, and finds them without knowing that.

Whether an explicit prediction can be used: how large what the slow variables excite comes back in it.

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

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu

from psmr.base.arguments import check_arguments
from psmr.base.arrays import Reals
from psmr.base.errors import SchemeError, SingularError, shown
from psmr.base.modules import function_above
from psmr.base.threads import on_one_thread
from psmr.dae.system.eigenvalues import EPS, Modes, modes_of
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme, TwoRates, operator_step, smallest_step
from psmr.integrate.step.sides import sides_of
from psmr.pencil.deformation.at_size import deformation_at_size
from psmr.pencil.deformation.report import (
    Columns,
    Deformation,
    Pencil,
    deformation_columns,
    dominant_position,
    spurious_columns,
)
from psmr.pencil.modes.search import ModeChoice
from psmr.pencil.modes.spectrum import Match, Multipliers, match, match_of, multipliers_of
from psmr.pencil.modes.verdict import excess_of, judge, remarks, stable_and_radius
from psmr.pencil.operator.equation import NEW, STATE, Equation
from psmr.pencil.operator.equations import StepEquations, step_equations
from psmr.pencil.operator.published import WARNING, published_multipliers
from psmr.pencil.operator.step_operator import Substitution, correction_rate, step_operator

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


@dataclass(frozen=True, eq=False)
class Spectra:
    """The modes of a system beside the multipliers of a scheme.

    `modes`, `numerical`, `matched`: Modes of the system, multipliers of the step, and the multiplier of each
      mode.
    `excess`: (k,) |z| - 1 of each multiplier, 0 where rounding explains it; see `excess_of`.
    `step`: Time in s over which a multiplier acts.
    `rate`: Factor by which a correction of a macro step changes its error, where that decides; otherwise 0.
    """

    modes: Modes
    numerical: Multipliers
    matched: Match
    excess: np.ndarray
    step: float
    rate: float = 0.0

    @classmethod
    def of(cls, modes: Modes, numerical: Multipliers, step: float, rate: float = 0.0) -> Spectra:
        """Match multipliers to modes by shape and place."""
        matched = match(modes, numerical, step)
        return cls(modes, numerical, matched, excess_of(modes, numerical, matched, step), step, rate)


@on_one_thread
def spectra_of(linear: LinearDae, scheme: Scheme, modes: Modes | None = None) -> Spectra:
    """Return modes and multipliers of a scheme, by its stability function where it has one.

    `linear`, `scheme`: what is judged; `modes`: those of the system, where they are known. Raises SchemeError
    for a partition of another system; SingularError when an equation of the step has no unique solution.
    """
    modes = modes_of(linear) if modes is None else modes
    if scheme.tableau is not None and linear.delays is None:
        return one_step_spectra(modes, scheme)
    numerical = multipliers_of(step_operator(linear, scheme), linear.n + linear.m)
    return Spectra.of(modes, numerical, operator_step(scheme), correction_rate_of(linear, scheme))


def correction_rate_of(linear: LinearDae, scheme: Scheme) -> float:
    """Return the factor by which a correction changes the error where they are to converge, otherwise 0."""
    converges = scheme.two_rates is not None and scheme.two_rates.corrections == "converge"
    return correction_rate(linear, scheme) if converges else 0.0


def one_step_spectra(modes: Modes, scheme: Scheme) -> Spectra:
    """Return what a one-step method with one step for every variable makes of modes, from these alone.

    Each is multiplied by R(h s) in a step of h, its algebraic variables follow and add nothing: no multiplier
    is spurious, none has to be matched, and none is further off than its mode. Where rounding hides on which
    side of the axis a mode is, it is judged by the multiplier of one on the axis: a method that is A-stable
    makes none grow that does not grow in the system.
    """
    assert scheme.tableau is not None
    h, s = scheme.step, np.asarray(modes.s, dtype=np.complex128)
    z = scheme.tableau.stability_function(h * s)
    on_axis = modes.undecided & (s.real > 0.0)
    size = np.abs(np.where(on_axis, scheme.tableau.stability_function(1j * h * s.imag), z))
    error = np.where(modes.undecided, 0.0, np.abs(z) * h * modes.error) + len(z) * EPS
    matched = match_of(s, z, np.arange(len(z)), h)
    shares = np.zeros((len(modes.vectors), len(z)))
    shares[: len(modes.participation)] = modes.participation
    numerical = Multipliers(z, modes.vectors, shares, error)
    excess = np.where(np.abs(size - 1.0) <= error, 0.0, size - 1.0)
    return Spectra(modes, numerical, matched, excess, h)


PENCILS = ("exact", "published")

# The step operator is dense, with all its eigenvalues: ten seconds and 0.3 GB at this order.
LARGEST = 2000
DEFAULT_COUNT = 20


@on_one_thread
def deformation(
    linear: LinearDae,
    scheme: Scheme,
    pencil: Pencil = "exact",
    modes: ModeChoice | Mapping[str, Any] | int | Iterable[complex] | None = None,
) -> Deformation:
    """Compare the modes of a linearised system with what a scheme makes of them.

    Every mode, from dense matrices; with `modes` only the chosen ones, from sparse matrices, at any size. A
    system of more than 2,000 variables takes the sparse path in any case, and the report says so.

    Parameters
    ----------
    linear
        The system, linearised at its equilibrium.
    scheme
        Any scheme but an adaptive one, which has no step operator.
    pencil
        ``"exact"``: the step the simulator takes. ``"published"``: appendix B of Huang and Tzounas, to
        reproduce their figures; it describes one fast step, and the report says so.
    modes
        A `psmr.ModeChoice`, its fields as a dictionary, a number (so many least damped) or a sequence of
        values in 1/s (the mode nearest to each). Not with the published pencil.

    Returns
    -------
    Deformation

    Raises
    ------
    SchemeError
        For a partition of another system, an unknown pencil, or a scheme the published pencil does not cover.
    SingularError
        When an equation of the step has no unique solution.
    InputError
        For a chosen mode that does not exist, or a band without modes.
    """
    check_arguments(deformation, locals(), leaving=("pencil",))
    if pencil not in PENCILS:
        raise SchemeError(f"pencil = {shown(pencil)}: must be one of {', '.join(map(repr, PENCILS))}")
    size = linear.n + linear.m
    if linear.held:
        if pencil == "published" or modes is not None or size > LARGEST:
            raise SchemeError(
                f"with samples ({', '.join(linear.held[:3])}) every mode of at most {LARGEST} "
                f"variables is computed (here {size}), with the exact pencil; leave out modes and pencil"
            )
        sampling: Deformation = function_above("pencil.deformation.sampling.sampling_deformation")(
            linear, scheme
        )
        return sampling
    if modes is not None or size > LARGEST:
        if pencil == "published":
            raise SchemeError(
                f"pencil = 'published': only for all modes of a system of at most {LARGEST} variables (this "
                f"one has "
                f"{size}); leave it out for the exact pencil"
            )

        return _with_prediction(deformation_at_size(linear, scheme, *_chosen(modes, size)), linear)
    names = linear.names_x + linear.names_y
    if pencil == "published":
        spectra = Spectra.of(modes_of(linear), published_multipliers(linear, scheme), smallest_step(scheme))
        return report_of(scheme, pencil, spectra, names)
    return _with_prediction(report_of(scheme, pencil, spectra_of(linear, scheme), names), linear)


def _with_prediction(report: Deformation, linear: LinearDae) -> Deformation:
    """Return a report that says as well whether an explicit prediction breaks down."""
    words = objection(linear, report.scheme)
    return replace(report, prediction=words) if words else report


def report_of(scheme: Scheme, pencil: Pencil, spectra: Spectra, names: tuple[str, ...]) -> Deformation:
    """Return the report that modes and multipliers amount to.

    `scheme`, `pencil`: what is judged, and by what; `spectra`: modes of the system, multipliers of the step,
    and what belongs to what.
    """
    modes, numerical, matched, step = spectra.modes, spectra.numerical, spectra.matched, spectra.step
    columns, multipliers = _columns(modes, numerical, matched)
    left = matched.spurious
    return Deformation(
        scheme=scheme,
        pencil=pencil,
        step=step,
        columns=columns,
        multipliers=multipliers,
        dominant_at=dominant_position(columns),
        spectral_radius=stable_and_radius(spectra.excess)[1],
        spurious_columns=spurious_columns(numerical.z[left], numerical.vectors[:, left], step, names),
        stability=judge(modes, numerical, matched, spectra.excess, step, spectra.rate, names),
        said=(
            *((WARNING,) if pencil == "published" else ()),
            *remarks(modes, numerical, matched),
            *(() if scheme.operator is None else scheme.operator.remarks),
        ),
    )


def _chosen(wanted: Any, size: int) -> tuple[ModeChoice, tuple[str, ...]]:
    if wanted is not None:
        return ModeChoice.of(wanted), ()
    return ModeChoice(least_damped=DEFAULT_COUNT), (
        f"{size} variables are more than the {LARGEST} for which every mode is computed: the sparse path was "
        f"taken, "
        f"and only the {DEFAULT_COUNT} least damped modes are here; choose others with modes=.",
    )


def spectral_radius(linear: LinearDae, scheme: Scheme) -> float:
    """Return the largest |z| of the step operator, as `Deformation.spectral_radius`; above 1 is unstable.

    Raises
    ------
    SchemeError
        For a partition of another system.
    SingularError
        When an equation of the step has no unique solution.
    """
    return stable_and_radius(spectra_of(linear, scheme).excess)[1]


def _columns(modes: Modes, numerical: Multipliers, matched: Match) -> tuple[Columns, np.ndarray]:
    zero = np.zeros(len(modes.s), dtype=bool)
    zero[matched.zero] = True
    rows = np.flatnonzero((modes.s.imag >= 0.0) | zero)
    s, s_hat = modes.s[rows], matched.s_numerical[rows]
    columns = deformation_columns(s, s_hat, [matched.status[k] for k in rows])
    partner = matched.partner[rows]
    z = np.full(len(rows), np.nan + 0j)
    z[partner >= 0] = numerical.z[partner[partner >= 0]]
    return columns, z


@dataclass(frozen=True, eq=False)
class OneStepModes:
    """The modes of a system, ready for the steps of any one-step method.

    `modes`: Every eigenvalue with its vectors.
    `names`: The variables, states before algebraic ones.
    """

    modes: Modes
    names: tuple[str, ...]

    @classmethod
    def of(cls, linear: LinearDae) -> OneStepModes:
        """Compute the modes of a linearised system: a dense eigenvalue problem of its n states.

        Raises SingularError for a singular gy.
        """
        linear.require_no_delays("stability function for each mode by itself")
        return cls(modes_of(linear), linear.names_x + linear.names_y)

    def deformation(self, scheme: Scheme) -> Deformation:
        """Return the report on a scheme that `psmr.deformation` gives.

        Raises
        ------
        SchemeError
            For a scheme that is no one-step method with one step for all.
        """
        if scheme.tableau is None:
            raise SchemeError(f"{scheme}: no one-step method with one step for every variable")
        return report_of(scheme, "exact", one_step_spectra(self.modes, scheme), self.names)

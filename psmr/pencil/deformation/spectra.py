"""Modes and what a scheme makes of them: every multiplier, and the mode that each belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psmr.dae.system.eigenvalues import EPS
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.modes.matching import Match, match, paired
from psmr.pencil.modes.spectrum import Modes, Multipliers, modes_of, multipliers_of
from psmr.pencil.modes.verdict import excess_of
from psmr.pencil.operator.step_operator import correction_rate, step_operator


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


def spectra_of(linear: LinearDae, scheme: Scheme, modes: Modes | None = None) -> Spectra:
    """Return modes and multipliers of a scheme, by its stability function where it has one.

    `linear`, `scheme`: what is judged; `modes`: those of the system, where they are known. Raises SchemeError
    for a partition of another system; SingularError when an equation of the step has no unique solution.
    """
    modes = modes_of(linear) if modes is None else modes
    if scheme.tableau is not None and linear.delays is None:
        return one_step_spectra(modes, scheme)
    numerical = multipliers_of(step_operator(linear, scheme), linear.n + linear.m)
    return Spectra.of(modes, numerical, scheme.operator_step, correction_rate_of(linear, scheme))


def correction_rate_of(linear: LinearDae, scheme: Scheme) -> float:
    """Return the factor by which a correction changes the error where they are to converge, otherwise 0."""
    return correction_rate(linear, scheme) if getattr(scheme, "corrections", 0) == "converge" else 0.0


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
    matched = paired(s, z, np.arange(len(z)), h)
    shares = np.zeros((len(modes.vectors), len(z)))
    shares[: len(modes.participation)] = modes.participation
    numerical = Multipliers(z, modes.vectors, shares, error)
    excess = np.where(np.abs(size - 1.0) <= error, 0.0, size - 1.0)
    return Spectra(modes, numerical, matched, excess, h)

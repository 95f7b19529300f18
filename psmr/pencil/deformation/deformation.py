"""How much a scheme bends the modes of a system: the deformation report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.errors import SchemeError, shown
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.deformation.at_size import deformation_at_size
from psmr.pencil.deformation.prediction import objection
from psmr.pencil.deformation.report import (
    Columns,
    Deformation,
    Pencil,
    deformation_columns,
    dominant_position,
    spurious_columns,
)
from psmr.pencil.deformation.spectra import Spectra, spectra_of
from psmr.pencil.modes.matching import Match
from psmr.pencil.modes.search import ModeChoice
from psmr.pencil.modes.spectrum import Modes, Multipliers, modes_of
from psmr.pencil.modes.verdict import judge, remarks, stable_and_radius
from psmr.pencil.operator.published import WARNING, published_multipliers

PENCILS = ("exact", "published")

# The step operator is dense, with all its eigenvalues: ten seconds and 0.3 GB at this order.
LARGEST = 2000
DEFAULT_COUNT = 20


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
        spectra = Spectra.of(modes_of(linear), published_multipliers(linear, scheme), scheme.h_fast)
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
            *scheme.remarks(),
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

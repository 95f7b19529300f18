"""The modes of a stretch of a run in which the system is periodic: exponents, exact and of the scheme.

The certificate of a run's scheme while phases are unequal: over a period, by the product of its steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from psmr.base.arrays import Reals
from psmr.base.errors import InputError, PsmrError, SchemeError
from psmr.integrate.schemes.scheme import Scheme, steady_program
from psmr.integrate.timeline.span import Span
from psmr.network.dynamic.switching import unequal_phases
from psmr.network.topology.connections import system_in
from psmr.network.topology.network import nominal_frequency
from psmr.pencil.modes.verdict import Growth, Kind, Verdict, damping_ratio
from psmr.pencil.operator.periodic import (
    DENSE,
    MORE,
    RESOLVED,
    Monodromy,
    exact_monodromy,
    monodromy,
    product_of_steps,
)
from psmr.study.certificate.certificate import Certificate, mode_text, percent
from psmr.study.certificate.certify import judged_steps, times_within
from psmr.study.record.record import FinishedRun

if TYPE_CHECKING:
    import pandas as pd


LARGEST = 3000
"""Variables up to which the steps of a period are made: some 400 factorisations, kept for Arnoldi."""

DECAYED = 1e-12
"""Size of a multiplier below which a mode is over within a period, and its exponent rounding."""

SHOWN = 10
"""Exponents in the text; the table has all."""

ROUNDED = 1e-9
"""Time in s by which an instant of an event may be rounded."""

AROUND = 1.0
"""Periods before and after one whose points of the run are joined by the spline as well."""

ALIKE = 0.25
"""Overlap of two shapes, squared, below which an exponent further away than it is large is another mode's."""


@dataclass(frozen=True, eq=False)
class PeriodicModes:
    """What a period of a run does to small changes: in the exact system, and in the scheme that simulated it.

    `name`: scheme and system.
    `begin`, `period`: where the period begins, and its length, in s.
    `scheme`, `steps`, `asked`: the scheme, with a step that divides the period, its steps in it, and the step
      of the run in s.
    `states`: names of the states.
    `exact`, `simulated`: what small changes become over the period.
    """

    name: str
    begin: float
    period: float
    scheme: Scheme
    steps: int
    asked: float
    states: tuple[str, ...]
    exact: Monodromy
    simulated: Monodromy

    @property
    def spectral_radius(self) -> float:
        """Largest multiplier of the scheme over the period: below 1 changes decay."""
        return self.simulated.radius

    @property
    def exact_spectral_radius(self) -> float:
        """Largest multiplier of the system itself."""
        return self.exact.radius

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The columns of `table`, of a conjugate pair the exponent with positive imaginary part."""
        from scipy.optimize import linear_sum_assignment

        exact, simulated = self.exact.exponents(), self.simulated.exponents()
        s, s_h = exact.likeliest, simulated.likeliest
        alike = np.abs(exact.shapes.conj().T @ simulated.shapes) ** 2
        apart = np.abs(s[:, None] - s_h[None, :]) / (np.abs(s)[:, None] + np.abs(s_h)[None, :])
        of, partner = linear_sum_assignment(1.0 - alike + apart)
        made = np.full(len(s), np.nan + 0j)
        made[of] = simulated.nearest(partner, s[of])
        another = np.zeros(len(s), bool)
        another[of] = alike[of, partner] < ALIKE
        made[another & (np.abs(made - s) > np.abs(s))] = np.nan
        known = s.real * self.period > np.log(DECAYED)
        known &= np.abs(s) * self.period < RESOLVED * self.exact.product.steps
        kept = np.flatnonzero(known & (s.imag >= -ROUNDED * np.abs(s)))
        kept = kept[np.lexsort((s.imag[kept], -s.real[kept]))]
        s, made = s[kept], made[kept]
        return {
            "real": s.real, "imag": s.imag, "real_numerical": made.real, "imag_numerical": made.imag,
            "deformation": np.abs(made - s) / np.abs(s),
        }  # fmt: skip

    @property
    def table(self) -> pd.DataFrame:
        """A row for each exponent, the slowest first, with its relative deformation.

        Columns real, imag, real_numerical, imag_numerical, deformation; exponents in 1/s and rad/s, of a
        conjugate pair the one with positive imaginary part; NaN where the scheme has no such exponent. A
        multiple of 2 pi / period in their imaginary part is that with which the shape of the mode is the
        steadiest over the period. Modes that are over within a period are left out, and so are those
        above 256 / period. Beyond 200 states these are the outermost ones.
        """
        import pandas as pd

        return pd.DataFrame(self.columns)

    def __str__(self) -> str:
        rows = self.table.head(SHOWN).to_numpy()
        lines = [
            f"{self.name}, {self.steps} steps over {1e3 * self.period:g} ms from t = {self.begin:g} s",
            f"largest multiplier: exact {self.exact_spectral_radius:.5f}, scheme {self.spectral_radius:.5f}",
            "exponents in 1/s, exact and of the scheme:",
        ]
        for re, im, re_h, im_h, off in rows:
            lines.append(f"  {complex(re, im):22.5g}  {complex(re_h, im_h):22.5g}  {100 * off:.3g} %")
        return "\n".join(lines)


def longest(run: FinishedRun, spans: list[Span]) -> Span:
    """Return the longest of some stretches of a run."""
    return max(spans, key=lambda span: run.t[span.rows][-1] - run.t[span.rows][0])


def modes_over_period(run: FinishedRun, span: Span, t: float | None = None) -> PeriodicModes:
    """Return the modes of a stretch of a run: of the period from t in s, or of its last one.

    See `psmr.periodic_modes`, also for the errors raised.
    """
    assert run.system is not None
    if run.system.delays:
        raise InputError(
            f"{run.name}: reads signals with a delay, whose past the product of the steps does not have; take"
            " the delays as 0 (psmr.with_delays) for the exponents over a period"
        )
    frequency = nominal_frequency(run.system)
    if frequency is None:
        raise InputError(f"{run.name}: no device has a nominal frequency f_n, so that there is no period")
    period = 1.0 / frequency
    begin = _begin(run, span, t, period)
    scheme = _with_one_step(run, span)
    asked, steps = scheme.step, round(period / scheme.step)
    scheme = _dividing(scheme, steps, period)
    times, points = _points(run, span, begin, period)
    row = int(np.searchsorted(times, begin - ROUNDED))
    system = system_in(run.system, span, points[row, : run.system.n], points[row, run.system.n :], begin)
    if system.n + system.m > LARGEST:
        raise InputError(
            f"{run.name}: {system.n + system.m} variables; the product of the steps is made up to {LARGEST}:"
            " take a smaller region"
        )
    names = (*system.names_x, *system.names_y)
    places = np.array([run.system.index(name) for name in names], dtype=np.intp)
    from scipy.interpolate import CubicSpline

    course = CubicSpline(times, points[:, places])

    def jacobian(at: float) -> sp.csr_array:
        """Return the Jacobian at the point of the run at a time, between two points on a cubic spline."""
        w = system.w0.copy()
        w[: len(places)] = course(at)
        w[-1] = at
        return sp.csr_array(system.jacobian(w))

    linear = system.with_start(course(begin)[: system.n], course(begin)[system.n :]).linearise()
    simulated = product_of_steps(scheme, linear, jacobian, begin, steps)
    return PeriodicModes(
        f"{scheme} on {run.name}",
        begin,
        period,
        scheme,
        steps,
        asked,
        system.names_x,
        exact_monodromy(jacobian, begin, period, system.n),
        monodromy(simulated, MORE),
    )


def _begin(run: FinishedRun, span: Span, t: float | None, period: float) -> float:
    """Return where the period begins; raise InputError where none is whole within the span."""
    first, last = run.t[span.rows][[0, -1]].tolist()
    begin = last - period if t is None else max(t, first)
    if span.moves:
        raise InputError(f"{run.name}: inputs move after t = {first:g} s, so that nothing is periodic there")
    if begin < first - ROUNDED or begin + period > last + ROUNDED:
        raise InputError(
            f"{run.name}: no whole period of {period:g} s without an event from t = {max(begin, first):g} s;"
            f" the stretch there is from {first:g} to {last:g} s"
        )
    return float(begin)


def _points(run: FinishedRun, span: Span, begin: float, period: float) -> tuple[Reals, Reals]:
    """Return (k,) times in s around a period of a stretch, each once, and (k, n + m) points of the run."""
    times, end = run.t[span.rows], run.t[span.rows][-1]
    kept = () if run.kept is None else [period for period in run.kept.periods if period[0][-1] == end]
    if run.kept is not None:
        if not kept or kept[0][0][0] > begin + ROUNDED:
            raise InputError(
                f"{run.name}: the points of this period were not kept; simulate without `record`"
            )
        times = kept[0][0]
    rows = np.flatnonzero(
        (times >= begin - AROUND * period)
        & (times <= begin + (1.0 + AROUND) * period)
        & np.append(True, np.diff(times) > 0.0)
    )
    if kept:
        return times[rows], kept[0][1][rows]
    return times[rows], np.hstack([run.x[span.rows][rows], run.y[span.rows][rows]])


def _with_one_step(run: FinishedRun, span: Span) -> Scheme:
    """Return the scheme of a run; of one that chooses its steps that of the median step of a stretch."""
    if run.scheme.step_choice is None:
        return run.scheme
    if run.scheme.error_control is None:
        raise SchemeError(f"{run.scheme}: chooses its own steps and has no step operator")
    control = run.scheme.after(run.stats.counters.by_order).error_control
    assert control is not None
    return control.at_step(
        judged_steps(times_within(run.taken, *run.t[span.rows][[0, -1]].tolist()))["the median step"]
    )


def _dividing(scheme: Scheme, steps: int, period: float) -> Scheme:
    """Return the scheme with so many steps in a period."""
    steady_program(scheme)
    if steps < 1:
        raise InputError(
            f"run with {scheme}: h = {scheme.step:g} s is longer than the period, {period:g} s; take a step"
            f" that divides it, such as {period / 4!r}"
        )
    return scheme.with_step(period / steps)


GROWS = 1e-3
"""Part by which the largest multiplier of an unstable scheme exceeds 1, and that of the system."""

SLOWEST = 0.1
"""Exponents up to this in 1/s, left out, are common angles and speeds: they change by 0.2 % over a period."""


def certificate_while_unequal(run: FinishedRun) -> Certificate | None:
    """Return the certificate on the longest stretch of a run with unequal phases in a dynamic region.

    None where there is none of a whole period, and for the stretch with which the run ends: that is of
    `certificate_after`.
    """
    if run.system is None:
        return None
    frequency = nominal_frequency(run.system)
    spans = [span for span in run.spans[:-1] if unequal_phases(run.system, span.parameters)]
    if not spans or frequency is None:
        return None
    span = longest(run, spans)
    first, last = run.t[span.rows][[0, -1]].tolist()
    if last - first < (1.0 - 1e-6) / frequency:
        return None
    return certificate_over_period(run, span, f"the system with unequal phases, t = {first:g} to {last:g} s")


def certificate_over_period(run: FinishedRun, span: Span, subject: str) -> Certificate:
    """Return the certificate on a stretch of a run with unequal phases, of its last period.

    That the system itself grows there counts where the run ends with the stretch: a fault that is cleared
    is no place at which it stays.
    """
    try:
        assert run.system is not None
        if run.system.n > DENSE:
            raise InputError(
                f"{run.system.n} states are more than the {DENSE} of which every exponent over a period is"
                " computed; psmr.periodic_modes(run) searches for the outermost ones"
            )
        modes = modes_over_period(run, span)
    except PsmrError as error:
        return Certificate(str(run.scheme), _partition(run), note=str(error), subject=subject)
    kept = np.hypot(modes.columns["real"], modes.columns["imag"]) > SLOWEST
    columns = {name: values[kept] for name, values in modes.columns.items()}
    s = columns["real"] + 1j * columns["imag"]
    made = columns["real_numerical"] + 1j * columns["imag_numerical"]
    blamed = modes.spectral_radius > (1.0 + GROWS) * max(1.0, modes.exact_spectral_radius)
    growing = (s.real > SLOWEST) & (span is run.spans[-1])
    k = _dominant(s)
    shown = None if k is None or np.isnan(made[k]) else complex(made[k])
    return Certificate(
        str(run.scheme),
        _partition(run),
        stability=_verdict(modes, s, made, blamed, growing),
        spectral_radius=modes.spectral_radius,
        mode=None if k is None else complex(s[k]),
        mode_numerical=shown,
        deformation=None if k is None or shown is None else float(columns["deformation"][k]),
        least_stable=complex(made[np.nanargmax(made.real)]) if np.isfinite(made).any() else None,
        note=_note(modes, s, made, columns["deformation"]),
        subject=f"{subject}, over the period from {modes.begin:.6g} s",
        columns=columns,
    )


def _partition(run: FinishedRun) -> str:
    split = run.scheme.split
    return "none, one step size for every variable" if split is None else str(split)


def _dominant(s: np.ndarray) -> int | None:
    """Return the place of the least damped oscillation."""
    swings = np.flatnonzero(s.imag > 1e-9 * np.abs(s))
    return int(swings[np.argmin(damping_ratio(s[swings]))]) if swings.size else None


@dataclass(frozen=True)
class VerdictOverPeriod(Verdict):
    """A verdict over a period; its step in s is the period.

    `h`, `steps`: step in s of the scheme, and how many make the period.
    `radius`, `exact_radius`: largest multiplier over the period of the scheme, and of the system itself.
    """

    h: float = math.nan
    steps: int = 0
    radius: float = math.nan
    exact_radius: float = math.nan

    def __str__(self) -> str:
        radii = f"{self.radius:.5f}, in the system itself {self.exact_radius:.5f}"
        period = f"a period of {1e3 * self.step:.4g} ms"
        if self.kind is Kind.STABLE:
            return (
                f"Numerically stable at h = {self.h:.6g} s: over {period}, {self.steps} steps, the"
                f" largest multiplier is {radii}."
            )
        as_system = "" if self.blames_scheme else ", as the system is"
        return f"Unstable{as_system}: over {period} the largest multiplier is {radii}."


def _verdict(
    modes: PeriodicModes, s: np.ndarray, made: np.ndarray, blamed: bool, growing: np.ndarray
) -> VerdictOverPeriod:
    largest = Growth(complex(modes.spectral_radius))
    return VerdictOverPeriod(
        modes.period,
        tuple(s[growing].tolist()),
        tuple(s[growing & (made.real <= 0.0)].tolist()),
        shown=Growth(None, complex(s[growing][0])) if growing.any() else None,
        blamed=largest if blamed else None,
        h=modes.scheme.step,
        steps=modes.steps,
        radius=modes.spectral_radius,
        exact_radius=modes.exact_spectral_radius,
    )


def _note(modes: PeriodicModes, s: np.ndarray, made: np.ndarray, deformation: np.ndarray) -> str:
    """Return what is covered, and which exponent below the nominal frequency is deformed most."""
    words = (
        "Phases are unequal, so that the system is periodic: its modes are exponents over a period, of the"
        " product of the steps."
    )
    if not modes.simulated.complete:
        words += f" Looked at are the {len(s)} outermost ones."
    if not np.isclose(modes.scheme.step, modes.asked, rtol=1e-6):
        words += (
            f" The run's step of {modes.asked:.6g} s does not divide the period: judged is the nearest that"
            " does."
        )
    known = np.flatnonzero((np.abs(s) * modes.period < 2 * np.pi) & np.isfinite(deformation))
    if known.size:
        worst = known[np.argmax(deformation[known])]
        words += (
            f" Deformed most of those below the nominal frequency: {mode_text(complex(s[worst]))} becomes"
            f" {mode_text(complex(made[worst]))}, {percent(float(deformation[worst]))}."
        )
    return words

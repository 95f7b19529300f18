"""The certificate of a system that is periodic: exponents over a period, exact and of a scheme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError
from psmr.dae.system.system import System
from psmr.integrate.run.changes import autonomous
from psmr.network.topology.network import nominal_frequency
from psmr.pencil.operator.periodic import Monodromy, exact_monodromy, monodromy_of_steps
from psmr.study.events.spans import Span, system_in

if TYPE_CHECKING:
    import pandas as pd

    from psmr.study.run.run import Run
Reals = NDArray[np.float64]

LARGEST = 600
"""Variables up to which the dense product of the steps is made."""

EXACT_STEPS = 64
"""Steps of the exact monodromy with which the search for their number begins."""

DECAYED = 1e-12
"""Size of a multiplier below which a mode is over within a period, and its exponent rounding."""

SHOWN = 10
"""Exponents in the text; the table has all."""

ROUNDED = 1e-9
"""Time in s by which an instant of an event may be rounded."""

ON_GRID = 1e-6
"""Part of a step by which the points of a run may be off the grid of its steps."""


@dataclass(frozen=True, eq=False)
class PeriodicModes:
    """What a period of a run does to small changes: in the exact system, and in the scheme that simulated it.

    Attributes
    ----------
    name
        Scheme and system.
    begin, period
        Where the period begins, and its length, in s.
    steps
        Steps of the scheme in it.
    states
        Names of the states.
    exact, simulated
        What small changes of the states become over the period.
    """

    name: str
    begin: float
    period: float
    steps: int
    states: tuple[str, ...]
    exact: Monodromy
    simulated: Monodromy

    @property
    def spectral_radius(self) -> float:
        """Largest multiplier of the scheme over the period: below 1 changes decay."""
        return float(np.abs(np.linalg.eigvals(self.simulated.matrix)).max(initial=0.0))

    @property
    def exact_spectral_radius(self) -> float:
        """Largest multiplier of the system itself."""
        return float(np.abs(np.linalg.eigvals(self.exact.matrix)).max(initial=0.0))

    @property
    def table(self) -> pd.DataFrame:
        """A row for each exponent, the slowest first, with its relative deformation.

        Columns real, imag, real_numerical, imag_numerical, deformation; exponents in 1/s and rad/s. A
        multiple of 2 pi / period in their imaginary part is that with which the shape of the mode is the
        steadiest over the period. Modes that are over within a period are left out.
        """
        import pandas as pd

        exact, simulated = (of.exponents(self.period) for of in (self.exact, self.simulated))
        s, s_h = exact.likeliest, simulated.likeliest
        alike = np.abs(exact.shapes.conj().T @ simulated.shapes) ** 2
        apart = np.abs(s[:, None] - s_h[None, :]) / (np.abs(s)[:, None] + np.abs(s_h)[None, :])
        _, partner = linear_sum_assignment(1.0 - alike + apart)
        kept = s.real * self.period > np.log(DECAYED)
        s, s_h = s[kept], simulated.nearest(partner[kept], s[kept])
        found = pd.DataFrame(
            {
                "real": s.real, "imag": s.imag, "real_numerical": s_h.real, "imag_numerical": s_h.imag,
                "deformation": np.abs(s_h - s) / np.abs(s),
            }
        )  # fmt: skip
        order = np.lexsort((found["imag"], -found["real"]))
        return found.iloc[order].reset_index(drop=True)

    def __str__(self) -> str:
        rows = self.table.query("imag >= 0").head(SHOWN).to_numpy()
        lines = [
            f"{self.name}, {self.steps} steps over {1e3 * self.period:g} ms from t = {self.begin:g} s",
            f"largest multiplier: exact {self.exact_spectral_radius:.5f}, scheme {self.spectral_radius:.5f}",
            "exponents in 1/s, exact and of the scheme:",
        ]
        for re, im, re_h, im_h, off in rows:
            lines.append(f"  {complex(re, im):22.5g}  {complex(re_h, im_h):22.5g}  {100 * off:.3g} %")
        return "\n".join(lines)


def periodic_modes(run: Run, t: float | None = None) -> PeriodicModes:
    """Return what one period of nominal frequency does to small changes in a run, while phases are unequal.

    In the turning frame a single-phase fault, or an open phase, has conductances of once and twice nominal
    frequency. Eigenvalues at an instant say nothing of such a system; the product of the steps over a period
    does, and the monodromy matrix of the equations beside it.

    Parameters
    ----------
    run
        A run of a single-rate scheme of one step, with every point kept, whose step divides the period.
    t
        Time in s from which the period is; None: the first instant after which equations read the time.

    Raises
    ------
    InputError
        For a run with delays, a step that does not divide the period, a time after which no whole period is
        without an event, and a run without such a stretch or with a part of its points.
    SchemeError
        For a scheme whose step is no program of one rate.
    """
    check_arguments(periodic_modes, locals())
    if run.system is None or run.kept is not None:
        raise InputError(f"{run.name}: needs every point and the system; simulate without `record`")
    if run.system.delays:
        raise InputError(
            f"{run.name}: reads signals with a delay, whose past the product of the steps does not have; take"
            " the delays as 0 (psmr.with_delays) for the exponents over a period"
        )
    frequency = nominal_frequency(run.system)
    if frequency is None:
        raise InputError(f"{run.name}: no device has a nominal frequency f_n, so that there is no period")
    program, h, period = run.scheme.steady_program(), run.scheme.step, 1.0 / frequency
    steps = round(period / h)
    if steps < 1 or abs(steps * h - period) > ON_GRID * h:
        raise InputError(
            f"run with {run.scheme}: h = {h:g} s does not divide the period {period:g} s; take"
            f" h = 1 / {frequency:g} / {max(steps, 1)} = {period / max(steps, 1)!r}"
        )
    span = _span(run, t)
    first = _first_row(run, span, t, h, steps)
    system, places = _system(run, span, first)
    if system.n + system.m > LARGEST:
        raise InputError(
            f"{run.name}: {system.n + system.m} variables; the product of the steps is made up to {LARGEST}:"
            " take a smaller region"
        )
    begin = float(run.t[first])
    points = np.hstack([run.x, run.y])[first : first + steps + 1][:, places]

    def jacobian(at: float) -> Reals:
        """Return the Jacobian at the point of the run at a time, between two points straight."""
        place = (at - begin) / h
        k = min(int(place + ON_GRID), steps - 1)
        w = system.w0.copy()
        w[: len(places)] = points[k] + (place - k) * (points[k + 1] - points[k])
        w[-1] = at
        return np.asarray(system.jacobian(w).toarray())

    return PeriodicModes(
        f"{run.scheme} on {run.name}",
        begin,
        period,
        steps,
        system.names_x,
        exact_monodromy(jacobian, begin, period, EXACT_STEPS, system.n),
        monodromy_of_steps(program, jacobian, begin, h, steps, system.n),
    )


def _span(run: Run, t: float | None) -> Span:
    """Return the stretch of a run in which the period is."""
    if t is not None:
        begun = (span for span in reversed(run.spans) if run.t[span.rows.start] <= t + ROUNDED)
        return next(begun, run.spans[0])
    assert run.system is not None
    timed = (span for span in run.spans if not autonomous(run.system, span.parameters))
    longest = max(timed, key=lambda span: run.t[span.rows][-1] - run.t[span.rows][0], default=None)
    if longest is None:
        raise InputError(
            f"{run.name}: no equation reads the time in this run, so that it has no period; its certificate"
            " has the modes. An unbalanced fault in a dynamic region makes one"
        )
    return longest


def _first_row(run: Run, span: Span, t: float | None, h: float, steps: int) -> int:
    """Return the row at which the period begins; raise InputError where none is whole within the span."""
    times = run.t[span.rows]
    first = 0 if t is None else int(np.searchsorted(times, t - ON_GRID * h))
    grid = times[first : first + steps + 1]
    if span.moves:
        raise InputError(
            f"{run.name}: inputs move after t = {times[0]:g} s, so that nothing is periodic there"
        )
    if len(grid) <= steps or np.abs(grid - grid[0] - h * np.arange(steps + 1)).max() > ON_GRID * h:
        raise InputError(
            f"{run.name}: no whole period of steps of {h:g} s without an event from t ="
            f" {times[min(first, len(times) - 1)]:g} s; the longest stretch there ends at {times[-1]:g} s"
        )
    return span.rows.start + first


def _system(run: Run, span: Span, row: int) -> tuple[System, NDArray[np.intp]]:
    """Return the system of a stretch, and the places of its variables among those of the run."""
    assert run.system is not None
    system = system_in(run.system, span, run.x[row], run.y[row], float(run.t[row]))
    names = (*system.names_x, *system.names_y)
    return system, np.array([run.system.index(name) for name in names], dtype=np.intp)

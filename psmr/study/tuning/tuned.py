"""What a user gets of a tuning: text, a study file, a figure, and the confirmation by a run."""

from __future__ import annotations

import json
import os
import textwrap
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.errors import StudyError
from psmr.files import OutputTransaction
from psmr.io.read import CaseFile
from psmr.numerics.run.integrate import integrate
from psmr.pencil.deformation.deformation import LARGEST, deformation
from psmr.pencil.modes.choice import ModeChoice
from psmr.pencil.modes.columns import deformation_columns
from psmr.pencil.modes.matching import REPRESENTED
from psmr.pencil.modes.ringdown import fit_mode
from psmr.pencil.modes.search import find
from psmr.pencil.modes.shift_invert import ShiftInvert
from psmr.pencil.modes.spectrum import modes_of
from psmr.pencil.modes.verdict import mode_text
from psmr.study.output.canvas import COLOURS, FAINT, INK, close, new_figure, save, styled
from psmr.study.output.files import placed
from psmr.study.tuning.cost import kicked, measured
from psmr.study.tuning.tuning import Candidate, Tuning

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 110

# The ringdown from which a mode is read: of second order in the kick, so that 1e-4 leaves 1e-8.
KICK, CYCLES = 1e-4, 12.0

# Simulated seconds of the timed run.
TIMED = 20.0


@dataclass(frozen=True)
class Confirmation:
    """A candidate held against the nonlinear simulation and the clock.

    Attributes
    ----------
    mode
        Least damped oscillation of the system in the band, 1/s.
    predicted, observed
        What the scheme makes of it by the pencil, and fitted to the ringdown of a nonlinear run.
    deformation_predicted, deformation_observed
        Relative deformation of both.
    cost_predicted, cost_measured
        Seconds of work for a simulated second, by the model and by the clock (processor time).
    """

    mode: complex
    predicted: complex
    observed: complex
    deformation_predicted: float
    deformation_observed: float
    cost_predicted: float
    cost_measured: float

    def __str__(self) -> str:
        return (
            f"Confirmed on mode {mode_text(self.mode)}: deformation {100 * self.deformation_predicted:.4g} % "
            f"predicted, {100 * self.deformation_observed:.4g} % in a nonlinear ringdown; "
            f"cost {1e3 * self.cost_predicted:.3g} ms a simulated second predicted, "
            f"{1e3 * self.cost_measured:.3g} ms by the clock"
        )


def confirm(system: System, candidate: Candidate) -> Confirmation:
    """Hold a candidate against a nonlinear ringdown (its mode) and the clock (its cost)."""
    linear = system.linearise()
    small = linear.n + linear.m <= LARGEST
    # Of a large system the least damped oscillation alone.
    report = deformation(linear, candidate.scheme, modes=None if small else 1)
    rows = report.table[(report.table["status"] == REPRESENTED) & (report.table["imag"] > 0.0)]
    row = rows.iloc[int(np.argmin(rows["damping_ratio"].to_numpy()))]
    s = complex(row["real"], row["imag"])
    predicted = complex(row["real_numerical"], row["imag_numerical"])
    w = kicked(system, s, KICK)
    n = system.n
    left = _left(linear, s, small)
    t_end = max(8.0, CYCLES * 2.0 * np.pi / s.imag)
    steps = int(t_end / candidate.scheme.step)
    run = integrate(
        system, candidate.scheme, steps * candidate.scheme.step, start=(w[:n], w[n : n + system.m])
    )
    signal = ((run.x - system.x0) @ left).real
    settled = slice(min(3, len(run.t) // 10), None)  # the spline has its history after two steps
    observed = fit_mode(run.t[settled], signal[settled], predicted)
    both = deformation_columns(np.array([s, s]), np.array([predicted, observed]), ("", ""))
    bent = both["relative_deformation"]
    return Confirmation(
        s,
        predicted,
        observed,
        float(bent[0]),
        float(bent[1]),
        candidate.cost,
        measured(system, candidate.scheme, TIMED),
    )


def _left(linear: LinearDae, s: complex, small: bool) -> NDArray[np.complex128]:
    """Return (n,) what each state contributes to the coordinate of a mode: its left eigenvector."""
    if small:
        modes = modes_of(linear)
        return np.asarray(np.linalg.inv(modes.vectors[: linear.n])[np.abs(modes.s - s).argmin()])
    pencil = ShiftInvert(linear)
    found = find(pencil, ModeChoice(near=(s,)))
    _, _, lu, _ = pencil.polished(complex(found.s[0]), found.vectors[:, 0])
    return np.asarray(pencil.left(lu)[: linear.n].conj())


def tuning_record(tuning: Tuning, confirmation: Confirmation) -> dict[str, Any]:
    """Return the result as plain numbers by name."""

    def record(candidate: Candidate | None) -> dict[str, Any] | None:
        if candidate is None:
            return None
        names = ("cost", "deformation", "damping_error", "frequency_error")
        return {"scheme": candidate.recorded, **{name: getattr(candidate, name) for name in names}}

    return {
        "system": tuning.name,
        "target": asdict(tuning.target),
        "advice": tuning.advice,
        "winner": record(tuning.winner),
        "best_single": record(tuning.best_single),
        "best_multirate": record(tuning.best_multirate),
        "candidates": len(tuning.candidates),
        "confirmation": asdict(confirmation),
    }


FILES = ("tuned.toml", "pareto.svg", "candidates.csv")
"""What `write_tuning` writes."""


def write_tuning(folder: str | os.PathLike[str], tuning: Tuning, case: CaseFile) -> tuple[Path, ...]:
    """Write study, figure and table into a folder, all or none, and return their paths.

    Raises
    ------
    StudyError
        When the folder cannot be written.
    """
    place = Path(folder)
    files = tuple(place / name for name in FILES)
    figure = pareto(tuning)
    try:
        with OutputTransaction(StudyError) as transaction:
            with transaction.file(files[2]) as temporary:
                temporary.write_text(tuning.table.to_csv(index=False), encoding="utf-8")
            save(figure, files[1], transaction)
            write_study(files[0], tuning, case, transaction)
    finally:
        close(figure)
    return files


def write_study(
    path: str | os.PathLike[str], tuning: Tuning, case: CaseFile, transaction: OutputTransaction | None = None
) -> None:
    """Write the winner as a study file beside which, or from which, the case file is found.

    The file appears at once, or with the others of `transaction`.

    Raises
    ------
    StudyError
        When it cannot be written.
    """
    place = Path(path)

    def beside(file: str | os.PathLike[str]) -> str:
        return _toml(os.path.relpath(Path(file).resolve(), place.resolve().parent).replace(os.sep, "/"))

    reading = [f"dynamics = {beside(case.dynamics)}"] if case.dynamics else []
    reading += ["skip_unknown_models = true"] if case.skip_unknown_models else []
    reading += ["reactive_limits = true"] if case.reactive_limits else []
    reading += [f"frequency_hz = {case.frequency_hz!r}"] if case.frequency_hz else []
    reading += [f"loads = {_toml(case.loads)}"] if case.loads else []
    reading += ["net_unmodelled = true"] if case.net_unmodelled else []
    reading += [f"mechanical = {_toml(case.mechanical)}"] if case.mechanical else []
    beyond = case.start_at_limits
    reading += [f"start_at_limits = {_toml(beyond)}"] if beyond != "refuse" else []
    lines = [
        f"# The cheapest scheme for {tuning.name} with {tuning.target}.",
        *(f"# {line}" for line in textwrap.wrap(str(tuning.winner), WIDTH - 2)),
        'format = "psmr-study"',
        "version = 1",
        f"name = {_toml(f'{tuning.name}, tuned')}",
        f"case = {beside(case.path)}",
        *reading,
        "",
        "[scheme]",
        *(f"{key} = {_toml(value)}" for key, value in tuning.winner.recorded.items()),
        "",
        "[simulation]",
        "t_end = 10.0  # s; add [[event]] tables",
    ]
    with placed(place, transaction) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    # A JSON string is a TOML basic string; numbers read alike.
    return json.dumps(value, ensure_ascii=False)


def pareto(tuning: Tuning) -> Figure:
    """Draw cost against deformation: every stable candidate, both frontiers, the bound and the winner."""
    stable = [c for c in tuning.candidates if c.stable is not False and np.isfinite(c.deformation)]
    with styled():
        figure = new_figure(7.2, 4.6)
        ax = figure.subplots()
        kinds = (("multirate", True, COLOURS[1], "o"), ("single rate", False, COLOURS[0], "s"))
        for words, kind, colour, marker in kinds:
            points = np.array(
                [(100 * c.deformation, 1e3 * c.cost) for c in stable if c.scheme.has_ratio == kind]
            )
            if not len(points):
                continue
            ax.scatter(
                points[:, 0],
                points[:, 1],
                s=16,
                color=colour,
                marker=marker,
                alpha=0.35,
                linewidths=0,
                label=words,
            )
            front = _frontier(points)
            ax.step(*front.T, where="post", color=colour, lw=1.4)
        winner = tuning.winner
        place = (100 * winner.deformation, 1e3 * winner.cost)
        ax.scatter(
            [place[0]],
            [place[1]],
            s=170,
            marker="*",
            color="#e09f3e",
            edgecolor=INK,
            lw=0.8,
            zorder=5,
            label="cheapest that meets it",
        )
        if tuning.target.accuracy is not None:
            ax.axvline(100 * tuning.target.accuracy, color=FAINT, lw=1.0, ls="--")
            ax.annotate(
                f"asked: {100 * tuning.target.accuracy:g} %",
                (100 * tuning.target.accuracy, 0.98),
                xycoords=("data", "axes fraction"),
                xytext=(4, 0),
                textcoords="offset points",
                va="top",
                color=FAINT,
            )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel(f"largest deformation of a mode up to {tuning.target.up_to:g} Hz [%]")
        least = min(100 * c.deformation for c in stable)
        # What is a thousand times better than asked says nothing about the choice.
        ax.set_xlim(left=max(0.7 * least, 1e-3 * place[0]))
        ax.set_ylabel("work per simulated second [ms]")
        ax.set_title(tuning.name, loc="left")
        ax.legend(loc="lower left")
    return figure


def _frontier(points: np.ndarray) -> np.ndarray:
    """Return the points that no other one beats in both, from the most accurate to the cheapest."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    best = np.minimum.accumulate(points[:, 1])
    keep = np.concatenate([[True], best[1:] < best[:-1]])
    return points[keep]

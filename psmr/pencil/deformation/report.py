"""The deformation report as a record: what a scheme does to each mode, and how to write it down.

The columns of the tables of a deformation report; the relative deformation is defined here.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.errors import percent_text
from psmr.base.files import PAGES, TABLES, require_suffix, write_texts
from psmr.base.modules import draw
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.modes.spectrum import REPRESENTED
from psmr.pencil.modes.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Columns = Mapping[str, np.ndarray]


def deformation_columns(s: np.ndarray, s_hat: np.ndarray, status: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the columns of a table with a row per mode.

    `s`: (k,) modes of the system in 1/s; exactly 0 for a zero mode, whose relative figures are NaN; `s_hat`:
    (k,) modes as the scheme shows them, NaN where it does not; `status`: (k,) words. Columns as
    `Deformation.table`.
    """
    size = np.where(s == 0.0, np.nan, np.abs(s))
    with np.errstate(invalid="ignore", divide="ignore"):  # NaN in, NaN out: no s_hat, or |s| = 0
        change = (s_hat - s) / size
        ratio = -s.real / size
        ratio_hat = np.where(np.isnan(size), np.nan, -s_hat.real / np.abs(s_hat))
        oscillates = np.where(s.imag > 0.0, s.imag, np.nan)
        frequency_error = s_hat.imag / oscillates - 1.0
    return {
        "real": s.real,
        "imag": s.imag,
        "frequency_hz": s.imag / (2.0 * np.pi),
        "damping_ratio": ratio,
        "real_numerical": s_hat.real,
        "imag_numerical": s_hat.imag,
        "frequency_hz_numerical": s_hat.imag / (2.0 * np.pi),
        "damping_ratio_numerical": ratio_hat,
        "relative_deformation": np.abs(change),
        "real_deformation": change.real,
        "imag_deformation": change.imag,
        "damping_error": ratio_hat - ratio,
        "frequency_error": frequency_error,
        "status": np.array(status, dtype=object),
    }


def spurious_columns(
    z: np.ndarray, vectors: np.ndarray, step: float, names: Sequence[str]
) -> dict[str, np.ndarray]:
    """Return the columns of a table with a row per multiplier that belongs to no mode.

    `z`, `vectors`: (k,) multipliers and (variables, k) their vectors; `step`: time in s over which a
    multiplier acts. Columns as `Deformation.spurious`.
    """
    s_hat = np.log(z.astype(complex)) / step
    largest = np.abs(vectors).argmax(axis=0) if len(z) else []
    return {
        "real_z": z.real,
        "imag_z": z.imag,
        "magnitude": np.abs(z),
        "real_numerical": s_hat.real,
        "imag_numerical": s_hat.imag,
        "dominant_variable": np.array([names[k] for k in largest], dtype=object),
    }


def dominant_position(columns: Columns) -> int | None:
    """Return the position of the least damped oscillatory mode, None where nothing oscillates."""
    oscillating = np.flatnonzero(columns["imag"] > 0.0)
    if not len(oscillating):
        return None
    return int(oscillating[np.argmin(columns["damping_ratio"][oscillating])])


Pencil = Literal["exact", "published"]

# Change by sampling from which on a mode is listed in a terminal.
LEAST_CHANGE = 1e-3

# Characters in a line of the report in a terminal.
WIDTH = 110


@dataclass(frozen=True, eq=False, repr=False)
class Deformation:
    """What one scheme does to the modes of one linearised system.

    Attributes
    ----------
    scheme
        The scheme that is judged.
    pencil
        ``"exact"`` or ``"published"``.
    step
        Time in s over which a multiplier acts: the (macro) step; the fast step for the published pencil.
    columns, spurious_columns
        The columns of `table` and of `spurious`.
    dominant_at
        Position in the table of the least-damped oscillatory mode, None for a system without oscillation.
    table
        A row per mode by descending real part; of a conjugate pair the one with positive imaginary part, and
        a row for every zero mode. Columns: ``real`` (1/s), ``imag`` (rad/s), ``frequency_hz``,
        ``damping_ratio`` of the system; ``real_numerical``, ``imag_numerical``, ``frequency_hz_numerical``,
        ``damping_ratio_numerical`` of the mode as the scheme shows it; ``relative_deformation`` = |s_hat - s|
        / |s|, ``real_deformation`` = Re(s_hat - s) / |s|
        (above 0: less damped than the system) and ``imag_deformation`` = Im(s_hat - s) / |s|, all fractions;
        ``damping_error``, the damping ratio of s_hat less that of s (0.01: one percentage point), and
        ``frequency_error``, the relative change of the frequency (NaN for a real mode);
        ``status``: ``"represented"``, ``"zero mode"`` (|s| is 0 within rounding, so that a relative figure
        has no meaning and is NaN), or ``"not represented: <why>, |z| = ..."`` (no s_hat). With chosen modes
        also ``residual`` = |T v - z v| / |v| of each pair of the scheme, and ``mode_residual`` of that of the
        system, relative to the terms of J w = s E w. With samples the system is the sampled one, and there
        are also ``real_continuous``, ``imag_continuous``, ``sampling_deformation`` and ``delay_deformation``:
        see docs/pencil.md.
    multipliers
        (rows,) complex, the z of each row of the table; NaN where none is left.
    dominant
        The row of the least-damped oscillatory mode, None for a system without oscillation.
    spectral_radius
        Largest |z|; one that differs from 1 by no more than its rounding error counts as 1.
    spurious
        A row per multiplier that belongs to no mode: ``real_z``, ``imag_z``, ``magnitude``,
        ``real_numerical``, ``imag_numerical`` (principal logarithm), ``dominant_variable``.
    stability
        Who is stable and who is to blame, in fields: `psmr.pencil.modes.verdict.Verdict`.
    stable
        Whether no multiplier lies outside the unit circle beyond its rounding error (and corrections that are
        to be converged do converge).
    verdict
        `stability` in one sentence.
    growing
        Modes of the system that grow, in 1/s and rad/s, one of each pair.
    hidden
        Those of them that the scheme damps, or does not show: an instability that the run hides.
    prediction
        A sentence on an explicit prediction that breaks down, also among the `warnings`; "" where none does.
    said
        What else is among the `warnings`.
    warnings
        What the reader must know besides.
    """

    scheme: Scheme
    pencil: Pencil
    step: float
    columns: Columns = field(repr=False)
    multipliers: np.ndarray = field(repr=False)
    dominant_at: int | None = field(repr=False)
    spectral_radius: float
    spurious_columns: Columns = field(repr=False)
    stability: Verdict
    said: tuple[str, ...] = ()
    prediction: str = ""

    @property
    def stable(self) -> bool:
        """Whether nothing grows; see above."""
        return bool(self.stability.stable)

    @property
    def verdict(self) -> str:
        """One sentence."""
        return str(self.stability)

    @property
    def growing(self) -> tuple[complex, ...]:
        """Modes of the system that grow; see above."""
        return self.stability.growing

    @property
    def hidden(self) -> tuple[complex, ...]:
        """Those of them that the scheme damps, or does not show."""
        return self.stability.hidden

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader must know besides."""
        return (*self.others, *self.stability.notes)

    @property
    def others(self) -> tuple[str, ...]:
        """The warnings beside the notes of `stability`."""
        return ((self.prediction,) if self.prediction else ()) + self.said

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per mode; see above."""
        return _frame(self.columns)

    @property
    def dominant(self) -> pd.Series | None:
        """The row of the least-damped oscillatory mode; see above."""
        return None if self.dominant_at is None else self.table.iloc[self.dominant_at]

    @cached_property
    def spurious(self) -> pd.DataFrame:
        """A row per multiplier that belongs to no mode; see above."""
        return _frame(self.spurious_columns)

    @property
    def dominant_shown(self) -> tuple[complex | None, float | None]:
        """The dominant mode as the scheme shows it, in 1/s and rad/s, and its relative deformation.

        None each where there is no such mode, or the scheme cannot represent it.
        """
        columns, k = self.columns, self.dominant_at
        if k is None or not np.isfinite(columns["relative_deformation"][k]):
            return None, None
        s_hat = complex(columns["real_numerical"][k], columns["imag_numerical"][k])
        return s_hat, float(columns["relative_deformation"][k])

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as CSV in full precision.

        Raises
        ------
        InputError
            When the file cannot be written, or its name ends otherwise.
        """
        check_arguments(Deformation.to_csv, locals())
        require_suffix(path, TABLES)
        write_texts({Path(path): self.table.to_csv(index=False)}, parents=False)

    def to_html(self, path: str | os.PathLike[str], title: str = "Mode deformation") -> None:
        """Write one self-contained HTML page: verdict, both figures, both tables.

        Raises
        ------
        InputError
            When the file cannot be written, or its name ends otherwise.
        """
        check_arguments(Deformation.to_html, locals())
        require_suffix(path, PAGES)
        write_texts({Path(path): draw("modes.page.page", self, title)}, parents=False)

    def plot_modes(self, ax: Axes | None = None) -> Figure:
        """Return the eigenvalue map; see `psmr.figures.modes.figures.eigenvalue_map`."""
        check_arguments(Deformation.plot_modes, locals())
        figure: Figure = draw("modes.figures.eigenvalue_map", self, ax)
        return figure

    def plot_deformations(self, ax: Axes | None = None) -> Figure:
        """Return a dot for each mode; see `psmr.figures.modes.figures.deformation_dots`."""
        check_arguments(Deformation.plot_deformations, locals())
        figure: Figure = draw("modes.figures.deformation_dots", self, ax)
        return figure

    def __str__(self) -> str:
        return _terminal_text(self)

    def __repr__(self) -> str:
        return f"Deformation({self.verdict!r}, {len(self.multipliers)} modes, {self.pencil} pencil)"

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{escape(warning)}</li>" for warning in self.warnings)
        head = f"<p><strong>{escape(self.verdict)}</strong><br>{escape(str(self.scheme))}</p><ul>{notes}</ul>"
        return head + str(
            self.table.to_html(index=False, na_rep="", max_rows=40, float_format="{:.4g}".format)
        )


def _frame(columns: Columns) -> pd.DataFrame:
    import pandas as pd  # slow to import, for tables alone

    return pd.DataFrame(dict(columns))


def _terminal_text(report: Deformation) -> str:
    """Return scheme, verdict, the modes with their deformation, and what to know besides."""
    lines = [f"Mode deformation, {report.pencil} pencil", *_wrapped(str(report.scheme))]
    split = getattr(report.scheme, "split", None)
    if split is not None:
        lines.append(str(split))
    lines += [*_wrapped(report.verdict), ""]
    lines.append(
        f"{'mode [1/s, rad/s]':^23} {'f [Hz]':>8} {'damping':>8}  {'as simulated':^23} "
        f"{'deformation':>11} {'damping':>10} {'frequency':>10}"
    )
    for position, row in report.table.iterrows():
        mark = "*" if report.dominant is not None and position == report.dominant.name else " "
        hertz = f"{row.frequency_hz:.3f}" if row.imag else ""
        head = f"{_complex(row.real, row.imag)} {hertz:>8} {_percent(row.damping_ratio, 8)} {mark}"
        if row.status == REPRESENTED:
            tail = (
                f"{_complex(row.real_numerical, row.imag_numerical)} "
                f"{_percent(row.relative_deformation, 11)} "
                f"{_percent(row.damping_error, 10, sign=True, unit='pp')} "
                f"{_percent(row.frequency_error, 10, sign=True)}"
            )
        else:
            tail = f"  {row.status}"
        lines.append((head + tail).rstrip())
    if report.dominant is not None:
        lines += ["", "* least damped oscillation; pp: percentage points of the damping ratio"]
    lines += _sampling_lines(report.columns)
    count = len(report.spurious)
    if count:
        largest = report.spurious.iloc[0]
        lines.append(
            f"{count} spurious numerical mode{'s' if count > 1 else ''}, largest |z| = "
            f"{largest.magnitude:.3g} (mostly in {largest.dominant_variable})"
        )
    for warning in report.warnings:
        lines += _wrapped(warning)
    return "\n".join(lines)


def _sampling_lines(columns: Columns) -> list[str]:
    """Return the modes of a sampled system beside those of its continuous design; none without samples."""
    if "real_continuous" not in columns:
        return []
    lines = ["", "what sampling alone does, solved exactly between the samples:"]
    heads = f"{'continuous design':^23} {'damping':>8}  {'sampled':^23} {'damping':>8} "
    lines.append(f"{heads}{'change':>10} {'by delay':>11}")
    design, found = (columns[f"real{end}"] + 1j * columns[f"imag{end}"] for end in ("_continuous", ""))
    changes, delays = columns["sampling_deformation"], columns["delay_deformation"]
    for k in np.flatnonzero(changes >= LEAST_CHANGE).tolist():
        both = ((complex(s[k]), -s[k].real / abs(s[k]) if s[k] else np.nan) for s in (design, found))
        words = (f"{_complex(s.real, abs(s.imag))} {_percent(ratio, 8)}  " for s, ratio in both)
        lines.append(f"{''.join(words)}{_percent(changes[k], 9)} {_percent(delays[k], 11)}".rstrip())
    rest = int(np.count_nonzero(changes < LEAST_CHANGE))
    return [*lines, f"{rest} others: by less than {percent_text(LEAST_CHANGE)}"] if rest else lines


def _complex(real: float, imag: float) -> str:
    if np.isnan(real):
        return " " * 23
    return f"{real:11.4f}{f' ± j{abs(imag):.4f}' if imag else '':<12}"


def _percent(fraction: float, width: int, sign: bool = False, unit: str = "%") -> str:
    """Three significant digits are enough to tell schemes apart; the CSV has them all."""
    text = percent_text(fraction, "+" if sign else "", unit).replace("\N{NO-BREAK SPACE}", " ")
    return f"{text:>{width}}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH)

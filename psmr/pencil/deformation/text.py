"""The deformation report as text for a terminal."""

from __future__ import annotations

import textwrap

import numpy as np

from psmr.base.printable import percent_text
from psmr.pencil.deformation.reported import Reported
from psmr.pencil.modes.matching import REPRESENTED

WIDTH = 110


def terminal_report(report: Reported) -> str:
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

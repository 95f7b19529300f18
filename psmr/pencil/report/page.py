"""The deformation report as one self-contained HTML page."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from psmr.pencil.modes.matching import REPRESENTED
from psmr.pencil.report.figures import deformation_bars, eigenvalue_map
from psmr.pencil.report.reported import Reported

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2330; max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
.verdict { padding: .6rem .9rem; border-left: 4px solid; background: #f4f6f8; font-weight: 600; }
.good { border-color: #2a7f62; }
.bad { border-color: #d1495b; }
.note { color: #5b6472; }
img { max-width: 100%; display: block; margin: 1rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #e3e5e8; white-space: nowrap; }
th { border-bottom: 2px solid #b9bec6; }
td.text, th.text { text-align: left; }
tr.dominant { background: #eef3f9; font-weight: 600; }
"""


def page(report: Reported) -> str:
    """Return the page: scheme, partition, verdict, warnings, both figures, modes and spurious multipliers."""
    split = getattr(report.scheme, "split", None)
    parts = [
        "<h1>Mode deformation</h1>",
        f"<p class='note'>{escape(str(report.scheme))}<br>"
        + (f"{escape(str(split))}<br>" if split is not None else "")
        + f"{report.pencil} pencil, multipliers over {report.step:g} s</p>",
        f"<p class='verdict {'good' if report.stable else 'bad'}'>{escape(report.verdict)}</p>",
        *(f"<p class='note'>{escape(warning)}</p>" for warning in report.warnings),
        _image(eigenvalue_map(report), "Eigenvalue map of the system and of the scheme"),
        _image(deformation_bars(report), "Relative deformation of each mode"),
        "<h2>Modes</h2>",
        _modes(report),
        f"<h2>Spurious multipliers: {len(report.spurious)}</h2>",
        _spurious(report.spurious),
    ]
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>Mode deformation</title>"
        f"<style>{_STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def _modes(report: Reported) -> str:
    heads = (
        "mode [1/s]",
        "f [Hz]",
        "damping ratio",
        "as simulated [1/s]",
        "deformation",
        "damping error",
        "frequency error",
        "status",
    )
    lines = []
    for position, row in report.table.iterrows():
        shown = row.status == REPRESENTED
        cells = [
            _complex(row.real, row.imag),
            f"{row.frequency_hz:.3f}",
            _percent(row.damping_ratio),
            _complex(row.real_numerical, row.imag_numerical) if shown else "",
            _percent(row.relative_deformation),
            _percent(row.damping_error, "+", "pp"),
            _percent(row.frequency_error, "+"),
        ]
        dominant = report.dominant is not None and position == report.dominant.name
        mark = " class='dominant'" if dominant else ""
        status = escape(row.status) + (", least damped oscillation" if dominant else "")
        lines.append(
            f"<tr{mark}>{''.join(f'<td>{c}</td>' for c in cells)}<td class='text'>{status}</td></tr>"
        )
    return _table(heads, lines)


def _spurious(spurious: pd.DataFrame) -> str:
    if spurious.empty:
        return "<p class='note'>Every multiplier belongs to a mode.</p>"
    lines = [
        f"<tr><td>{_complex(row.real_z, row.imag_z)}</td><td>{row.magnitude:.4g}</td>"
        f"<td class='text'>{escape(row.dominant_variable)}</td></tr>"
        for _, row in spurious.iterrows()
    ]
    return _table(("z", "|z|", "mostly in"), lines)


def _table(heads: tuple[str, ...], lines: list[str]) -> str:
    titles = "".join(
        f"<th{' class=text' if head in ('status', 'mostly in') else ''}>{escape(head)}</th>" for head in heads
    )
    return f"<div class='wide'><table><tr>{titles}</tr>\n" + "\n".join(lines) + "\n</table></div>"


def _complex(real: float, imag: float) -> str:
    if abs(imag) == 0.0:
        return f"{real:.4f}"
    return f"{real:.4f} {'+' if imag > 0 else '-'} j{abs(imag):.4f}"


def _percent(fraction: float, sign: str = "", unit: str = "%") -> str:
    return "" if np.isnan(fraction) else f"{100.0 * fraction:{sign}.3g} {unit}"


def _image(figure: Figure, words: str) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    data = base64.b64encode(buffer.getvalue().encode()).decode()
    return f"<img alt='{escape(words)}' src='data:image/svg+xml;base64,{data}'>"

"""Figures over frequency: impedances at a terminal with the loop that they close, and frequency responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from psmr.dae.system.frequency_response import FrequencyResponse
from psmr.figures.chart import (
    BLUE,
    COLOURS,
    DASHED,
    FAINT,
    RED,
    Area,
    Dots,
    Drawing,
    Line,
    LogScale,
    Mark,
    Panel,
    PanelAxis,
    Text,
    line_across,
)
from psmr.figures.with_matplotlib import to_matplotlib
from psmr.network.impedance import ImpedanceScan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What is shown of the plane of the loop gain: some way around -1.
REAL, IMAG = (-3.0, 2.0), (-2.5, 2.5)


def scan_figure(scan: ImpedanceScan) -> Figure:
    """Draw the impedance of grid and plant; with a plant also its passivity index and the loci."""
    title = f"{scan.name}, {scan.bus}"
    if scan.plant_admittance is None:
        return to_matplotlib(Drawing((_magnitudes(scan),), 7.0, 4.2, title, legend=True))
    panels = (_magnitudes(scan), _passivity(scan), _loci(scan))
    return to_matplotlib(Drawing(panels, 12.5, 4.6, title, across=True, legend=True))


def _frequency(scan: ImpedanceScan) -> PanelAxis:
    return PanelAxis("frequency [Hz]", (float(scan.f[0]), float(scan.f[-1])), LogScale())


def _magnitudes(scan: ImpedanceScan) -> Panel:
    marks: list[Mark] = []
    parts: dict[str, Any] = {"grid": scan.grid}
    if scan.plant_admittance is not None:
        parts["plant"] = np.linalg.inv(scan.plant_admittance)
    for k, (name, matrix) in enumerate(parts.items()):
        for axis, dashes in ((0, ()), (1, DASHED)):
            entry = scan.axes[axis]
            size, label = np.abs(matrix[:, axis, axis]), f"{name}, {entry}{entry}"
            marks.append(Line(scan.f, size, (BLUE, RED)[k], dashes=dashes, label=label))
    return Panel(marks, _frequency(scan), PanelAxis("impedance [pu]", scale=LogScale()), "Impedance")


def _passivity(scan: ImpedanceScan) -> Panel:
    assert scan.passivity is not None
    below = np.minimum(scan.passivity, 0.0)
    shade = Area([*scan.f, *scan.f[::-1]], [*below, *np.zeros(len(below))], RED, 0.18)
    marks = [shade, line_across("y", 0.0), Line(scan.f, scan.passivity, RED)]
    return Panel(marks, _frequency(scan), PanelAxis("passivity index [pu]"), "Plant: passive above 0")


def _loci(scan: ImpedanceScan) -> Panel:
    turn = np.linspace(0.0, 2 * np.pi, 181)
    marks: list[Mark] = [Line(np.cos(turn), np.sin(turn), FAINT, 0.7, DASHED)]
    for k, locus in enumerate(scan.loci.T):
        colour = COLOURS[2 + k]
        shown = (np.abs(locus.real) < 20) & (np.abs(locus.imag) < 20)
        curve = np.where(shown, locus, np.nan)
        marks += [Line(curve.real, sign * curve.imag, colour, z=2.0 if sign > 0 else 1.5) for sign in (1, -1)]
    marks += [
        Dots([-1.0], [0.0], "x", 7.0, edge=RED, width=1.6),
        Text("-1", (-1.0, 0.0), shift=(0, -14), ha="center"),
    ]
    verdict = "stable" if scan.stable else "unstable"
    return Panel(
        marks,
        PanelAxis("real part", REAL),
        PanelAxis("imaginary part", IMAG),
        f"Loci of the loop gain: {verdict}",
        equal=True,
    )


WIDTH, HEIGHT = 8.0, 5.6

# Above and below the gains of the system; what a scheme makes of them may leave the panel.
ROOM = 2.0


def bode(response: FrequencyResponse, other: FrequencyResponse | None = None) -> Figure:
    """Draw magnitude and phase of every gain over frequency; those of `other` dashed, in the same colours."""
    size, phase = [], []
    for k, (output, given) in enumerate((o, i) for o in response.outputs for i in response.inputs):
        colour, gain = COLOURS[k % len(COLOURS)], response[output, given]
        # The scheme is looked at beside the system: its phase is unwrapped from that one's.
        base = np.unwrap(np.angle(gain))
        size.append(Line(response.f, np.abs(gain), colour))
        phase.append(Line(response.f, np.degrees(base), colour, label=f"{given} to {output}"))
        if other is not None:
            beside, near = other[output, given], np.interp(other.f, response.f, base)
            turned = near + np.angle(beside * np.exp(-1j * near))
            look: dict[str, Any] = {"colour": colour, "dashes": DASHED, "z": 3.0}
            size.append(Line(other.f, np.abs(beside), **look))
            phase.append(Line(other.f, np.degrees(turned), **look))
    units = {f"{o} / {i}" if o != i else "1" for o in response.output_units for i in response.input_units}
    unit = f" [{units.pop()}]" if len(units) == 1 else ""
    frequency = PanelAxis("frequency [Hz]", (float(response.f[0]), float(response.f[-1])), LogScale())
    heights = np.abs(response.values)
    heights = heights[heights > 0]
    ends = (float(heights.min()) / ROOM, float(heights.max()) * ROOM) if heights.size else None
    words = "" if other is None else f"dashed: {other.scheme or other.name}"
    panels = (
        Panel(size, frequency, PanelAxis(f"gain{unit}", ends, LogScale()), words),
        Panel(phase, frequency, PanelAxis("phase [deg]")),
    )
    return to_matplotlib(
        Drawing(panels, WIDTH, HEIGHT, response.name, shared=True, ratios=(1.4, 1.0), legend=True)
    )

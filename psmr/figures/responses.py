"""Bode plots: magnitude and phase of frequency responses, of a system and of its simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from psmr.dae.system.frequency_response import FrequencyResponse
from psmr.figures.chart import COLOURS, DASHED, Axis, Drawing, Line, Panel
from psmr.figures.scales import Log
from psmr.figures.with_matplotlib import to_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 8.0, 5.6

# Above and below the gains of the system; what a scheme makes of them may leave the panel.
ROOM = 2.0


def bode(response: FrequencyResponse, other: FrequencyResponse | None = None) -> Figure:
    """Draw magnitude and phase of every gain over frequency.

    Parameters
    ----------
    response
        Drawn with full lines.
    other
        The same inputs and outputs, of the simulation for instance; drawn dashed in the same colours.
    """
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
    frequency = Axis("frequency [Hz]", (float(response.f[0]), float(response.f[-1])), Log())
    heights = np.abs(response.values)
    heights = heights[heights > 0]
    ends = (float(heights.min()) / ROOM, float(heights.max()) * ROOM) if heights.size else None
    words = "" if other is None else f"dashed: {other.scheme or other.name}"
    panels = (
        Panel(size, frequency, Axis(f"gain{unit}", ends, Log()), words),
        Panel(phase, frequency, Axis("phase [deg]")),
    )
    return to_matplotlib(
        Drawing(panels, WIDTH, HEIGHT, response.name, shared=True, ratios=(1.4, 1.0), legend=True)
    )

"""What a frequency response shows, and what a simulation makes of it, in sentences."""

from __future__ import annotations

import numpy as np

from psmr.dae.system.frequency_response import FrequencyResponse

# A simulation whose gain is off by no more than this part of the system's has it right, to the eye.
RIGHT = 0.01

# The frequency at which both are always compared, in Hz: local modes end there, controls begin.
SHOWN_AT = 5.0


def response_sentences(system: FrequencyResponse, simulated: FrequencyResponse | None = None) -> list[str]:
    """Return a sentence or two on every gain.

    Parameters
    ----------
    system
        Of the system.
    simulated
        The same inputs and outputs, of the simulation; at its own frequencies, which are some of the first's.
    """
    found = []
    for k, output in enumerate(system.outputs):
        for j, name in enumerate(system.inputs):
            unit = f" {system.output_units[k]}/{system.input_units[j]}"
            gain = system.values[:, k, j]
            top = int(np.abs(gain).argmax())
            words = f"{name} to {output}: largest gain {abs(gain[top]):.4g}{unit} at {system.f[top]:.3g} Hz"
            if top in (0, len(gain) - 1):
                words += " (at the end of the range)"
            found.append(f"{words}.")
            if simulated is not None:
                found[-1] += " " + _beside(system.f, gain, simulated.f, simulated.values[:, k, j])
    return found


def _beside(f: np.ndarray, gain: np.ndarray, f_sim: np.ndarray, gain_sim: np.ndarray) -> str:
    """Return how far a simulation has a gain right, and what it makes of it at one frequency."""
    exact = gain[np.searchsorted(f, f_sim)]
    off = np.abs(gain_sim - exact) > RIGHT * np.abs(exact)
    if not off.any():
        words = f"The simulation has it within {100 * RIGHT:g} % up to {f_sim[-1]:.3g} Hz."
    else:
        first = int(off.argmax())
        limit = f"up to {f_sim[first - 1]:.3g} Hz" if first else f"not even at {f_sim[0]:.3g} Hz"
        words = f"The simulation has it within {100 * RIGHT:g} % {limit}."
    at = int(np.abs(np.log(np.maximum(f_sim, 1e-12) / SHOWN_AT)).argmin())
    if exact[at] == 0:
        return words
    ratio = gain_sim[at] / exact[at]
    size, turn = 100 * (abs(ratio) - 1), np.degrees(np.angle(ratio))
    larger, ahead = ("larger" if size > 0 else "smaller"), ("ahead" if turn > 0 else "behind")
    there = f"{abs(size):.2g} % {larger} and {abs(turn):.2g} deg {ahead}"
    return f"{words} At {f_sim[at]:.3g} Hz its gain is {there}."

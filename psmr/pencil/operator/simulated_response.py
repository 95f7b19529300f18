"""The frequency response of a simulation: what one step of a scheme, repeated, makes of a sinusoidal input.

On the linear DAE with an input u(t) a step is F Y(t+h) = G Y(t) + sum over the times c in the step of
R_c u(t + c h), with Y as in `psmr.pencil.operator.step_operator.macro_pencil`. In the periodic state of
u(t) = e^{j w t} it is Y(t+h) = z Y(t), z = e^{j w h}, so that

    (F - G / z) Y(t+h) = sum R_c U_c e^{j w t}

where U_c e^{j w t} is the input as the step sees it at t + c h, and the gain is (C w + D u)(t+h) over
u(t+h) = z e^{j w t}. Between two points of a run it is nothing else: a sinusoid whose frequency is above
1 / (2 h) has the gain of its alias.

What a frequency response shows, and what a simulation makes of it, in sentences.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from psmr.base.arguments import check_arguments
from psmr.base.declared import Option
from psmr.base.errors import InputError, SchemeError
from psmr.dae.system.frequency_response import FrequencyResponse, checked_frequencies, solved
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.state_space import StateSpace
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.operator.equation import STATE, Equation, InputTerm, read_at_end
from psmr.pencil.operator.equations import StepEquations, step_equations
from psmr.pencil.operator.loops import matrices
from psmr.pencil.operator.step_operator import stacked_equations

SAMPLED, LINEAR, HELD = "sampled", "linear", "held"
INPUTS = (SAMPLED, LINEAR, HELD)

# The state at t with the algebraic variables solved for the input that begins there.
ANEW = "w(t+0)"


def simulated_response(
    state_space: StateSpace,
    scheme: Scheme,
    f: ArrayLike | None = None,
    input: Annotated[
        str,
        INPUTS,
        "what the input is within a step of the simulation: the sinusoid itself, a line between the ends"
        " as a time series has it (default), or held",
        Option(name="within_step"),
    ] = SAMPLED,
) -> FrequencyResponse:
    """Return the frequency response of the simulation of a system with a scheme of fixed steps.

    Parameters
    ----------
    state_space
        The system between its inputs and outputs, see `psmr.System.state_space`.
    scheme
        Any whose step is a program with one step; with a partition, of this system.
    f
        (K,) frequencies in Hz; by default 0.01 to 100 Hz, at most the Nyquist frequency 1 / (2 h).
    input
        What the input is within a step. ``"sampled"``: the sinusoid itself at every point of the step, as an
        equation that reads the time has it. ``"linear"``: a line from its value at the start of the step to
        that at the end, as a time series with a row at every step. ``"held"``: its value at the start, as a
        staircase; the outputs are then those after the next value has come.

    Returns
    -------
    FrequencyResponse
        To be laid beside ``state_space.response(f)``.

    Raises
    ------
    InputError
        For frequencies that are none or above the Nyquist frequency, and one at which the step has a pole.
    SchemeError
        For a partition of another system, a scheme without one step or whose step is no program, and a held
        input of a scheme that remembers earlier steps: each jump would end its memory.
    """
    check_arguments(simulated_response, locals())
    h = scheme.step
    step = step_equations(state_space.linear, scheme, closed_up_to=0)  # refuses a scheme that has no one step
    nyquist = 0.5 / h
    hertz = checked_frequencies(f)
    if f is None:
        hertz = np.unique(np.minimum(hertz, nyquist))
    if hertz.max() > nyquist * (1 + 1e-12):
        raise InputError(
            f"f = {hertz.max():g} Hz: above the Nyquist frequency {nyquist:g} Hz of steps of {h:g} s, where "
            "a run shows the alias of a sinusoid; take lower frequencies or a shorter step"
        )
    if input == HELD:
        step = _from_new_input(state_space.linear, scheme, step)
    ordered, left, right = stacked_equations(step)
    first = np.concatenate([[0], np.cumsum([e.matrix.shape[0] for e in ordered])])
    shown = ANEW if input == HELD else step.successors[0]
    place = {e.unknown: slice(*first[k : k + 2]) for k, e in enumerate(ordered)}
    drives = _drives(ordered, state_space)
    values = np.empty((len(hertz), len(state_space.outputs), len(state_space.inputs)), dtype=complex)
    for k, s in enumerate(2j * np.pi * hertz):
        z = np.exp(s * h)
        driven = sum(_seen(input, at, z) * drive for at, drive in drives.items())
        matrix = sp.csc_matrix(left - right / z)
        found = solved(matrix, np.asarray(driven, dtype=complex), f"f = {hertz[k]:g} Hz")
        seen = state_space.c @ found[place[shown]]
        if state_space.linear.delays is not None:
            blocks = {name: found[rows] for name, rows in place.items()}
            seen = seen + state_space.c_late @ read_at_end(state_space.linear, scheme, z, blocks)
        gain = seen if input == HELD else seen / z
        values[k] = gain + state_space.d + s * state_space.d_rate
    names = (state_space.inputs, state_space.outputs, state_space.input_units, state_space.output_units)
    return FrequencyResponse(hertz, values, *names, name=state_space.name, scheme=str(scheme))


def _seen(input: str, at: float, z: complex) -> complex:
    """Return the input at a part of the step, in parts of its value at the start, as the step sees it."""
    if input == HELD:
        return 1.0 + 0j
    return 1.0 + at * (z - 1.0) if input == LINEAR else complex(np.exp(at * np.log(z)))


def _drives(ordered: list[Equation], state_space: StateSpace) -> dict[float, np.ndarray]:
    """Return what inputs of one add to the right-hand sides of the stacked equations, by their times."""
    first = np.concatenate([[0], np.cumsum([equation.matrix.shape[0] for equation in ordered])])
    drives: dict[float, np.ndarray] = {}
    b = state_space.b.toarray()
    for equation, begin in zip(ordered, first[:-1], strict=True):
        for _, at, rows, weights in equation.inputs:
            drive = drives.setdefault(at, np.zeros((first[-1], len(state_space.inputs))))
            drive[begin : begin + len(rows)] += weights[:, None] * b[rows]
    return drives


def _from_new_input(linear: LinearDae, scheme: Scheme, step: StepEquations) -> StepEquations:
    """Return the equations with the algebraic variables at t solved for the input held from then on."""
    if len(step.state) > 1:
        raise SchemeError(
            f"{scheme}: remembers earlier steps, and every jump of a held input ends what it remembers; take "
            'input="linear" or "sampled"'
        )
    mass, _, constraints = matrices(linear)
    every = np.arange(linear.n + linear.m)
    new = Equation(
        ANEW,
        (mass - constraints).tocsr(),
        ((STATE, mass),),
        "algebraic variables for the input at the start of the step",
        (InputTerm(ANEW, 0.0, every, np.where(every < linear.n, 0.0, 1.0)),),
    )
    moved = [
        replace(e, terms=tuple((ANEW if block == STATE else block, m) for block, m in e.terms))
        for e in step.equations
    ]
    return replace(step, equations=(new, *moved))


# A simulation whose gain is off by no more than this part of the system's has it right, to the eye.
RIGHT = 0.01

# The frequency at which both are always compared, in Hz: local modes end there, controls begin.
SHOWN_AT = 5.0


def response_sentences(system: FrequencyResponse, simulated: FrequencyResponse | None = None) -> list[str]:
    """Return a sentence or two on every gain.

    `system`: of the system; `simulated`: the same inputs and outputs, of the simulation; at its own
    frequencies, which are some of the first's.
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

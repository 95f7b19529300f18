"""What a step reads with a delay, as shift states: the signals at the ends of earlier steps.

With the delay tau = (m + theta) h the value at t + c h - tau is a polynomial in those at the ends of the
steps around it, of the degree with which a run reads its past (`psmr.integrate.run.history`), so that the
equations of a step are exact whether or not tau is a multiple of h. What a step longer than tau reads of
itself is on the line from its start to the stage.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from psmr.dae.system.linear import Delays, LinearDae
from psmr.integrate.constants import TUNED
from psmr.integrate.run.history import first_node
from psmr.integrate.schemes.interpolation import lagrange_weights
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.operator.equation import STATE, Equation, Term, merged


class ShiftStates(NamedTuple):
    """Names of the blocks of past signals at t, and of those that they are at t + h."""

    state: tuple[str, ...]
    successors: tuple[str, ...]


def require_readable(linear: LinearDae, scheme: Scheme) -> None:
    """Raise SchemeError where a scheme cannot read what a linear DAE reads with a delay."""
    assert linear.delays is not None
    names = (*linear.names_x, *linear.names_y)
    for k, (reader, tau) in enumerate(zip(linear.delays.names, linear.delays.tau.tolist(), strict=True)):
        place = int(_sources(linear.delays)[k])
        scheme.reading(reader, names[place], place, tau)


def _sources(delays: Delays) -> np.ndarray:
    return sp.csr_matrix(delays.c).indices


def read_at(steps: float, degree: int) -> dict[int, float]:
    """Return the weights of the values 0, 1, 2, ... steps ago in the one so many `steps` ago."""
    interval = max(0, math.floor(steps + TUNED.rounding))
    first = first_node(interval, degree + 1, 0, interval + degree + 1)
    ages = first + np.arange(degree + 1)
    weights = lagrange_weights(ages.astype(float), steps)
    return {int(age): float(weight) for age, weight in zip(ages, weights, strict=True)}


def read_with_delays(delays: Delays, scheme: Scheme, z: complex) -> np.ndarray:
    """Return (q,) what a run reads at t of signals that grow by z in a step, relative to them at t."""
    weights = [read_at(tau / scheme.step, scheme.delay_degree) for tau in delays.tau.tolist()]
    return np.array([sum(weight * z**-age for age, weight in own.items()) for own in weights], dtype=complex)


def with_past(
    equations: list[Equation], linear: LinearDae, scheme: Scheme
) -> tuple[list[Equation], ShiftStates]:
    """Return the equations of a step with what they read with a delay, and the shift states of that."""
    delays, h = linear.delays, scheme.step
    assert delays is not None
    sources, which = np.unique(_sources(delays), return_inverse=True)
    picked = sp.eye_array(linear.n + linear.m, format="csr")[sources]
    by_row, oldest = sp.csr_array(delays.b), 0
    found: list[Equation] = []
    for equation in equations:
        terms, matrix = list(equation.terms), equation.matrix
        for point, at, rows, weights in equation.inputs:
            below = sp.csr_array((equation.matrix.shape[0] - len(rows), len(delays.tau)))
            taken = sp.vstack([sp.diags_array(weights) @ by_row[rows], below], format="csc")
            read: dict[int, sp.sparray] = {}
            for k, tau in enumerate(delays.tau.tolist()):
                column = sp.csr_array(taken[:, [k]])
                if not column.nnz:
                    continue
                row = sp.csr_array(([1.0], ([0], [which[k]])), shape=(1, len(sources)))
                part = 1.0 - tau / (h * at) if at and scheme.reads_unsolved_step else 0.0
                if part > TUNED.rounding:  # of the line to the point that is being solved
                    to_point, to_start = part * (column @ row @ picked), (1.0 - part) * (column @ row)
                    read[0] = read[0] + to_start if 0 in read else to_start
                    if point == equation.unknown:
                        matrix = matrix - to_point
                    else:
                        terms.append((point, to_point))
                    continue
                for age, weight in read_at(tau / h - at, scheme.delay_degree).items():
                    part = weight * (column @ row)
                    read[age] = read[age] + part if age in read else part
            terms += [
                (STATE, term @ picked) if age == 0 else (_name(age), term) for age, term in read.items()
            ]
            oldest = max([oldest, *read])
        found.append(Equation(equation.unknown, matrix, merged(terms), equation.what, equation.inputs))
    identity = sp.eye_array(len(sources), format="csr")
    ages = range(1, oldest + 1)
    for age in ages:
        term: Term = (STATE, picked) if age == 1 else (_name(age - 1), identity)
        found.append(Equation(f"next {_name(age)}", identity, (term,), "past signals"))
    return found, ShiftStates(tuple(map(_name, ages)), tuple(f"next {_name(age)}" for age in ages))


def _name(age: int) -> str:
    return f"read(t-{age}h)"

"""The linearised network as a function of how much energy its elements store, and its modes along the way.

With E w' = J(eps) w an element k whose storage is the part eps_k of its own becomes a phasor as eps_k -> 0. A
mode s with right and left vectors r and l moves with

    ds/d eps_k = l^T (dJ/d eps_k) r / (l^T E r)

Where the storages stand in E alone this is -s times the participation factors of the element's states: to
first order the mode of a network with some elements as phasors differs by the sum of theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from partitioning.partition import PartitionError

STORAGE = "storage"
"""The parameter of an element that says how much of its energy it stores."""

PHASOR = 1e-5
"""Storage of an element that stands for none: what it leaves of a deformation is this part of it."""

SAME_MODE = 0.5
"""Overlap of the vectors of a mode before and after a step of the storages, 1 for none, from which on it is
the same one; another mode has about 0."""

SHORTEST = 1 / 256
ITERATIONS = 12
CONVERGED = 1e-11
BESIDE = 1e-7

Complex = NDArray[np.complex128]


class SystemLike(Protocol):
    """What is read of a system: `psmr.System` is one."""

    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def m(self) -> int: ...  # noqa: D102
    @property
    def w0(self) -> Any: ...  # noqa: D102
    @property
    def devices(self) -> Any: ...  # noqa: D102
    @property
    def delays(self) -> Any: ...  # noqa: D102
    @property
    def parameters(self) -> Any: ...  # noqa: D102

    def parameter_place(self, device: str, parameter: str) -> tuple[int, int, int]:
        """Return (group, row, column) of a parameter."""

    def jacobian(self, w: Any) -> Any:
        """Return the (n + m, n + m) Jacobian."""


@dataclass(frozen=True, eq=False)
class Mode:
    """An eigenvalue s in 1/s with its (n + m,) right and left vectors, l^T E r = 1."""

    s: complex
    right: Complex
    left: Complex


class StoragePencil:
    """J(eps) of a system, exact in each eps_k: J = A + sum of B_k / eps_k + C_k eps_k."""

    def __init__(self, system: SystemLike) -> None:
        self.names = tuple(d.name for d in system.devices if STORAGE in d.parameters)
        if not self.names:
            raise PartitionError(
                "the system has no element with dynamics of the network; make one with psmr.build(case,"
                ' dynamic=psmr.Region("all"))'
            )
        if system.delays:
            raise PartitionError(
                "the system reads signals with a delay, which the search for a region does not have; search"
                " in the system without them"
            )
        self.n, self.size = system.n, system.n + system.m
        whole = _at(system, {})
        self._pattern = whole
        columns_b, columns_c = [], []
        for name in self.names:
            twice, half = (_at(system, {name: eps}).data - whole.data for eps in (2.0, 0.5))
            # (2) - (1) = C - B / 2 and (1/2) - (1) = B - C / 2.
            b = (half + twice / 2) * 4 / 3
            columns_b.append(scipy.sparse.csc_array(_clean(b, half)[:, None]))
            columns_c.append(scipy.sparse.csc_array(_clean(twice + b / 2, twice)[:, None]))
        self._b, self._c = (scipy.sparse.csc_array(scipy.sparse.hstack(c)) for c in (columns_b, columns_c))
        self._constant = whole.data - self._b.sum(axis=1) - self._c.sum(axis=1)
        self.row = whole.indices
        self.column = np.repeat(np.arange(self.size), np.diff(whole.indptr))

    def jacobian(self, storage: NDArray[np.float64]) -> scipy.sparse.csc_array:
        """Return J for (K,) storages, in the order of `names`."""
        data = self._constant + self._b @ (1 / storage) + self._c @ storage
        return scipy.sparse.csc_array(
            (data, self._pattern.indices, self._pattern.indptr), shape=(self.size,) * 2
        )

    def slopes(self, mode: Mode, storage: NDArray[np.float64]) -> Complex:
        """Return (K,) ds / d eps_k of a mode at (K,) storages."""
        products = mode.left[self.row] * mode.right[self.column]
        return np.asarray(-(self._b.T @ products) / storage**2 + self._c.T @ products)

    def storages(self, phasors: Iterable[str] = ()) -> NDArray[np.float64]:
        """Return (K,) storages of which some elements' are none."""
        phasors = set(phasors)
        return np.array([PHASOR if name in phasors else 1.0 for name in self.names])

    def find(self, guess: complex, storage: NDArray[np.float64]) -> Mode:
        """Return the mode nearest to a value; raises PartitionError where the iteration does not settle."""
        rng = np.random.default_rng(0)
        start = rng.standard_normal(self.size) + 1j * rng.standard_normal(self.size)
        # Not the value itself, which makes the matrix singular where it is an eigenvalue to the last digit.
        shift = guess + BESIDE * max(1.0, abs(guess))
        mode = Mode(shift, start, start.copy())
        matrix = self.jacobian(storage)
        # First with the value as it is given, so that it is the nearest mode that is found.
        for _ in range(3):
            mode = replace(self._step(matrix, mode), s=shift)
        found = self.refine(mode, storage)
        if found is None:
            raise PartitionError(f"no mode of the system near {guess:.6g} 1/s was found")
        return found

    def refine(self, mode: Mode, storage: NDArray[np.float64]) -> Mode | None:
        """Return a mode near another by Rayleigh quotient iteration, None where that does not settle."""
        matrix = self.jacobian(storage)
        for _ in range(ITERATIONS):
            try:
                found = self._step(matrix, mode)
            except (RuntimeError, FloatingPointError):
                return mode  # singular to rounding: it is the eigenvalue
            if not np.isfinite(found.s):
                return None
            if abs(found.s - mode.s) <= CONVERGED * max(1.0, abs(found.s)):
                return found
            mode = found
        return None

    def follow(self, mode: Mode, begin: NDArray[np.float64], end: NDArray[np.float64]) -> Mode | None:
        """Return what a mode at some storages becomes at others, None where it is lost in a crossing.

        It is lost as well where each step keeps it and it has become another one all the same: modes that
        avoid each other exchange their vectors.
        """
        done, step = 0.0, 1.0
        first, now = mode, begin
        while done < 1.0:
            step = min(step, 1.0 - done)
            there = begin + (done + step) * (end - begin)
            guess = mode.s + complex(self.slopes(mode, now) @ (there - now))
            found = self.refine(replace(mode, s=guess), there)
            if found is not None and self.same(mode, found):
                mode, now, done = found, there, done + step
                step *= 2
            elif step / 2 < SHORTEST:
                return None
            else:
                step /= 2
        return mode if self.same(first, mode) else None

    def same(self, a: Mode, b: Mode) -> bool:
        """Return whether two modes at different storages are one, by the overlap of their vectors."""
        n = self.n
        return float(abs((a.left[:n] @ b.right[:n]) * (b.left[:n] @ a.right[:n]))) > SAME_MODE

    def _step(self, matrix: scipy.sparse.csc_array, mode: Mode) -> Mode:
        n = self.n
        shifted = matrix - mode.s * scipy.sparse.dia_array(
            (np.where(np.arange(self.size) < n, 1.0, 0.0)[None, :], [0]), shape=(self.size,) * 2
        )
        lu = splu(scipy.sparse.csc_array(shifted, dtype=complex))
        right, left = (np.where(np.arange(self.size) < n, v, 0) for v in (mode.right, mode.left))
        right, left = lu.solve(right), lu.solve(left, trans="T")
        right, left = right / np.linalg.norm(right[:n]), left / np.linalg.norm(left[:n])
        scale = left[:n] @ right[:n]
        s = complex(left @ (matrix @ right) / scale)
        return Mode(s, right, left / scale)


def _at(system: SystemLike, storage: Mapping[str, float]) -> Any:
    """Return the Jacobian at the start of a system whose elements have other storages."""
    parameters: list[Any] = list(system.parameters)
    for name, value in storage.items():
        group, row, column = system.parameter_place(name, STORAGE)
        parameters[group] = parameters[group].copy()
        parameters[group][row, column] = value
    changed: Any = replace(system, parameters=tuple(parameters))  # type: ignore[type-var]
    return changed.jacobian(system.w0)


def _clean(values: NDArray[np.float64], where: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values where a difference is more than the rounding of what it is of."""
    return np.where(where != 0, values, 0.0)

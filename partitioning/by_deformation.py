"""The smallest part of a network that has to have its own dynamics, for an error of chosen modes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from partitioning.partition import PartitionError
from partitioning.storage import Complex, Mode, StoragePencil, SystemLike

if TYPE_CHECKING:
    import pandas as pd

TRIED = 3
"""Moves of a greedy step that are measured, those with the smallest prediction."""

NEAR = 0.1
"""Distance, relative to a mode of a hybrid, within which the mode of its pencil is the same one: stators of
phasors have no speed voltages, those of the pencil may."""

AGREES = 0.1
"""Relative difference up to which a prediction agrees with what is measured."""

REAL = 1e-9
"""Imaginary part, relative to a mode, that is rounding."""

GROWTH = 0.1
"""Part of the elements by which a set that measures too much grows at once."""

FARTHEST = 0.1
"""Distance of the mode that is meant from the value given, relative to that."""


@dataclass(frozen=True)
class DeformationChoice:
    """Which elements of a network have their own dynamics, and what that does to chosen modes.

    Attributes
    ----------
    devices
        Names of the elements with dynamics, for ``psmr.Region(devices=...)``; buses without capacitance too.
    phasors
        Names of the elements that become phasors.
    tolerance
        Largest relative deformation that was asked for.
    modes, hybrid
        Eigenvalues in 1/s with every element dynamic, and with `devices`.
    predicted
        Relative deformation of each mode by the sum of the participation factors of `phasors`.
    """

    devices: tuple[str, ...]
    phasors: tuple[str, ...]
    tolerance: float
    modes: tuple[complex, ...]
    hybrid: tuple[complex, ...]
    predicted: tuple[float, ...]

    @property
    def measured(self) -> tuple[float, ...]:
        """Relative deformation of each mode, |hybrid - full| / |full|."""
        pairs = zip(self.modes, self.hybrid, strict=True)
        return tuple(abs(after - before) / abs(before) for before, after in pairs)

    @property
    def table(self) -> pd.DataFrame:
        """A row for each mode: real, imag, real_hybrid, imag_hybrid, predicted, measured."""
        import pandas as pd

        full, hybrid = np.array(self.modes), np.array(self.hybrid)
        return pd.DataFrame(
            {
                "real": full.real,
                "imag": full.imag,
                "real_hybrid": hybrid.real,
                "imag_hybrid": hybrid.imag,
                "predicted": self.predicted,
                "measured": self.measured,
            }
        )

    def __str__(self) -> str:
        worst = max(self.measured)
        count = len(self.devices)
        words = (
            f"{count} of {count + len(self.phasors)} elements with their own dynamics,"
            f" modes deformed by at most {100 * worst:.3g} %"
        )
        pairs = zip(self.modes, self.predicted, self.measured, strict=True)
        aside = [pair for pair in pairs if abs(pair[1] - pair[2]) > AGREES * pair[2]]
        if aside:
            s, predicted, measured = max(aside, key=lambda pair: pair[2])
            words += (
                f" as measured; the participation factors predict {100 * predicted:.3g} % in place of"
                f" {100 * measured:.3g} % for the mode {s.real:.4g}{s.imag:+.4g}j 1/s, as they may"
                " where modes lie close to one another or are fast"
            )
        return words


def by_deformation(
    full: SystemLike, modes: complex | Sequence[complex], tolerance: float
) -> DeformationChoice:
    """Return a small set of elements whose dynamics keep the named modes within a tolerance.

    The set is closed: a dynamic bus has dynamic branches. It is found by the signed complex sums of
    participation factors; what it does to the modes is then measured, the set grown where that is more, and
    elements are taken away again as long as the measured deformation allows.

    Parameters
    ----------
    full
        The system with every element of interest dynamic, ``psmr.build(case, dynamic=psmr.Region("all"))``.
    modes
        Eigenvalues of it in 1/s, of `psmr.modes` for instance; the nearest ones are meant, within 10 %.
    tolerance
        Largest relative deformation, a fraction.

    Raises
    ------
    PartitionError
        For a tolerance that is not positive, a value with no mode near it, a mode of zero or one that cannot
        be followed from the full system to the hybrid: nothing is promised of it.
    """
    wanted = [complex(s) for s in np.atleast_1d(np.asarray(modes, dtype=complex))]
    if not (np.isfinite(tolerance) and tolerance > 0):
        raise PartitionError(f"tolerance = {tolerance!r}: must be > 0, a fraction such as 0.01")
    if not wanted:
        raise PartitionError("modes: none is given; name at least one eigenvalue")
    search = _Search(full, wanted, tolerance)
    return search.result(search.shrunk(search.grown()))


def measured_deformation(
    full: SystemLike, modes: complex | Sequence[complex], devices: Iterable[str]
) -> DeformationChoice:
    """Return what keeping some elements' dynamics, and making the others phasors, does to modes.

    The arguments are those of `by_deformation`, with the names of the elements in place of a tolerance.

    Raises
    ------
    PartitionError
        For a name that is no element of the network, or a mode that cannot be followed.
    """
    wanted = [complex(s) for s in np.atleast_1d(np.asarray(modes, dtype=complex))]
    search = _Search(full, wanted, np.inf)
    chosen = set(devices)
    if unknown := sorted(chosen - search.everything):
        raise PartitionError(f"{unknown[0]}: is no element with dynamics of the network")
    state = search.measure(search.closed(chosen), search.start)
    if state is None:
        raise PartitionError(_lost(wanted))
    return search.result(state)


def _lost(modes: Sequence[complex]) -> str:
    listed = ", ".join(f"{s:.4g}" for s in modes[:4])
    return (
        f"a mode of {listed} 1/s cannot be followed as elements become phasors: it crosses others that are"
        " like it. Nothing is promised of it; name fewer modes, or a region by distance"
    )


@dataclass(frozen=True)
class _State:
    """A set of dynamic elements and the modes measured with it."""

    dynamic: frozenset[str]
    storage: NDArray[np.float64]
    modes: tuple[Mode, ...]


class _Search:
    def __init__(self, full: SystemLike, wanted: Sequence[complex], tolerance: float) -> None:
        self.pencil, self.tolerance = StoragePencil(full), tolerance
        self.branches, self.at = _topology(full)
        self.everything = frozenset(self.pencil.names) | frozenset(self.at)
        self.place = {name: k for k, name in enumerate(self.pencil.names)}
        whole = self.pencil.storages()
        found = tuple(self.pencil.find(s, whole) for s in wanted)
        for s, mode in zip(wanted, found, strict=True):
            if abs(mode.s) < 1e-6:
                raise PartitionError(f"mode {s:.4g} 1/s: is zero in the full system, which nothing deforms")
            if abs(mode.s - s) > FARTHEST * abs(s):
                raise PartitionError(
                    f"mode {s:.4g} 1/s: none of the full system lies within {FARTHEST:.0%} of it, the"
                    f" nearest is {mode.s:.4g} 1/s; take it from the modes in full dynamics"
                    " (psmr modes CASE --network)"
                )
        self.start = _State(self.everything, whole, found)
        # (modes, K): relative deformation by making each element a phasor, to first order.
        self.factors = np.array([-self.pencil.slopes(m, whole) / m.s for m in found])

    def closed(self, names: Iterable[str]) -> frozenset[str]:
        """Return names with the branches of their buses, and the buses all of whose branches they have."""
        found = set(names)
        for bus, own in self.at.items():
            found |= own if bus in found else set()
        return frozenset(found | {bus for bus, own in self.at.items() if own and own <= found})

    def predicted(self, dynamic: frozenset[str]) -> Complex:
        """Return (modes,) relative deformations to first order."""
        out = [k for name, k in self.place.items() if name not in dynamic]
        return np.asarray(self.factors[:, out].sum(axis=1))

    def measure(self, dynamic: frozenset[str], begin: _State) -> _State | None:
        """Return the state of a set, its modes followed from another state; None where one is lost."""
        storage = self.pencil.storages(set(self.place) - dynamic)
        found = []
        for full, mode in zip(self.start.modes, begin.modes, strict=True):
            now = self.pencil.follow(mode, begin.storage, storage)
            if now is None or not self.pencil.same(full, now):
                return None
            found.append(now)
        return _State(dynamic, storage, tuple(found))

    def error(self, state: _State) -> float:
        """Return the largest relative deformation of a state."""
        pairs = zip(self.start.modes, state.modes, strict=True)
        return max(abs(now.s - full.s) / abs(full.s) for full, now in pairs)

    def grown(self) -> _State:
        """Return a set within the tolerance: by the sums, and larger where measuring says more."""
        weight = np.abs(self.factors).max(axis=0)
        order = [self.pencil.names[k] for k in np.argsort(-weight, kind="stable")]
        count, lost = 0, False
        while count <= len(order):
            dynamic = self.closed(order[:count])
            if np.abs(self.predicted(dynamic)).max() <= self.tolerance:
                state = self.measure(dynamic, self.start)
                lost = state is None
                if state is not None and self.error(state) <= self.tolerance:
                    return state
                count += max(1, round(GROWTH * len(order)))
            else:
                count += 1
        if lost:
            raise PartitionError(_lost([mode.s for mode in self.start.modes]))
        return self.start

    def shrunk(self, state: _State) -> _State:
        """Return a state with elements taken away while the measured deformation allows.

        Each time those moves are measured that the participation factors of the hybrid itself promise most
        of.
        """
        while True:
            slopes = [self.pencil.slopes(mode, state.storage) for mode in state.modes]
            moves = []
            for smaller in self._moves(state.dynamic):
                gone = [self.place[n] for n in state.dynamic - smaller if n in self.place]
                after = [mode.s - s[gone].sum() for mode, s in zip(state.modes, slopes, strict=True)]
                full = [mode.s for mode in self.start.modes]
                error = max(abs(a - b) / abs(b) for a, b in zip(after, full, strict=True))
                moves.append((error, sorted(state.dynamic - smaller), smaller))
            moves.sort(key=lambda move: move[:2])
            tried = [self.measure(smaller, state) for _, _, smaller in moves[:TRIED]]
            good = [t for t in tried if t is not None and self.error(t) <= self.tolerance]
            if not good:
                return state
            state = min(good, key=self.error)

    def _moves(self, dynamic: frozenset[str]) -> list[frozenset[str]]:
        """Return the closed sets that are smaller by one element, a branch with the buses at its ends."""
        found = []
        for name in sorted(dynamic):
            if name in self.branches:
                found.append(dynamic - {name, *self.branches[name]})
            elif name not in self.at:
                found.append(dynamic - {name})
        return found

    def result(self, state: _State) -> DeformationChoice:
        return DeformationChoice(
            devices=tuple(sorted(state.dynamic)),
            phasors=tuple(sorted(self.everything - state.dynamic)),
            tolerance=self.tolerance,
            modes=tuple(mode.s for mode in self.start.modes),
            hybrid=tuple(mode.s for mode in state.modes),
            predicted=tuple(map(float, np.abs(self.predicted(state.dynamic)))),
        )


def _topology(full: SystemLike) -> tuple[Mapping[str, tuple[str, str]], Mapping[str, set[str]]]:
    """Return the ends of each branch, and the branches of each bus, in service or not."""
    ends: dict[str, tuple[str, str]] = {}
    for device in full.devices:
        wires = device.connections
        if "v_re_i" in wires and "v_re_j" in wires:
            a, b = (wires[f"v_re_{e}"].rpartition(".")[0] for e in "ij")
            ends[device.name] = (a, b)
    at: dict[str, set[str]] = {bus: set() for pair in ends.values() for bus in pair}
    for name, pair in ends.items():
        for bus in pair:
            at[bus].add(name)
    return ends, at


def modes_in_full(
    full: SystemLike, modes: Sequence[complex], devices: Iterable[str]
) -> tuple[complex | None, ...]:
    """Return what modes of a hybrid are where every element is dynamic, None where one cannot be followed.

    Parameters
    ----------
    full
        The system with every element dynamic.
    modes
        Eigenvalues in 1/s of the hybrid.
    devices
        Names of the elements that are dynamic in the hybrid.
    """
    pencil = StoragePencil(full)
    chosen = set(devices)
    begin, whole = pencil.storages(set(pencil.names) - chosen), pencil.storages()
    found: list[complex | None] = []
    for s in modes:
        try:
            mode = pencil.find(s, begin)
        except PartitionError:
            found.append(None)
            continue
        near = abs(mode.s - s) <= NEAR * abs(s)
        end = pencil.follow(mode, begin, whole) if near else None
        s_full = None if end is None else end.s
        found.append(s_full if s_full is None or abs(s_full.imag) > REAL * abs(s_full) else s_full.real + 0j)
    return tuple(found)

"""What holds the steps of `VariableStep` behind a local fault.

``python -m tests.benchmarks.equal_error.limiting --rows FILE`` notes of each accepted step the variable with
the largest estimated error, how far from the fault it is, how many devices would be above the tolerance if
the step were longer, and the gain at equal error that the model of `SelfAdjusting` promises for a split.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

import psmr
from psmr.dae.system.system import System
from psmr.grid.models.network import Bus
from psmr.numerics.refine.atoms import atoms_of
from psmr.numerics.refine.split import add, bins, clear, promise
from psmr.numerics.run.integrate import integrate
from psmr.numerics.solve.status import FULL
from tests.benchmarks.equal_error.cases import faulted, local_fault, system_of, title
from tests.benchmarks.equal_error.records import append, done

Reals = NDArray[np.float64]

CASES = (("case9241pegase", 0.0), ("case9241pegase", 0.3), ("case9241pegase", 0.6))
TOLERANCES = (1e-3, 1e-4)
KIND = "what holds the step"
# How many times longer steps are looked at.
LONGER = (2.0, 4.0)
# Weight of a connection that is no branch, so small that many of them are none.
NEAR = 1e-6


@dataclass(frozen=True)
class Step:
    """An accepted step.

    Attributes
    ----------
    t
        Its end in s.
    worst
        Place of the variable with the largest error.
    above
        Devices that would be above the tolerance with a step as many times longer as `LONGER` says.
    held
        Part of the sum of the squared errors that those of the longest of these steps have.
    equal
        Gain at equal error that a split promises, see `psmr.numerics.refine.split.promise`.
    """

    t: float
    worst: int
    above: tuple[int, ...]
    held: float
    equal: float


class Watched(psmr.VariableStep):
    """The scheme; what held each of its steps is appended to `steps` of its engine, which `engines` has."""

    engines: ClassVar[list[Watching]] = []

    def engine(self, system: System, parameters: Sequence[Any], w: Reals, every: bool) -> Any:
        """See `psmr.VariableStep`."""
        self.engines.append(Watching(super().engine(system, parameters, w, every), system, w))
        return self.engines[-1]


class Watching:
    """An engine of `VariableStep` that returns after each step, to be looked at."""

    def __init__(self, inner: Any, system: System, w: Reals) -> None:
        self.inner, self.steps = inner, list[Step]()
        self.atoms = atoms_of(system, inner.blocks[0], w)
        self.bins = bins()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def flow(self, end: float, w: Reals, times: Reals, rows: Reals) -> tuple[int, int]:
        """See `psmr.numerics.schemes.scheme.FlowEngine`."""
        filled, status = 0, int(FULL)
        while status == FULL and filled < len(times):
            one = slice(filled, filled + 1)
            taken, status = self.inner.flow(end, w, times[one], rows[one])
            if taken:
                self.steps.append(self._look(w))
            filled += taken
        return filled, status

    def _look(self, w: Reals) -> Step:
        """Look at the estimate of the step that ends in w, which its block still holds."""
        control, records, atoms = self.inner.control, self.inner.blocks[0].records, self.atoms
        places, power = records.matrix.variables, control.order
        errors = np.zeros(len(places))
        errors[places] = np.abs(records.work.update) / np.maximum(1.0, np.abs(w[places])) / control.tolerance
        of_device = np.zeros(len(atoms.sizes))
        np.maximum.at(of_device, atoms.of_variable, errors)

        def held(times: float) -> float:
            over = of_device * times**power > 1.0
            return float((errors[over[atoms.of_variable]] ** 2).sum() / (errors**2).sum())

        clear(self.bins)
        for error, count in zip(of_device, atoms.sizes, strict=True):
            add(self.bins, error, count)
        return Step(
            t=float(w[-1]),
            worst=int(np.argmax(errors)),
            above=tuple(int((of_device * times**power > 1.0).sum()) for times in LONGER),
            held=held(LONGER[-1]),
            equal=promise(self.bins, float(len(errors)), power, 1.0),
        )


def distances(system: System, bus: str) -> dict[str, int]:
    """Return how many branches lie between a bus and each device."""
    number = {device.name: k for k, device in enumerate(system.devices)}
    begins, ends, weights = [], [], []
    for device in system.devices:
        joined = {source.rpartition(".")[0] for source in device.connections.values()} & number.keys()
        buses = sum(system.devices[number[name]].component is Bus for name in joined)
        for name in joined:
            begins.append(number[device.name])
            ends.append(number[name])
            weights.append(0.5 if buses > 1 else NEAR)
    shape = (len(number), len(number))
    graph = sparse.csr_array((weights, (begins, ends)), shape=shape)
    length = dijkstra(graph, directed=False, indices=number[bus])
    return {name: round(float(length[k])) for name, k in number.items()}


def looked_at(name: str, share: float) -> dict[str, Any]:
    """Return the facts of a case, tolerance by tolerance, of the steps behind the clearing."""
    system, bus = system_of(name, share)
    what = local_fault(system, bus)
    variables = (*system.names_x, *system.names_y)
    far = distances(system, faulted(system))
    kinds = {device.name: device.component.__name__.partition("_")[0] for device in system.devices}
    found = []
    for tolerance in TOLERANCES:
        run = integrate(system, Watched(tolerance), what.t_end, what.changes)
        engine = Watched.engines.pop()
        assert len(engine.steps) == run.counters.steps
        steps = [step for step in engine.steps if step.t > what.changes[-1].t]
        names = [variables[step.worst].rpartition(".") for step in steps]
        worst = Counter(f"{kinds[device]}.{variable}" for device, _, variable in names)
        above = np.array([step.above for step in steps])
        found.append(
            {
                "tolerance": tolerance,
                "steps": len(steps),
                "worst": worst.most_common(2),
                "devices": len({device for device, _, _ in names}),
                "far": np.quantile([far[device] for device, _, _ in names], (0.0, 0.5, 1.0)).tolist(),
                "above": np.median(above, axis=0).tolist(),
                "most_above": above.max(axis=0).tolist(),
                "held": float(np.median([step.held for step in steps])),
                "equal": float(np.median([step.equal for step in steps])),
                "most_equal": max(step.equal for step in steps),
            }
        )
    return {"size": system.n + system.m, "all_devices": len(engine.atoms.sizes), "held_by": found}


def main() -> None:
    """Measure what is not yet measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, required=True, help="file of the rows")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, share in CASES:
        if (name, share, KIND) not in done(arguments.rows):
            append(arguments.rows, (name, share, KIND), looked_at(name, share), [])
            print(title(name, share), flush=True)


if __name__ == "__main__":
    main()

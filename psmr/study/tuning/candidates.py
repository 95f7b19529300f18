"""The schemes that a tuning tries: families that differ in everything but their step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import partitioning
from partitioning import Partition, PartitionError
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.multirate import Multirate
from psmr.integrate.schemes.multirate_program import EXTRAPOLATION
from psmr.integrate.schemes.single_rate import SingleRate

# Steps in s: about five to a doubling, numbers that a person would type.
GRID = tuple(
    1e-3 * ms
    for ms in (0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12.5, 15, 20, 25, 30, 40, 50, 60, 80, 100)
)

METHODS = ("TM", "BEM", "SDIRK2", "RK4", "FEM")
RATIOS = (2, 5, 10)

# Predictor and predicted set. BEM predicts with the work of TM; its errors differ, so both are tried.
PREDICTIONS = (
    ("FEM", "all"),
    ("FEM", "slow"),
    ("TM", "all"),
    ("BEM", "all"),
    (EXTRAPOLATION, "all"),
    (EXTRAPOLATION, "slow"),
)

# Interpolation and corrections.
COUPLINGS = (("linear", 0), ("spline", 0), ("linear", 1))

# Thresholds from the widest gaps of the spectrum, and for how many of them all algebraic variables are fast,
# too.
GAPS, ALGEBRAIC_FAST = 4, 2

# Of a large system, where a candidate takes seconds to judge.
RATIOS_AT_SIZE, GAPS_AT_SIZE = (5, 10), 2
PREDICTIONS_AT_SIZE = (("FEM", "all"), ("FEM", "slow"), (EXTRAPOLATION, "all"), (EXTRAPOLATION, "slow"))

# A gap narrower than this separates nothing: 1.5 is what one step of the grid changes.
NARROWEST = 1.5


@dataclass(frozen=True, eq=False)
class Family:
    """Schemes that differ in their step alone.

    `choices`: What a study file would say of them, the step left out; empty `split` for single rate.
    `split`: Threshold in 1/s and what becomes of the algebraic variables.
    `make`: Scheme of a step (h or h_slow) in s.
    """

    choices: Mapping[str, Any]
    split: Mapping[str, Any]
    make: Callable[[float], SingleRate | Multirate]

    def recorded(self, step: float) -> dict[str, Any]:
        """Return the fields of the [scheme] table of a study file."""
        if not self.split:
            return {"type": "single", **self.choices, "h": step}
        return {"type": "multirate", **self.split, "h_slow": step, **self.choices}


def families(linear: LinearDae) -> Iterator[Family]:
    """Yield every family for a system: single rate first, then each partition with each coupling."""
    yield from _single()
    for split, partition in partitions(linear):
        for ratio in RATIOS:
            for predictor, predict in PREDICTIONS:
                for interpolation, corrections in COUPLINGS:
                    yield _multirate(split, partition, ratio, predictor, predict, interpolation, corrections)


def families_at_size(linear: LinearDae) -> Iterator[Family]:
    """Yield the families for a system of more than 2,000 variables."""
    yield from _single()
    for split, partition in partitions_at_size(linear):
        for ratio in RATIOS_AT_SIZE:
            for predictor, predict in PREDICTIONS_AT_SIZE:
                yield _multirate(split, partition, ratio, predictor, predict, "linear", 0)


def _single() -> Iterator[Family]:
    for method in METHODS:
        yield Family({"method": method}, {}, lambda h, method=method: SingleRate(method, h))  # type: ignore[misc]


def _multirate(
    split: Mapping[str, Any],
    partition: Partition,
    ratio: int,
    predictor: str,
    predict: str,
    interpolation: str,
    corrections: int,
) -> Family:
    choices: dict[str, Any] = {
        "ratio": ratio,
        "predictor": predictor,
        "predict": predict,
        "solution": "TM",
        "interpolation": interpolation,
        "corrections": corrections,
    }
    return Family(choices, split, lambda h: Multirate(partition, h, **choices))


def partitions(linear: LinearDae) -> list[tuple[dict[str, Any], Partition]]:
    """Return the partitions worth trying, each once, with the threshold that makes it."""
    linear = linear.without_delays()
    gaps = partitioning.suggest_delta(linear, rows=50)
    gaps = gaps[gaps["ratio"] >= NARROWEST]
    found: list[tuple[dict[str, Any], Partition]] = []
    seen: set[tuple[bytes, bytes]] = set()
    for algebraic, count in (("participation", GAPS), ("fast", ALGEBRAIC_FAST)):
        for delta in gaps["delta"].head(count):
            # Three digits stay inside a gap and are what a person would write.
            delta = float(f"{delta:.3g}")
            try:
                split = partitioning.by_participation(linear, delta, algebraic=algebraic)
            except PartitionError:
                continue  # no split at this threshold is well posed; the next one may be
            fast = (*split.fast_x, *split.fast_y)
            key = (split.fast_x.tobytes(), split.fast_y.tobytes())
            if any(fast) and not all(fast) and key not in seen:
                seen.add(key)
                found.append(({"delta": delta, "algebraic": algebraic}, split))
    return found


def partitions_at_size(linear: LinearDae) -> list[tuple[dict[str, Any], Partition]]:
    """Return partitions by devices, without the modes of the system.

    A device is as fast as the fastest eigenvalue of its own states with everything around it at rest, which
    is a block of fx. The devices beyond the widest gaps between these are fast, one partition for each gap.
    """
    rates = device_rates(linear)
    values = np.array(sorted({rate for rate in rates.values() if rate > 0.0}))
    ratios = values[1:] / values[:-1]
    found: list[tuple[dict[str, Any], Partition]] = []
    for k in np.argsort(-ratios, kind="stable")[:GAPS_AT_SIZE]:
        if ratios[k] < NARROWEST:
            break
        fast = [device for device, rate in rates.items() if rate > values[k]]
        try:
            split = partitioning.by_device(linear, fast)
        except PartitionError:
            continue  # nothing makes this split well posed; the next one may be
        if not all((*split.fast_x, *split.fast_y)):
            found.append(({"fast_devices": fast}, split))
    return found


def device_rates(linear: LinearDae) -> dict[str, float]:
    """Return by device the largest magnitude of an eigenvalue of its own states, in 1/s."""
    owners: dict[str, list[int]] = {}
    for place, name in enumerate(linear.names_x):
        owners.setdefault(name.rpartition(".")[0], []).append(place)
    fx = linear.fx.tocsr()
    rates = {}
    for device, places in owners.items():
        block = fx[places][:, places].toarray()
        rates[device] = float(np.abs(np.linalg.eigvals(block)).max())
    return rates

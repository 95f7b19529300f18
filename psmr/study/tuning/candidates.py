"""The schemes that a tuning tries: families that differ in everything but their step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import partitioning
from partitioning import Partition, PartitionError
from psmr.dae.system.linear import LinearDae
from psmr.numerics.schemes.multirate import Multirate
from psmr.numerics.schemes.single_rate import SingleRate

# Steps in s: about five to a doubling, numbers that a person would type.
GRID = tuple(
    1e-3 * ms
    for ms in (0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12.5, 15, 20, 25, 30, 40, 50, 60, 80, 100)
)

METHODS = ("TM", "BEM", "SDIRK2", "RK4", "FEM")
RATIOS = (2, 5, 10)

# Predictor and predicted set. BEM predicts with the work of TM; its errors differ, so both are tried.
PREDICTIONS = (("FEM", "all"), ("FEM", "slow"), ("TM", "all"), ("BEM", "all"))

# Interpolation and corrections.
COUPLINGS = (("linear", 0), ("spline", 0), ("linear", 1))

# Thresholds from the widest gaps of the spectrum, and for how many of them all algebraic variables are fast,
# too.
GAPS, ALGEBRAIC_FAST = 4, 2

# A gap narrower than this separates nothing: 1.5 is what one step of the grid changes.
NARROWEST = 1.5


@dataclass(frozen=True, eq=False)
class Family:
    """Schemes that differ in their step alone.

    Attributes
    ----------
    choices
        What a study file would say of them, the step left out; empty `split` for single rate.
    split
        Threshold in 1/s and what becomes of the algebraic variables.
    make
        Scheme of a step (h or h_slow) in s.
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
    for method in METHODS:
        yield Family({"method": method}, {}, lambda h, method=method: SingleRate(method, h))  # type: ignore[misc]
    for split, partition in partitions(linear):
        for ratio in RATIOS:
            for predictor, predict in PREDICTIONS:
                for interpolation, corrections in COUPLINGS:
                    choices = {
                        "ratio": ratio,
                        "predictor": predictor,
                        "predict": predict,
                        "solution": "TM",
                        "interpolation": interpolation,
                        "corrections": corrections,
                    }
                    yield Family(
                        choices,
                        split,
                        lambda h, p=partition, c=choices: Multirate(p, h, **c),  # type: ignore[misc]
                    )


def partitions(linear: LinearDae) -> list[tuple[dict[str, Any], Partition]]:
    """Return the partitions worth trying, each once, with the threshold that makes it."""
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

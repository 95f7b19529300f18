"""Which variables of a system are fast: by participation factors, device or hand, checked for solvability."""

from partitioning.by_deformation import (
    DeformationChoice,
    by_deformation,
    measured_deformation,
    modes_in_full,
)
from partitioning.participation import participation
from partitioning.partition import Partition, PartitionError
from partitioning.selection import all_fast, all_slow, by_device, by_hand, by_participation, suggest_delta

__all__ = [
    "DeformationChoice",
    "Partition",
    "PartitionError",
    "all_fast",
    "all_slow",
    "by_deformation",
    "by_device",
    "by_hand",
    "by_participation",
    "measured_deformation",
    "modes_in_full",
    "participation",
    "suggest_delta",
]

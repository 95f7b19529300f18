"""Protection: relays that shed load, that trip generators, and that open lines."""

from psmr.devices.protection.line_relays import DistanceRelay, OutOfStepRelay
from psmr.devices.protection.overcurrent import OvercurrentRelay, TimeCurrentRelay, TimeCurrentShedding
from psmr.devices.protection.relays import (
    NO_VOLTAGE,
    STAGES,
    FrequencyTrip,
    Relay,
    RideThrough,
    UnderFrequencyShedding,
    UnderVoltageShedding,
    VoltageTrip,
)

__all__ = [
    "NO_VOLTAGE",
    "STAGES",
    "DistanceRelay",
    "FrequencyTrip",
    "OutOfStepRelay",
    "OvercurrentRelay",
    "Relay",
    "RideThrough",
    "TimeCurrentRelay",
    "TimeCurrentShedding",
    "UnderFrequencyShedding",
    "UnderVoltageShedding",
    "VoltageTrip",
]

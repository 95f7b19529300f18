"""Protection: relays that shed load, that trip generators, and that open lines."""

from psmr.devices.protection.distance import DistanceRelay
from psmr.devices.protection.out_of_step import OutOfStepRelay
from psmr.devices.protection.overcurrent import OvercurrentRelay, TimeCurrentRelay, TimeCurrentShedding
from psmr.devices.protection.relays import (
    NO_VOLTAGE,
    STAGES,
    FrequencyTrip,
    Relay,
    UnderFrequencyShedding,
    UnderVoltageShedding,
    VoltageTrip,
)
from psmr.devices.protection.ride_through import RideThrough

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

"""Protection: relays that shed load, and relays that trip generators."""

from psmr.devices.protection.relays import (
    NO_VOLTAGE,
    STAGES,
    FrequencyTrip,
    Relay,
    UnderFrequencyShedding,
    UnderVoltageShedding,
    VoltageTrip,
)

__all__ = [
    "NO_VOLTAGE",
    "STAGES",
    "FrequencyTrip",
    "Relay",
    "UnderFrequencyShedding",
    "UnderVoltageShedding",
    "VoltageTrip",
]

"""A plant of typical devices for one generator of a power flow: rating, kind, machine and controls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from psmr.network.case.tables import DeviceRow, GeneratorRow, device_name
from psmr.network.synthetic import typical

LOADING = (0.75, 0.92)
"""Apparent power of the dispatch as a part of the rating, where the case does not give a rating."""
ABSORBED = 0.4
"""Reactive power that a plant takes in, as a part of its rating, at most: the under-excitation limits of
capability curves (Kundur, section 5.4). Far below them a machine follows no regulator."""
NO_TURBINE = 0.02
"""Active power as a part of the rating below which a plant has no turbine: a condenser, or a pump."""
NO_LIMIT = 9000.0
"""Reactive limits in Mvar from which on they mean that there is none: files have 9999."""
LARGE, SMALL = 300.0, 50.0
"""Ratings in MVA that part large, middling and small plants."""
MIX = {"large": {"steam": 0.8, "hydro": 0.2}, "middling": {"steam": 0.4, "gas": 0.3, "hydro": 0.3}} | {
    "small": {"gas": 0.5, "hydro": 0.5}
}
"""Shares of the kinds by size."""
EXCITERS = {"SEXS": 0.35, "EXST1": 0.4, "ESST4B": 0.25}
"""Shares of the exciters of plants with a turbine that are not small; the others have SEXS."""
BASE_LOAD = 0.2
"""Share of the large steam plants that have no governor."""

_EXCITER: dict[str, Callable[[typical.Draw], typical.Values]] = {
    "SEXS": typical.sexs,
    "EXST1": typical.exst1,
    "ESST4B": typical.esst4b,
}
_GOVERNORS: dict[str, dict[str, Callable[[typical.Draw], typical.Values]]] = {
    "steam": {"TGOV1": typical.tgov1, "IEESGO": typical.ieesgo},
    "gas": {"GAST": typical.gast},
    "hydro": {"HYGOV": typical.hygov},
}


@dataclass(frozen=True)
class TypicalPlant:
    """A generator with its dispatch in MVA, and what is drawn for it.

    `first` comes before everything else that is drawn; it puts the generators in the order in which
    converters are chosen.
    """

    row: GeneratorRow
    dispatch: complex
    base_mva: float
    seed: int

    @cached_property
    def _stream(self) -> np.random.Generator:
        name = self.row.name.encode("utf-8")
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, *name])))

    @cached_property
    def first(self) -> float:
        """A number from 0 to 1 that belongs to the seed and the generator's name."""
        return float(self._stream.random())

    @cached_property
    def rating(self) -> float:
        """Rating in MVA: the given one where it can be, otherwise one that fits dispatch and limits."""
        given, need = self.row.rating_mva, max(abs(self.dispatch), -self.dispatch.imag / ABSORBED)
        drawn = max(abs(self.dispatch) / self._draw(*LOADING), need)
        if given not in (0.0, self.base_mva) and need <= given:
            return given
        limits = [abs(q) for q in (self.row.q_min_mvar, self.row.q_max_mvar) if abs(q) < NO_LIMIT]
        reach = math.hypot(self.dispatch.real, max(limits, default=0.0))
        if abs(self.dispatch.real) > NO_TURBINE * drawn:
            reach = min(reach, 2 * need)
        return max(drawn, reach) or self.base_mva / 100

    @property
    def kind(self) -> str:
        """Kind of the plant: steam, gas, hydro, condenser, or pump."""
        power = self.dispatch.real / self.rating
        if abs(power) < NO_TURBINE:
            return "condenser"
        if power < 0:
            return "pump"
        size = "large" if self.rating >= LARGE else "small" if self.rating < SMALL else "middling"
        return self._choose(MIX[size])

    def machine(self, alone: bool) -> tuple[DeviceRow, ...]:
        """Return machine, exciter, and stabiliser and governor where it has them.

        `alone` says that nothing else holds the voltage of the bus: only then may a regulator integrate.
        """
        rating, kind = self.rating, self.kind
        data = typical.KINDS["hydro" if kind == "pump" else kind]
        devices = [self._device("machine", data.type, typical.machine(data, rating, self._draw))]
        turbine = kind in _GOVERNORS
        exciter = self._choose(EXCITERS) if turbine and rating >= SMALL else "SEXS"
        if exciter == "ESST4B" and not alone:
            exciter = "EXST1"
        devices.append(self._device("exciter", exciter, _EXCITER[exciter](self._draw)))
        if exciter != "SEXS":
            devices.append(self._device("stabiliser", "IEEEST", typical.ieeest(self._draw)))
        base_load = kind == "steam" and rating >= LARGE and self._draw(0.0, 1.0) < BASE_LOAD
        if turbine and not base_load:
            choice = _GOVERNORS[kind]
            name = self._choose(dict.fromkeys(choice, 1 / len(choice)))
            devices.append(self._device("governor", name, choice[name](self._draw)))
        return tuple(devices)

    def converter(self, voltage: bool) -> tuple[DeviceRow, ...]:
        """Return a grid-following converter that holds its voltage, or its reactive power."""
        if voltage:
            values, name = typical.holds_voltage(self.rating), "GridFollowingConverterV"
        else:
            values, name = typical.holds_power(self.rating), "GridFollowingConverter"
        return (self._device("converter", name, values),)

    def _device(self, role: str, type: str, values: typical.Values) -> DeviceRow:
        # Six digits are more than typical data have, and make files readable; the rating must not round down.
        rounded = {k: v if k == "s_n" else float(f"{v:.6g}") for k, v in values.items()}
        return DeviceRow(device_name(self.row.name, role), role, type, rounded, where=self.row.where)

    def _draw(self, low: float, high: float) -> float:
        return float(self._stream.uniform(low, high))

    def _choose(self, shares: dict[str, float]) -> str:
        """Return a name with the probability that is its share; the shares add up to 1."""
        place, below = self._draw(0.0, 1.0), 0.0
        for name, share in shares.items():
            below += share
            if place < below:
                return name
        return name

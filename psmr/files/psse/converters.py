"""Rows of DC lines, FACTS devices and induction machines: loads, and generators where they hold a voltage."""

from __future__ import annotations

import cmath
import math
import warnings
from collections.abc import Mapping, Sequence

from psmr.base.errors import PsmrWarning
from psmr.files.joined import Joint
from psmr.files.psse.conventions import suffix
from psmr.files.psse.direct_current import Drawn, facts_device, multi_terminal, two_terminal, voltage_source
from psmr.files.psse.induction_machine import induction_machine
from psmr.files.psse.record import PsseRecord, name_part
from psmr.network.case.tables import GeneratorRow, LineRow, LoadRow

_KINDS = {
    "two-terminal dc": ("dc", "IP", "a DC line"),
    "vsc dc": ("vsc", "IBUS", "a VSC line"),
    "multi-terminal dc": ("mtdc", "IB", "a multi-terminal DC line"),
}
_POWER = (0.0, 0.0, 1.0)


class Converters:
    """Collects the rows of DC lines, FACTS devices and induction machines.

    Parameters
    ----------
    base
        System base in MVA.
    buses
        The records of the buses by number.

    Attributes
    ----------
    loads, holding, lines, zero
        Loads of constant power; generators that hold a voltage; series elements of an impedance, and those
        that join two buses.
    """

    def __init__(self, base: float, buses: Mapping[int, PsseRecord]) -> None:
        self._base, self._buses = base, buses
        self._facts: set[str] = set()
        self.loads: list[LoadRow] = []
        self.holding: list[GeneratorRow] = []
        self.lines: list[LineRow] = []
        self.zero: list[Joint] = []

    def add_line(self, lines: Sequence[PsseRecord]) -> None:
        """Add the powers of a DC line's converters."""
        section = lines[0].section
        field = _KINDS[section][1]
        at = [line for line in lines[1:] if self._isolated(line, field)]
        if section != "multi-terminal dc" and at:
            what = f"{field} = {at[0].text(field)} is an isolated bus (IDE = 4); the line is left out"
            self._tell(at[0], what)
            return
        if section == "vsc dc":
            ends = voltage_source(lines)
        else:
            stored = {number: bus.positive("VM", 1.0) for number, bus in self._buses.items()}
            ends = (two_terminal if section == "two-terminal dc" else multi_terminal)(lines, stored)
        if not ends:
            return
        prefix, field, what = _KINDS[section]
        name = name_part(lines[0].text("NAME") or lines[0].text("I"))
        for k, end in enumerate(ends):
            part = ("rectifier", "inverter")[k] if prefix == "dc" else str(k + 1)
            self._add(end, f"{prefix}-{name}-{part}", field)
        words = ", ".join(f"{end.p_mw:.6g} MW from bus {end.bus}" for end in ends)
        self._tell(lines[0], f"{name}: {what}, held at its powers in a run: {words}")

    def _isolated(self, line: PsseRecord, field: str) -> bool:
        """Say whether a converter stands at a bus that is left out."""
        bus = self._buses.get(line.whole(field, 0))
        return bus is not None and bus.whole("IDE", 1) == 4

    def add_facts(self, record: PsseRecord) -> None:
        """Add the rows of a FACTS device."""
        stored = {
            number: cmath.rect(bus.positive("VM", 1.0), math.radians(bus.real("VA", 0.0)))
            for number, bus in self._buses.items()
        }
        device = facts_device(record, stored)
        if device is None:
            return
        name = name_part(record.text("NAME") or record.text("N"))
        if name in self._facts:
            # Programs number the devices of a bus.
            name += f"-{record.bus('I')}"
        self._facts.add(name)
        words = []
        if device.shunt is not None:
            self._add(device.shunt, f"facts-{name}", "I")
            holds = self.holding[-1]
            words.append(f"holds bus {holds.bus} at {holds.v:g} pu within {holds.q_max_mvar:g} Mvar")
        for end, field in zip(device.delivered, "JI", strict=False):
            self._add(end, f"facts-{name}-{field}", field)
        if device.delivered:
            words.append(f"delivers {-device.delivered[0].p_mw:g} MW at bus {device.delivered[0].bus}")
        if device.series is not None:
            self._series(record, name, device.series)
            words.append(f"is an impedance of {device.series:g} pu" if device.series else "is bypassed")
        self._tell(record, f"{name}: a FACTS device, {', '.join(words)}; held at its powers in a run")

    def add_machine(self, record: PsseRecord) -> None:
        """Add the load that an induction machine is."""
        bus = self._bus(record, "I", record.bus("I"))
        drawn = induction_machine(record, bus.positive("VM", 1.0), bus.real("BASKV", 0.0))
        if drawn is None:
            return
        name = f"motor{drawn.bus}{suffix(name_part(record.text('ID', '1')))}"
        self._add(drawn, name, "I")
        powers = f"{drawn.p_mw:.4g} MW and {drawn.q_mvar:.4g} Mvar"
        self._tell(record, f"{name}: an induction machine, held in a run at its powers: {powers}")

    def _series(self, record: PsseRecord, name: str, impedance: complex) -> None:
        i, j = record.bus("I"), abs(record.whole("J"))
        for field, number in (("I", i), ("J", j)):
            self._bus(record, field, number)
        if not impedance:
            self.zero.append((i, j, record.where))
            return
        self.lines.append(
            LineRow(i, j, impedance.imag, impedance.real, name=f"facts-{name}-series", where=record.where)
        )

    def _bus(self, record: PsseRecord, field: str, number: int) -> PsseRecord:
        bus = self._buses.get(number)
        if bus is None:
            raise record.error(field, "there is no bus with this number")
        record.require(bus.whole("IDE", 1) != 4, field, "must be a bus that is not isolated")
        return bus

    def _add(self, end: Drawn, name: str, field: str) -> None:
        """Add a converter's load, or its generator where it holds a voltage."""
        self._bus(end.record, field, end.bus)
        where = end.record.where
        if end.q_mvar is not None:
            self.loads.append(
                LoadRow(end.bus, end.p_mw, end.q_mvar, _POWER, _POWER, name=name, held=True, where=where)
            )
            return
        self.holding.append(
            GeneratorRow(
                name,
                end.bus,
                "pv",
                -end.p_mw,
                v=end.v,
                q_min_mvar=end.q_min_mvar,
                q_max_mvar=end.q_max_mvar,
                rating_mva=end.rating_mva or self._base,
                held=True,
                where=where,
                control_bus=end.regulated,
                share=end.share,
            )
        )

    @staticmethod
    def _tell(record: PsseRecord, words: str) -> None:
        warnings.warn(f"{record.where}: {words}", PsmrWarning, stacklevel=4)

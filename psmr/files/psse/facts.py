"""FACTS devices of a PSS/E RAW file in their form for the power flow.

A shunt element at bus I (a STATCOM) holds the voltage VSET there, or at another bus, with at most SHMX MVA. A
series element from I to J works in one of several modes. In normal mode (1) it delivers S = PDES + j QDES at
J, and takes PDES and the reactive power Im(S V_I / V_J) from I, at the voltages that the file stores: its
current is the same at both ends, and the shunt element makes up for the active power that the series voltage
takes. Bypassed (2) it joins the two buses; in mode 3 it is the impedance SET1 + j SET2. Modes 4 to 8 (a
voltage in series, and devices that share power) are not modelled. Source: Siemens PTI, PSS/E Program
Operation Manual, FACTS device data; L. Gyugyi, Unified power-flow control concept, IEE Proc. C 139 (1992).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psmr.files.psse.dc_lines import Drawn
from psmr.files.psse.record import PsseRecord

MODELLED = (0, 1, 2, 3)
"""Modes that the power flow has a model of."""


@dataclass(frozen=True)
class Facts:
    """What a FACTS device is to the network.

    Attributes
    ----------
    shunt
        The shunt element, which holds a voltage and takes what the series element delivers; None: none.
    delivered
        What the series element draws at J and, of reactive power, at I; empty where it delivers no set power.
    series
        Impedance in pu of a series element of constant impedance, 0 of a bypassed one; None: no such element.
    """

    shunt: Drawn | None
    delivered: tuple[Drawn, ...]
    series: complex | None


def facts_device(record: PsseRecord, voltage: Mapping[int, complex]) -> Facts | None:
    """Return a device in one of the `MODELLED` modes; None for one out of service.

    `voltage` are the stored ones in pu by bus.

    Raises
    ------
    CaseError
        For values that no device can have.
    """
    mode = record.one_of("MODE", range(9), 1)
    i, j = record.bus("I"), abs(record.whole("J", 0))
    if mode == 0:
        return None
    if j == 0:
        return Facts(_shunt(record, voltage, i, 0.0), (), None)
    record.require(j in voltage, "J", "there is no bus with this number")
    if mode == 1:
        p, q = record.real("PDES", 0.0), record.real("QDES", 0.0)
        taken = (complex(p, q) * voltage[i] / voltage[j]).imag
        return Facts(
            _shunt(record, voltage, i, p), (Drawn(record, j, -p, -q), Drawn(record, i, 0.0, taken)), None
        )
    has_shunt = record.real("SHMX", 9999.0) != 0
    shunt = _shunt(record, voltage, i, 0.0) if has_shunt else None
    impedance = complex(record.real("SET1", 0.0), record.real("SET2", 0.0)) if mode == 3 else 0j
    record.require(mode != 3 or impedance.imag != 0, "SET2", "must be a reactance that is not 0")
    return Facts(shunt, (), impedance)


def _shunt(record: PsseRecord, voltage: Mapping[int, complex], bus: int, p_mw: float) -> Drawn:
    """Return the shunt element. PSS/E's sample case has one at its limit of exactly SHMX at 1.057 pu."""
    record.require(bus in voltage, "I", "there is no bus with this number")
    v, most = record.positive("VSET", 1.0), record.real("SHMX", 9999.0)
    record.require(most >= 0, "SHMX", "must be >= 0, in MVA")
    regulated = record.whole("REMOT", 0)
    return Drawn(record, bus, p_mw, None, v, regulated, -most, most, most, record.share(regulated > 0))

"""Which sections a PSS/E RAW file has, in which order, and the fields of their records, by version.

Versions 32 and 33 have no system-wide data and no switching devices, and three ratings to a branch; 34 and 35
have both, twelve ratings and names on branches; 35 numbers the nodes of substations. Fields after those
that psmr reads are left out here. Areas, zones, transfers, owners, groups of line sections and substations
say nothing about the equations of the network and are passed over; so is the system-wide data, which sets the
solver of the program that wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping

VERSIONS = (32, 33, 34, 35)

_FIRST = ("bus", "load", "fixed shunt", "generator", "branch")
_REST = (
    *("transformer", "area", "two-terminal dc", "vsc dc", "impedance correction", "multi-terminal dc"),
    *("multi-section line", "zone", "inter-area transfer", "owner", "facts", "switched shunt", "gne"),
    "induction machine",
)
CASE = "IC SBASE REV XFRRAT NXFRAT BASFRQ"


def sections(version: int) -> tuple[str, ...]:
    """Return the names of a version's sections in their order."""
    if version < 34:
        return (*_FIRST, *_REST)
    return ("system-wide", *_FIRST, "switching device", *_REST, "substation")


def fields(version: int) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the fields of each section; a transformer's lines are `transformer 1` to `3`."""
    new, newest = version >= 34, version >= 35
    rates = _numbered("RATE", 12) if new else "RATEA RATEB RATEC"
    names = "NAME " if new else ""
    owners = "O1 F1 O2 F2 O3 F3 O4 F4"
    layout = {
        "bus": "I NAME BASKV IDE AREA ZONE OWNER VM VA NVHI NVLO EVHI EVLO",
        "load": "I ID STATUS AREA ZONE PL QL IP IQ YP YQ OWNER SCALE INTRPT DGENP DGENQ DGENM",
        "fixed shunt": "I ID STATUS GL BL",
        "generator": f"I ID PG QG QT QB VS IREG {'NREG ' if newest else ''}MBASE ZR ZX RT XT GTAP STAT RMPCT"
        f" PT PB {'BASLOD ' if newest else ''}{owners} WMOD WPF",
        "branch": f"I J CKT R X B {names}{rates} GI BI GJ BJ ST MET LEN",
        "switching device": f"I J CKT X {rates} STAT NSTAT MET STYPE NAME",
        "transformer": f"I J K CKT CW CZ CM MAG1 MAG2 NMETR NAME STAT {owners} VECGRP ZCOD",
        "transformer 1": "R1-2 X1-2 SBASE1-2 R2-3 X2-3 SBASE2-3 R3-1 X3-1 SBASE3-1 VMSTAR ANSTAR",
        "transformer 2": f"WINDV NOMV ANG {rates} COD CONT {'NODE ' if newest else ''}RMA RMI VMA VMI NTP TAB"
        " CR CX CNXA",
        "switched shunt": "I MODSW ADJM STAT VSWHI VSWLO SWREM RMPCT RMIDNT BINIT"
        if not newest
        else "I ID MODSW ADJM STAT VSWHI VSWLO SWREG NREG RMPCT RMIDNT BINIT",
        "two-terminal dc": "NAME MDC",
        "vsc dc": "NAME MDC",
        "multi-terminal dc": "NAME NCONV NDCBS NDCLN MDC",
        "facts": "NAME I J MODE",
        "gne": "NAME MODEL",
        "induction machine": "I ID STAT",
    }
    return {section: tuple(text.split()) for section, text in layout.items()}


def _numbered(name: str, count: int) -> str:
    return " ".join(f"{name}{i}" for i in range(1, count + 1))

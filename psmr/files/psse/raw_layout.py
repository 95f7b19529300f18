"""Which sections a PSS/E RAW file has, in which order, and the fields of their records, by version.

Version 23 has loads and shunts in the bus record and transformers among the branches; 24 to 27 have loads of
their own; 29 and 30 have shunts
in the bus record and switched shunts before the impedance correction; 31 to 33 have fixed shunts of their own
and three ratings to a branch; from 34 on there are system-wide data, switching devices, twelve ratings and
names on branches; 35 and 36 number the nodes of substations; 36 has voltage droop controls, ratings of
switching devices in sets of their own, types of loads, and interfaces. Fields after those that psmr reads are
left out here. Areas, zones, transfers, owners, groups of line sections, ratings, types of loads, interfaces
and substations say nothing about the equations of the network and are passed over; so is the system-wide
data, which sets the solver of the program that wrote it. Voltage droop controls move the voltages that
generators hold in a power flow, and a solved file has stored those. Source: Siemens PTI, PSS/E Program
Operation Manual; for 23 to 31 also MATPOWER's psse_parse, for 24 to 27 that alone, for 36 the titles of
columns that PSS/E itself writes into a file.
"""

from __future__ import annotations

from collections.abc import Mapping

VERSIONS = (23, 24, 25, 26, 27, 29, 30, 31, 32, 33, 34, 35, 36)

LAST_ADJUSTED = 27
"""Last version with transformers among the branches and their adjustment in a section of its own."""

_EARLY = ("impedance correction", "multi-terminal dc", "multi-section line", "zone")
_REST = (
    "transformer",
    "area",
    "two-terminal dc",
    "vsc dc",
    *_EARLY,
    "inter-area transfer",
    "owner",
    "facts",
    "switched shunt",
)
_FIRST = ("bus", "load", "fixed shunt")
CASE = "IC SBASE REV XFRRAT NXFRAT BASFRQ"

LINES = {"two-terminal dc": 3, "vsc dc": 3}
"""Sections whose records have as many lines."""

COUNTED = ("transformer", "multi-terminal dc")
"""Sections whose records say in their first line how many lines they have."""


def sections(version: int) -> tuple[str, ...]:
    """Return the names of a version's sections in their order."""
    if version <= LAST_ADJUSTED:
        return (
            "bus",
            *(("load",) if version > 23 else ()),
            "generator",
            "branch",
            "transformer adjustment",
            "area",
            "two-terminal dc",
            "switched shunt",
            *_EARLY,
            "inter-area transfer",
            "owner",
            "facts",
        )
    if version <= 30:
        return (
            "bus",
            "load",
            "generator",
            "branch",
            "transformer",
            "area",
            "two-terminal dc",
            "vsc dc",
            "switched shunt",
            *_EARLY,
            "inter-area transfer",
            "owner",
            "facts",
        )
    machines = ("gne", "induction machine")
    if version < 34:
        return (*_FIRST, "generator", "branch", *_REST, *(() if version == 31 else machines))
    if version < 36:
        between: tuple[str, ...] = ("generator",)
        after: tuple[str, ...] = ()
    else:
        between = ("voltage droop control", "generator", "switching device rating set")
        after = ("load type", "interface", "interface element")
    first = ("system-wide", *_FIRST, *between, "branch", "switching device")
    return (*first, *_REST, *machines, *after, "substation")


def fields(version: int) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the fields of each section; a transformer's lines are `transformer 1` to `3`."""
    new, newest = version >= 34, version >= 35
    rates = _numbered("RATE", 12) if new else "RATEA RATEB RATEC"
    names = "NAME " if new else ""
    owners = "O1 F1 O2 F2 O3 F3 O4 F4"
    meter = "MET " if version > 30 else ""
    turned = "RATIO ANGLE " if version <= LAST_ADJUSTED else ""
    line = "I" if version < 31 else "NAME"
    source = "IBUS TYPE MODE DCSET ACSET ALOSS BLOSS MINLOSS SMAX IMAX PWF MAXQ MINQ REMOT"
    source += " NREG RMPCT" if newest else " RMPCT"
    converter = f"IP NB ANMX ANMN RC XC EBAS TR TAP TMX TMN STP IC {'ND ' if newest else ''}IF IT ID XCAP"
    layout = {
        "bus": "I NAME BASKV IDE AREA ZONE OWNER VM VA NVHI NVLO EVHI EVLO",
        "load": "I ID STATUS AREA ZONE PL QL IP IQ YP YQ OWNER SCALE INTRPT DGENP DGENQ DGENM",
        "fixed shunt": "I ID STATUS GL BL",
        "generator": f"I ID PG QG QT QB VS IREG {'NREG ' if newest else ''}MBASE ZR ZX RT XT GTAP STAT RMPCT"
        f" PT PB {'BASLOD ' if newest else ''}{owners} WMOD WPF",
        "branch": f"I J CKT R X B {names}{rates} {turned}GI BI GJ BJ ST {meter}LEN",
        "switching device": f"I J CKT X {rates if version < 36 else 'RSETNAM'} STAT NSTAT MET STYPE NAME",
        "transformer": f"I J K CKT CW CZ CM MAG1 MAG2 NMETR NAME STAT {owners} VECGRP ZCOD",
        "transformer 1": "R1-2 X1-2 SBASE1-2 R2-3 X2-3 SBASE2-3 R3-1 X3-1 SBASE3-1 VMSTAR ANSTAR",
        "transformer 2": f"WINDV NOMV ANG {rates} COD CONT {'NODE ' if newest else ''}RMA RMI VMA VMI NTP TAB"
        " CR CX CNXA",
        "switched shunt": f"I MODSW ADJM STAT VSWHI VSWLO SWREM RMPCT RMIDNT BINIT {_blocks('N', 'B')}"
        if not newest
        else f"I ID MODSW ADJM STAT VSWHI VSWLO SWREM NREG RMPCT RMIDNT BINIT"
        f" {'NAME ' if version == 36 else ''}{_blocks('S', 'N', 'B')}",
        "two-terminal dc": f"{line} MDC RDC SETVL VSCHD VCMOD RCOMP DELTI METER",
        "two-terminal dc 1": converter,
        "two-terminal dc 2": converter,
        "vsc dc": "NAME MDC RDC",
        "vsc dc 1": source,
        "vsc dc 2": source,
        "multi-terminal dc": f"{line} NCONV NDCBS NDCLN MDC VCONV VCMOD VCONVN",
        "multi-terminal dc 1": "IB N ANGMX ANGMN RC XC EBAS TR TAP TPMX TPMN TSTP SETVL DCPF MARG CNVCOD",
        "multi-terminal dc 2": "IDC IB AREA ZONE DCNAME IDC2 RGRND OWNER",
        "multi-terminal dc 3": f"IDC JDC DCCKT {meter}RDC LDC",
        "impedance correction": _numbered("V", 40, 0),
        "facts": f"{'N' if version < 31 else 'NAME'} I J MODE PDES QDES VSET SHMX TRMX VTMN VTMX VSMX IMX"
        " LINX RMPCT OWNER SET1 SET2 VSREF REMOT",
        "gne": "NAME MODEL NTERM",
        "induction machine": f"I ID STAT SC DC AREA ZONE OWNER {'NAME ' if version == 36 else ''}TC BC MBASE"
        " RATEKV PCODE PSET H A B D E RA XA XM R1 X1 R2 X2 X3 E1 SE1 E2 SE2 IA1 IA2 XAMULT",
    }
    if version == 23:
        layout["bus"] = "I IDE PL QL GL BL AREA VM VA NAME BASKV ZONE"
    elif version <= 30:
        layout["bus"] = "I NAME BASKV IDE GL BL AREA ZONE VM VA OWNER"
    if version <= LAST_ADJUSTED:
        layout["switched shunt"] = f"I MODSW VSWHI VSWLO SWREM BINIT {_blocks('N', 'B')}"
    elif version in (29, 30, 31):
        percent = "" if version == 29 else "RMPCT "
        layout["switched shunt"] = f"I MODSW VSWHI VSWLO SWREM {percent}RMIDNT BINIT {_blocks('N', 'B')}"
    return {section: tuple(text.split()) for section, text in layout.items()}


def _blocks(*names: str) -> str:
    """Return the names of the fields of the eight blocks of a switched shunt."""
    return " ".join(f"{name}{i}" for i in range(1, 9) for name in names)


def _numbered(name: str, count: int, first: int = 1) -> str:
    return " ".join(f"{name}{i}" for i in range(first, first + count))

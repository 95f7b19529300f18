"""The system of four buses in which OpenIPSL's models were verified with PSS/E, and figures of those traces.

Facts of the public repository ALSETLab/NYPAModelTransformation, which has no licence: network, records and
events as its scripts give them to PSS/E (`OpenIPSLVerification`), and single rows of its traces
(`CSVVerification/PSSE`) as quotations. No file of it is kept here.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import psmr
from psmr import Case
from tests.internals import LoadRow, System

SMALL = 5e-5
"""Step of PSS/E in s around an event. Printed times are sums in single precision, of 5.0068e-5 s beyond 2 s:
steps count, not times."""

RAW = """0, 100.0, 33, 0, 1, 50.0 / four buses
GENERATOR AND INFINITE BUS, A LOAD BETWEEN THEM
VERIFICATION OF OPENIPSL
1,'GEN1',100,2,1,1,1,1.0,0
2,'LOAD',100,1,1,1,1,1.0,0
3,'GEN2',100,3,1,1,1,1.0,0
22,'FAULT',100,1,1,1,1,1.0,0
0 / LOAD
2,'1',1,1,1,50,10,0,0,0,0,1,1,0
0 / SHUNT
0 / GENERATOR
1,'1',40,5,60,0,1.0,0,100,0,0.2,0,0,1,1,100,80,0,1,1
3,'1',10,5,60,0,1.0,0,100,0,0.2,0,0,1,1,100,80,0,1,1
0 / BRANCH
1,2,'1',1E-3,0.2,0,0,0,0,0,0,0,0,1,1,0,1,1
2,3,'1',1E-3,0.2,0,0,0,0,0,0,0,0,1,1,0,1,1
2,22,'1',5E-4,0.1,0,0,0,0,0,0,0,0,1,1,0,1,1
3,22,'1',5E-4,0.1,0,0,0,0,0,0,0,0,1,1,0,1,1
0 / TRANSFORMER
Q
"""

INFINITE_BUS = "3 'GENCLS' 1 0 0 /\n"

ROUND = "1 'GENROU' 1 5 0.07 0.9 0.09 4.28 0 1.84 1.75 0.41 0.6 0.2 0.12 0.11 0.39 /\n"
EXPONENTIAL = ROUND.replace("GENROU", "GENROE")
OTHER = "1 'GENROU' 1 5 0.05 0.7 0.1 4 0 1.41 1.35 0.3 0.6 0.2 0.12 0.1 0.5 /\n"
SALIENT = "1 'GENSAL' 1 6.7 0.028 0.0358 4.41 0 1.22 0.76 0.297 0.2 0.12 0.186 0.802 /\n"
BUS_FED = "1 'ESST1A' 1 1 {} 0.1 0.3 -0.3 2 10 0.08 0.083 300 0.1 7 -7 5.2 -5.2 0.38 1 1 1 0 /\n"
ROTATING = "1 'IEEET1' 1 0.06 200 0.001 2 -2 0.1 0.55 0.06 1 0 2.85 0.3 3.8 0.6 /\n"
SLOW_SCRX = SALIENT + "1 'SCRX' 1 0.1 10 100 0.05 0 5 0 0 /\n"

RECORDS = {
    "GENCLS": "1 'GENCLS' 1 6 0 /\n",
    "GENROE": EXPONENTIAL,
    "GENROU": ROUND,
    "GENSAL": "1 'GENSAL' 1 5 0.07 0.09 4.28 0 1.84 1.75 0.41 0.2 0.12 0.11 0.39 /\n",
    "GENSAE": "1 'GENSAE' 1 5 0.07 0.09 4.28 0 1.84 1.75 0.41 0.2 0.12 0.11 0.39 /\n",
    "ESAC1A": EXPONENTIAL
    + "1 'ESAC1A' 1 0.04 2 10 400 0.02 9 -5.34 0.8 0.03 1 0.2 0.48 1 5.25 0.03 7 0.1 3 -3 /\n",
    "ESAC2A": OTHER
    + "1 'ESAC2A' 1 0 0 0 400 0.02 9 -5.43 1 4 -4 0.8 10 0 0.03 1 0.2 0.48 1 5.25 0.03 7 0.1 /\n",
    "ESDC1A": EXPONENTIAL + "1 'ESDC1A' 1 0.04 75 0.05 1 1 0 -3.9 0 0.5 0.07 1 0 2.47 0.035 4.5 0.47 /\n",
    "ESDC2A": EXPONENTIAL + "1 'ESDC2A' 1 0.04 75 0.05 1 1 0 -3.9 0 0.5 0.07 1 0 2.47 0.035 4.5 0.47 /\n",
    "ESST1A": EXPONENTIAL + BUS_FED.format(1),
    "ESST4B": OTHER + "1 'ESST4B' 1 0.3 2.97 2.97 1 -0.87 0.01 1 0.2 1 -0.87 0.1 6.73 0.1 8.41 0.1 0 0 /\n",
    "EXAC1": EXPONENTIAL
    + "1 'EXAC1' 1 0.004 0.004 0.004 400 0.02 9 -5.43 0.8 0.03 1 0.2 0.48 1 5.25 0.03 7 0.1 /\n",
    "EXAC2": EXPONENTIAL
    + "1 'EXAC2' 1 0.005 0.005 0.005 400 0.02 9 -5.34 2 4 -4 0.8 1 2 0.03 1 0.2 0.48 1 10 5.25\n"
    + "0.03 7 0.1 /\n",
    "EXNI": EXPONENTIAL + "1 'EXNI' 1 0.06 150 0 4 -4 0.011 0.4 0.7 0 10 /\n",
    "EXST1": EXPONENTIAL + "1 'EXST1' 1 0.02 10 -10 0.1 1 80 0.05 8 -3 0.2 0.1 1 /\n",
    "IEEET1": EXPONENTIAL + "1 'IEEET1' 1 0.02 200 0.001 2 -2 0.1 0.55 0.06 1 0 2.85 0.3 3.8 0.6 /\n",
    "IEEET2": EXPONENTIAL + "1 'IEEET2' 1 0.02 200 0.001 2 -2 0.1 0.55 0.06 0.3 0.6 2.85 0.3 3.8 0.6 /\n",
    "IEEEX1": EXPONENTIAL + "1 'IEEEX1' 1 0.04 75 0.05 1 1 3.9 -3.9 0 0.5 0.07 1 0 2.47 0.035 4.5 0.47 /\n",
    "SCRX": ROUND + "1 'SCRX' 1 0.1 1 100 0.005 -10 10 0 0 /\n",
    "SEXS": ROUND + "1 'SEXS' 1 0.1 1 100 0.1 -10 10 /\n",
    "ST5B": EXPONENTIAL
    + "1 'ST5B' 1 0 0.8 6 0.08 0.01 200 5 -4 0.001 0.004 2 10 0.1 0.05 0.1 2 0.08 0.08 /\n",
    "URST5T": ROUND + "1 'URST5T' 1 0.025 0.1 0.2 1 1 1 10 -10 0.58 0.3 /\n",
    "IEEEST": EXPONENTIAL
    + BUS_FED.format(1)
    + "1 'IEEEST' 1 1 0 48.743 4.7488 0 0 -85.776 0.0459 0.7361 1.5868\n"
    + "0 0.02 13.892 0.1057 0.0099 0.1 -0.1 0 0 /\n",
    "PSS2A": EXPONENTIAL
    + BUS_FED.format(2)
    + "1 'PSS2A' 1 1 0 3 0 5 1 5 0 0 5 5 5 0.758 1 0.12 0.1 2 0.47 0.07 0.47 0.07 0.1 -0.1 /\n",
    "PSS2A-VOS1": EXPONENTIAL
    + BUS_FED.format(1)
    + "1 'PSS2A' 1 1 0 3 0 5 1 5 0 0 5 5 5 0.758 1 0.12 0.1 2 0.47 0.07 0.47 0.07 0.1 -0.1 /\n",
    "PSS2B": EXPONENTIAL
    + BUS_FED.format(1)
    + "1 'PSS2B' 1 1 0 3 0 0 0 2 2 0 2 0 2 0.1564 1 0 0 10 0.25 0.03 0.15 0.015 0 0 999 -999 999 -999\n"
    + "0.1 -0.1 /\n",
    "IEEEG1": OTHER
    + ROTATING
    + "1 'IEEEG1' 1 0 0 20 0.15 0 0.2 0.1 -0.1 0.903 0 0.25 0.25 0 7.5 0.25 0 0.4 0.5 0 9999 0 0 /\n",
    "GAST": OTHER + ROTATING + "1 'GAST' 1 0.05 0.4 0.1 3 0.9 2 1 -0.05 0 /\n",
    "GGOV1": OTHER
    + "1 'GGOV1' 1 0 0 0.04 1 0.05 -0.05 10 2 0 1 1 0.15 0.5 1.5 0.2 0.1 0 0 3 2 0.67 1 0 0.1 -0.1 0\n"
    + "0.1 10 0.1 0 0 4 5 99 -99 /\n",
    "HYGOV": SLOW_SCRX + "1 'HYGOV' 1 0.05 0.3 5 0.05 0.5 0.02 0.415 0 1.25 1.2 0.2 0.08 /\n",
    "IEESGO": SLOW_SCRX + "1 'IEESGO' 1 0.01 0 0.15 0.3 8 0.4 0.1 0.7 0.43 1 0 /\n",
    "TGOV1": EXPONENTIAL + "1 'TGOV1' 1 0.04 0.4 0.86 0.3 2 6 0 /\n",
}
"""Records of bus 1 by the model that a trace is of. IEEEST has the input code 0 there, of which no document
says what it is; 1, the speed, is taken. Traces of the older folder `WorkingDir` with ESST1A and a stabiliser
are of VOS = 1: that is seen at PSS2A, of which both folders have the load's."""


def case(records: str) -> Case:
    """Return the case with DYR records for bus 1; P of the load is a constant current, Q an impedance."""
    with tempfile.TemporaryDirectory() as folder:
        raw, dyr = Path(folder) / "smib.raw", Path(folder) / "smib.dyr"
        raw.write_text(RAW)
        dyr.write_text(records + INFINITE_BUS)
        return psmr.read_case(raw, dynamics=dyr, loads={"p": (0, 1, 0), "q": (1, 0, 0)})


def with_a_second_load(case: Case) -> Case:
    """Return the case with a load of constant power at bus 2, near nothing, that `events` changes."""
    power = (0.0, 0.0, 1.0)
    return replace(case, loads=(*case.loads, LoadRow(2, 1e-9, 1e-9, power, power, name="load2-2")))


def events(kind: str, system: System) -> list[Any]:
    """Return what happens at 0 s: a fault of 2996 steps, 100 + j20 MVA of constant power, or v_ref + 0.02."""
    if kind == "fault":
        return [fault(0.0, 2996 * SMALL)]
    if kind == "load":
        return [psmr.ParameterStep("load2-2", name, value, 0.0) for name, value in (("p", 1.0), ("q", 0.2))]
    now = float(system.w0[system.index("AVR1.v_ref")])
    return [psmr.SetPoint("AVR1", "v_ref", now + 0.02, 0.0)]


def fault(start: float, clear: float | None) -> psmr.Fault:
    """Return the fault at bus 22 as PSS/E has it, an admittance of -j 2e9 MVA."""
    return psmr.Fault(22, start, clear, permanent=clear is None, x=5e-8)


DURING_THE_FAULT = (
    # Step since the fault; P of the machine in pu, V at buses 1, 2 and 3, deviation of the speed.
    (68, 0.0903478, 0.609418, 0.227709, 0.310981, 0.000122792),
    (100, 0.0899348, 0.604046, 0.226269, 0.310622, 0.000180699),
    (140, 0.0894598, 0.597600, 0.224538, 0.310190, 0.000253180),
    (180, 0.0890272, 0.591436, 0.222882, 0.309776, 0.000325760),
    (2976, 0.1036290, 0.462887, 0.185845, 0.300025, 0.005345990),
    (2996, 0.1038870, 0.462775, 0.185780, 0.300001, 0.005380350),
)
"""Rows of PSS/E's trace of SCRX through a fault at bus 22; the last is that in which it clears."""

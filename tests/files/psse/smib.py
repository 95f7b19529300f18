"""The system of four buses in which OpenIPSL's models were verified with PSS/E, and figures of those traces.

Facts of the public repository ALSETLab/NYPAModelTransformation, which has no licence: network, records and
events as its scripts give them to PSS/E (`OpenIPSLVerification`), and single rows of its traces
(`CSVVerification/PSSE`) as quotations. No file of it is kept here.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import psmr
from psmr import Case

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

SCRX = ROUND + "1 'SCRX' 1 0.1 1 100 0.005 -10 10 0 0 /\n"


def case(records: str) -> Case:
    """Return the case with DYR records for bus 1; P of the load is a constant current, Q an impedance."""
    with tempfile.TemporaryDirectory() as folder:
        raw, dyr = Path(folder) / "smib.raw", Path(folder) / "smib.dyr"
        raw.write_text(RAW)
        dyr.write_text(records + INFINITE_BUS)
        return psmr.read_case(raw, dynamics=dyr, loads={"p": (0, 1, 0), "q": (1, 0, 0)})


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

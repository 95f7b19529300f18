"""A composite load: the record of a public tool's defaults, and the case that has it at bus 102."""

import functools
import tempfile
import warnings
from pathlib import Path

import psmr
from tests.files.psse.traces import HERE
from tests.internals import RECORDS

MOTOR_A = "3 0.75 0.04 1.8 0.12 0.104 0.095 0.0021 0.1 0 0.65 0.1 0.2 1 99999 0.5 0.02 0.75 0.65 0.1"
MOTOR_B = "3 0.75 0.03 1.8 0.19 0.14 0.2 0.0026 0.5 2 0.55 0.02 0.3 0.65 0.05 0.5 0.025 0.3 0.6 0.05"
MOTOR_C = "3 0.75 0.03 1.8 0.19 0.14 0.2 0.0026 0.1 2 0.58 0.03 0.2 0.68 0.05 0.52 0.03 0.3 0.62 0.1"
RECORD = (
    "-1 0 0.04 0.04 0.75 0.08 1 1 1 0.9 1.1 0.00625 1.025 1.04 30 5 0 0 0.147 0.127 0.072 0.06 0.159 1"
    f" 0.7 0.5 -0.999 2 0.578 1 0.422 0 2 -0.5 1 1.5 -1 {MOTOR_A} {MOTOR_B} {MOTOR_C} 0.03 0.3 0.02 0.05"
    " 1 0.98 0.45 0.1 0.1 0 0 1 6 2 12 3.2 11 2.5 0.86 0.2 0.95 1 -3.3 0.5 0.4 0.6 0.5"
    " 15 0.7 1.9 0.1 0.6 0.02 1 9999 0.8"
)
"""Values of CMLDBLU2. Source: TDcoSim (Argonne National Laboratory, BSD-3-Clause), the defaults of its
composite_load_model_rating.json; with Q1c and Q2c rounded."""

NAMES = RECORDS["CMLD*U2"].split()
VALUES = dict(zip(NAMES, map(float, RECORD.split()), strict=True))
PARAMETERS = {name: value for name, value in VALUES.items() if not name.startswith("mtyp")}
RAW, MACHINES = HERE / "LOAD" / "ThreeBusMulti.raw", HERE / "LOAD" / "ThreeBus_GENROU.dyr"


def text(**changes):
    """The record with some values changed, as a line of a DYR file for the load at bus 102."""
    values = VALUES | {name: float(value) for name, value in changes.items()}
    words = " ".join(f"{values[name]:.17g}" for name in NAMES)
    return f"102 'USRLOD' 1 'CMLDBLU2' 12 1 2 133 27 146 48 0 0 {words} /\n"


def read(record):
    """The three-bus case with a record beside its machines."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.dyr"
        path.write_text(MACHINES.read_text() + record)
        return psmr.read_case(RAW, path)


@functools.cache
def system_with(**changes):
    """The built case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return psmr.build(read(text(**changes)))

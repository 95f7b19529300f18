"""The RAW and DYR pairs of the ANDES package, and what of them psmr does not have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

andes = pytest.importorskip("andes")
CASES = Path(andes.__file__).parent / "cases"

COMPENSATOR = "a voltage compensator, with which ANDES' start fails its own check by 0.005 pu"
TOGGLE = "an event of ANDES, no device: psmr has events in its study files"
# The turbine at bus 6 of IEEE 14 starts exactly at its lower limit.
IEEE14_OPENED = {"1.0500      0.30000": "1.0500 0.29000"}

# ANDES takes the zeros of ESDC2A for V_RMAX and K_E literally (V_RMAX as 999): values that are not zero.
WECC_LITERAL = {
    f"0.0000       0.0000      -{low}.0000       0.0000": f"0.0 99.0 -{low}.0 1e-9" for low in (2, 3)
}


@dataclass(frozen=True)
class Pair:
    """Two files below ANDES' cases.

    `left_out` says of each model that psmr does not have why, `uncompared` of each one that both have and
    that no comparison is made with; `opened` are texts of the DYR file and what stands for them where a limit
    must not be touched at the start, or a zero means something to psmr only.
    """

    raw: str
    dyr: str
    left_out: Mapping[str, str] = field(default_factory=dict)
    opened: Mapping[str, str] = field(default_factory=dict)
    uncompared: Mapping[str, str] = field(default_factory=dict)

    @property
    def raw_path(self) -> Path:
        return CASES / self.raw

    @property
    def dyr_path(self) -> Path:
        return CASES / self.dyr

    def compared_in(self, folder: Path) -> Path:
        """Write the DYR file of what is compared, with its limits open, and return its path."""
        text = self.dyr_path.read_text()
        for old, new in self.opened.items():
            assert old in text
            text = text.replace(old, new)
        without = {*self.left_out, *self.uncompared}
        compared = [record for record in records(text) if model_of(record) not in without]
        return written(folder / self.dyr_path.name, compared)


def model_of(record: str) -> str:
    """Return the model of a DYR record, in capitals."""
    return re.search(r"'\s*(\w+)\s*'", record)[1].upper()


def records(text: str) -> list[str]:
    """Return the records of a DYR file, without their slashes."""
    return [record for record in text.split("/") if record.strip()]


def written(path: Path, dynamics: list[str]) -> Path:
    """Write records as a DYR file and return its path."""
    path.write_text("/\n".join(dynamics) + "/\n")
    return path


PAIRS = {
    "kundur_gencls": Pair("kundur/kundur.raw", "kundur/kundur_gencls.dyr", {"TOGGLE": TOGGLE}),
    "kundur_full": Pair("kundur/kundur.raw", "kundur/kundur_full.dyr", {"TOGGLE": TOGGLE}),
    "npcc_full": Pair("npcc/npcc.raw", "npcc/npcc_full.dyr"),
    "ieee14": Pair("ieee14/ieee14.raw", "ieee14/ieee14.dyr", {"TOGGLE": TOGGLE}, IEEE14_OPENED),
    "ieee14_ieeevc": Pair(
        "ieee14/ieee14_ieeevc.raw",
        "ieee14/ieee14_ieeevc.dyr",
        {"TOGGLE": TOGGLE},
        IEEE14_OPENED,
        {"IEEEVC": COMPENSATOR},
    ),
    "wecc_gencls": Pair("wecc/wecc.raw", "wecc/wecc_gencls.dyr"),
    "wecc_full": Pair("wecc/wecc.raw", "wecc/wecc_full.dyr", {}, WECC_LITERAL),
}

"""The RAW and DYR pairs of the ANDES package, and what of them psmr does not have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

andes = pytest.importorskip("andes")
CASES = Path(andes.__file__).parent / "cases"

TOGGLE = "an event of ANDES, no device: psmr has events in its study files"


@dataclass(frozen=True)
class Pair:
    """Two files below ANDES' cases; `left_out` says of each model that psmr does not have why."""

    raw: str
    dyr: str
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def raw_path(self) -> Path:
        return CASES / self.raw

    @property
    def dyr_path(self) -> Path:
        return CASES / self.dyr


PAIRS = {
    "kundur_gencls": Pair("kundur/kundur.raw", "kundur/kundur_gencls.dyr", {"TOGGLE": TOGGLE}),
    "npcc_full": Pair("npcc/npcc.raw", "npcc/npcc_full.dyr"),
    "wecc_gencls": Pair("wecc/wecc.raw", "wecc/wecc_gencls.dyr"),
}


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

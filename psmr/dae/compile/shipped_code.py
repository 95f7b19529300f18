"""Compiled code that comes with a wheel: for every processor of a kind, read only, trusted as the package is.

A wheel may have machine code in ``psmr/compiled``, made by the package's own cache (`psmr warmup`) for
what nearly all processors of its platform have. It is named as entries of the cache are, after everything
that shapes it: what another version of Python's minor version, numba, llvmlite or psmr's sources needs is
compiled as ever. Who can write the folder can write psmr itself, so that owner and rights are not looked at;
the checksum is, and what is damaged is compiled.
"""

from __future__ import annotations

import functools
import os
import platform
from dataclasses import dataclass
from pathlib import Path

import llvmlite.binding as llvm

from psmr.dae.compile import cache_files

PLACE = Path(__file__).parents[2] / "compiled"
"""The folder of the package that has shipped code."""


@dataclass(frozen=True)
class Target:
    """A kind of processors that code is made for.

    `name`, `features`: What LLVM calls it, and what is added to that.
    `needs`: Features that a processor of that kind has.
    """

    name: str
    features: str
    needs: tuple[str, ...]

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of a process whose cache is to have code for it."""
        return {"NUMBA_CPU_NAME": self.name, "NUMBA_CPU_FEATURES": self.features}


_X86_64_V3 = "sse3 ssse3 sse4.1 sse4.2 popcnt cx16 avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"

TARGETS = {
    # Haswell of 2013 and later: AVX2 and fused products; within a per cent of code for the very processor.
    "x86_64": Target("x86-64-v3", "", tuple(_X86_64_V3.split())),
    "aarch64": Target("generic", "+neon", ("neon",)),
}
TARGETS |= {"AMD64": TARGETS["x86_64"], "arm64": TARGETS["aarch64"]}


def portable_target() -> Target | None:
    """Return the kind of processors that code shipped for this machine is made for, None where none is."""
    return TARGETS.get(platform.machine())


@functools.cache
def shipped_target() -> Target | None:
    """Return the kind of processors whose shipped code can be run here, None where there is none.

    None, too, where numba's variables ask for code for another processor.
    """
    target = portable_target() if PLACE.is_dir() else None
    if target is None or any(os.environ.get(name, kind) != kind for name, kind in target.environment.items()):
        return None
    features = llvm.get_host_cpu_features()
    return target if all(features.get(need, False) for need in target.needs) else None


def read_shipped(folder: str, name: str) -> bytes | None:
    """Return an entry that came with the package; None where it has none, or that is damaged."""
    return cache_files.read_trusted(PLACE / folder / name) if PLACE.is_dir() else None


def read_entry(folder: str, name: str) -> bytes | None:
    """Return what came with the package or is kept of what no processor shapes; None where there is none."""
    found = read_shipped(folder, name)
    return cache_files.read_entry(cache_files.folder(folder) / name) if found is None else found


def processor() -> tuple[str, str, str]:
    """Return the triple, the name and the features of the processor that code is made for here.

    numba's variables ``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` count for all of psmr's code.
    """
    name, features = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = "" if name == "generic" else llvm.get_host_cpu_features().flatten()
    return llvm.get_process_triple(), name or llvm.get_host_cpu_name(), features

"""A manufacturer's controller as a library of the IEEE/CIGRE interface: found, opened, described."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from pathlib import Path
from typing import Any

from psmr.base.errors import InputError, in_line
from psmr.sampled import layout
from psmr.sampled.description import EMT, description
from psmr.sampled.description import RMS as RMS
from psmr.sampled.description import CodeInfo as CodeInfo
from psmr.sampled.description import CodeParameter as CodeParameter
from psmr.sampled.description import Port as Port
from psmr.sampled.description import labels as labels
from psmr.sampled.instance import CodeInstance

NEEDED = ("Model_GetInfo", "Model_CheckParameters", "Model_Initialize", "Model_Outputs")

# Places in the heads of files: the machine of ELF, and where PE has its own head.
_ELF, _PE, _MACH = b"\x7fELF", b"MZ", (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_ELF_MACHINES = {3: "x86", 40: "arm", 62: "x86_64", 183: "arm64"}
_PE_MACHINES = {0x14C: "x86", 0x8664: "x86_64", 0xAA64: "arm64"}
_ALIKE = {"amd64": "x86_64", "aarch64": "arm64"}
_SYSTEMS = {"linux": "Linux", "win32": "Windows", "darwin": "macOS"}


class CodeLibrary:
    """A compiled controller written to the IEEE/CIGRE interface (CIGRE Technical Brochure 958, API 2).

    A library is a program: opening it runs its code with all rights of the person.

    Parameters
    ----------
    path
        The library: ``.so`` on Linux, ``.dll`` on Windows, ``.dylib`` on macOS, for the processor of this
        Python.

    Attributes
    ----------
    path
        Where it was found.
    info
        What it says of itself, a `CodeInfo`.

    Raises
    ------
    InputError
        For a file that is not there, is no library or one for another machine, lacks an entry point, has
        another version of the interface or describes itself in a way that cannot be.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._library = open_library(self.path)
        missing = [name for name in NEEDED if not hasattr(self._library, name)]
        if missing:
            raise InputError(
                f"{self.path}: has no {', '.join(missing)}: it is not written to the IEEE/CIGRE interface "
                "(CIGRE TB 958), or does not export its functions; ask its maker for the library with that "
                "interface"
            )
        get = self._library.Model_GetInfo
        get.restype = ctypes.POINTER(layout.Info)
        found = get()
        if not found:
            raise InputError(f"{self.path}: Model_GetInfo returned nothing")
        self.info = description(self.path, found.contents)

    def instance(self, name: str = "", mode: int = EMT, **parameters: float | str) -> CodeInstance:
        """Return a controller with these parameters by name; what is not given has the library's default.

        `name` is what messages call it, `mode` 1 for instantaneous values and 2 for phasors. Raises
        InputError for a parameter that the library does not have, of the wrong kind or outside its bounds,
        and with the library's own words for one that it objects to.
        """
        return CodeInstance(self, name, mode, parameters)

    def function(self, name: str) -> Any:
        """Return a function of the library that takes an instance; None where it is left out."""
        return getattr(self._library, name, None)

    def __repr__(self) -> str:
        return f"CodeLibrary({os.fspath(self.path)!r})"


def open_library(path: Path) -> ctypes.CDLL:
    """Return the library in a file."""
    try:
        with path.open("rb") as file:
            head, size = file.read(4096), os.fstat(file.fileno()).st_size
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    foreign = _foreign(head)
    if foreign:
        raise InputError(
            f"{path}: is {foreign}, and this is {_SYSTEMS.get(sys.platform, sys.platform)} on "
            f"{_machine()}: ask its maker for the library for this machine"
        )
    if size < (whole := _size_of(head)):  # to open it would end this program
        raise InputError(f"{path}: is cut short: it has {size} of at least {whole} bytes; copy it again")
    try:
        return ctypes.CDLL(os.fspath(path.absolute()))
    except OSError as error:
        raise InputError(f"{path}: cannot be opened as a library: {in_line(str(error))}") from error


def _machine() -> str:
    name = platform.machine().lower()
    return _ALIKE.get(name, name)


def _foreign(head: bytes) -> str:
    """Return what a file is that begins so where it is no library for this machine, "" where it is one."""
    if head[:4] == _ELF and len(head) >= 20:
        system, machine = "linux", _ELF_MACHINES.get(struct.unpack_from("<H", head, 18)[0], "")
    elif head[:2] == _PE and len(head) >= 64:
        at = struct.unpack_from("<I", head, 60)[0]
        known = at + 6 <= len(head) and head[at : at + 4] == b"PE\0\0"
        system, machine = (
            "win32",
            _PE_MACHINES.get(struct.unpack_from("<H", head, at + 4)[0], "") if known else "",
        )
    elif head[:4] in _MACH:
        system, machine = "darwin", ""
    else:
        return "no library"
    if system == sys.platform and (not machine or machine == _machine()):
        return ""
    return f"a library for {_SYSTEMS[system]}" + (f" on {machine}" if machine else "")


def _size_of(head: bytes) -> int:
    """Return the least size in bytes of a file of ELF (64 bits) that begins so: sections are last."""
    if head[:5] != _ELF + b"\2" or len(head) < 64:
        return 0
    (start,), (entry, count) = struct.unpack_from("<Q", head, 40), struct.unpack_from("<HH", head, 58)
    return int(start + entry * count)

"""Compile the driver of IDA against SUNDIALS, wherever that is, and load it."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).with_name("ida_driver.c")
FLAGS = ("-O3", "-march=native", "-ffast-math", "-shared", "-fPIC")
LIBRARIES = ("sundials_ida", "sundials_nvecserial")

MISSING = """\
{what}. The comparison needs a C compiler and SUNDIALS with IDA, version 6 or 7:

  Debian and Ubuntu:  apt install gcc libsundials-dev
  from source, and faster (Debian's library takes up to twice the time), in a folder with SUNDIALS' sources:
      cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS="-O3 -march=native -ffast-math" \\
          -DBUILD_TESTING=OFF -DEXAMPLES_ENABLE_C=OFF -DCMAKE_INSTALL_PREFIX=PREFIX
      cmake --build build && cmake --install build
  then say where:     python -m tests.programs.benchmarks.against_ida --sundials PREFIX"""


class MissingSundialsError(RuntimeError):
    """What IDA is built from is not there; the message says what and how to get it."""


@functools.cache
def load(prefix: Path | None) -> ctypes.CDLL:
    """Return the driver, compiled against SUNDIALS under a prefix, or where the system has it.

    Raises
    ------
    MissingSundialsError
        With what is missing.
    """
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise MissingSundialsError(MISSING.format(what="There is no C compiler"))
    folders = [prefix] if prefix is not None else [Path("/usr/local"), Path("/usr")]
    roots = [folder for folder in folders if (folder / "include" / "ida" / "ida.h").is_file()]
    if not roots:
        looked = ", ".join(str(folder / "include" / "ida" / "ida.h") for folder in folders)
        raise MissingSundialsError(MISSING.format(what=f"There is no {looked}"))
    return _described(ctypes.CDLL(str(_compiled(compiler, roots[0]))))


def _compiled(compiler: str, root: Path) -> Path:
    """Compile into a folder of this process."""
    target = Path(tempfile.mkdtemp(prefix="psmr-ida-")) / "ida_driver.so"
    folders = [folder for folder in (root / "lib", root / "lib64") if folder.is_dir()]
    libraries = [*LIBRARIES, *(["sundials_core"] if _has(folders, "sundials_core") else [])]
    command = [compiler, *FLAGS, str(SOURCE), "-o", str(target), f"-I{root / 'include'}"]
    for folder in folders:
        command += [f"-L{folder}", f"-Wl,-rpath,{folder}"]
    command += [f"-l{name}" for name in libraries]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise MissingSundialsError(
            MISSING.format(what=f"{' '.join(command)} failed: {done.stderr.strip()[:800]}")
        )
    return target


def _has(folders: list[Path], library: str) -> bool:
    """Return whether a library is in one of the folders, or in one for this machine below it."""
    return any(any(folder.glob(f"{below}lib{library}.*")) for folder in folders for below in ("", "*/"))


def _described(library: ctypes.CDLL) -> ctypes.CDLL:
    """Say what the functions of the driver take; arrays are given by address."""
    pointer, whole, real, flag = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double, ctypes.c_int
    library.ida_new.restype, library.ida_new.argtypes = pointer, [pointer]
    library.ida_free.restype, library.ida_free.argtypes = None, [pointer]
    library.ida_counts.restype, library.ida_counts.argtypes = None, [pointer, pointer]
    library.ida_march.restype = flag
    library.ida_march.argtypes = [
        pointer, real, real, pointer, pointer, real, flag, flag, whole, pointer, pointer,
    ]  # fmt: skip
    return library

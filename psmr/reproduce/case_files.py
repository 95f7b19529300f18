"""Where the case files are that a paper needs: in a checkout, or installed beside the package."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from pathlib import Path

from psmr.errors import InputError


def case_folder(system: str, file: str) -> Path:
    """Return the folder of a system's case files.

    Looked for in the checkout that this file is in, among the files that the wheel installed
    (``share/psmr/cases``), and below the working directory.

    Parameters
    ----------
    system
        Folder below ``cases``, ``"wscc9"``.
    file
        A file that must be in it.

    Raises
    ------
    InputError
        Where it is in none of them.
    """
    looked = []
    for place in _places():
        folder = place / "cases" / system
        if (folder / file).is_file():
            return folder
        looked.append(str(folder))
    raise InputError(
        f"{file} is not in {', '.join(looked)}; run the command in a checkout of psmr, or install psmr from "
        "its wheel, which has the case files"
    )


def _places() -> Iterator[Path]:
    yield Path(__file__).resolve().parents[2]
    yield from _installed()
    yield Path.cwd()


def _installed() -> Iterator[Path]:
    """Yield the folder of the installed data, as the record of the installation has it."""
    try:
        files = importlib.metadata.files("psmr") or ()
    except importlib.metadata.PackageNotFoundError:
        return
    for file in files:
        if file.parts[-4:-2] == ("psmr", "cases"):
            yield Path(str(file.locate())).resolve().parents[2]
            return

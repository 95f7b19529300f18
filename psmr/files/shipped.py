"""The cases that ship with psmr: the folder ``cases`` of a checkout, which a wheel has within the package."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError, nearest, shown

if TYPE_CHECKING:
    from psmr.network.case.case import Case

_INSTALLED, _CHECKOUT = (Path(__file__).parents[place] / "cases" for place in (1, 2))

FOLDER = _INSTALLED if (_INSTALLED / "wscc9").is_dir() else _CHECKOUT
"""In a checkout the folder at its top, in an installed package the one within."""

KINDS = ("case", "study", "sweep")


def case_path(name: str) -> Path:
    """Return the path of a case, or of another file, that ships with psmr.

    Parameters
    ----------
    name
        Of a case file without its suffix, ``"wscc9"``, or of a file with its folder, ``"wscc9/fault.toml"``;
        of that the suffix .toml may be left out.

    Raises
    ------
    InputError
        For a name that none has, with the nearest.
    """
    check_arguments(case_path, locals())
    known = shipped_cases()
    if name in known:
        return known[name]
    files = {file.relative_to(FOLDER).as_posix(): file for file in FOLDER.glob("*/*") if file.is_file()}
    for file in (name, f"{name}.toml"):
        if file in files:
            return files[file]
    if not known:
        raise InputError(f"there are no cases in {FOLDER}: install psmr again, or check out its folder cases")
    studies = [file.removesuffix(".toml") for file in files if Path(file).stem == name]
    if studies:
        hint = f"; did you mean {' or '.join(map(shown, sorted(studies)))}?"
    else:
        hint = nearest(name, files if "/" in name else known)
    raise InputError(f"name = {shown(name)}: no case of psmr is called that{hint}; known: {', '.join(known)}")


def located(path: str) -> str:
    """Return a path as it is where there is such a file, or else that of what ships with psmr by this name.

    What looks like a file, with a suffix, is returned as it is: who reads it says that it is not there.

    Raises InputError for a name that is neither, with the nearest.
    """
    if path in ("", "-") or os.path.exists(path):
        return path
    try:
        return str(case_path(path))
    except InputError as error:
        if os.path.splitext(path)[1]:
            return path
        raise InputError(f"there is no file {shown(path)}, and {str(error).partition(': ')[2]}") from error


def case(name: str) -> Case:
    """Return a case that ships with psmr, ``psmr.case("wscc9")``; see `case_path` for names.

    Raises
    ------
    InputError
        For a name that none has, with the nearest.
    """
    from psmr.files.case_file import read_case

    return read_case(case_path(name))


def shipped_files() -> list[dict[str, str]]:
    """Return name, kind (case, study or sweep) and title of every file of these kinds that ships with psmr.

    A name is what `case_path` and the commands take: that of a case, or of a study or sweep with its folder.
    """
    rows = []
    for file in sorted(FOLDER.glob("*/*.toml")):
        document = tomllib.loads(file.read_text(encoding="utf-8"))
        kind = document.get("format", "").removeprefix("psmr-")
        if kind in KINDS:
            name = file.stem if kind == "case" else f"{file.parent.name}/{file.stem}"
            rows.append({"folder": file.parent.name, "kind": kind, "name": name, "title": document["name"]})
    rows.sort(key=lambda row: (row.pop("folder"), KINDS.index(row["kind"])))
    return rows


def shipped_cases() -> dict[str, Path]:
    """Return the case files in psmr's own format by name."""
    files = sorted(FOLDER.glob("*/*.toml"))
    return {file.stem: file for file in files if 'format = "psmr-case"' in file.read_text(encoding="utf-8")}

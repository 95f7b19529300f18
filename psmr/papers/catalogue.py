"""The papers that can be reproduced, by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from psmr.errors import InputError, nearest
from psmr.papers.reproduction import Reproduction

Progress = Callable[[str], None]

PAPERS = ("huang-tzounas", "shi-rojas", "gil-sanfelice-nikravesh", "kuznetsov-krasnikov")


def reproduce(name: str, folder: str | Path, progress: Progress | None = None) -> Reproduction:
    """Reproduce a paper's tables and figures.

    Parameters
    ----------
    name
        One of `PAPERS`.
    folder
        Where figures go; made where it is missing.
    progress
        Called with the name of each part as it begins, see `parts`.

    Raises
    ------
    InputError
        For a paper that is not there, with the nearest known one.
    """
    module = _module(name)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    result: Reproduction = module.reproduce(folder, progress)
    return result


def parts(name: str) -> tuple[str, ...]:
    """Return the parts of a paper's reproduction in their order, as `progress` is called with them.

    Raises
    ------
    InputError
        For a paper that is not there, with the nearest known one.
    """
    named: tuple[str, ...] = _module(name).PARTS
    return named


def _module(name: str) -> ModuleType:
    if name not in PAPERS:
        raise InputError(f"no paper {name!r}{nearest(name, PAPERS)}; there are {', '.join(PAPERS)}")
    return importlib.import_module(f"psmr.papers.{name.replace('-', '_')}.reproduce")

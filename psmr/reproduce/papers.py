"""The papers that can be reproduced, by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from psmr.errors import InputError, nearest
from psmr.reproduce.reproduction import Reproduction

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
        Called with a few words at each part of the work.

    Raises
    ------
    InputError
        For a paper that is not there, with the nearest known one.
    """
    if name not in PAPERS:
        raise InputError(f"no paper {name!r}{nearest(name, PAPERS)}; there are {', '.join(PAPERS)}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    module = importlib.import_module(f"psmr.reproduce.{name.replace('-', '_')}")
    result: Reproduction = module.reproduce(folder, progress)
    return result

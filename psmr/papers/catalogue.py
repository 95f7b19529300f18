"""The papers that can be reproduced, by name."""

from __future__ import annotations

import importlib
from pathlib import Path

from psmr.base.errors import InputError, nearest
from psmr.papers.reproduction import FIGURES, Paper, Progress, Reproduction

PAPERS = (
    "huang-tzounas",
    "shi-rojas",
    "gil-sanfelice-nikravesh",
    "kuznetsov-krasnikov",
    "bouterakos-tzounas",
)


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
    found = paper(name)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return found.reproduce(folder, progress)


def parts(name: str) -> tuple[str, ...]:
    """Return the parts of a paper's reproduction in their order, as `progress` is called with them.

    Raises
    ------
    InputError
        For a paper that is not there, with the nearest known one.
    """
    return (*paper(name).parts, FIGURES)


def paper(name: str) -> Paper:
    """Return how a paper is reproduced.

    Raises
    ------
    InputError
        For a paper that is not there, with the nearest known one.
    """
    if name not in PAPERS:
        raise InputError(f"no paper {name!r}{nearest(name, PAPERS)}; there are {', '.join(PAPERS)}")
    found: Paper = importlib.import_module(f"psmr.papers.{name.replace('-', '_')}.paper").PAPER
    return found

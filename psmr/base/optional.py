"""Packages that only some of psmr's results need: a sentence where one is missing or does not work."""

from __future__ import annotations

import importlib
from types import ModuleType, TracebackType

from psmr.base.errors import PsmrError

OURS = ("psmr", "partitioning", "__main__")


def optional(module: str, what: str, install: str, otherwise: str) -> ModuleType:
    """Return a module of a package that need not be installed.

    Parameters
    ----------
    module
        Its name.
    what
        What needs it, as the beginning of a sentence.
    install, otherwise
        What pip installs, and what can be done without the package.

    Raises
    ------
    PsmrError
        Where the package is not installed, and where its import fails, by whatever it fails.
    """
    package = module.partition(".")[0]
    try:
        importlib.import_module(package)
        return importlib.import_module(module)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == package:
            why = f"which is not installed; pip install '{install}'"
        else:
            why = f"which is installed and {fails(package, error)}"
        raise PsmrError(f"{what} needs {package}, {why}, or {otherwise}") from error


def fails(package: str, error: BaseException) -> str:
    """Return the words on a package whose import fails."""
    words = " ".join(str(error).split())
    again = f"pip install --force-reinstall {package}"
    return f"cannot be imported ({type(error).__name__}: {words}); install it anew ({again})"


def broken_package(error: BaseException) -> str | None:
    """Return the package that an exception comes from while it was imported, None for any other exception."""
    step: TracebackType | None = error.__traceback__
    found = None
    while step is not None:
        if step.tb_frame.f_code.co_name == "<module>":
            found = str(step.tb_frame.f_globals.get("__name__")).partition(".")[0]
        step = step.tb_next
    return None if found is None or found in OURS else found

"""A run in a file, whole: points, system, scheme, events, certificates."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
import zlib
from pathlib import Path
from typing import Any

from psmr.arguments import check_arguments
from psmr.errors import InputError
from psmr.files import Together
from psmr.io.text import require_file
from psmr.study.output.files import placed
from psmr.study.record.recorded import Recorded

FORMAT, VERSION = "psmr-run", 1
HEAD, BODY = "head.json", "run.pickle"


def save_run(run: Recorded, path: str | os.PathLike[str], together: Together | None = None) -> None:
    """Write a run into a file that `load_run` reads, whole or not at all.

    The file appears at once, or with the others that are written `together`.

    Raises
    ------
    InputError
        For a folder that cannot be written, and for a run of components that have no module of their own
        (made in a prompt or a notebook), which no other process could read.
    """
    from psmr.version import __version__

    try:
        body = pickle.dumps(run)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"the run cannot be saved: {error}; put your components into a module that can be imported"
        ) from error
    head = {"format": FORMAT, "version": VERSION, "psmr": __version__, "name": run.name}
    with placed(path, together) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(HEAD, json.dumps(head))
        file.writestr(BODY, body)


def load_run(path: str | os.PathLike[str]) -> Any:
    """Return the `psmr.Run` that `Run.save` wrote.

    The file holds Python objects, so that opening one runs what its author put there: open only files of
    people you trust. For exchange there are CSV and Parquet.

    Raises
    ------
    InputError
        For a file that is no saved run, one of another version, or one whose components cannot be imported.
    """
    check_arguments(load_run, locals())
    place = Path(path)
    require_file(place)
    try:
        with zipfile.ZipFile(place) as file:
            head = json.loads(file.read(HEAD))
            if not isinstance(head, dict) or head.get("format") != FORMAT:
                raise KeyError(HEAD)
            if head["version"] != VERSION:
                raise InputError(
                    f"{place}: a run of version {head['version']}, written by psmr {head.get('psmr')}; this "
                    f"psmr reads version {VERSION}; run the study again"
                )
            body = file.read(BODY)
    except OSError as error:
        raise InputError(f"{place}: cannot be read: {error.strerror or error}; is the path right?") from error
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, RecursionError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{place}: is not a run saved by run.save or `psmr run --save`, or is damaged"
        ) from error
    from psmr.study.run.run import Run

    try:
        run = pickle.loads(body)
    except (pickle.UnpicklingError, EOFError) as error:
        raise InputError(f"{place}: is damaged ({error}); run the study again") from error
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"{place}: cannot be opened: {error}; make the modules of its components importable, or run the "
            "study again"
        ) from error
    if not isinstance(run, Run):
        raise InputError(f"{place}: holds a {type(run).__name__} and no run; run the study again")
    return run

"""A run read from the file that `psmr.study.run.save` wrote."""

from __future__ import annotations

import io
import itertools
import json
import math
import os
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError, PsmrError, PsmrWarning
from psmr.base.files import unreadable
from psmr.base.modules import is_installed, load_modules, source_of
from psmr.dae.system.validate_tables import first_invalid_table
from psmr.files.text import require_file
from psmr.integrate.run.table import available_memory, bytes_text
from psmr.study.detectors.detector import Stop
from psmr.study.run.run import Run
from psmr.study.run.save import ARRAY, BODY, FORMAT, HEAD, VERSION
from psmr.study.run.serialise import Damaged, Decoder


def load_run(path: str | os.PathLike[str], modules: Iterable[str] = (), allow_code: bool = False) -> Run:
    """Return the `psmr.Run` that `Run.save` wrote.

    Reading a file runs nothing that is in it.

    Parameters
    ----------
    path
        The file.
    modules
        Names of modules of your own whose components, events or schemes the run has. They are imported: from
        the run's folder or the current one, as they are installed, or else from where they were as it was
        saved.
    allow_code
        Whether all the modules are imported that the file names, in the same way, which runs them: for files
        and modules whose authors you trust.

    Raises
    ------
    InputError
        For a file that is no saved run, one of another version, or one with classes of other modules.

    Warns
    -----
    PsmrWarning
        For a file that another version of psmr wrote, and for a module that has changed since.
    """
    check_arguments(load_run, locals())
    from psmr.version import __version__

    place = Path(path)
    require_file(place)
    with _readable(place) as file:
        _require_room(place, file)
        head = json.loads(file.read(HEAD))
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise KeyError(HEAD)
    version, writer = head.get("version"), head.get("psmr")
    if type(version) is not int or version != VERSION:
        raise InputError(
            f"{place}: a run of version {version!r}, written by psmr {writer}; this psmr reads version "
            f"{VERSION}; run the study again"
        )
    known = head.get("modules", {})
    known = known if isinstance(known, dict) else {}
    modules = tuple(dict.fromkeys((*modules, *(known if allow_code else ()))))
    _import(place, modules, known)
    other = "" if writer == __version__ else f"psmr {writer} wrote it, this is {__version__}"
    try:
        with _readable(place) as file:
            run = _decoded(file, modules)
    except (Damaged, PsmrError, ImportError) as error:
        words = "is damaged" if isinstance(error, Damaged) else "cannot be opened"
        why = f"{error} ({other})" if other else str(error)
        again = "; run the study again" if other or isinstance(error, Damaged) else ""
        raise InputError(f"{place}: {words}: {why}{again}") from error
    if other:
        warnings.warn(
            f"{place}: {other}; its points are as they were, what is computed from them is as this psmr "
            "computes it",
            PsmrWarning,
            stacklevel=2,
        )
    return run


def _require_room(place: Path, file: zipfile.ZipFile) -> None:
    """Raise InputError for a file whose parts are larger than the memory, by what they say that they are."""
    needed, free = sum(part.file_size for part in file.infolist()), available_memory()
    if free is not None and needed > free:
        raise InputError(
            f"{place}: says that it holds {bytes_text(needed)}, more than the {bytes_text(free)} of memory"
            " that are free; save a run of fewer signals or every k-th step (record), or take another machine"
        )


def _import(place: Path, modules: tuple[str, ...], known: dict[str, Any]) -> None:
    """Import the modules that may be; `known` says where those of the run were, and their digests then."""
    for name in modules:
        then = known.get(name)
        then = then if isinstance(then, dict) else {}
        # The folder is whatever the file says: a module that is installed is not looked for there.
        homes = () if is_installed(name) else (_home(str(then.get("file", ""))),)
        load_modules((name,), (place.parent, Path(), *homes), str(place), allowed=True)
        if then and source_of(name).get("digest") != then.get("digest"):
            warnings.warn(
                f"{place}: {name} is not as it was when the run was saved; its points are as they were, what"
                " is computed from them is as the module says now",
                PsmrWarning,
                stacklevel=3,
            )


def _home(file: str) -> Path:
    """Return the folder in which a module was, by its file."""
    path = Path(file.replace("\0", ""))
    return path.parent.parent if path.name == "__init__.py" else path.parent


@contextmanager
def _readable(place: Path) -> Iterator[zipfile.ZipFile]:
    """Yield the open archive; what is wrong with it as an archive becomes a sentence."""
    try:
        with zipfile.ZipFile(place) as file:
            yield file
    except OSError as error:
        raise InputError(unreadable(place, error)) from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        KeyError,
        ValueError,
        RecursionError,
        EOFError,
        MemoryError,
    ) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{place}: is not a run saved by run.save or `psmr run --save`, or is damaged"
        ) from error


def _decoded(file: zipfile.ZipFile, modules: Iterable[str]) -> Run:
    """Return the run in an open file."""

    def array(k: Any) -> np.ndarray:
        if type(k) is not int:
            raise Damaged(f"{k!r} is no number of an array")
        # Through memory: numpy reads a file of its own kind by its descriptor.
        return _array(file.read(ARRAY.format(k)))

    content = json.loads(file.read(BODY))
    try:
        run = Decoder(array, modules).decode(content)
        _check(run)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise Damaged(f"{type(error).__name__} {error}") from error
    return run


def _array(content: bytes) -> np.ndarray:
    """Return an array as numpy writes it; refuse one that says that it is larger than it is."""
    stream = io.BytesIO(content)
    heads = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, _, kind = heads[np.lib.format.read_magic(stream)](stream)
    if math.prod(shape) * kind.itemsize != len(content) - stream.tell():
        raise Damaged(f"an array of the shape {shape} has {len(content) - stream.tell()} bytes")
    stream.seek(0)
    return np.lib.format.read_array(stream, allow_pickle=False)


def _check(run: Any) -> None:
    """Raise Damaged for what is no run, and for one whose parts do not fit one another."""
    if not isinstance(run, Run):
        raise Damaged(f"it holds a {type(run).__name__} and no run")
    if not isinstance(run.stopped, Stop | None):
        raise Damaged(f"what stopped it is a {type(run.stopped).__name__}")
    wrong = "" if run.system is None else first_invalid_table(run.system)
    if wrong:
        raise Damaged(f"{wrong} of its system does not fit the rest of it")
    if {table.dtype.kind for table in (run.t, run.x, run.y)} != {"f"}:
        raise Damaged("its points are no numbers")
    shapes = (len(run.t), len(run.names_x)), (len(run.t), len(run.names_y))
    if (run.x.shape, run.y.shape) != shapes:
        raise Damaged(f"its points have shapes {run.x.shape} and {run.y.shape} in place of {shapes}")
    begins = [span.first for span in run.timeline] + ([len(run.t)] if run.timeline else [])
    if begins[:1] not in ([], [0]) or any(b <= a for a, b in itertools.pairwise(begins)):
        raise Damaged(f"its spans begin at rows {begins[:-1]} of {len(run.t)}")
    for change in run.changes:
        for name, course in change.courses:
            rows = course.t.shape
            if len(rows) != 1 or {table.shape for table in (course.t, course.value, course.rate)} != {rows}:
                raise Damaged(f"the rows of the course of {name} do not fit one another")
    run.__post_init__()
    # What every look at a run begins with; what does not fit is said here and not there.
    for look in (run.signals.everything, run.outcome, run.stats):
        str(look)

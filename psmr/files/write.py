"""Write a case to a file of whatever format its suffix says."""

from __future__ import annotations

import warnings
from pathlib import Path

from psmr.base.arguments import check_arguments
from psmr.base.errors import CaseError, PsmrWarning
from psmr.base.files import require_suffix, write_texts
from psmr.network.case.case import Case

SUFFIXES = (".toml", ".raw", ".m")


def write_case(case: Case, path: str | Path) -> tuple[Path, ...]:
    """Write a case; the suffix says the format. Return the files written.

    Parameters
    ----------
    case
        The case.
    path
        ``.toml`` (psmr's own, keeps everything), ``.raw`` (PSS/E, version 33, with the plants' devices in a
        ``.dyr`` file beside it) or ``.m`` (MATPOWER, version 2, the network only).

    Raises
    ------
    CaseError
        For a suffix that is not known, a device that the format has no model of, a file that cannot be
        written. Nothing is written then.
    PowerFlowError
        For ``.raw`` and ``.m``, which store a solution, where there is none.

    Warns
    -----
    PsmrWarning
        For everything that the format cannot keep.
    """
    check_arguments(write_case, locals(), CaseError)
    path = Path(path)
    suffix = require_suffix(path, SUFFIXES, CaseError)
    texts: dict[Path, str]
    if suffix == ".toml":
        from psmr.files.toml.write_case import toml_text

        texts = {path: toml_text(case)}
    elif suffix == ".m":
        from psmr.files.matpower.write import matpower_text

        texts = {path: matpower_text(case)}
    else:
        from psmr.files.psse.write_raw import psse_texts

        raw, dyr = psse_texts(case)
        texts = {path: raw} | ({path.with_suffix(".dyr"): dyr} if dyr else {})
    write_texts(texts, CaseError, parents=False)
    if suffix != ".toml" and case.dynamic is not None:
        words = f"{path}: the region with its own dynamics, {case.dynamic}, is not written; {suffix} has none"
        warnings.warn(words, PsmrWarning, stacklevel=2)
    beside = path.with_suffix(".dyr")
    if suffix == ".raw" and beside not in texts and beside.exists():
        warnings.warn(
            f"{beside}: is of another case, this one has no dynamic data; do not give it with {path}, or "
            "remove it",
            PsmrWarning,
            stacklevel=2,
        )
    return tuple(texts)

"""A run written into a file, whole: points, system, scheme, events, certificates."""

from __future__ import annotations

import json
import os
import zipfile
from typing import Any

import numpy as np

from psmr.base.errors import InputError
from psmr.base.files import RUNS, OutputTransaction, require_suffix
from psmr.base.modules import source_of
from psmr.study.output.tables import placed
from psmr.study.record.recorded import Recorded
from psmr.study.run.serialise import Encoder

FORMAT, VERSION = "psmr-run", 6
HEAD, BODY, ARRAY = "head.json", "run.json", "arrays/{}.npy"


def save_run(
    run: Recorded, path: str | os.PathLike[str], transaction: OutputTransaction | None = None
) -> None:
    """Write a run into a file that `load_run` reads, whole or not at all.

    The file is a ZIP archive of JSON and of arrays as numpy writes them. It appears at once, or with the
    others of `transaction`.

    Raises InputError for a name that ends otherwise, a folder that cannot be written, and for a run of
    components that have no module of their own (made in a prompt or a notebook), which no other process could
    read.
    """
    from psmr.version import __version__

    require_suffix(path, RUNS)
    encoder = Encoder()
    try:
        body = encoder.encode(run)
    except InputError as error:
        raise InputError(f"the run cannot be saved: {error}") from error
    head: dict[str, Any] = {"format": FORMAT, "version": VERSION, "psmr": __version__, "name": run.name}
    if encoder.modules:
        head["modules"] = {name: source_of(name) for name in sorted(encoder.modules)}
    with (
        placed(path, transaction) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as file,
    ):
        file.writestr(HEAD, json.dumps(head))
        file.writestr(BODY, json.dumps(body, allow_nan=False, separators=(",", ":")))
        for k, array in enumerate(encoder.arrays):
            with file.open(ARRAY.format(k), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)

"""What a run keeps of its points: which signals, how often, and how much of it in memory."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass

from psmr.base.arguments import settle_fields
from psmr.base.errors import InputError, shown
from psmr.base.files import require_suffix
from psmr.base.keywords import explains_keywords
from psmr.study.output.tables import FORMATS

MEMORY = 256.0
"""Memory in MiB for what is kept, where nothing is said."""


@explains_keywords(InputError)
@dataclass(frozen=True)
class Record:
    """What a run keeps of its points.

    Outcome, monitors and work are those of every accepted step, whatever is kept.

    Parameters
    ----------
    signals
        Names or patterns of the signals that are kept, as in `Run.frame`; None: every state and algebraic
        variable.
    every
        Of the accepted steps between two events every how many-th is kept, beside the first and the last.
    memory
        Memory in MiB for what is kept. What is more goes to a temporary file (in the folder ``TMPDIR``), from
        which the run reads it, and which disappears with it.
    files
        Files that are written while the run goes, ``.csv`` or ``.parquet``; they appear when it ends well.

    Raises
    ------
    InputError
        For no signal, a step below 1, memory below 0, or a file of another kind.

    Examples
    --------
    >>> Record(["G*.omega", "bus5.v"], every=10, files=["run.parquet"])
    """

    signals: tuple[str, ...] | None = None
    every: int = 1
    memory: float = MEMORY
    files: tuple[str | os.PathLike[str], ...] = ()

    def __post_init__(self) -> None:
        for name, single in (("signals", str), ("files", str | os.PathLike)):
            if isinstance(getattr(self, name), single):
                object.__setattr__(self, name, (getattr(self, name),))
        settle_fields(self)
        if self.signals is not None:
            chosen = tuple(self.signals)
            if not chosen:
                raise InputError("record = []: must be names or patterns of signals, at least one")
            object.__setattr__(self, "signals", chosen)
        if isinstance(self.every, bool) or not isinstance(self.every, int) or self.every < 1:
            raise InputError(f"every = {self.every!r}: must be a whole number >= 1 (of steps)")
        memory = self.memory
        if isinstance(memory, bool) or not isinstance(memory, int | float) or not 0 <= memory < math.inf:
            raise InputError(f"memory = {memory!r}: must be a finite number >= 0 in MiB")
        files = tuple(self.files)
        for file in files:
            try:
                require_suffix(file, tuple(FORMATS))
            except InputError as error:
                raise InputError(f"files: {error}") from error
        object.__setattr__(self, "files", files)

    @classmethod
    def of(cls, wanted: Record | str | Iterable[str] | None, every: int | None = None) -> Record | None:
        """Return a record from itself or from signals, and from how often points are kept.

        None without `every` stays None: every point, whole, in memory.

        Raises
        ------
        InputError
            For what is no record; for `every` beside a record, which says how often itself.
        """
        if isinstance(wanted, Record):
            if every is not None:
                raise InputError(
                    f"every = {every!r}: the record says it, every = {wanted.every}; write "
                    f"record=psmr.Record(..., every={every!r})"
                )
            return wanted
        if wanted is not None and not isinstance(wanted, Iterable):
            raise InputError(
                f"record = {shown(wanted)}: must be names or patterns of signals, or a psmr.Record"
            )
        if wanted is None and every is None:
            return None
        signals = (wanted,) if isinstance(wanted, str) else None if wanted is None else tuple(wanted)
        return cls(signals, 1 if every is None else every)

"""The claims of a paper as a table: what it states, the rules that decide, the words about what came out.

``claims.toml`` beside a paper's module holds them in order, each a ``[[finding]]``:

``claim``, ``paper``, ``ours``, ``why``, ``figure``
    As in `Finding`, with fields such as ``{error:.2e}`` for the numbers. A field of several numbers lists
    them, one of a mapping lists names and numbers, and ``!p`` gives per cent. A figure holds for what
    follows, too.
``rules``, ``corrected``
    A rule is a function of `psmr.papers.check` with its arguments: ``["within", "slope", "{slope}", 2, 0.2,
    "tests"]``. An argument that is one field is the number itself, an origin may be the name of one in
    ``[origins]``, and a table at the end has arguments by name. ``each = "rows"`` there makes a rule of each
    row, whose columns then are fields.
``each``
    Makes a finding of each row.
``sets``
    The statement is decided on each of several parameter sets.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

from psmr.papers import check
from psmr.papers.check import Check
from psmr.papers.finding import Finding

Numbers = Mapping[str, Any]
"""What came out, by the name that the table has for it."""


class _Words(Formatter):
    """Fields of text: lists and mappings are listed, and the conversion ``p`` is per cent."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return 100.0 * value if conversion == "p" else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Mapping):
            return ", ".join(f"{name} {self.format_field(v, format_spec)}" for name, v in value.items())
        if isinstance(value, Iterable) and not isinstance(value, str):
            return ", ".join(self.format_field(v, format_spec) for v in value)
        return str(super().format_field(value, format_spec))


_WORDS = _Words()


@dataclass(frozen=True)
class Claim:
    """One entry of a table of claims; the fields are explained above."""

    claim: str
    origins: Mapping[str, str]
    figure: str
    paper: str = ""
    ours: str = ""
    why: str = ""
    rules: Sequence[list[Any]] = ()
    corrected: Sequence[list[Any]] = ()
    each: str = ""
    sets: bool = False

    def decide(self, numbers: Numbers, corrected: bool = False) -> tuple[Check, ...]:
        """Return its rules on the numbers, or those of what is meant in place of what is printed."""
        found: list[Check] = []
        for relation, *arguments in self.corrected if corrected else self.rules:
            named = dict(arguments.pop()) if isinstance(arguments[-1], dict) else {}
            said = [self.origins.get(v, v) if isinstance(v, str) else v for v in arguments[2:]]
            for row in numbers[named.pop("each")] if "each" in named else ({},):
                values = [_filled(v, {**numbers, **row}) for v in (*arguments[:2], *said)]
                made = getattr(check, relation)(*values, **named)
                found += (made,) if isinstance(made, Check) else made
        return tuple(found)

    def findings(self, numbers: Numbers) -> Iterator[Finding]:
        """Return what came out, one finding or one for each row."""
        for row in numbers[self.each] if self.each else ({},):
            known = {**numbers, **row}
            texts = (self.claim, self.paper, self.ours, self.why, self.figure)
            claim, paper, ours, why, figure = (
                _WORDS.vformat(" ".join(text.split()), (), known) for text in texts
            )
            yield Finding(claim, paper, ours, self.decide(known), why, self.decide(known, True), figure)


@functools.cache
def read_claims(folder: Path) -> tuple[Claim, ...]:
    """Return the claims of the paper in a folder, in order."""
    table = tomllib.loads((folder / "claims.toml").read_text(encoding="utf-8"))
    found, figure = [], ""
    for entry in table["finding"]:
        figure = entry.setdefault("figure", figure)
        found.append(Claim(origins=table["origins"], **entry))
    return tuple(found)


def _filled(value: Any, numbers: Numbers) -> Any:
    """Return a text with its fields filled in; of a single field its value, of a list each part."""
    if isinstance(value, list):
        return [_filled(v, numbers) for v in value]
    if not isinstance(value, str):
        return value
    match list(_WORDS.parse(value)):
        case [("", str(field), "", None)]:
            return _WORDS.get_field(field, (), numbers)[0]
    return _WORDS.vformat(value, (), numbers)

"""The claims of a paper as a table, and what came out here; verdicts follow from the numbers.

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
from typing import Any, Literal, get_args

from psmr.base.errors import InputError
from psmr.papers import check
from psmr.papers.check import Check

Verdict = Literal["agrees", "differs", "misprint", "not decided", "beyond the paper"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Finding:
    """One claim of a paper, how it is checked, and what came out here.

    Attributes
    ----------
    claim
        What the claim is about, with its place in the paper.
    paper, ours
        What the paper states and what came out here, as text with units. Where the paper states nothing,
        `paper` is empty and the verdict ``"beyond the paper"``.
    rules
        They decide on a claim: the verdict is ``"agrees"`` where all hold, ``"differs"`` where one is broken,
        which contradicts the paper's words or numbers, else ``"not decided"``: the numbers cannot tell.
    why
        The evidence, or the reason of the difference.
    corrected
        For a formula or number that cannot be meant as it is printed: rules of the corrected one. Where these
        hold and one of `rules`, which are of the printed one, is broken, the verdict is ``"misprint"``.
    figure
        Title of the figure or table that shows it, or what stands before the colon in it.

    Raises
    ------
    InputError
        For a claim of the paper without a rule.
    """

    claim: str
    paper: str
    ours: str
    rules: tuple[Check, ...] = ()
    why: str = ""
    corrected: tuple[Check, ...] = ()
    figure: str = ""

    def __post_init__(self) -> None:
        if self.paper and not self.rules:
            raise InputError(f"finding {self.claim!r} has no rule that decides; give it at least one Check")

    @property
    def verdict(self) -> Verdict:
        """What the numbers say."""
        found = [rule.outcome for rule in self.rules]
        if not self.paper:
            return "beyond the paper"
        if all(found):
            return "agrees"
        if False not in found:
            return "not decided"
        return "misprint" if self.corrected and all(rule.holds for rule in self.corrected) else "differs"

    @property
    def decided(self) -> str:
        """The rules in words."""
        return "; ".join([*map(str, self.rules), *(f"corrected: {rule}" for rule in self.corrected)])

    def record(self) -> dict[str, Any]:
        """Return the finding as plain data for strict JSON: an infinite number as text, none as null."""
        names = ("claim", "paper", "ours", "verdict", "why", "figure")
        rules = {key: [rule.record() for rule in getattr(self, key)] for key in ("rules", "corrected")}
        return {name: getattr(self, name) for name in names} | rules

    def __str__(self) -> str:
        lines = [
            f"[{self.verdict}] {self.claim}",
            f"    paper: {self.paper or '-'}",
            f"    ours:  {self.ours}",
        ]
        lines += [f"    rule:  {self.decided}"] if self.rules else []
        return "\n".join(lines + ([f"    {self.why}"] if self.why else []))


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

"""A claim of a paper, what came out here, and the rules that decide: verdicts follow from the numbers.

``claims.toml`` beside a paper's module holds them in order, each a ``[[finding]]``:

``claim``, ``paper``, ``ours``, ``why``, ``figure``
    As in `ClaimResult`, with fields such as ``{error:.2e}`` for the numbers. A field of several numbers lists
    them, one of a mapping lists names and numbers, and ``!p`` gives per cent. A figure holds for what
    follows, too.
``rules``, ``corrected``
    A rule is one of `RULES` with its arguments: ``["within", "slope", "{slope}", 2, 0.2,
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
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from string import Formatter
from typing import Any, Literal, get_args

from psmr.base.errors import InputError

Relation = Literal["within", "cut", "rises", "above", "below", "no end"]
# By relation: its words, those of an exact one, and whether it is an order, which may have a share.
RELATIONS: dict[str, tuple[str, str, bool]] = {
    "within": ("within {reach} of {paper}", "equal to {paper}", False),
    "cut": ("from {paper} to less than {reach} more", "", False),
    "rises": ("rising by more than {reach} from one to the next", "", True),
    "above": ("above {paper} by more than {reach}", "above {paper}", True),
    "below": ("below {paper} by more than {reach}", "below {paper}", True),
    "no end": ("without an end up to {paper}", "without an end up to {paper}", False),
}
# An order is one that a printed figure could show: its lines are about a hundredth of its axis wide.
VISIBLE = 0.01
SHOWN = "1 % of the larger, about the width of a printed line"


@dataclass(frozen=True)
class Check:
    """One rule: numbers of ours, what the paper states of them, and how far they may be apart.

    Attributes
    ----------
    quantity
        What the numbers are, with their unit.
    ours
        Numbers that came out here; infinite is a limit that was not found, no number (NaN) decides nothing.
    relation
        ``"within"``: each of ours is within the tolerance of its counterpart in `paper`; ``"cut"``: of digits
        cut off and not rounded, each is in [paper, paper + tolerance); ``"rises"``: each is larger than the
        one before by more than the tolerance; ``"above"``, ``"below"``: each is beyond the one number of
        `paper` by more than the tolerance; ``"no end"``: each is a limit that lies beyond `paper`, as far as
        it was looked for.
    paper
        Numbers that the paper states, finite: one for each of ours, or one for all; none for ``"rises"``.
    tolerance
        In the unit of the numbers, finite.
    origin
        Where tolerance and bound are from.
    share
        For ``"rises"``, ``"above"`` and ``"below"``: the tolerance relative to the larger of the two numbers
        compared; the larger of this and `tolerance` counts. Numbers that are not further apart than the
        tolerance of an order do not decide it, either way.

    Raises
    ------
    InputError
        For a rule that cannot be evaluated: without numbers, without an origin, of an unknown relation, with
        a tolerance or bound that is not finite, or an order without a tolerance.
    """

    quantity: str
    ours: tuple[float, ...]
    relation: Relation
    paper: tuple[float, ...]
    tolerance: float
    origin: str
    share: float = 0.0

    def __post_init__(self) -> None:
        rising, ordered = self.relation == "rises", RELATIONS.get(self.relation, ("", "", False))[2]
        counts = (0,) if rising else (1,) if ordered or self.relation == "no end" else (1, len(self.ours))
        endless = next((bound for bound in self.paper if not math.isfinite(bound)), None)
        for wrong, words in (
            (
                self.relation not in RELATIONS,
                f"relation = {self.relation!r}: must be one of {', '.join(map(repr, RELATIONS))}",
            ),
            (not self.ours, "a rule needs at least one number of ours"),
            (not self.origin.strip(), f"say where tolerance {self.tolerance:g} and bound are from"),
            (
                not 0.0 <= self.tolerance < math.inf,
                f"tolerance = {self.tolerance:g}: must be finite and >= 0",
            ),
            (not 0.0 <= self.share < 1.0, f"share = {self.share:g}: must be from 0 to less than 1"),
            (
                endless is not None,
                f"the paper's number is {endless}: must be finite; a limit that is not there is a rule "
                "'no end' up to where it was looked for",
            ),
            (
                len(self.paper) not in counts or (rising and len(self.ours) < 2),
                f"{len(self.ours)} numbers of ours beside {len(self.paper)} of the paper do not make a rule "
                f"{self.relation!r}",
            ),
            (
                rising and self.tolerance == self.share == 0.0,
                "an order needs a visible difference; give a tolerance or a share > 0",
            ),
            (bool(self.share) and not ordered, f"a rule {self.relation!r} has no share; give a tolerance"),
        ):
            if wrong:
                raise InputError(f"{self.quantity}: {words}")

    @property
    def pairs(self) -> tuple[tuple[float, float], ...]:
        """The numbers that are compared: each of ours and the paper's, or the one before."""
        if self.relation == "rises":
            return tuple((after, before) for before, after in pairwise(self.ours))
        paper = self.paper if len(self.paper) == len(self.ours) else self.paper * len(self.ours)
        return tuple(zip(self.ours, paper, strict=True))

    @property
    def outcome(self) -> bool | None:
        """Whether every pair obeys the rule; None where none breaks it and some do not decide it."""
        found = [self._obeys(a, b) for a, b in self.pairs]
        return False if False in found else None if None in found else True

    @property
    def holds(self) -> bool:
        """Whether the rule is decided and obeyed."""
        return self.outcome is True

    def reach(self, a: float, b: float) -> float:
        """Return how far two numbers must be apart to decide an order, or may be apart to agree."""
        return max(self.tolerance, self.share * max((abs(v) for v in (a, b) if math.isfinite(v)), default=0))

    def _obeys(self, a: float, b: float) -> bool | None:
        if math.isnan(a) or math.isnan(b):
            return None
        far = self.reach(a, b)
        if self.relation == "within":
            return abs(a - b) <= far
        if self.relation == "cut":
            # The guard keeps a value such as 0.29 from becoming 0.28 by rounding alone.
            return -1e-12 * abs(b) <= a - b < far
        if self.relation == "no end":
            return a > b
        ahead = (b - a if self.relation == "below" else a - b) if a != b else 0.0
        return None if abs(ahead) <= far and (far > 0.0 or math.isinf(a)) else ahead > far

    def __str__(self) -> str:
        parts = [f"{self.tolerance:.3g}"] if self.tolerance or not self.share else []
        parts += [f"{100 * self.share:g} %"] if self.share else []
        wide, exact, _ = RELATIONS[self.relation]
        words = exact if self.tolerance == self.share == 0.0 else wide
        words = words.format(paper=_listed(self.paper), reach=" and ".join(parts))
        sign = {True: "", False: "not ", None: "not decided whether "}[self.outcome]
        return f"{self.quantity}: {_listed(self.ours)} {sign}{words} ({self.origin})"

    def record(self) -> dict[str, Any]:
        """Return the rule and its outcome as plain data for strict JSON."""
        names = ("quantity", "relation", "tolerance", "share", "origin")
        known = {name: getattr(self, name) for name in names}
        return known | {"ours": [*map(plain, self.ours)], "paper": [*self.paper], "holds": self.outcome}


def within(quantity: str, ours: Any, paper: Any, tolerance: float, origin: str) -> Check:
    """Return the rule that each number is within a tolerance of the paper's."""
    return Check(quantity, _numbers(ours), "within", _numbers(paper), tolerance, origin)


def exactly(quantity: str, ours: Any, paper: Any, origin: str = "whole numbers") -> Check:
    """Return the rule that the numbers are equal."""
    return within(quantity, ours, paper, 0.0, origin)


def rises(
    quantity: str, ours: Any, origin: str = SHOWN, tolerance: float = 0.0, share: float | None = None
) -> Check:
    """Return the rule that the numbers are in rising order; visibly, unless a tolerance is given."""
    share = (0.0 if tolerance else VISIBLE) if share is None else share
    return Check(quantity, _numbers(ours), "rises", (), tolerance, origin, share)


def tends(quantity: str, ours: Any) -> tuple[Check, Check]:
    """Return the rules of what "tends to grow": from first to last, and in most pairs between.

    The second is the trend test of Mann and Kendall on the pairs that differ visibly: a rank correlation that
    chance gives in one case of twenty decides nothing, either way. From four numbers on.
    """
    numbers = _numbers(ours)
    count, pairs = len(numbers), [*combinations(numbers, 2)]
    seen = [b - a for a, b in pairs if abs(b - a) > VISIBLE * max(abs(a), abs(b))]
    tau = sum(math.copysign(1.0, change) for change in seen) / len(pairs)
    chance = 1.645 * math.sqrt(2.0 * (2.0 * count + 5.0) / (9.0 * count * (count - 1.0)))
    return (
        rises(f"{quantity}: first and last", [numbers[0], numbers[-1]]),
        above(f"{quantity}: Kendall's rank correlation", tau, 0.0, "what chance gives in 5 %", chance),
    )


def above(
    quantity: str, ours: Any, bound: float, origin: str, tolerance: float = 0.0, share: float = 0.0
) -> Check:
    """Return the rule that each number is above a bound."""
    return Check(quantity, _numbers(ours), "above", (float(bound),), tolerance, origin, share)


def below(
    quantity: str, ours: Any, bound: float, origin: str, tolerance: float = 0.0, share: float = 0.0
) -> Check:
    """Return the rule that each number is below a bound."""
    return Check(quantity, _numbers(ours), "below", (float(bound),), tolerance, origin, share)


def endless(quantity: str, ours: Any, highest: float, origin: str) -> Check:
    """Return the rule that each number is a limit that was not met up to `highest`."""
    return Check(quantity, _numbers(ours), "no end", (float(highest),), 0.0, origin)


def printed(quantity: str, ours: Any, *text: str, cut: bool = False) -> Check:
    """Return the rule that each number has the digits of its text, rounded, or cut off with `cut`.

    The last printed digit, ``"0.0053"``, ``"1.90e-14"``, is the tolerance, half of it where the paper rounds;
    InputError for texts of different digits, which no one tolerance fits.
    """
    units = {_last_digit(one) for one in text}
    if len(units) != 1:
        raise InputError(
            f"{quantity}: {', '.join(text)} are printed to different digits; make a rule of each"
        )
    unit, numbers, paper = units.pop(), _numbers(ours), tuple(map(float, text))
    if cut:
        return Check(quantity, numbers, "cut", paper, unit, "digits printed, cut off")
    # Rounding of the decimal text itself, a millionth of the last digit, is not a difference.
    return Check(quantity, numbers, "within", paper, 0.5 * unit * (1.0 + 1e-6), "digits printed, rounded")


RULES: dict[str, Callable[..., Check | tuple[Check, ...]]] = {
    rule.__name__: rule for rule in (within, exactly, rises, tends, above, below, endless, printed)
}


def plain(value: Any) -> Any:
    """Return a number as strict JSON has it: infinite as the text "inf" or "-inf", no number as None."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(float(value))


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(map(float, values)) if isinstance(values, Iterable) else (float(values),)


def _last_digit(text: str) -> float:
    """Return the unit of the last printed digit."""
    mantissa, _, exponent = text.lower().partition("e")
    return float(10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])))


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.7g}" for value in values)


Verdict = Literal["agrees", "differs", "misprint", "not decided", "beyond the paper"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class ClaimResult:
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


class _ListFormatter(Formatter):
    """Fields of text: lists and mappings are listed, and the conversion ``p`` is per cent."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return 100.0 * value if conversion == "p" else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Mapping):
            return ", ".join(f"{name} {self.format_field(v, format_spec)}" for name, v in value.items())
        if isinstance(value, Iterable) and not isinstance(value, str):
            return ", ".join(self.format_field(v, format_spec) for v in value)
        return str(super().format_field(value, format_spec))


_WORDS = _ListFormatter()


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
                made = RULES[relation](*values, **named)
                found += (made,) if isinstance(made, Check) else made
        return tuple(found)

    def findings(self, numbers: Numbers) -> Iterator[ClaimResult]:
        """Return what came out, one finding or one for each row."""
        for row in numbers[self.each] if self.each else ({},):
            known = {**numbers, **row}
            texts = (self.claim, self.paper, self.ours, self.why, self.figure)
            claim, paper, ours, why, figure = (
                _WORDS.vformat(" ".join(text.split()), (), known) for text in texts
            )
            yield ClaimResult(claim, paper, ours, self.decide(known), why, self.decide(known, True), figure)


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

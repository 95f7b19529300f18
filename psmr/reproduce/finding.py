"""One claim of a paper held against what came out here; its verdict follows from the numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from psmr.errors import InputError

Relation = Literal["within", "cut", "rises", "above", "below"]
RELATIONS = {
    "within": "within {tolerance} of {paper}",
    "within exactly": "equal to {paper}",
    "cut": "from {paper} to less than {tolerance} more",
    "rises": "rising by more than {tolerance} from one to the next",
    "rises exactly": "in rising order",
    "above": "above {paper} by more than {tolerance}",
    "above exactly": "above {paper}",
    "below": "below {paper} by more than {tolerance}",
    "below exactly": "below {paper}",
}
KNOWN = ("within", "cut", "rises", "above", "below")
VERDICTS = ("agrees", "differs", "misprint")
Verdict = Literal["agrees", "differs", "misprint"]


@dataclass(frozen=True)
class Check:
    """One rule: numbers of ours, what the paper states of them, and how far they may be apart.

    Attributes
    ----------
    quantity
        What the numbers are, with their unit.
    ours
        Numbers that came out here.
    relation
        ``"within"``: each of ours is within the tolerance of its counterpart in `paper`; ``"cut"``: of digits
        cut off and not rounded, each is in [paper, paper + tolerance); ``"rises"``: each is larger than the
        one before by more than the tolerance; ``"above"``, ``"below"``: each is beyond the one number of
        `paper` by more than the tolerance.
    paper
        Numbers that the paper states: one for each of ours, or one for all; none for ``"rises"``.
    tolerance
        In the unit of the numbers.
    origin
        Where tolerance and bound are from.

    Raises
    ------
    InputError
        For a rule that cannot be evaluated: without numbers, without an origin, of an unknown relation.
    """

    quantity: str
    ours: tuple[float, ...]
    relation: Relation
    paper: tuple[float, ...]
    tolerance: float
    origin: str

    def __post_init__(self) -> None:
        if self.relation not in KNOWN:
            known = ", ".join(map(repr, KNOWN))
            raise InputError(f"{self.quantity}: relation = {self.relation!r}: must be one of {known}")
        if not self.ours:
            raise InputError(f"{self.quantity}: a rule needs at least one number of ours")
        if not self.origin.strip():
            raise InputError(f"{self.quantity}: say where tolerance {self.tolerance:g} and bound are from")
        if not self.tolerance >= 0.0:
            raise InputError(f"{self.quantity}: tolerance = {self.tolerance:g}: must be >= 0")
        needed = {"rises": (0,), "above": (1,), "below": (1,)}.get(self.relation, (1, len(self.ours)))
        if len(self.paper) not in needed or (self.relation == "rises" and len(self.ours) < 2):
            raise InputError(
                f"{self.quantity}: {len(self.ours)} numbers of ours beside {len(self.paper)} of the paper do "
                f"not make a rule {self.relation!r}"
            )

    @property
    def holds(self) -> bool:
        """Whether every number obeys the rule; one that is no number obeys none."""
        ours, far = self.ours, self.tolerance
        if any(math.isnan(value) for value in (*ours, *self.paper)):
            return False
        if self.relation == "rises":
            return all(after - before > far for before, after in pairwise(ours))
        paper = self.paper if len(self.paper) == len(ours) else self.paper * len(ours)
        pairs = list(zip(ours, paper, strict=True))
        if self.relation == "within":
            return all(a == b or abs(a - b) <= far for a, b in pairs)
        if self.relation == "cut":
            # The guard keeps a value such as 0.29 from becoming 0.28 by rounding alone.
            return all(-1e-12 * abs(b) <= a - b < far for a, b in pairs)
        return all((a - b if self.relation == "above" else b - a) > far for a, b in pairs)

    def __str__(self) -> str:
        exact = self.relation + " exactly" if self.tolerance == 0.0 else self.relation
        words = RELATIONS.get(exact, RELATIONS[self.relation])
        words = words.format(paper=_listed(self.paper), tolerance=f"{self.tolerance:.3g}")
        sign = "" if self.holds else "not "
        return f"{self.quantity}: {_listed(self.ours)} {sign}{words} ({self.origin})"


def within(quantity: str, ours: Any, paper: Any, tolerance: float, origin: str) -> Check:
    """Return the rule that each number is within a tolerance of the paper's."""
    return Check(quantity, _numbers(ours), "within", _numbers(paper), tolerance, origin)


def rises(quantity: str, ours: Any, origin: str, tolerance: float = 0.0) -> Check:
    """Return the rule that the numbers are in rising order."""
    return Check(quantity, _numbers(ours), "rises", (), tolerance, origin)


def above(quantity: str, ours: Any, bound: float, origin: str, tolerance: float = 0.0) -> Check:
    """Return the rule that each number is above a bound."""
    return Check(quantity, _numbers(ours), "above", (float(bound),), tolerance, origin)


def below(quantity: str, ours: Any, bound: float, origin: str, tolerance: float = 0.0) -> Check:
    """Return the rule that each number is below a bound."""
    return Check(quantity, _numbers(ours), "below", (float(bound),), tolerance, origin)


def printed(quantity: str, ours: Any, *text: str, cut: bool = False) -> Check:
    """Return the rule that each number has the printed digits, rounded, or cut off with `cut`.

    Parameters
    ----------
    quantity
        What the numbers are.
    ours
        A number for each text.
    text
        As printed: ``"0.0053"``, ``"1.90e-14"``. The last digit is the tolerance, half of it where the
        paper rounds.
    """
    units = {_last_digit(one) for one in text}
    if len(units) != 1:
        listed = ", ".join(text)
        raise InputError(f"{quantity}: {listed} are printed to different digits; make a rule of each")
    unit = units.pop()
    numbers, paper = _numbers(ours), tuple(float(one) for one in text)
    if cut:
        return Check(quantity, numbers, "cut", paper, unit, "digits printed, cut off")
    # Rounding of the decimal text itself, a millionth of the last digit, is not a difference.
    return Check(quantity, numbers, "within", paper, 0.5 * unit * (1.0 + 1e-6), "digits printed, rounded")


def exactly(quantity: str, ours: Any, paper: Any, origin: str = "whole numbers") -> Check:
    """Return the rule that the numbers are equal."""
    return within(quantity, ours, paper, 0.0, origin)


@dataclass(frozen=True)
class Finding:
    """One claim of a paper held against what came out here.

    Attributes
    ----------
    claim
        What the claim is about, with its place in the paper.
    paper, ours
        What the paper states and what came out here, as text with units.
    rules
        They decide: the verdict is ``"agrees"`` where all hold, else ``"differs"`` (both can be right:
        another reading, machine or data).
    why
        The evidence, or the reason of the difference.
    corrected
        For a formula or number that cannot be meant as it is printed: rules of the corrected one. Where these
        hold and `rules`, which are of the printed one, do not, the verdict is ``"misprint"``.

    Raises
    ------
    InputError
        For a finding without a rule.
    """

    claim: str
    paper: str
    ours: str
    rules: tuple[Check, ...]
    why: str = ""
    corrected: tuple[Check, ...] = ()

    def __post_init__(self) -> None:
        if not self.rules:
            raise InputError(f"finding {self.claim!r} has no rule that decides; give it at least one Check")

    @property
    def verdict(self) -> Verdict:
        """What the numbers say: ``"agrees"``, ``"differs"`` or ``"misprint"``."""
        if all(rule.holds for rule in self.rules):
            return "agrees"
        if self.corrected and all(rule.holds for rule in self.corrected):
            return "misprint"
        return "differs"

    @property
    def decided(self) -> str:
        """The rules in words."""
        parts = [str(rule) for rule in self.rules]
        if self.corrected:
            parts += [f"corrected: {rule}" for rule in self.corrected]
        return "; ".join(parts)

    def record(self) -> dict[str, Any]:
        """Return the finding as plain data, for JSON."""
        return {
            "claim": self.claim,
            "paper": self.paper,
            "ours": self.ours,
            "verdict": self.verdict,
            "why": self.why,
            "rules": [vars(rule) | {"holds": rule.holds} for rule in self.rules],
            "corrected": [vars(rule) | {"holds": rule.holds} for rule in self.corrected],
        }

    def __str__(self) -> str:
        lines = [f"[{self.verdict}] {self.claim}", f"    paper: {self.paper}", f"    ours:  {self.ours}"]
        lines.append(f"    rule:  {self.decided}")
        return "\n".join(lines + ([f"    {self.why}"] if self.why else []))


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(float(v) for v in values) if isinstance(values, Iterable) else (float(values),)


def _last_digit(text: str) -> float:
    """Return the unit of the last printed digit."""
    mantissa, _, exponent = text.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    return float(10.0 ** (int(exponent or 0) - digits))


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.7g}" for value in values)

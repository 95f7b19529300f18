"""One rule between numbers of a paper and ours: whether it holds, is broken, or is not decided."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Literal

from psmr.errors import InputError

Relation = Literal["within", "cut", "rises", "above", "below", "no end"]
RELATIONS = {
    "within": "within {reach} of {paper}",
    "within exactly": "equal to {paper}",
    "cut": "from {paper} to less than {reach} more",
    "rises": "rising by more than {reach} from one to the next",
    "above": "above {paper} by more than {reach}",
    "above exactly": "above {paper}",
    "below": "below {paper} by more than {reach}",
    "below exactly": "below {paper}",
    "no end": "without an end up to {paper}",
}
KNOWN = ("within", "cut", "rises", "above", "below", "no end")
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
        if self.relation not in KNOWN:
            known = ", ".join(map(repr, KNOWN))
            raise InputError(f"{self.quantity}: relation = {self.relation!r}: must be one of {known}")
        if not self.ours:
            raise InputError(f"{self.quantity}: a rule needs at least one number of ours")
        if not self.origin.strip():
            raise InputError(f"{self.quantity}: say where tolerance {self.tolerance:g} and bound are from")
        if not 0.0 <= self.tolerance < math.inf:
            raise InputError(f"{self.quantity}: tolerance = {self.tolerance:g}: must be finite and >= 0")
        if not 0.0 <= self.share < 1.0:
            raise InputError(f"{self.quantity}: share = {self.share:g}: must be from 0 to less than 1")
        for bound in self.paper:
            if not math.isfinite(bound):
                raise InputError(
                    f"{self.quantity}: the paper's number is {bound:g}: must be finite; a limit that is "
                    "not there is a rule 'no end' up to where it was looked for"
                )
        needed = {"rises": (0,), "above": (1,), "below": (1,), "no end": (1,)}
        if len(self.paper) not in needed.get(self.relation, (1, len(self.ours))) or (
            self.relation == "rises" and len(self.ours) < 2
        ):
            raise InputError(
                f"{self.quantity}: {len(self.ours)} numbers of ours beside {len(self.paper)} of the paper do "
                f"not make a rule {self.relation!r}"
            )
        if self.relation == "rises" and self.tolerance == self.share == 0.0:
            raise InputError(
                f"{self.quantity}: an order needs a visible difference; give a tolerance or a share > 0"
            )
        if self.share and self.relation in ("within", "cut", "no end"):
            raise InputError(f"{self.quantity}: a rule {self.relation!r} has no share; give a tolerance")

    @property
    def pairs(self) -> tuple[tuple[float, float], ...]:
        """The numbers that are compared: each of ours beside the paper's, or beside the one before."""
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
        sizes = [abs(v) for v in (a, b) if math.isfinite(v)]
        return max(self.tolerance, self.share * max(sizes, default=0.0))

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
        if abs(ahead) <= far and (far > 0.0 or math.isinf(a)):
            return None
        return ahead > far

    def __str__(self) -> str:
        parts = [f"{self.tolerance:.3g}"] if self.tolerance or not self.share else []
        parts += [f"{100 * self.share:g} %"] if self.share else []
        exact = self.relation + " exactly" if self.tolerance == self.share == 0.0 else self.relation
        words = RELATIONS.get(exact, RELATIONS[self.relation])
        words = words.format(paper=_listed(self.paper), reach=" and ".join(parts))
        sign = {True: "", False: "not ", None: "not decided whether "}[self.outcome]
        return f"{self.quantity}: {_listed(self.ours)} {sign}{words} ({self.origin})"

    def record(self) -> dict[str, Any]:
        """Return the rule and its outcome as plain data for strict JSON."""
        return {
            "quantity": self.quantity,
            "ours": [plain(value) for value in self.ours],
            "relation": self.relation,
            "paper": list(self.paper),
            "tolerance": self.tolerance,
            "share": self.share,
            "origin": self.origin,
            "holds": self.outcome,
        }


def within(quantity: str, ours: Any, paper: Any, tolerance: float, origin: str) -> Check:
    """Return the rule that each number is within a tolerance of the paper's."""
    return Check(quantity, _numbers(ours), "within", _numbers(paper), tolerance, origin)


def rises(
    quantity: str, ours: Any, origin: str = SHOWN, tolerance: float = 0.0, share: float | None = None
) -> Check:
    """Return the rule that the numbers are in rising order; visibly, unless a tolerance is given."""
    return Check(quantity, _numbers(ours), "rises", (), tolerance, origin, _share(tolerance, share))


def grows(quantity: str, ours: Any) -> tuple[Check, Check]:
    """Return the rules that the numbers grow from first to last and fall visibly nowhere between."""
    numbers = _numbers(ours)
    tops = list(accumulate(numbers, max))
    falls = [(top - value) / top if top > 0.0 else 0.0 for top, value in zip(tops, numbers, strict=True)]
    return (
        rises(f"{quantity}: first and last", [numbers[0], numbers[-1]]),
        below(f"{quantity}: largest fall below a value before, of it", max(falls), VISIBLE, SHOWN),
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


def plain(value: Any) -> Any:
    """Return a number as strict JSON has it: infinite as the text "inf" or "-inf", no number as None."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(float(value))


def _share(tolerance: float, share: float | None) -> float:
    return share if share is not None else 0.0 if tolerance else VISIBLE


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(float(v) for v in values) if isinstance(values, Iterable) else (float(values),)


def _last_digit(text: str) -> float:
    """Return the unit of the last printed digit."""
    mantissa, _, exponent = text.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    return float(10.0 ** (int(exponent or 0) - digits))


def _listed(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.7g}" for value in values)

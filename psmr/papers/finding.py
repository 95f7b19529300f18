"""One claim of a paper and what came out here; its verdict follows from the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

from psmr.base.errors import InputError
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

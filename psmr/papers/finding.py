"""One claim of a paper held against what came out here; its verdict follows from the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from psmr.errors import InputError
from psmr.papers.check import Check

VERDICTS = ("agrees", "differs", "misprint", "not decided")
Verdict = Literal["agrees", "differs", "misprint", "not decided"]


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
        They decide: the verdict is ``"agrees"`` where all hold, ``"differs"`` where one is broken (both can
        be right: another reading, machine or data), else ``"not decided"``: the numbers cannot tell.
    why
        The evidence, or the reason of the difference.
    corrected
        For a formula or number that cannot be meant as it is printed: rules of the corrected one. Where these
        hold and one of `rules`, which are of the printed one, is broken, the verdict is ``"misprint"``.
    figure
        Title of the figure or table that shows it.

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
    figure: str = ""

    def __post_init__(self) -> None:
        if not self.rules:
            raise InputError(f"finding {self.claim!r} has no rule that decides; give it at least one Check")

    @property
    def verdict(self) -> Verdict:
        """What the numbers say."""
        found = [rule.outcome for rule in self.rules]
        if all(found):
            return "agrees"
        if False not in found:
            return "not decided"
        return "misprint" if self.corrected and all(rule.holds for rule in self.corrected) else "differs"

    @property
    def decided(self) -> str:
        """The rules in words."""
        parts = [str(rule) for rule in self.rules]
        if self.corrected:
            parts += [f"corrected: {rule}" for rule in self.corrected]
        return "; ".join(parts)

    def record(self) -> dict[str, Any]:
        """Return the finding as plain data for strict JSON: an infinite number as text, none as null."""
        return {
            "claim": self.claim,
            "paper": self.paper,
            "ours": self.ours,
            "verdict": self.verdict,
            "why": self.why,
            "rules": [rule.record() for rule in self.rules],
            "corrected": [rule.record() for rule in self.corrected],
            "figure": self.figure,
        }

    def __str__(self) -> str:
        lines = [f"[{self.verdict}] {self.claim}", f"    paper: {self.paper}", f"    ours:  {self.ours}"]
        lines.append(f"    rule:  {self.decided}")
        return "\n".join(lines + ([f"    {self.why}"] if self.why else []))


def placed(findings: Iterable[Finding], places: Mapping[str, str]) -> tuple[Finding, ...]:
    """Return the findings with the title of the figure or table that shows each.

    Parameters
    ----------
    findings
        Of one paper.
    places
        Beginning of a claim -> title; the longest beginning counts.

    Raises
    ------
    InputError
        For a claim that no beginning fits.
    """
    found = []
    for finding in findings:
        fitting = [begin for begin in places if finding.claim.startswith(begin)]
        if not fitting:
            raise InputError(f"finding {finding.claim!r}: name the figure or table that shows it")
        found.append(replace(finding, figure=places[max(fitting, key=len)]))
    return tuple(found)

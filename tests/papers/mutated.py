"""Findings whose numbers are moved: just beyond a rule's own tolerance, on either side, the word changes."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from psmr.papers.catalogue import Reproduction
from psmr.papers.finding import Check, ClaimResult

STORED = Path(__file__).parents[2] / "docs" / "papers" / "figures"
BEYOND, SHORT = 1.01, 0.99  # times the tolerance


def reach(check: Check, value: float) -> float:
    """Return the tolerance about a value; of an exact rule the least that a double tells apart, nearly."""
    return max(check.tolerance, check.share * abs(value)) or 1e-9 * max(1.0, abs(value))


def moved(check: Check, fixed: float, factor: float) -> float:
    """Return the number that is `factor` times the tolerance of the rule from a number, up or down."""
    part, up = abs(factor) * check.share, factor > 0.0
    # The share is of the larger of the two: of the moved number where that moves away from zero.
    shared = fixed / (1.0 - part) if up == (fixed > 0.0) else fixed * (1.0 - part)
    plain = fixed + factor * (check.tolerance if check.share else reach(check, fixed))
    return max(plain, shared, key=lambda value: abs(value - fixed))


def right(check: Check) -> Check:
    """Return the rule with finite numbers of ours that the paper would have."""
    if check.relation in ("within", "cut"):
        wanted = check.paper if len(check.paper) == len(check.ours) else check.paper * len(check.ours)
        return replace(check, ours=wanted)
    if check.relation == "rises":
        step = max(2.0 * check.tolerance, 1.0)
        return replace(check, ours=tuple(step * 2.0 ** (k + 1) for k in range(len(check.ours))))
    bound = check.paper[0]
    sign = -1.0 if check.relation == "below" else 1.0
    return replace(check, ours=(bound + sign * 3.0 * (reach(check, bound) + check.share),) * len(check.ours))


def numbers(check: Check, k: int, value: float) -> Check:
    return replace(check, ours=(*check.ours[:k], value, *check.ours[k + 1 :]))


def stated(check: Check, k: int, value: float) -> Check:
    """Return the rule with another number of the paper for our k-th."""
    paper = (value,) if len(check.paper) == 1 else (*check.paper[:k], value, *check.paper[k + 1 :])
    return replace(check, paper=paper)


def cases(check: Check) -> list[tuple[Check, bool | None]]:
    """Return the rule with each number, and each of the paper's, just within and just beyond its tolerance.

    Beside each stands what the rule must say. `check` is one that holds.
    """
    found: list[tuple[Check, bool | None]] = []
    exact = check.tolerance == check.share == 0.0
    for k, (a, b) in enumerate(check.pairs):
        far = reach(check, b)
        if check.relation == "within":
            for sign in (-1.0, 1.0):
                found.append((numbers(check, k, b + sign * BEYOND * far), False))
                found.append((stated(check, k, a + sign * BEYOND * far), False))
                if not exact:
                    found.append((numbers(check, k, b + sign * SHORT * far), True))
        elif check.relation == "cut":
            low = 1e-9 * max(abs(b), far)
            found += [(numbers(check, k, b + BEYOND * far), False), (numbers(check, k, b - low), False)]
            found += [(stated(check, k, a - BEYOND * far), False), (stated(check, k, a + low), False)]
        elif check.relation == "no end":
            found += [(numbers(check, k, b * SHORT), False), (numbers(check, k, b), False)]
            found += [(numbers(check, k, np.inf), True)]
            if np.isfinite(a):
                found += [(stated(check, k, a), False)]
        else:
            found += order(check, k, exact)
        found.append((numbers(check, k, float("nan")), None))
    return found


def order(check: Check, k: int, exact: bool) -> list[tuple[Check, bool | None]]:
    """Return the cases of an order: beyond the tolerance the wrong way round, and within it either way."""
    sign = -1.0 if check.relation == "below" else 1.0
    found: list[tuple[Check, bool | None]] = []
    for ahead in (-BEYOND, -SHORT, SHORT, BEYOND):
        # An exact bound is one number, not a band: what is beside it is decided.
        word = ahead > 0.0 if exact or abs(ahead) > 1.0 else None
        if check.relation == "rises":
            # Every number moved beside each neighbour; alone, since another neighbour could break the order.
            before, after = check.ours[k : k + 2]
            found.append((replace(check, ours=(before, moved(check, before, ahead))), word))
            if np.isfinite(after):
                found.append((replace(check, ours=(moved(check, after, -ahead), after)), word))
            if word is not True:
                for whole in (
                    numbers(check, k + 1, moved(check, before, ahead)),
                    numbers(check, k, moved(check, after, -ahead)) if np.isfinite(after) else None,
                ):
                    assert whole is None or whole.outcome is not True, str(whole)
            continue
        one = replace(check, ours=(check.ours[k],))
        found.append((replace(one, ours=(moved(check, check.paper[0], sign * ahead),)), word))
        if word is not True:
            whole = numbers(check, k, moved(check, check.paper[0], sign * ahead))
            assert whole.outcome is not True, str(whole)
        if np.isfinite(check.ours[k]):
            found.append((stated(one, 0, moved(check, check.ours[k], -sign * ahead)), word))
    return found


def swapped(rules: tuple[Check, ...], k: int, rule: Check) -> tuple[Check, ...]:
    return (*rules[:k], rule, *rules[k + 1 :])


WORDS = {True: "agrees", False: "differs", None: "not decided"}


def mutate(finding: ClaimResult) -> int:
    """Assert that the word of a finding follows from each of its numbers; return how many were tried."""
    tried = 0
    if finding.verdict == "beyond the paper" and finding.rules:
        finding = replace(finding, paper="stated")  # its rules decide nothing, and follow all the same
    if not finding.rules:
        return 0
    kept = replace(finding, rules=tuple(right(rule) for rule in finding.rules))
    assert kept.verdict == "agrees", finding.claim
    for k, rule in enumerate(kept.rules):
        for changed, outcome in cases(rule):
            word = replace(kept, rules=swapped(kept.rules, k, changed), corrected=()).verdict
            assert word == WORDS[outcome], (finding.claim, str(changed))
            assert changed.outcome is outcome, (finding.claim, str(changed))
            tried += 1
    if finding.verdict == "agrees":
        for k, rule in enumerate(finding.rules):
            for changed, outcome in cases(rule):
                word = replace(finding, rules=swapped(finding.rules, k, changed), corrected=()).verdict
                assert (word == "agrees") is (outcome is True), (finding.claim, str(changed))
                tried += 1
    if finding.verdict == "misprint":
        for k, rule in enumerate(finding.corrected):
            for changed, outcome in cases(rule):
                word = replace(finding, corrected=swapped(finding.corrected, k, changed)).verdict
                assert word == ("misprint" if outcome else "differs"), (finding.claim, str(changed))
                tried += 1
    return tried


# Claims that each paper's reproduction must speak of; fewer would be findings lost.
LEAST = {
    "huang-tzounas": 45,
    "shi-rojas": 16,
    "gil-sanfelice-nikravesh": 18,
    "kuznetsov-krasnikov": 21,
    "bouterakos-tzounas": 9,
}


def assert_followed(name: str, result: Reproduction) -> None:
    """Assert that every finding of a paper follows from its numbers, and that the documentation has them."""
    assert len(result.findings) >= LEAST[name]
    assert len({finding.claim for finding in result.findings}) == len(result.findings)
    for finding in result.findings:
        assert finding.rules or finding.verdict == "beyond the paper"
        assert all(rule.origin and rule.ours for rule in (*finding.rules, *finding.corrected))
        assert mutate(finding) >= 2 * sum(len(rule.pairs) for rule in finding.rules)
    json.dumps(result.record(), allow_nan=False)
    # What the documentation shows is what comes out: the same claims with the same words.
    stored = json.loads((STORED / name / "findings.json").read_text(encoding="utf-8"))
    timed = {f.claim for f in result.findings if ": time" in f.claim}
    words = {f.claim: f.verdict for f in result.findings if f.claim not in timed}
    assert words == {r["claim"]: r["verdict"] for r in stored if r["claim"] not in timed}

"""Verdicts follow from numbers: each rule of each finding, fed a wrong number, changes the word."""

from dataclasses import replace

import numpy as np
import pytest

from psmr.errors import InputError
from psmr.reproduce.finding import Check, Finding, above, below, exactly, printed, rises, within
from psmr.reproduce.papers import PAPERS, reproduce


def wrong(check: Check) -> list[Check]:
    """Return the rule with each of its numbers replaced by one that breaks it."""
    far = 10.0 * (check.tolerance + abs(check.tolerance)) + 1.0
    broken = []
    for k, value in enumerate(check.ours):
        numbers = list(check.ours)
        if check.relation in ("within", "cut"):
            target = check.paper[k] if len(check.paper) > 1 else check.paper[0]
            numbers[k] = -1.0 if np.isinf(target) else target + far + abs(target)
        elif check.relation == "rises":
            numbers[k] = numbers[k + 1] if k + 1 < len(numbers) else numbers[k - 1]
        else:
            sign = 1.0 if check.relation == "above" else -1.0
            numbers[k] = check.paper[0] - sign * (far + abs(check.paper[0]))
        broken.append(replace(check, ours=tuple(numbers)))
        numbers[k] = float("nan")
        broken.append(replace(check, ours=tuple(numbers)))
        assert value == check.ours[k]
    return broken


def right(check: Check) -> Check:
    """Return the rule with numbers of ours that the paper would have."""
    if check.relation in ("within", "cut"):
        wanted = check.paper if len(check.paper) == len(check.ours) else check.paper * len(check.ours)
        return replace(check, ours=wanted)
    if check.relation == "rises":
        return replace(check, ours=tuple((check.tolerance + 1.0) * k for k in range(len(check.ours))))
    sign = 1.0 if check.relation == "above" else -1.0
    away = check.paper[0] + sign * (2.0 * check.tolerance + 1.0 + abs(check.paper[0]))
    return replace(check, ours=(away,) * len(check.ours))


def swapped(rules: tuple[Check, ...], k: int, rule: Check) -> tuple[Check, ...]:
    return (*rules[:k], rule, *rules[k + 1 :])


def mutate(finding: Finding) -> int:
    """Assert that the word of a finding follows from each of its numbers; return how many were tried."""
    tried = 0
    kept = replace(finding, rules=tuple(right(rule) for rule in finding.rules))
    assert kept.verdict == "agrees", finding.claim
    for k, rule in enumerate(kept.rules):
        for broken in wrong(rule):
            word = replace(kept, rules=swapped(kept.rules, k, broken), corrected=()).verdict
            assert word == "differs", (finding.claim, str(broken))
            tried += 1
    if finding.verdict == "agrees":
        for k, rule in enumerate(finding.rules):
            for broken in wrong(rule):
                spoilt = replace(finding, rules=swapped(finding.rules, k, broken), corrected=())
                assert spoilt.verdict == "differs", (finding.claim, str(broken))
                tried += 1
    if finding.verdict == "misprint":
        for k, rule in enumerate(finding.corrected):
            for broken in wrong(rule):
                spoilt = replace(finding, corrected=swapped(finding.corrected, k, broken))
                assert spoilt.verdict == "differs", (finding.claim, str(broken))
                tried += 1
    return tried


# Claims that each paper's reproduction must speak of; fewer would be findings lost.
LEAST = {"huang-tzounas": 40, "shi-rojas": 16, "gil-sanfelice-nikravesh": 17, "kuznetsov-krasnikov": 20}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name.startswith(("huang", "kuznetsov")) else ())
        for name in PAPERS
    ],
)
def test_every_finding_follows_from_its_numbers(name, tmp_path):
    result = reproduce(name, tmp_path)
    assert len(result.findings) >= LEAST[name]
    assert len({finding.claim for finding in result.findings}) == len(result.findings)
    for finding in result.findings:
        assert finding.rules
        assert all(rule.origin and rule.ours for rule in (*finding.rules, *finding.corrected))
        assert mutate(finding) >= 2 * sum(len(rule.ours) for rule in finding.rules)
    assert all(entry["verdict"] and entry["rules"] for entry in result.record()["findings"])


def test_the_statements_of_the_case_study_follow_from_their_numbers():
    from psmr.reproduce.huang_tzounas.setting import settings
    from psmr.reproduce.huang_tzounas.statements import statements

    rules = statements(settings().paper)
    assert len(rules) == 30
    for name, checks in rules.items():
        mutate(Finding(name, "", "", checks))


def test_a_finding_without_a_rule_is_refused():
    with pytest.raises(InputError, match="finding 'a claim' has no rule that decides"):
        Finding("a claim", "b", "c", ())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Check("x", (1.0,), "about", (1.0,), 0.1, "so"), "relation = 'about'"),
        (lambda: Check("x", (), "within", (1.0,), 0.1, "so"), "at least one number of ours"),
        (lambda: within("x", 1.0, 1.0, 0.1, " "), "say where tolerance 0.1"),
        (lambda: within("x", 1.0, 1.0, float("nan"), "so"), "tolerance = nan"),
        (lambda: within("x", [1.0, 2.0, 3.0], [1.0, 2.0], 0.1, "so"), "3 numbers of ours beside 2"),
        (lambda: rises("x", [1.0], "so"), "do not make a rule 'rises'"),
        (lambda: printed("x", [1.0, 2.0], "1.0", "2.00"), "printed to different digits"),
    ],
)
def test_a_rule_that_cannot_be_evaluated_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        (within("x", 1.05, 1.0, 0.1, "so"), True),
        (within("x", 1.15, 1.0, 0.1, "so"), False),
        (within("x", float("inf"), float("inf"), 0.0, "so"), True),
        (within("x", float("nan"), 1.0, 9.0, "so"), False),
        (exactly("x", [3, 4], [3, 4]), True),
        (exactly("x", [3, 5], [3, 4]), False),
        (rises("x", [1.0, 2.0, 3.0], "so"), True),
        (rises("x", [1.0, 1.0], "so"), False),
        (rises("x", [1.0, 1.5], "so", 1.0), False),
        (above("x", [2.0, 3.0], 1.0, "so"), True),
        (above("x", [2.0, 1.0], 1.0, "so"), False),
        (above("x", float("inf"), 1.0, "so"), True),
        (below("x", 0.5, 1.0, "so"), True),
        (below("x", 0.5, 1.0, "so", 0.6), False),
        (printed("x", 0.4249, "0.42"), True),
        (printed("x", 0.4251, "0.42"), False),
        (printed("x", 0.00538, "0.0053", cut=True), True),
        (printed("x", 0.0054, "0.0053", cut=True), False),
        (printed("x", 0.29, "0.29", cut=True), True),
        (printed("x", 1.8975e-14, "1.90e-14"), True),
        (printed("x", 1775, "1.78e3"), True),
        (printed("x", 1774, "1.78e3"), False),
    ],
)
def test_rules(rule, holds):
    assert rule.holds is holds
    assert ("not " in str(rule)) is not holds

"""Verdicts follow from numbers: just beyond a rule's own tolerance, on either side, the word changes."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psmr.errors import InputError
from psmr.reproduce.check import Check, above, below, endless, exactly, grows, printed, rises, within
from psmr.reproduce.finding import Finding, placed
from psmr.reproduce.papers import PAPERS, reproduce

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


def mutate(finding: Finding) -> int:
    """Assert that the word of a finding follows from each of its numbers; return how many were tried."""
    tried = 0
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
LEAST = {"huang-tzounas": 45, "shi-rojas": 16, "gil-sanfelice-nikravesh": 18, "kuznetsov-krasnikov": 21}


def restored(record: dict) -> Finding:
    """Return a finding from its record."""

    def rule(entry: dict) -> Check:
        ours = tuple(float("nan") if v is None else float(v) for v in entry["ours"])
        names = ("quantity", "relation", "tolerance", "origin", "share")
        return Check(ours=ours, paper=tuple(entry["paper"]), **{name: entry[name] for name in names})

    names = ("claim", "paper", "ours", "why", "figure")
    rules = {key: tuple(map(rule, record[key])) for key in ("rules", "corrected")}
    return Finding(**{name: record[name] for name in names}, **rules)


def refuse(text: str) -> float:
    raise AssertionError(f"{text} is not strict JSON")


@pytest.mark.parametrize("name", PAPERS)
def test_the_words_of_the_stored_findings_follow_from_their_numbers(name):
    text = (STORED / name / "findings.json").read_text(encoding="utf-8")
    records = json.loads(text, parse_constant=refuse)
    page = (STORED / name / "findings.inc").read_text(encoding="utf-8")
    assert len(records) >= LEAST[name]
    for record in records:
        finding = restored(record)
        assert finding.record() == record  # the word, and the outcome of each rule, come out again
        assert f"**{finding.verdict}** | {finding.decided.replace('|', chr(92) + '|')} |" in page
        assert finding.figure
        assert mutate(finding) >= 2 * sum(len(rule.pairs) for rule in finding.rules)


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
        assert mutate(finding) >= 2 * sum(len(rule.pairs) for rule in finding.rules)
    json.dumps(result.record(), allow_nan=False)
    # What the documentation shows is what comes out: the same claims with the same words.
    stored = json.loads((STORED / name / "findings.json").read_text(encoding="utf-8"))
    timed = {f.claim for f in result.findings if ": time" in f.claim}
    words = {f.claim: f.verdict for f in result.findings if f.claim not in timed}
    assert words == {r["claim"]: r["verdict"] for r in stored if r["claim"] not in timed}


def test_the_statements_of_the_case_study_follow_from_their_numbers():
    from psmr.reproduce.huang_tzounas.setting import settings
    from psmr.reproduce.huang_tzounas.statements import statements

    rules = statements(settings().paper)
    assert len(rules) == 33
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
        (lambda: within("x", 1.0, 1.0, float("inf"), "so"), "tolerance = inf: must be finite"),
        (lambda: within("x", 1.0, float("inf"), 0.1, "so"), "paper's number is inf: must be finite"),
        (lambda: above("x", 1.0, float("nan"), "so"), "paper's number is nan"),
        (lambda: below("x", 1.0, float("inf"), "so"), "a rule 'no end' up to where"),
        (lambda: endless("x", 1.0, float("inf"), "so"), "paper's number is inf"),
        (lambda: above("x", 1.0, 1.0, "so", share=1.0), "share = 1"),
        (lambda: Check("x", (1.0,), "within", (1.0,), 0.1, "so", 0.1), "has no share"),
        (lambda: Check("x", (1.0, 2.0), "rises", (), 0.0, "so"), "an order needs a visible difference"),
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
        (within("x", float("inf"), 1.0, 9.0, "so"), False),
        (within("x", float("nan"), 1.0, 9.0, "so"), None),
        (exactly("x", [3, 4], [3, 4]), True),
        (exactly("x", [3, 5], [3, 4]), False),
        (rises("x", [1.0, 2.0, 3.0], "so"), True),
        (rises("x", [1.0, 1.0], "so"), None),
        (rises("x", [1.0, 1.5], "so", 1.0), None),
        (rises("x", [1.5, 1.0], "so", 1.0), None),
        (rises("x", [2.5, 1.0], "so", 1.0), False),
        (rises("x", [1.0, 1.5, 0.0], "so", 1.0), False),
        (rises("x", [3.132027, 3.133076]), None),
        (rises("x", [3.132027, 3.17]), True),
        (rises("x", [1.0, float("inf")]), True),
        (rises("x", [float("inf"), 1.0]), False),
        (rises("x", [float("inf"), float("inf")]), None),
        (endless("x", float("inf"), 0.1, "so"), True),
        (endless("x", 0.2, 0.1, "so"), True),
        (endless("x", 0.1, 0.1, "so"), False),
        (above("x", [2.0, 3.0], 1.0, "so"), True),
        (above("x", [2.0, 1.0], 1.0, "so"), False),
        (above("x", float("inf"), 1.0, "so"), True),
        (below("x", 0.5, 1.0, "so"), True),
        (below("x", 1.0, 1.0, "so"), False),
        (below("x", 0.5, 1.0, "so", 0.6), None),
        (below("x", 1.5, 1.0, "so", 0.6), None),
        (below("x", 1.7, 1.0, "so", 0.6), False),
        (above("x", 1.0014, 1.0, "so", share=0.01), None),
        (above("x", 1.02, 1.0, "so", share=0.01), True),
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
    assert rule.outcome is holds
    assert rule.holds is (holds is True)
    assert ("not " in str(rule)) is not rule.holds
    assert ("not decided" in str(rule)) is (holds is None)
    json.dumps(rule.record(), allow_nan=False)


def test_growth_is_judged_at_every_point_and_only_by_what_is_visible():
    def word(values):
        return Finding("a", "", "", grows("x", values)).verdict

    assert word([1.0, 2.0, 1.99, 1.99, 3.0]) == "agrees"
    assert word([8.3e-6, 5.0e-6, 2.4e-5, 3.7e-5]) == "differs"
    assert word([1.0, 1.001, 1.002]) == "not decided"
    # Steps that are each too small to see add up.
    assert word([1.0, 2.0, 1.985, 1.97, 1.955, 3.0]) == "differs"


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ([1.525, 1.382, 1.392, 1.393, 1.394, 1.395, 1.395], 0),
        ([1.5, 0.4, 0.6, 0.42, 0.46, 0.45], 3),
        ([0.871, 0.888, 0.892], 0),
        ([1.0, 1.0, 1.0], 0),
        ([2.0, 1.0, 1.015, 1.03], 1),
    ],
)
def test_turns_count_what_is_visible(values, count):
    from psmr.reproduce.huang_tzounas.statements import turns

    assert turns(pd.Series(values)) == count


def test_a_word_that_the_numbers_do_not_give():
    close, clear = rises("x", [1.0, 1.001]), rises("x", [1.0, 2.0])
    assert Finding("a", "", "", (close, clear)).verdict == "not decided"
    assert Finding("a", "", "", (close, rises("x", [2.0, 1.0]))).verdict == "differs"
    # What is printed must be broken before another reading can be called a misprint.
    assert Finding("a", "", "", (close,), corrected=(clear,)).verdict == "not decided"
    assert Finding("a", "", "", (rises("x", [2.0, 1.0]),), corrected=(clear,)).verdict == "misprint"
    assert Finding("a", "", "", (rises("x", [2.0, 1.0]),), corrected=(close,)).verdict == "differs"


def test_a_claim_without_a_figure_or_table_is_refused():
    rule = (rises("x", [1.0, 2.0]),)
    found = placed([Finding("Figure 11: b", "", "", rule)], {"Figure 1": "first", "Figure 11": "last"})
    assert found[0].figure == "last"
    with pytest.raises(InputError, match="'Figure 2': name the figure or table"):
        placed([Finding("Figure 2", "", "", rule)], {"Figure 1": "first"})

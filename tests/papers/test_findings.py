"""Verdicts follow from numbers: just beyond a rule's own tolerance, on either side, the word changes."""

import json

import pandas as pd
import pytest

from psmr.errors import InputError
from psmr.papers.catalogue import PAPERS, paper
from psmr.papers.finding import (
    Check,
    ClaimResult,
    above,
    below,
    endless,
    exactly,
    printed,
    read_claims,
    rises,
    tends,
    within,
)
from tests.papers.mutated import LEAST, STORED, mutate


def restored(record: dict) -> ClaimResult:
    """Return a finding from its record."""

    def rule(entry: dict) -> Check:
        ours = tuple(float("nan") if v is None else float(v) for v in entry["ours"])
        names = ("quantity", "relation", "tolerance", "origin", "share")
        return Check(ours=ours, paper=tuple(entry["paper"]), **{name: entry[name] for name in names})

    names = ("claim", "paper", "ours", "why", "figure")
    rules = {key: tuple(map(rule, record[key])) for key in ("rules", "corrected")}
    return ClaimResult(**{name: record[name] for name in names}, **rules)


TABLE = """
[origins]
slope = "what the tests allow"

[[finding]]
claim = "Order"
paper = "2"
ours = "{slope:.2f}; {share!p:.0f} % late"
figure = "Table 1"
rules = [
    ["within", "slope", ["{slope[x]}"], 2, 0.2, "slope"],
    ["exactly", "steps of {name}", "{n}", 1000, { each = "steps", origin = "counted" }],
]

[[finding]]
each = "steps"
claim = "Steps of {name}"
paper = "1000"
ours = "{n:,}"
rules = [["exactly", "steps", "{n}", 1000]]
corrected = [["exactly", "steps", "{n}", 3]]
"""


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


@pytest.mark.slow
def test_the_statements_of_the_case_study_follow_from_their_numbers():
    from psmr.papers.huang_tzounas.runs import settings
    from psmr.papers.huang_tzounas.statements import statement_numbers

    numbers = statement_numbers(settings().paper)
    claims = [claim for claim in paper("huang-tzounas").claims if claim.sets]
    assert len(claims) == 33
    for claim in claims:
        mutate(ClaimResult(claim.claim, "stated", "", claim.decide(numbers)))


def test_a_table_of_claims(tmp_path):
    (tmp_path / "claims.toml").write_text(TABLE, encoding="utf-8")
    numbers = {
        "slope": {"x": 1.96, "y": 2.05},
        "share": 0.25,
        "steps": [{"name": "a", "n": 1000}, {"name": "b", "n": 3}],
    }
    order, *steps = [f for claim in read_claims(tmp_path) for f in claim.findings(numbers)]
    assert order == ClaimResult(
        "Order",
        "2",
        "x 1.96, y 2.05; 25 % late",
        (
            within("slope", [1.96], 2.0, 0.2, "what the tests allow"),
            exactly("steps of a", 1000, 1000, "counted"),
            exactly("steps of b", 3, 1000, "counted"),
        ),
        figure="Table 1",
    )
    assert [(f.claim, f.ours, f.verdict, f.figure) for f in steps] == [
        ("Steps of a", "1,000", "agrees", "Table 1"),
        ("Steps of b", "3", "misprint", "Table 1"),
    ]


@pytest.mark.parametrize("name", PAPERS)
def test_every_origin_is_that_of_a_rule(name):
    claims = paper(name).claims
    used = {part for claim in claims for rule in (*claim.rules, *claim.corrected) for part in map(str, rule)}
    assert set(claims[0].origins) <= used


def test_a_finding_without_a_rule_is_refused():
    with pytest.raises(InputError, match="finding 'a claim' has no rule that decides"):
        ClaimResult("a claim", "b", "c", ())


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


def test_what_tends_to_grow_is_a_trend_and_not_every_step():
    def word(values):
        return ClaimResult("a", "tends to grow", "", tends("x", values)).verdict

    assert word([1.0, 2.0, 1.9, 1.8, 3.0, 4.0, 5.0]) == "agrees"
    assert word([1.0, 1.001, 1.002, 1.003]) == "not decided"
    assert word([1.0, 5.0, 4.0, 3.0, 2.0, 1.5]) == "not decided"  # larger at last, and falling between
    assert word([1.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.5]) == "differs"
    assert word([4.0, 3.0, 2.0, 1.0]) == "differs"
    # Mann and Kendall: of four numbers in rising order chance gives one of 24, of three one of six.
    assert tends("x", [1.0, 2.0, 3.0, 4.0])[1].outcome is True
    assert tends("x", [1.0, 2.0, 3.0])[1].outcome is None


def test_what_a_paper_does_not_state_is_beyond_it_whatever_the_numbers():
    for rules in ((), (rises("x", [1.0, 2.0]),), (rises("x", [2.0, 1.0]),)):
        finding = ClaimResult("a", "", "b", rules)
        assert finding.verdict == finding.record()["verdict"] == "beyond the paper"
        assert "paper: -" in str(finding)


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
    from psmr.papers.huang_tzounas.statements import turns

    assert turns(pd.Series(values)) == count


def test_a_word_that_the_numbers_do_not_give():
    close, clear = rises("x", [1.0, 1.001]), rises("x", [1.0, 2.0])
    assert ClaimResult("a", "b", "", (close, clear)).verdict == "not decided"
    assert ClaimResult("a", "b", "", (close, rises("x", [2.0, 1.0]))).verdict == "differs"
    # What is printed must be broken before another reading can be called a misprint.
    assert ClaimResult("a", "b", "", (close,), corrected=(clear,)).verdict == "not decided"
    assert ClaimResult("a", "b", "", (rises("x", [2.0, 1.0]),), corrected=(clear,)).verdict == "misprint"
    assert ClaimResult("a", "b", "", (rises("x", [2.0, 1.0]),), corrected=(close,)).verdict == "differs"

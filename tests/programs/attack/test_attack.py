"""A moment of each part of the attack; the long one is ``python -m tests.programs.attack``."""

import random

import pytest

from psmr.errors import CaseError
from tests.internals import circuit_number
from tests.programs.attack import forbidden, lists, mutations, processes, runs
from tests.programs.attack.tally import Tally, Wrong


def test_mutations_follow_from_their_seed():
    text = mutations.source("RAW")
    assert mutations.mutation(text, "1 2") == mutations.mutation(text, "1 2")
    assert len({mutations.mutation(text, f"1 {k}") for k in range(50)}) > 40
    text = mutations.source("TOML case")
    for change in set(mutations.BY_FIELD):
        assert any(change(text, random.Random(k)) != text for k in range(10)), change.__name__


def test_damaged_fields(tmp_path):
    tally = Tally()
    for number in range(10 * len(mutations.FORMATS)):
        mutations.attack(tally, tmp_path, 3, number)
    assert not tally.found
    counts = sum(tally.counts.values(), start=type(next(iter(tally.counts.values())))())
    assert counts["refused"] > 10
    assert counts["run"] > 10


def test_what_the_documentation_forbids_is_refused_by_line(tmp_path):
    deck = [breach for breach in forbidden.breaches() if not breach.kind.startswith("TOML")]
    toml = [breach for breach in forbidden.breaches() if breach.kind.startswith("TOML")]
    assert len(deck) > 50
    assert len(toml) > 20_000
    tally = Tally()
    for breach in (*deck, *random.Random(1).sample(toml, 60)):
        forbidden.attack(tally, tmp_path, breach)
    assert not tally.found


def test_random_events():
    tally = Tally()
    for number in range(8):
        runs.attack(tally, 3, number)
    assert not tally.found


@pytest.mark.slow
def test_kills(tmp_path):
    tally = Tally()
    commands = processes.Commands(tmp_path)
    for number in range(5):
        processes.kill(commands, tally, 3, number)
    processes.small_disk(commands, tally, 3, 0)
    processes.tidy(commands, tally)
    assert not tally.found


def test_what_an_attempt_comes_to(capsys):
    def fails(error):
        def attempt():
            raise error

        return attempt

    tally = Tally()
    tally.attempt("a", "1", lambda: "run")
    for error in (CaseError("no"), CaseError(" "), Wrong("x"), KeyError("x")):
        tally.attempt("a", "2", fails(error))
    assert dict(tally.counts["a"]) == {"tried": 5, "run": 1, "refused": 1, "wrong": 2, "traceback": 1}
    assert len(tally.found) == 3
    assert "| a | 5 | 1 | 1 | 2 | 1 | 0 | 0 |" in tally.table()
    capsys.readouterr()


def test_a_circuit_of_too_many_digits():
    assert circuit_number("9" * 5000) == 1
    assert circuit_number(" 12 ") == 12


@pytest.mark.slow
def test_lists_with_relays_and_conditions(tmp_path):
    tally = Tally()
    for number in range(4):
        lists.attack(tally, tmp_path, 7001, number, ["wscc9", "wscc9-gfm"])
    assert not tally.found
    assert tally.counts["powers of lists"]["run"] >= 2
    assert tally.counts["lists by file"]["run"] == 4

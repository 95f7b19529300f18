"""The default scheme, every line of every shipped case tripped in turn: red where the trajectory says so.

The oracle is that of `tests.programs.verdicts`, which shares no code with psmr's detectors and reads the
points alone. The scheme is A-stable, and to blame for nothing.
"""

import warnings

import pytest

import psmr
from psmr.errors import PsmrError, PsmrWarning
from tests.internals import Kind
from tests.programs.verdicts.oracle import Limits, Oracle

CASES = (
    "wscc9/wscc9", "wscc9/wscc9-gfm", "wscc9/wscc9-ibr", "wscc9/wscc9-renewable", "wscc9/wscc9-static",
    "wscc9/sauer-pai", "kundur/kundur", "kundur/thyristor", "kundur/dc", "ieee-fbm/ieee-fbm",
    "microgrid/microgrid", "new-england/new-england", "new-england/new-england-plants",
)  # fmt: skip
END = 10.0


def trips(name):
    """Yield each line of a case, and the run in which it trips at 1 s."""
    case = psmr.case(name)
    system = psmr.build(case)
    for branch in case.branches:
        try:
            yield system, branch.name, psmr.simulate(system, None, END, [psmr.LineTrip(branch.name, 1.0)])
        except PsmrError:  # refused, or without a solution after it: no verdict to be wrong
            continue


def wrongly_red(system, run):
    """Return why a run is red where its own points are not; "" where both agree."""
    judged = run.judgement
    blamed = [c.verdict for c in run.certificates if c.blames_scheme]
    if blamed:  # every scheme here is A-stable
        return blamed[0]
    if any(c.stability is not None and c.stability.kind is Kind.UNUSABLE for c in run.certificates):
        return "unusable"
    if judged.colour != "red" or run.outcome.blackout:
        return ""
    seen = Oracle(system, run.events, float(run.t[-1]), run.t, run.x, run.y).judge(Limits(1.0 - 1e-3))
    return "" if seen.colour == "red" or seen.doubtful else "; ".join(judged.reasons)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_no_run_is_red_but_where_its_points_say_so(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)
        wrong = {line: why for system, line, run in trips(name) if (why := wrongly_red(system, run))}
    assert not wrong

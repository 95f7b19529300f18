"""docs/conformance.md has every trace, and its figures are those that psmr computes now."""

import re

import pytest

from tests.conformance import page
from tests.conformance.lists import of_inverters
from tests.conformance.page import trace_cells
from tests.conformance.traces import entries, rows

ENTRIES = list(entries())
TRACES, LISTS = page.cells(page.TRACES), page.cells(page.LISTS)
SLACK = 0.2
"""What a figure of two digits may be off by on another machine: last digits, and what the numerics leave."""


def of(entry):
    return [cells for cells in TRACES if f"**{entry.program}** {entry.name} [" in cells[0]]


def number(cell):
    return float(re.match(r"[-+.\de]+", cell)[0])


def test_the_page_has_every_trace_and_nothing_else():
    """A row for each unit among a trace's signals; ``python -m tests.conformance`` writes them."""
    expected = [
        f"**{entry.program}** {entry.name} [{unit}]"
        for entry in ENTRIES
        for unit in dict.fromkeys(column.unit for column in entry.columns)
    ]
    assert [cells[0] for cells in TRACES] == expected


def test_the_numerics_are_a_small_part_of_every_row():
    """Half of the smallest difference at most: elsewhere the page would not say how far the model is."""
    for cells in TRACES:
        assert number(cells[4]) < 0.15 * number(cells[1]), cells[0]


def test_every_list_has_a_difference_and_a_large_one_a_cause():
    """1e-5 is what the lists of PowerSimulationsDynamics.jl are held to."""
    assert len(LISTS) > 40
    for name, count, off, cause in LISTS:
        assert int(count) > 0
        assert cause or number(off) < (1e-5 if "each eigenvalue" in off else 6e-3), name


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.program} {entry.name}")
def test_the_figures_are_those_of_the_page(entry):
    for row, cells in zip(rows(entry), of(entry), strict=True):
        fresh = trace_cells(row)
        assert fresh[8:] == tuple(cells[8:])
        for new, old in zip(fresh[1:3], cells[1:3], strict=True):
            assert number(new) == pytest.approx(number(old), rel=SLACK)


# Norms over the 801 points of tests 08 and 23 that PowerSimulationsDynamics.jl accepts of itself.
ACCEPTED = {"omega": 1e-4, "theta": 3e-2}


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.program == "PSCAD"], ids=lambda e: e.name)
def test_inverters_are_as_near_to_pscad_as_the_project_that_made_the_traces_asks(entry):
    (row,) = rows(entry)
    points = len(entry.trace()[0])
    assert points == 801
    assert row.rms * points**0.5 < ACCEPTED[entry.columns[0].signal.partition(".")[2]]


def test_inverters_have_the_eigenvalues_of_that_project():
    """Measured: 7.4e-7 and 2.8e-7 of each eigenvalue."""
    for entry in of_inverters():
        assert entry.largest < 1e-6, entry.name

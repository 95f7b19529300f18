"""Write the tables of docs/conformance.md: python -m tests.programs.conformance, with the extra peers."""

from tests.programs.conformance import quoted
from tests.programs.conformance.lists import published
from tests.programs.conformance.page import write
from tests.programs.conformance.traces import entries, rows

if __name__ == "__main__":
    write([row for entry in entries() for row in rows(entry)], list(published()), list(quoted.rows()))

"""Write the tables of docs/conformance.md: python -m tests.conformance, with the extra peers (ANDES)."""

from tests.conformance import quoted
from tests.conformance.lists import published
from tests.conformance.page import write
from tests.conformance.traces import entries, rows

if __name__ == "__main__":
    write([row for entry in entries() for row in rows(entry)], list(published()), list(quoted.rows()))

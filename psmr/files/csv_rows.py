"""The rows of a CSV file whose first line names its columns."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from psmr.base.errors import CaseError, InputError
from psmr.files.text import read_utf8, require_file


def csv_rows(file: Path, error: type[InputError]) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the names of columns, and the line and cells of each row that has something in it.

    Raises
    ------
    InputError
        Of the given type: for a file that cannot be read, is no CSV, or has other marks between its cells.
    """
    try:
        require_file(file)
        reader = csv.reader(io.StringIO(read_utf8(file), newline=""))
        head = [cell.strip() for cell in next(reader, [])]
        rows = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except CaseError as wrong:
        raise error(str(wrong)) from wrong
    except csv.Error as wrong:  # a cell of more than 131,072 characters: a quotation mark that is not closed
        raise error(f"{file}:{reader.line_num}: is no CSV: {wrong}; is a quote not closed?") from wrong
    apart = next((mark for mark in (";", "\t") if mark in head[0]), None) if len(head) == 1 else None
    if apart is not None:
        raise error(
            f"{file}:1: cells are separated by {'semicolons' if apart == ';' else 'tabs'}; separate them by "
            "commas, and write numbers with a decimal point"
        )
    return head, rows

"""The command of the course: exercises, their marks and solutions."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Annotated

from psmr.base.declared import Option
from psmr.base.errors import InputError, in_line
from psmr.base.files import write_texts
from psmr.cli.console import Progress, give_table, print_result, show, tell_written, write_csv
from psmr.cli.options import CSV, JSON, TABLE

CHECK = Option(
    "mark answers: exercise-N.toml in this folder, or the files of a class, or folders with them",
    "FILE",
    either="what",
    empty=True,
)


def exercise(
    number: Annotated[str | None, "1 to 8; left out, they are listed", "N"] = None,
    *,
    student: Annotated[str, "name or number of a student, who gets numbers of their own", "NAME"] = "",
    check: Annotated[list[str] | None, CHECK] = None,
    solution: Annotated[bool, "answers with reasons, for the teacher", Option(either="what")] = False,
    force: Annotated[bool, "write the files again, without the answers in them"] = False,
    json: Annotated[bool, JSON] = False,
    output: Annotated[str | None, TABLE, CSV] = None,
) -> int:
    """Give an exercise of the course, mark its answers, or show its solution.

    example: psmr exercise 3 --student 4711
    """
    import pandas as pd

    from psmr.course import marking
    from psmr.course.exercise import FOLDER, NUMBERS, read_exercise

    if number is None:
        titles = pd.DataFrame([{"N": k, "exercise": read_exercise(k).title} for k in NUMBERS])
        give_table(titles, f"psmr exercise N gives one; the pages are in {FOLDER}", json, output, left=True)
        return 0
    chosen = read_exercise(number, student)
    title = f"Exercise {number}: {chosen.title}"
    if solution:
        rows = list(marking.solution(chosen))
        write_csv(output, pd.DataFrame(rows))
        print_result(json, rows, title, *(row["words"] for row in rows), written=[output])
        return 0
    if check is None:
        texts = chosen.texts()
        there = next((path for path in texts if os.path.lexists(path)), None)
        if there and not force:
            raise InputError(f"{there}: is there already; --force writes it again, without your answers")
        write_texts(texts)
        tell_written(*map(str, texts))
        show(f"\nThe page: {in_line(str(chosen.page))}\nMark answers: psmr exercise {number} --check")
        return 0
    paths, marked = marking.files_in(number, check), []
    with Progress(len(paths), unit=" files") as progress:
        for found in marking.mark_class(number, paths):
            marked.append(found)
            progress(len(marked))
    if len(marked) == 1 and not marked[0].marks:
        raise InputError(marked[0].note)
    table = pd.DataFrame([found.row for found in marked]).fillna("")
    if len(marked) > 1 and not json:
        give_table(table, title, json, output, left=True)
    else:
        write_csv(output, table)
        print_result(json, [asdict(found) for found in marked], title, marked[0], written=[output])
    return int(any(found.right < len(chosen.questions) for found in marked))

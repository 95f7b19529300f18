"""Marking: the answers of a student's file, and the files of a whole class."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from psmr.base.errors import InputError, shown
from psmr.base.numbers import real_in
from psmr.course.answers import ANSWERS
from psmr.course.exercise import FORMAT, VERSION, Exercise, Question, folded, read_exercise
from psmr.files.toml.document import Field, read_document

OTHER_UNITS: Mapping[str, Mapping[str, float]] = {
    "deg": {"in rad": math.degrees(1.0)},
    "ms": {"in s": 1e3},
    "us": {"in s": 1e6, "in ms": 1e3},
    "s": {"in ms": 1e-3},
    "Hz": {"in rad/s": 0.5 / math.pi},
    "1/s": {"in Hz": 2.0 * math.pi},
    "%": {"as a fraction": 100.0},
    "pu": {"in %": 0.01},
    "MW": {"in pu on 100 MVA": 100.0},
}
"""What an answer in another unit is multiplied by to have the unit that is asked for."""


class Mark(NamedTuple):
    """What became of an answer: "right", "wrong" or "empty", with a sentence where it is not right."""

    status: str
    sentence: str = ""


@dataclass(frozen=True)
class Marked:
    """A file with a mark for each question; without any where it could not be read, as the note says."""

    file: str
    student: str = ""
    marks: tuple[Mark, ...] = ()
    note: str = ""

    @property
    def right(self) -> int:
        """How many answers are right."""
        return sum(mark.status == "right" for mark in self.marks)

    @property
    def row(self) -> dict[str, str]:
        """The row of the table of a class."""
        marks = {str(k): mark.status for k, mark in enumerate(self.marks, 1)}
        return {
            "file": self.file,
            "student": self.student,
            "right": str(self.right),
            "note": self.note,
        } | marks

    def __str__(self) -> str:
        lines = [f"  {k}  {mark.status:6} {mark.sentence}".rstrip() for k, mark in enumerate(self.marks, 1)]
        return "\n".join([*lines, f"{self.right} of {len(lines)} right"])


def mark(question: Question, exercise: Exercise, answer: float | str) -> Mark:
    """Mark one answer, as it stands in the file."""
    text = str(answer).strip().replace("\N{MINUS SIGN}", "-")  # which pages and spreadsheets write
    if not text:
        return Mark("empty", "No answer yet.")
    if question.unit == "name":
        same = _names(text) == _names(str(ANSWERS[question.answer](exercise)))
        return Mark("right") if same else Mark("wrong", question.hint)
    number, unit = re.findall(r"^([-+\d.,]*(?:[eE][-+]?\d+)?)(.*)", text)[0]
    if "," in number:
        return Mark("wrong", f"{shown(text)}: a decimal has a point, as in {number.replace(',', '.')}.")
    try:
        value = real_in(number)
    except ValueError:
        return Mark("wrong", f"{shown(text)} is not a number; write one, such as 12.5.")
    if unit.strip() not in ("", question.unit):
        asked = "" if question.unit == "number" else f", in {question.unit}"
        return Mark("wrong", f"{shown(text)}: write a number alone{asked}.")
    right = float(ANSWERS[question.answer](exercise))
    room = tolerance(question, right)
    if abs(value - right) <= room:
        return Mark("right")
    for unit, factor in OTHER_UNITS.get(question.unit, {}).items():
        if abs(value * factor - right) <= room:
            return Mark("wrong", f"This is right {unit}; the answer is asked for in {question.unit}.")
    if abs(value + right) <= room:
        return Mark("wrong", f"The size is right, the sign is not. {question.hint}")
    for name, sentence in question.mistakes.items():
        if abs(value - float(ANSWERS[name](exercise))) <= room:
            return Mark("wrong", sentence)
    return Mark("wrong", question.hint)


def tolerance(question: Question, right: float) -> float:
    """Return by how much an answer may differ from the right one, in its unit."""
    return max(question.within, question.relative * abs(right))


def _names(text: str) -> set[str]:
    return set(re.split(r"[\s,;]+", text.casefold()))


def mark_file(number: str, path: Path) -> Marked:
    """Mark the file of a student.

    Raises InputError for a file that cannot be read or is of another exercise, and where the numbers given in
    it are not its student's.
    """
    file = read_document(path, InputError)
    spec = {"exercise": Field((int,), needed=True), "student": Field((str,), needed=True)}
    head = file.head(FORMAT, VERSION, spec, ("given", "answers"))
    if str(head["exercise"]) != number:
        file.fail(f"exercise = {head['exercise']}: these are answers of another exercise", (), "exercise")
    exercise = read_exercise(number, head["student"])
    own = {key: list(value) if isinstance(value, tuple) else value for key, value in exercise.given}
    for key, value in (file.table("given") or {}).items():
        if value != own.get(key):
            words = f"{key} = {shown(value)}: student {shown(exercise.student)} has {shown(own.get(key))}"
            file.fail(f"{words}; leave student and [given] as they were written", ("given",), key)
    fields = {str(k): Field((str, float)) for k, _ in enumerate(exercise.questions, 1)}
    answers = file.values(("answers",), file.table("answers") or {}, fields)
    pairs = zip(fields, exercise.questions, strict=True)
    return Marked(str(path), exercise.student, tuple(mark(q, exercise, answers.get(k, "")) for k, q in pairs))


def files_in(number: str, places: Sequence[str]) -> list[Path]:
    """Return the files that are named, and of folders all like ``Exercise-N.toml.txt``, at least one."""
    found: list[Path] = []
    named = re.compile(rf"exercise-{number}(?!\d).*\.(toml|txt)$", re.IGNORECASE)
    for place in map(Path, places or [f"exercise-{number}.toml"]):
        inside = [place]
        if place.is_dir():
            inside = sorted(path for path in place.rglob("*") if named.search(path.name))
        if not inside:
            raise InputError(f"{place}: no file in this folder has a name like exercise-{number}.toml")
        found += inside
    return found


def mark_class(number: str, paths: Sequence[Path]) -> Iterator[Marked]:
    """Mark many files; the note says what is wrong with one of them, and where a student has two."""
    first: dict[str, Path] = {}
    for path in paths:
        try:
            marked = mark_file(number, path)
        except InputError as error:
            yield Marked(str(path), note=str(error))
            continue
        other = first.setdefault(folded(marked.student), path)
        note = "" if other == path else f"the same student as in {other}"
        yield Marked(marked.file, marked.student, marked.marks, note)


def solution(exercise: Exercise) -> Iterator[dict[str, Any]]:
    """Yield for each question its answer, the tolerance and the reason; "words" has them as text."""
    for k, question in enumerate(exercise.questions, 1):
        answer = ANSWERS[question.answer](exercise)
        words = str(answer)
        if not isinstance(answer, str):
            unit = question.unit.replace("number", "")
            words = f"{answer:.5g} {unit} within {tolerance(question, answer):.2g}".replace("  ", " ")
        row = {"question": k, "answer": answer, "unit": question.unit, "reason": question.reason}
        yield row | {"words": f"{k}. {question.text}\n   {words}\n   {question.reason}"}

"""An exercise of one student: its page and data, its numbers, and the files to begin with.

The page, `docs/course/exercise-N.md`, has the questions, each with its unit in brackets. The data beside it,
`exercise-N.toml`, say which function answers a question (never the answer itself), how near one must be, what
is said of a wrong one and how the right one comes about; what varies; and the cases and studies of a student.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from psmr.base.errors import InputError, shown
from psmr.files.shipped import case
from psmr.files.toml.write import toml_pairs, toml_text
from psmr.network.case.case import Case

FORMAT, VERSION = "psmr-exercise", 1
NUMBERS = "12345678"

_INSTALLED, _CHECKOUT = Path(__file__).parent / "pages", Path(__file__).parents[2] / "docs" / "course"
FOLDER = _INSTALLED if (_INSTALLED / "index.md").is_file() else _CHECKOUT
"""Pages and data: in a checkout among the documentation, in an installed package within."""


@dataclass(frozen=True)
class Question:
    """A question; its unit is "name", "number" or one of physics.

    `answer` names the function that answers it, `mistakes` those of what usual mistakes lead to, with a
    sentence each. The tolerance is the larger of `within`, in the unit, and a `relative` one.
    """

    text: str
    unit: str
    answer: str
    hint: str
    reason: str
    within: float = 0.0
    relative: float = 0.0
    mistakes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Exercise:
    """An exercise with the numbers that one student is `given`; equal where these are."""

    number: int
    given: tuple[tuple[str, Any], ...]
    student: str = field(compare=False)
    page: Path = field(compare=False)
    title: str = field(compare=False)
    data: Mapping[str, Any] = field(compare=False, repr=False)
    questions: tuple[Question, ...] = field(compare=False, repr=False)

    def __getitem__(self, name: str) -> Any:
        return dict(self.given)[name]

    def only(self, *names: str) -> Exercise:
        """Return the exercise with these numbers alone: who shares them shares what follows from them."""
        return replace(self, given=tuple(pair for pair in self.given if pair[0] in names))

    def case(self, file: str = "") -> Case:
        """Return the student's case that has this file; the first where none is named."""
        made = self.data["cases"][file or next(iter(self.data["cases"]))]
        return case(made["from"]).edit(
            {name: float(value.format_map(dict(self.given))) for name, value in made["edit"].items()}
        )

    def texts(self) -> Mapping[Path, str]:
        """Return the student's files: room for answers, cases and studies."""
        head = {"format": FORMAT, "version": VERSION, "exercise": self.number, "student": self.student}
        words = {key: each["is"] for key, each in self.data["given"].items()}
        parts = [
            f"# Exercise {self.number}: {self.title}",
            '# Write an answer as a number, 12.5, or as a name between the quotes, "G2". Then:',
            f"# psmr exercise {self.number} --check\n{toml_pairs(head)}",
            "[given]  # yours, by the name of the student",
            *(f"{toml_pairs({key: value})[:-1]}  # {words[key]}" for key, value in self.given),
            "\n[answers]",
            *(f'# {k}. {q.text} [{q.unit}]\n{k} = ""\n' for k, q in enumerate(self.questions, 1)),
        ]
        return {
            Path(f"exercise-{self.number}.toml"): "\n".join(parts),
            **{Path(file): toml_text(self.case(file)) for file in self.data.get("cases", ())},
            **{
                Path(file): text.format_map(dict(self.given))
                for file, text in self.data.get("files", {}).items()
            },
        }


def folded(student: str) -> str:
    """Return a student's name as it counts, without capitals and spaces around."""
    return " ".join(student.split()).casefold()


def read_exercise(number: str, student: str = "") -> Exercise:
    """Return an exercise with the numbers of a student; of nobody with the first ones, which are published.

    They are chosen by a checksum of the name, so that they are the same everywhere and need not be kept.
    InputError for a number that no exercise has.
    """
    if number not in tuple(NUMBERS):
        raise InputError(f"N = {shown(number)}: the exercises are 1 to {NUMBERS[-1]}")
    page = FOLDER / f"exercise-{number}.md"
    text = page.read_text(encoding="utf-8")
    data = tomllib.loads(page.with_suffix(".toml").read_text(encoding="utf-8"))
    asked = re.findall(r"^\d\. (.+) \[(.+)\]$", text.partition("## Questions")[2].partition("\n#")[0], re.M)
    name = folded(student)

    def chosen(key: str, values: list[Any]) -> Any:
        digest = sha256(f"{number} {key} {name}".encode()).digest()
        value = values[int.from_bytes(digest) % len(values) if name else 0]
        return tuple(value) if isinstance(value, list) else value

    return Exercise(
        int(number),
        tuple((key, chosen(key, each["values"])) for key, each in data["given"].items()),
        student,
        page,
        text.partition("\n")[0].partition(": ")[2],
        data,
        tuple(Question(*each, **rest) for each, rest in zip(asked, data["question"], strict=True)),
    )

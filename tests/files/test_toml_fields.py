"""What a file may say follows from the records; and what no file should do to the reader."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest

from psmr import read_case, read_study
from psmr.errors import CaseError, StudyError
from tests.files.test_toml import GOOD
from tests.internals import read_document, specification

CHOICES = ("north", "south")


@dataclass(frozen=True)
class Record:
    number: float
    whole: int
    flag: bool
    side: Annotated[str, CHOICES]
    count: int | Literal["all"] = 0
    file: str | os.PathLike[str] | None = None
    signals: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    weights: float | Mapping[str, float] = 1.0
    from_bus: int = 1
    inside: object = None

    @classmethod
    def otherwise(cls, number: float, half: float, side: str = "north", **more: object) -> "Record":
        return cls(number, int(2 * half), True, side, **more)


SPEC = specification(Record, without=("inside",), called={"from_bus": "from"})
TEXT = 'number = 1\nwhole = 2\nflag = true\nside = "north"\n'


def test_names_types_presence_and_choices_come_from_the_record():
    assert {name: field.right(finite=True) for name, field in SPEC.items()} == {
        "number": "a finite number",
        "whole": "a whole number",
        "flag": "true or false",
        "side": 'one of "north", "south"',
        "count": 'a whole number or "all"',
        "file": "the path of a file, relative to this one, in quotes",
        "signals": 'a list of texts, ["...", "..."]',
        "shares": "a list of numbers",
        "weights": "a finite number",
        "from": "a whole number",
    }
    assert [name for name, field in SPEC.items() if field.needed] == ["number", "whole", "flag", "side"]


def test_of_two_ways_a_field_is_needed_where_both_need_it():
    spec = specification(Record, Record.otherwise, without=("inside",))
    assert [name for name, field in spec.items() if field.needed] == ["number"]
    assert spec["half"].right(finite=False) == "a number"


def test_a_type_that_no_file_holds_is_refused():
    with pytest.raises(TypeError, match=r"Record: inside: .*object.*: no file can hold this"):
        specification(Record)


@pytest.fixture
def values(tmp_path):
    def values(text, finite=True):
        path = tmp_path / "table.toml"
        path.write_text(f"[table]\n{text}", encoding="utf-8")
        document = read_document(path, StudyError, finite)
        return document.values(("table",), document.content["table"], SPEC)

    return values


def test_values_are_those_of_the_record(values, tmp_path):
    found = values(TEXT + 'count = "all"\nfile = "a.csv"\nsignals = ["b"]\nshares = [1, 0.5]\nfrom = 7')
    assert found.pop("file") == tmp_path / "a.csv"
    assert Record(**found) == Record(1.0, 2, True, "north", "all", None, ("b",), (1.0, 0.5), 1.0, 7)
    assert isinstance(found["number"], float)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("whole = true", "whole = True: must be a whole number"),
        ("flag = 1", "flag = 1: must be true or false"),
        ('side = "nroth"', "side = 'nroth': must be one of \"north\", \"south\"; did you mean 'north'?"),
        ("side = []", 'side = []: must be one of "north", "south"'),
        ('count = "al"', "count = 'al': must be a whole number or \"all\"; did you mean 'all'?"),
        (
            r'file = "a\u0000.csv"',
            "must be the path of a file, relative to this one, in quotes; this one has a NUL",
        ),
        ("signals = []", "signals = []: must be a list of texts"),
        ("shares = [1, true]", "shares = True: must be a finite number"),
        ("number = inf", "number = inf: must be a finite number"),
        ("from_bus = 1", "there is no field 'from_bus'; did you mean 'from'?"),
        (f"number = 1{'0' * 400}", "...: must be a finite number; this one has too many digits"),
        (f"whole = {2**63}", f"whole = {2**63}: must be a whole number; this one has too many digits"),
        (
            f"whole = 0x{'f' * 5000}",
            "whole = a whole number of more than 4300 digits: must be",
        ),
    ],
)
def test_what_is_wrong_is_named(values, line, message):
    name = line.partition(" ")[0]
    text = "".join(old for old in TEXT.splitlines(keepends=True) if not old.startswith(f"{name} ")) + line
    with pytest.raises(StudyError) as caught:
        values(text)
    number = text.splitlines().index(line) + 2
    assert f"table.toml:{number} [table]: " in str(caught.value)
    assert message in str(caught.value)


def test_an_infinite_number_is_left_to_a_record_that_takes_some(values):
    assert values(TEXT.replace("number = 1", "number = inf"), finite=False)["number"] == float("inf")


@pytest.fixture(params=["case", "study"])
def sound(request, wscc9, tmp_path):
    """Return a sound file, its reader, and the error of that reader."""
    path = tmp_path / "file.toml"
    if request.param == "case":
        return path, GOOD, read_case, CaseError
    text = (wscc9 / "fault.toml").read_text().replace('"wscc9.toml"', f'"{wscc9 / "wscc9.toml"}"')
    return path, text, read_study, StudyError


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("9" * 4300, r"file.toml:\d: name = 9{200}\.\.\.: must be a text in quotes$"),
        ("[]", r"file.toml:\d: name = \[\]: must be a text in quotes"),
    ],
)
def test_a_value_out_of_all_proportion_gets_a_sentence(sound, value, message):
    path, text, read, error = sound
    old = next(line for line in text.splitlines() if line.startswith("name = "))
    path.write_text(text.replace(old, f"name = {value}"))
    with pytest.raises(error, match=message):
        read(path)


def test_a_parameter_of_400_digits_gets_a_sentence(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(GOOD.replace("h = 5.0", f"h = 1{'0' * 400}"))
    with pytest.raises(CaseError, match=r":47 \[generator.machine\]: h = 10+\.\.\.: must be a number"):
        read_case(path)

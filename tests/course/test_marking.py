"""Marking the answers of students, as `psmr exercise` does it, and the sentences on what is not right."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from psmr.cli import main
from tests.internals import ANSWERS, mark, read_exercise

NUMBERS = "12345678"
QUICK = "1356"
SHEET = Path("exercise-1.toml")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fill(path, *answers):
    """Write answers into a student's file, as they are typed."""
    text = path.read_text(encoding="utf-8")
    for k, answer in enumerate(answers, 1):
        text = re.sub(rf"^{k} = .*$", f"{k} = {answer}", text, flags=re.MULTILINE)
    path.write_text(text, encoding="utf-8")


def right(number, student=""):
    exercise = read_exercise(number, student)
    return [ANSWERS[question.answer](exercise) for question in exercise.questions]


def test_a_student_works_through_an_exercise(folder, capsys):
    assert main(["exercise", "1", "--student", "Ada Lovelace"]) == 0
    assert {path.name for path in folder.iterdir()} == {SHEET.name, "case-1.toml", "study-1.toml"}
    assert main(["exercise", "1", "--check"]) == 1
    assert capsys.readouterr().out.count("No answer yet.") == 5
    answers = right("1", "Ada Lovelace")
    fill(SHEET, *(f"{answer:.4g}" for answer in answers))
    assert main(["exercise", "1", "--check"]) == 0
    assert "5 of 5 right" in capsys.readouterr().out
    fill(SHEET, f"{answers[0] + 1:.4g}")
    assert main(["exercise", "1", "--check"]) == 1
    assert "4 of 5 right" in capsys.readouterr().out
    before = SHEET.read_text()
    assert main(["exercise", "1"]) == 2
    assert "exercise-1.toml: is there already; --force" in capsys.readouterr().err
    assert SHEET.read_text() == before
    assert main(["exercise", "1", "--force"]) == 0
    assert SHEET.read_text() != before


def test_the_files_are_a_study_that_runs(folder, capsys):
    main(["exercise", "1", "--student", "Ada"])
    time = right("1", "Ada")[3] / 1e3
    study = Path("study-1.toml").read_text()
    for length, words in ((time - 1e-3, "Synchronism maintained"), (time + 1e-3, "Lost synchronism")):
        Path("mine.toml").write_text(re.sub("clear = .*", f"clear = {0.1 + length}", study))
        main(["run", "mine.toml", "--no-report", "--force"])
        assert words in capsys.readouterr().out


@pytest.mark.parametrize("number", QUICK)
@pytest.mark.parametrize("student", ["", "4711"])
def test_right_answers_are_right_and_wrong_ones_refused(number, student):
    exercise = read_exercise(number, student)
    for question, answer in zip(exercise.questions, right(number, student), strict=True):
        assert mark(question, exercise, answer).status == "right"
        assert mark(question, exercise, f"{answer:.6g} {question.unit}").status == "right"
        wrong = [1.1 * answer + 2.0, 0.9 * answer - 2.0]
        for status, sentence in (mark(question, exercise, value) for value in wrong):
            assert status == "wrong"
            assert sentence
            assert f"{answer:.3g}" not in sentence


def test_names_count_in_any_order():
    exercise = read_exercise("4")
    who = exercise.questions[2]
    assert who.unit == "name"
    by_hand = replace(who, answer="four")
    ANSWERS["four"] = lambda exercise: "G3 G34"
    try:
        for answer in ("G3 G34", " g34, G3 ", "G34;G3"):
            assert mark(by_hand, exercise, answer).status == "right"
        for answer in ("G3", "G3 G34 G5", 34.0):
            assert mark(by_hand, exercise, answer) == ("wrong", who.hint)
    finally:
        del ANSWERS["four"]


@pytest.mark.parametrize(
    ("k", "answer", "words"),
    [
        (1, "''", "No answer yet."),
        (1, "'32,9'", "'32,9': a decimal has a point, as in 32.9."),
        (1, "'0.574 rad'", "'0.574 rad': write a number alone, in deg."),
        (1, "0.574", "This is right in rad; the answer is asked for in deg."),
        (1, "-32.9", "The size is right, the sign is not."),
        (1, "18.37", "This is the angle of bus 1; the rotor's is that of E', behind X'd."),
        (1, "'about 33'", "'about 33' is not a number; write one, such as 12.5."),
        (1, "'nan'", "'nan' is not a number"),
        (2, "120.0", "This is right in %; the answer is asked for in pu."),
        (2, "'\N{MINUS SIGN}1.2'", "The size is right, the sign is not."),
        (4, "0.1248", "This is right in s; the answer is asked for in ms."),
        (4, "88.2", "This follows from H where the swing equation has 2H."),
    ],
)
def test_what_is_said_of_an_answer(folder, capsys, k, answer, words):
    main(["exercise", "1"])
    fill(SHEET, *["''"] * (k - 1), answer)
    assert main(["exercise", "1", "--check"]) == 1
    assert words in capsys.readouterr().out


@pytest.mark.parametrize(
    ("found", "made", "words"),
    [
        ('1 = ""', "1 = 32,9", r"exercise-1.toml:\d+: is not valid TOML: .*; a decimal has a point: 32.9"),
        (
            '1 = ""',
            "1 =",
            r"exercise-1.toml:\d+: is not valid TOML: .*; a value is missing behind =",
        ),
        ('1 = ""', "7 = 32.9", r"exercise-1.toml:\d+ \[answers\]: there is no field '7'"),
        ('1 = ""', "1 = [1.0]", r"1 = \[1.0\]: must be a text in quotes or a finite number"),
        ("exercise = 1", "exercise = 2", "exercise = 2: these are answers of another exercise"),
        ('student = ""', "", "student is missing"),
        (
            "p = 0.9",
            "p = 0.5",
            r"p = 0.5: student '' has 0.9; leave student and \[given\] as they were written",
        ),
        ('student = ""', 'student = "5"', "student '5' has"),
    ],
)
def test_a_file_that_cannot_be_marked(folder, capsys, found, made, words):
    main(["exercise", "1"])
    text = SHEET.read_text()
    assert found in text
    SHEET.write_text(text.replace(found, made, 1))
    assert main(["exercise", "1", "--check"]) == 2
    assert re.search(words, capsys.readouterr().err)


def test_a_class(folder, capsys):
    """Three files as they are handed in: one right, one that is no TOML, one of a student seen before."""
    for name in ("ada", "bob", "eve"):
        place = folder / "in" / name
        place.mkdir(parents=True)
        student = {"ada": "Ada", "eve": " ADA "}.get(name, name)
        file = place / (f"{name}_exercise-1.toml" if name != "eve" else "eve_Exercise-1.TOML.txt")
        for path, text in read_exercise("1", student).texts().items():
            (file if path == SHEET else place / path).write_text(text)
    fill(folder / "in/ada/ada_exercise-1.toml", *right("1", "Ada"))
    fill(folder / "in/bob/bob_exercise-1.toml", "32,9")
    assert main(["exercise", "1", "--check", "in", "-o", "marks.csv"]) == 1
    with open("marks.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(Path(row["file"]).name, row["student"], row["right"]) for row in rows] == [
        ("ada_exercise-1.toml", "Ada", "5"),
        ("bob_exercise-1.toml", "", "0"),
        ("eve_Exercise-1.TOML.txt", " ADA ", "0"),
    ]
    assert [rows[k]["1"] for k in range(3)] == ["right", "", "empty"]
    assert "a decimal has a point: 32.9" in rows[1]["note"]
    assert rows[2]["note"].startswith("the same student as in in/ada/")
    assert "ada_exercise-1.toml" in capsys.readouterr().out
    assert main(["exercise", "1", "--check", "in/ada/ada_exercise-1.toml"]) == 0
    assert main(["exercise", "2", "--check", "in"]) == 2
    assert "no file in this folder has a name like exercise-2.toml" in capsys.readouterr().err


def test_every_student_has_numbers_of_their_own():
    for number in NUMBERS:
        given = {read_exercise(number, f"s{k}").given for k in range(60)}
        assert len(given) > 35
        assert read_exercise(number, " Ada  Lovelace").given == read_exercise(number, "ada lovelace").given
    # The same on every machine and with every later version: students have these numbers in their files.
    assert read_exercise("3", "4711").given == (("load", 140.0), ("fault", (5, "4-5")), ("clear", 1.09))


def test_data_name_functions_and_no_answers():
    used = set()
    for number in NUMBERS:
        exercise = read_exercise(number)
        for question in exercise.questions:
            used |= {question.answer, *question.mistakes}
            assert question.hint.endswith((".", "?"))
            assert question.unit in ("name", "number") or question.within or question.relative
        if number in QUICK:
            told = exercise.page.read_text() + exercise.page.with_suffix(".toml").read_text()
            values = [answer for answer in right(number) if isinstance(answer, float)]
            assert [answer for answer in values if f"{answer:.4g}" in told] == []
    assert used == ANSWERS.keys()


def test_a_solution_and_the_list(capsys):
    assert main(["exercise"]) == 0
    assert "8 Voltage collapse" in capsys.readouterr().out
    assert main(["exercise", "1", "--solution", "--student", "4711"]) == 0
    shown = capsys.readouterr().out
    assert f"{right('1', '4711')[3]:.5g} ms within 1\n   delta - delta_0 = omega_s P t^2/(4 H)" in shown
    assert main(["exercise", "9"]) == 2
    assert "N = '9': the exercises are 1 to 8" in capsys.readouterr().err


COMMANDS = [  # but the run of eight, which takes ten seconds
    (number, line.strip())
    for number in NUMBERS
    for line in read_exercise(number).page.read_text(encoding="utf-8").splitlines()
    if line.startswith("    psmr ") and "study-8" not in line
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", NUMBERS)
def test_commands_and_python_of_a_page_run(folder, number):
    for _, line in (each for each in COMMANDS if each[0] == number):
        assert main(line.split()[1:]) == 0, line
    text = read_exercise(number).page.read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)), {"__name__": number})

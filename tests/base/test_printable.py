"""What a file says reaches terminals and pages as text alone."""

import json
import re

import pytest

import psmr
from psmr.cli import main
from psmr.errors import InputError, PsmrWarning
from tests.internals import has_control_characters, in_line, printable

# ESC, NUL, bell, DEL, a C1 (CSI), the reversal of the order, a line separator, half a character, a tag.
STEERING = ["\x1b", "\0", "\a", "\x7f", "\x9b", "\u202e", "\u2028", "\u200b", "\udc80", "\U000e0041"]


@pytest.mark.parametrize("character", STEERING, ids=lambda text: f"U+{ord(text):04X}")
def test_what_steers_is_written_as_an_escape(character):
    text = f"a{character}b"
    assert has_control_characters(text)
    assert printable(text).isprintable()
    assert printable(text) == in_line(text)
    # The escape is that of JSON, whose texts stay what they are.
    assert json.loads(f'"{printable(text)}"') == text
    assert str(InputError(text)) == str(PsmrWarning(text)) == printable(text)


def test_other_text_stays():
    text = "Größe\u00a0Ω, 発電, \N{NARROW NO-BREAK SPACE}5, e\u0301, \N{GRINNING FACE}"
    assert in_line(text) == printable(text) == text
    assert printable("a\n\tb") == "a\n\tb"
    assert in_line("a\n\tb") == "a\\u000a\\u0009b"


@pytest.mark.parametrize("character", ["u001b", "u0000", "u009b", "n", "u202e"])
@pytest.mark.parametrize("field", ["name", "signals"])
def test_no_text_of_a_study_steers(tmp_path, wscc9, field, character):
    text = (wscc9 / "fault.toml").read_text().replace('case = "', f'case = "{wscc9}/')
    character = f"\\{character}"
    name = re.search(r'^name = "', text, re.M)[0]
    text = text.replace(name, f'name = "{character}') if field == "name" else text.split("[output]")[0]
    text += "" if field == "name" else f'[output]\nsignals = ["{character}*.omega"]\n'
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(InputError, match=r"has a character that cannot be printed") as caught:
        psmr.read_study(tmp_path / "study.toml")
    assert str(caught.value).isprintable()


def test_commands_print_text_alone(tmp_path, wscc9, capsys):
    """Names of files may have any character, and comments of TOML those that turn the order round."""
    folder = tmp_path / "a\x1b[31m\u202eb\nc"
    folder.mkdir()
    text = (wscc9 / "fault.toml").read_text().replace('case = "', f'case = "{wscc9}/')
    text = text.replace("t_end = 10.0", "t_end = 0.5  # turned \u202e round").split("[[event]]")[0]
    (folder / "study.toml").write_text(text, encoding="utf-8")
    (folder / "wrong.toml").write_text(text.replace("t_end =", "t_and ="), encoding="utf-8")
    assert main(["run", str(folder / "study.toml"), "-o", str(folder / "out")]) == 0
    shown = capsys.readouterr()
    assert not any(has_control_characters(line) for line in (shown.out + shown.err).splitlines())
    assert r"a\u001b[31m\u202eb\u000ac/out/report.html" in shown.out
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "turned \\u202e round" in page
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert main(["run", str(folder / "study.toml"), "-o", str(folder / "out"), "--json"]) == 0
    shown = capsys.readouterr().out
    assert not any(has_control_characters(line) for line in shown.splitlines())
    assert json.loads(shown)["files"][0] == str(folder / "out" / "run.csv")
    assert main(["run", str(folder / "wrong.toml")]) == 2
    shown = capsys.readouterr().err
    assert not any(has_control_characters(line) for line in shown.splitlines())
    assert r"a\u001b[31m\u202eb" in shown

"""Lines of tables and keys in TOML texts; the syntax is that of TOML 1.0 (toml.io/en/v1.0.0)."""

import tomllib
from pathlib import Path

import pytest

from psmr import read_case
from psmr.errors import CaseError
from tests.internals import Lines

CASES = Path(__file__).parents[2] / "cases"

# Every line whose number is asked for ends in a comment that names its path.
TEXT = r'''
a = 1  # a
text = """  # text
[not.a.header]
b = 2 ""\" """  # text again
x.y."z [q]" = 3  # x.y.z
m = [  # m
  [1, 2],
  [3]
]
rows = [  # rows
  { n = 1 },  # rows 0
  { n = 2, k = { l = """
""", j = 1 } }  # rows 1 k j
]
[[g]]  # g 0
n = 1  # [x]
machine.h = 5  # g 0 machine h
machine . type = 'it # is ['  # g 0 machine type
[[g]]  # g 1
inline = { type = "a]", h = 3 }  # g 1 inline
[ g . m ]  # g 1 m
lit = \'\'\'
[g.n]
\'\'\'
h = 3  # g 1 m h
["q.r".'s']  # q.r s
"t\u0021" = 1  # q.r s t!
'''.replace(r"\'", "'")

PLACES = [
    ((), "a", "a"),
    ((), "text", "text"),
    (("x", "y"), "z [q]", "x.y.z"),
    ((), "x", "x.y.z"),
    ((), "m", "m"),
    (("rows", 0), "n", "rows 0"),
    (("rows", 1, "k"), "j", "rows 1 k j"),
    ((), "g", "g 0"),
    (("g", 0, "machine"), "h", "g 0 machine h"),
    (("g", 0, "machine"), "type", "g 0 machine type"),
    (("g", 0, "machine"), "not there", "g 0 machine h"),
    (("g", 1, "inline"), "h", "g 1 inline"),
    (("g", 1), "m", "g 1 m"),
    (("g", 1, "m"), "h", "g 1 m h"),
    (("g", 1, "m"), "not there", "g 1 m"),
    (("q.r", "s"), "t!", "q.r s t!"),
    (("q.r",), "s", "q.r s"),
]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("path", "name", "comment"), PLACES)
def test_a_key(path, name, comment, end):
    tomllib.loads(TEXT)
    line = next(k for k, text in enumerate(TEXT.split("\n"), 1) if text.endswith(f"# {comment}"))
    assert Lines(TEXT.replace("\n", end)).key(path, name) == line


def test_a_table_written_within_another():
    lines = Lines(TEXT)
    assert TEXT.split("\n")[lines.table(("g", 1, "inline")) - 1].startswith("inline =")
    assert TEXT.split("\n")[lines.table(("rows", 0)) - 1].startswith("  { n = 1 }")


def test_every_key_of_the_cases():
    """Where the finder says that a key stands, its name and its value do."""
    for file in sorted(CASES.glob("*/*.toml")):
        text = file.read_text(encoding="utf-8")
        lines, rows = Lines(text), text.split("\n")

        def look(table, path, lines=lines, rows=rows):
            for name, value in table.items():
                if isinstance(value, dict):
                    look(value, (*path, name))
                elif isinstance(value, list) and value and isinstance(value[0], dict):
                    for k, row in enumerate(value):
                        look(row, (*path, name, k))
                else:
                    row = rows[lines.key(path, name) - 1]
                    assert tomllib.loads(row.strip().strip(",{}")).get(name) == value or f"{name} = " in row

        look(tomllib.loads(text), ())


def test_a_message_behind_a_text_of_many_lines(tmp_path):
    """The line of what is wrong, behind a description that holds what looks like a header."""
    text = (CASES / "wscc9" / "wscc9.toml").read_text(encoding="utf-8")
    text = text.replace('name = "WSCC 9-bus"', 'name = """WSCC \\\n[[bus]] \\\n9-bus"""', 1)
    text = text.replace("base_kv = 230.0", 'base_kv = "230"', 1)
    line = next(k for k, row in enumerate(text.split("\n"), 1) if row == 'base_kv = "230"')
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CaseError, match=rf"a\.toml:{line} \[\[bus\]\]: base_kv = '230': must be a number"):
        read_case(tmp_path / "a.toml")

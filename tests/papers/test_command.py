"""`psmr reproduce` and the record behind it."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from psmr import cli
from psmr.errors import InputError
from psmr.papers import catalogue as papers
from psmr.papers.catalogue import Reproduction, slug
from psmr.papers.finding import ClaimResult, rises, within


def small(folder: Path, progress=None) -> Reproduction:
    figure = folder / "curve.svg"
    figure.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    if progress:
        progress("a curve")
    return Reproduction(
        "small",
        "N. N., A paper, 1999",
        {"Table 1: errors": pd.DataFrame({"h": [0.1], "error": [1e-3]})},
        {"A curve": figure},
        (
            ClaimResult(
                "order | slope", "2", "1.99", (within("slope", 1.99, 2.0, 0.2, "usual"),), figure="A curve"
            ),
            ClaimResult(
                "(1)",
                "a < b",
                "b < a",
                (within("a - b", 1.0, -1.0, 0.5, "sign"),),
                "signs",
                corrected=(within("a - b", 1.0, 1.0, 0.5, "sign"),),
                figure="Table 1: errors",
            ),
        ),
    )


@pytest.fixture
def paper(monkeypatch):
    monkeypatch.setattr(
        papers, "reproduce", lambda name, folder, progress=None: small(Path(folder), progress)
    )
    monkeypatch.setattr(papers, "parts", lambda name: ("a line", "a curve"))


def call(capsys, *argv):
    code = cli.main([str(a) for a in argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_findings_on_the_terminal(paper, capsys):
    code, out, err = call(capsys, "reproduce", "small")
    assert (code, err) == (0, "")
    assert "[misprint] (1)" in out
    assert out.rstrip().endswith(
        "2 findings: 1 agrees, 0 differ, 1 is a misprint, 0 are not decided, 0 are beyond the paper"
    )


def test_tables_figures_and_a_page(paper, capsys, tmp_path):
    code, out, _ = call(capsys, "reproduce", "small", "-o", tmp_path / "out")
    assert code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "curve.svg",
        "index.html",
        "table-1-errors.csv",
    ]
    page = (tmp_path / "out" / "index.html").read_text()
    assert "a &lt; b" in page
    # Each finding leads to what shows it.
    for place in ("a-curve", "table-1-errors"):
        assert f"href='#{place}'" in page
        assert f"<h2 id='{place}'>" in page
    assert "index.html" in out


def test_json(paper, capsys):
    code, out, _ = call(capsys, "reproduce", "small", "--json")
    record = json.loads(out)
    assert code == 0
    assert record["findings"][1]["verdict"] == "misprint"
    assert record["tables"]["Table 1: errors"] == [{"h": 0.1, "error": 1e-3}]


def test_a_name_that_is_not_there(capsys):
    code, out, err = call(capsys, "reproduce", "shi")
    assert (code, out) == (2, "")
    assert "no paper 'shi'" in err
    assert "shi-rojas" in err


def test_markdown_escapes_bars(tmp_path):
    assert "order \\| slope" in small(tmp_path).markdown()


def test_markdown_leads_to_the_figure(tmp_path):
    text = small(tmp_path).markdown("figures/small")
    assert "| [A curve](figures/small/curve.svg) |" in text
    assert "| Table 1: errors |" in text


def test_a_finding_without_its_figure_is_refused(tmp_path):
    good = small(tmp_path)
    with pytest.raises(
        InputError, match=re.escape("'(1)': no figure or table 'A line' among A curve; Table 1")
    ):
        replace(good, findings=(replace(good.findings[1], figure="A line"),))


def test_a_record_is_strict_json(tmp_path):
    endless = ClaimResult(
        "a limit", "none", "none", (rises("steps", [1.0, float("inf")]),), figure="Table 1: errors"
    )
    table = pd.DataFrame({"delta": [0.0, float("inf")], "error": [1e-3, float("nan")]})
    result = replace(small(tmp_path), findings=(endless,), tables={"Table 1: errors": table})
    record = json.loads(json.dumps(result.record(), allow_nan=False))
    assert record["findings"][0]["rules"][0]["ours"] == [1.0, "inf"]
    assert record["tables"]["Table 1: errors"][1] == {"delta": "inf", "error": None}


def test_slug():
    assert slug("Pendulum, h = 0.005 s, 5 s") == "pendulum-h-0-005-s-5-s"


def test_a_bar_follows_the_parts_where_one_watches(paper, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    moved = []
    monkeypatch.setattr("psmr.cli.console.Progress.__call__", lambda self, t: moved.append((t, self.t_end)))
    assert call(capsys, "reproduce", "small")[0] == 0
    assert moved == [(1, 2)]


@pytest.mark.parametrize("name", papers.PAPERS)
def test_the_parts_of_each_paper_have_names_of_their_own(name):
    named = papers.parts(name)
    assert len(set(named)) == len(named) >= 4


def test_a_folder_that_cannot_be_written_is_named_before_the_work(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(papers, "reproduce", lambda *_: pytest.fail("the work had begun"))
    (tmp_path / "file").write_text("")
    code, out, err = call(capsys, "reproduce", "shi-rojas", "-o", tmp_path / "file" / "out")
    assert (code, out) == (2, "")
    assert "file" in err

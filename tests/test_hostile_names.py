"""What a file of a stranger's says is text on every page, in every figure, table and message."""

import asyncio
import io
import itertools
import json
import re
import urllib.request
import warnings
from xml.etree import ElementTree

import matplotlib
import pandas as pd
import pytest
from matplotlib.figure import Figure

import partitioning
import psmr
from psmr.cli import main
from psmr.errors import InputError
from tests import hostile
from tests.internals import (
    ChartAxis,
    Drawing,
    Line,
    Page,
    Panel,
    Text,
    has_control_characters,
    one_line,
    svg,
    to_matplotlib,
)
from tests.viewer.browser import BROWSER, Browser

needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium here: apt-get install chromium")

TITLE = " ".join(hostile.NAMES[:12])


@pytest.fixture(scope="module")
def case():
    return hostile.case(TITLE)


@pytest.fixture(scope="module")
def system(case):
    return psmr.build(case)


@pytest.fixture(scope="module")
def split(system):
    return partitioning.by_participation(system.linearise(), delta=20.0)


@pytest.fixture(scope="module")
def run(case, system, split):
    scheme = psmr.Multirate(split, h_slow=0.02, ratio=10)
    bus, line = case.buses[4].name, case.lines[2].name
    events = [
        psmr.Fault(bus=bus, start=0.1, clear=0.2),
        psmr.LoadTrip(bus=bus, start=0.3, fraction=0.5),
        psmr.LineTrip(line, start=0.4),
        psmr.When(f"{bus}.v < 0.01", psmr.LineTrip(line, start=0.0)),
    ]
    return psmr.simulate(system, scheme, 0.5, events)


@pytest.fixture
def file(case, tmp_path, monkeypatch):
    """A folder with the case and a study of it."""
    monkeypatch.chdir(tmp_path)
    psmr.write_case(case, "case.toml")
    bus = json.dumps(case.buses[4].name)
    (tmp_path / "study.toml").write_text(
        'format = "psmr-study"\nversion = 1\ncase = "case.toml"\n'
        f"name = {json.dumps(TITLE)}\n[simulation]\nt_end = 0.3\n"
        f'[[event]]\ntype = "fault"\nbus = {bus}\nstart = 0.1\nclear = 0.2\n'
    )
    return tmp_path


def test_reports(run, tmp_path):
    pytest.importorskip("bokeh")
    for interactive in (False, True):
        run.to_html(tmp_path / "report.html", interactive=interactive)
        words = hostile.check_page((tmp_path / "report.html").read_text(encoding="utf-8"))
        assert TITLE in words
        assert all(name in words for name in hostile.NAMES[:10])
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    # A tip is a template: a name in it is a field of its own.
    assert '["","$name"]' in text


def test_pages_of_deformations_and_sweeps(case, system, tmp_path):
    report = psmr.deformation(system.linearise(), psmr.SingleRate("TM", h=0.01))
    report.to_html(tmp_path / "deformation.html")
    hostile.check_page((tmp_path / "deformation.html").read_text(encoding="utf-8"))
    psmr.write_case(case, tmp_path / "case.toml")
    (tmp_path / "study.toml").write_text(
        f'format = "psmr-study"\nversion = 1\ncase = "case.toml"\nname = {json.dumps(TITLE)}\n'
        "[simulation]\nt_end = 0.3\n"
    )
    swept = psmr.sweep(
        psmr.read_study(tmp_path / "study.toml"),
        (psmr.BranchOutages(start=0.05, clearing=(0.1,), branches=(case.lines[0].name,)),),
        folder=tmp_path / "out",
        workers=1,
    )
    pages = list((tmp_path / "out").rglob("*.html"))
    assert len(pages) > 1
    for page in pages:
        words = hostile.check_page(page.read_text(encoding="utf-8"))
        assert case.lines[0].name in words
    hostile.check_page(swept._repr_html_())


def test_a_sweep_over_parameters(case, file):
    """Axes, maps and what failed have the names of devices."""
    first, second = (plant.devices[0].name for plant in case.generators[:2])
    axes = (
        psmr.ParameterAxis(first, "h", (3.0, 23.64)),
        psmr.ParameterAxis(second, "x_d1", (0.1198, 1e-9)),
    )
    psmr.sweep(psmr.read_study("study.toml"), axes, folder="out", workers=1)
    for page in (file / "out").rglob("*.html"):
        assert first in hostile.check_page(page.read_text(encoding="utf-8"))
    for picture in (file / "out").rglob("*.svg"):
        texts(picture.read_text(encoding="utf-8"))
    assert any(first in column for column in pd.read_csv("out/rows.csv").columns)


def test_what_a_notebook_shows(case, system, run):
    report = psmr.deformation(system.linearise(), psmr.SingleRate("TM", h=0.01))
    shown = [run, case, case.tables, system, system.linearise(), report, psmr.check(case), run.scheme]
    shown += [*psmr.mode_shapes(system.linearise())[:2], run.compare(run)]
    for thing in shown:
        if hasattr(thing, "_repr_html_"):
            hostile.check_page(thing._repr_html_())


@pytest.mark.parametrize("name", hostile.NAMES)
def test_every_text_of_a_figure(name):
    """Title, labels, tick, legend and words of a panel, by both renderers; LaTeX is not asked."""
    axis = ChartAxis(name, ticks=[(0.5, name)])
    marks = [Line([0.0, 1.0], [0.0, 1.0], label=name), Text(name, (0.5, 0.5))]
    drawing = Drawing((Panel(marks, axis, axis, name, legend="upper left"),), 6.0, 6.0, name)
    assert texts(svg(drawing, name, whole=True)).count(name) == 8
    with matplotlib.rc_context({"text.usetex": True}):
        figure = to_matplotlib(drawing)
    # A name that matplotlib would leave out of a legend has a blank before it there.
    assert [text.strip() for text in texts(saved(figure))].count(name) == 8


def saved(figure):
    stream = io.StringIO()
    with warnings.catch_warnings(), matplotlib.rc_context({"svg.fonttype": "none"}):
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(stream, format="svg")
    return stream.getvalue()


def texts(picture):
    """Return the texts of an SVG, which is well-formed."""
    root = ElementTree.fromstring(str(picture))
    assert not any(hostile.MARK in element.tag for element in root.iter())
    return [element.text for element in root.iter() if element.tag.endswith("text") and element.text]


def test_figures(case, system, split, run):
    other = psmr.simulate(system, psmr.SingleRate("TM", h=0.02), 0.5, run.events, certify=False)
    shape = psmr.mode_shapes(system.linearise())[0]
    figures = [
        run.plot(), run.plot(["*.delta"]), run.compare(other).plot(), one_line(system, split),
        shape.plot(), shape.plot_participation(), run.plot(["*.delta"], ax=Figure().subplots()),
    ]  # fmt: skip
    shown = set(itertools.chain(*(texts(saved(figure)) for figure in figures)))
    assert sum(any(name in text for text in shown) for name in hostile.NAMES) > 10


def test_signals_tables_and_saved_runs(case, run, tmp_path):
    for name in run.signals.everything:
        assert len(run[name]) == len(run.t)
    run.to_csv(tmp_path / "run.csv", ["*.omega"])
    machines = [plant.devices[0].name for plant in case.generators]
    assert list(pd.read_csv(tmp_path / "run.csv").columns[1:]) == [f"{name}.omega" for name in machines]
    run.save(tmp_path / "run.psmr")
    assert psmr.load_run(tmp_path / "run.psmr").names_x == run.names_x
    psmr.write_case(case, tmp_path / "case.toml")
    assert [bus.name for bus in psmr.read_case(tmp_path / "case.toml").buses] == [b.name for b in case.buses]


@pytest.mark.parametrize(
    "words",
    [
        "run study.toml -o out --figure --save",
        "check study.toml --all",
        "modes case.toml",
        "partition case.toml --delta 20",
        "deformation case.toml --method TM --h 0.01",
        "explain study.toml",
        "convert case.toml other.toml",
        "plot study.toml study.toml -o p.svg",
        "compare study.toml trace.csv --figure f.svg",
        "run study.toml --record nothing -o out",
        "scan case.toml --bus nothing",
    ],
)
def test_commands(file, case, capsys, words):
    column = json.dumps(f"{case.generators[0].devices[0].name}.omega")
    (file / "trace.csv").write_text(f"time,{column},\x1b[31mred\n0,1,1\n0.1,1,1\n0.2,1,1\n")
    code = main(words.split())
    shown = capsys.readouterr()
    assert code in (0, 2)
    assert not any(has_control_characters(line) for line in (shown.out + shown.err).splitlines())
    assert "Traceback" not in shown.err


@pytest.mark.parametrize("text", hostile.STEERING)
def test_a_title_that_steers_is_refused(file, capsys, text):
    for name in ("case.toml", "study.toml"):
        given = (file / name).read_text(encoding="utf-8")
        wrong = "\n".join(
            f"name = {json.dumps('a' + text)}" if line.startswith("name = ") and k < 6 else line
            for k, line in enumerate(given.split("\n"))
        )
        (file / name).write_text(wrong, encoding="utf-8")
        assert main(["check", name]) == 2
        error = capsys.readouterr().err
        assert "has a character that cannot be printed" in error
        assert not any(has_control_characters(line) for line in error.splitlines())
        (file / name).write_text(given, encoding="utf-8")


@pytest.mark.parametrize("words", [["run", "\x1b[31mred"], ["cases", "\x1b]0;title\a"], ["\x1b[31m"]])
def test_what_argparse_says_steers_nothing(capsys, words):
    with pytest.raises(SystemExit):
        main(words)
    error = capsys.readouterr().err
    assert re.search(r"\\(u00|x)1b", error)
    assert not any(has_control_characters(line) for line in error.splitlines())


def test_the_page_of_a_study(file):
    pytest.importorskip("bokeh")
    from bokeh.document import Document
    from bokeh.models import Axis, Div, PlainText, PreText

    served = psmr.view("study.toml", show=False)
    try:
        words = hostile.check_page(urllib.request.urlopen(served.url).read().decode())
        assert TITLE in words
        page = Page(served.bench, Document())
    finally:
        served.stop()
    for name in [*hostile.NAMES, *hostile.STEERING]:
        page.say(f"{name}: it", wrong=True)
        assert not any(
            map(has_control_characters, re.split(r"[\n\t]", hostile.check_page(page.message.text)))
        )
    markups = page.document.select({"type": Div}), page.document.select({"type": PreText})
    assert all(markup.disable_math for markup in itertools.chain(*markups) if markup is not page.placeholder)
    page.map.show(None)
    assert all(
        isinstance(axis.axis_label, str | PlainText | None) for axis in page.document.select({"type": Axis})
    )


EVERYWHERE = """
(() => {
  const found = [];
  const walk = (node) => {
    if (node.tagName && node.tagName.toLowerCase() === "x-hostile") found.push(node.outerHTML);
    if (node.shadowRoot) walk(node.shadowRoot);
    for (const child of node.children || []) walk(child);
  };
  walk(document);
  return JSON.stringify(found);
})()
"""


@pytest.mark.slow
@needs_browser
def test_in_a_browser_no_name_is_markup(run, file):
    """The report's figures are hovered over, the page's study is run; every part of both is looked at."""
    run.to_html(file / "report.html", interactive=True)
    served = psmr.view("study.toml", show=False)

    async def use():
        async with Browser(1400, 1200) as browser:
            await browser.call("Page.navigate", url=(file / "report.html").as_uri())
            await browser.until("window.Bokeh && Bokeh.index && Bokeh.index.roots.length > 0")
            await browser.evaluate("document.querySelector('.explore').scrollIntoView()")
            tips = 0
            for x, y in itertools.product(range(150, 1250, 100), range(60, 500, 40)):
                await browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
                tips += await browser.evaluate(TIPS) or 0
                assert json.loads(await browser.evaluate(EVERYWHERE)) == []
            assert tips > 0
            await browser.call("Page.navigate", url=served.url)
            await browser.until("Bokeh.documents[0].get_model_by_name('diagram').renderers.length > 0")
            await browser.press("Run")
            await browser.until(
                "Bokeh.documents[0].get_model_by_name('message').text.includes('ynchronism')", seconds=120.0
            )
            await asyncio.sleep(1.0)
            assert json.loads(await browser.evaluate(EVERYWHERE)) == []
            assert browser.errors == []

    try:
        asyncio.run(use())
    finally:
        served.stop()


TIPS = """
(() => {
  let found = 0;
  const walk = (node) => {
    if (node.classList && node.classList.contains("bk-tooltip-content") && node.textContent) found += 1;
    if (node.shadowRoot) walk(node.shadowRoot);
    for (const child of node.children || []) walk(child);
  };
  walk(document);
  return found;
})()
"""


def test_a_missing_place_is_said_with_names_cut(system):
    with pytest.raises(InputError) as caught:
        psmr.Fault(bus="nowhere", start=0.1, clear=0.2).changes(system)
    assert not has_control_characters(str(caught.value))

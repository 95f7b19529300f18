"""The page of a run: what it says, that it stands alone, and how a real browser lays it out."""

import html
import json
import re
import shutil
import subprocess

import pytest

import psmr
from tests.internals import ReportOrigin, render, run_page

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
    None,
)

FAULT = psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")


@pytest.fixture(scope="module")
def page(fault_run):
    return run_page(
        fault_run, title="a fault", origin=ReportOrigin("psmr run x.toml", 'case = "<b>"', "x.toml")
    )


@pytest.fixture(scope="module")
def lost(system, scheme):
    return psmr.simulate(system, scheme, 3.0, [psmr.Fault(bus=5, start=1.0, clear=1.6, trip="5-7")])


def text_of(page):
    return html.unescape(re.sub(r"<[^>]+>", " ", page))


def test_the_page_stands_alone_and_is_small(page):
    assert not re.search(r"(src|href)=['\"]https?:", page)
    assert "<script" not in page
    assert len(page.encode()) < 1_000_000
    # Speeds, voltages, angles; three mode shapes; oscillations, all modes, bars; the one-line graph.
    # Each says what it shows.
    assert page.count("<svg") == page.count('<svg role="img" aria-label="') == 10
    assert page.count("<html") == page.count("</html>") == 1


def test_the_page_says_everything(page):
    words = text_of(page).replace("\N{NO-BREAK SPACE}", " ")
    for phrase in (
        "Synchronism maintained to t = 2 s.",
        "deformed by 1.44 %", "3 of 33 states", "fast set", "bus5 cleared",
        "Numerical accuracy check: pre-disturbance system",
        "Numerical accuracy check: post-disturbance system",
        "G2.delta", "psmr run x.toml", 'case = "<b>"', "numba", "spurious", "How to read this page",
    ):  # fmt: skip
        assert phrase in words, phrase
    assert 'class="verdict amber"' in page
    assert "Estimated error of the" in words


def test_a_lost_run_is_red_on_top(lost):
    page = run_page(lost).replace("\N{NO-BREAK SPACE}", " ")
    head = page[page.index("<body") : page.index("<h2")]
    assert 'class="verdict red"' in head
    assert "Lost synchronism: G1 against G2, G3 at t = 1.5" in head


def test_every_name_in_a_figure_is_its_own(page):
    names = re.findall(r' id="([^"]+)"', page)
    assert len(names) == len(set(names))
    for used in re.findall(r'(?:url\(#|xlink:href="#)([^)"]+)', page):
        assert used in names


def test_figures_take_the_colours_of_the_page(page):
    inside = "".join(re.findall(r"<svg.*?</svg>", page, flags=re.S))
    for colour in ("#1c2330", "#1f4e79", "#d1495b", "#ffffff"):
        assert colour not in inside
    for name in set(re.findall(r"var\(--([a-z]+)\)", page)):
        assert f"--{name}:" in page, name


def test_text_is_escaped():
    page = render(
        "deformation.html", title="<b>", scheme="a < b", partition="", pencil="exact", step="1",
        colour="green", badge="", verdict="<i>", warnings=(), heads=(), rows=(), spurious=(),
        figures=[{"svg": "", "words": ""}] * 3,
    )  # fmt: skip
    assert "<b>" not in page
    assert "<i>" not in page
    assert "a &lt; b" in page


LOOK = """
<!doctype html><html><body><iframe id="f" style="border:0;width:{width}px;height:2000px"></iframe>
<pre id="found"></pre><script>
const frame = document.getElementById("f");
const errors = [];
const canvases = (node) => [...node.querySelectorAll("*")].reduce(
  (sum, e) => sum + (e.tagName === "CANVAS") + (e.shadowRoot ? canvases(e.shadowRoot) : 0), 0);
frame.onload = () => setTimeout(() => {{
  const page = frame.contentDocument;
  const inside = (e) => e.closest(".wide") !== null;
  const wide = [...page.body.querySelectorAll("*")].filter((e) => !e.closest("svg *, .explore") &&
    !inside(e) && e.getBoundingClientRect().right > {width} + 1);
  const figures = [...page.querySelectorAll("svg")].map((e) => e.getBoundingClientRect());
  const words = [...page.querySelectorAll("svg text")].map((e) => e.getBoundingClientRect().height);
  document.getElementById("found").textContent = JSON.stringify({{
    scroll: page.documentElement.scrollWidth, wide: wide.map((e) => e.tagName + "." + e.className),
    canvases: canvases(page),
    figures: figures.map((r) => [r.width, r.height]), smallest: Math.min(...words)}});
}}, 1000);
frame.srcdoc = {page};
</script></body></html>
"""


def look(tmp_path, page, width):
    file = tmp_path / "look.html"
    quoted = json.dumps(page).replace("</", "<\\/")
    file.write_text(LOOK.format(width=width, page=quoted), encoding="utf-8")
    done = subprocess.run(
        [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         "--virtual-time-budget=8000",
         f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1500,2000", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, flags=re.S)[1]
    return json.loads(html.unescape(found)), console


@pytest.mark.skipif(
    BROWSER is None, reason="no Chromium here: apt-get install chromium, for the layout of pages"
)
@pytest.mark.parametrize("width", [400, 1400])
def test_a_browser_lays_the_page_out_within_its_width(page, tmp_path, width):
    found, console = look(tmp_path, page, width)
    assert console == []
    assert found["scroll"] <= width
    assert found["wide"] == []
    assert len(found["figures"]) == 10
    assert all(w > 250 and h > 150 for w, h in found["figures"])
    # Text of figures stays readable: a line of it is as high as one of 7 pt, also on a telephone. The browser
    # lays out in units of 1/64 of a pixel.
    assert found["smallest"] > 9 - 1 / 64


@pytest.mark.skipif(
    BROWSER is None, reason="no Chromium here: apt-get install chromium, for the layout of pages"
)
def test_a_browser_lays_the_deformation_report_out(fault_run, system, tmp_path):
    from tests.internals import page as deformation_page

    report = psmr.deformation(system.linearise(), fault_run.scheme)
    for width in (400, 1400):
        found, console = look(tmp_path, deformation_page(report), width)
        assert (console, found["wide"]) == ([], [])
        assert found["scroll"] <= width


def test_interactive_figures_take_the_place_of_the_static_ones(fault_run, tmp_path):
    pytest.importorskip("bokeh", reason="no bokeh here: pip install 'psmr[report]', for interactive figures")
    page = run_page(fault_run, interactive=True)
    assert page.count('<svg role="img"') == 10
    # Those that show the same are for print; the angles, which nothing else shows, stay.
    repeated = page[page.index('<div class="columns repeated">') :]
    assert repeated[: repeated.index("</div>")].count("<svg") == 2
    assert "Rotor angles" in repeated
    # The library is in the page; nothing is fetched.
    assert not re.search(r"<(script|link)[^>]+(src|href)=", page)
    assert len(page.encode()) < 3_000_000
    if BROWSER is not None:
        for width in (400, 1400):
            found, console = look(tmp_path, page, width)
            assert [line for line in console if "rror" in line] == []
            assert found["scroll"] <= width
            assert found["canvases"] >= 2


def test_interactive_figures_without_bokeh_say_what_to_install(fault_run, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(psmr.PsmrError, match=r'pip install "psmr\[report\]", or leave out --interactive'):
        run_page(fault_run, interactive=True)

"""Figures of a page: scales and ticks, what is cut off, and that a panel is drawn as matplotlib draws it."""

import re
import xml.dom.minidom

import numpy as np
import pytest

from tests.internals import Linear, Log, PageFigure, SymLog, tick_texts, width_of


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        (0.0, 10.0, 6, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]),
        (-0.3, 0.31, 7, [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]),
        (0.9932, 1.0143, 5, [0.995, 1.0, 1.005, 1.01]),
        (1e6, 1.00001e6, 4, [1e6, 1000002.5, 1000005.0, 1000007.5, 1000010.0]),
        (3.0, 3.0, 5, [3.0]),
    ],
)
def test_ticks_of_a_linear_scale_are_round(low, high, most, expected):
    assert Linear().ticks(low, high, most) == pytest.approx(expected[: most + 1], rel=1e-12)


def test_ticks_of_logarithmic_scales():
    assert Log().ticks(5e-5, 200.0, 9) == pytest.approx([1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0])
    assert Log().ticks(1e-12, 1e3, 6) == pytest.approx([1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3])
    found = SymLog(0.1, 0.6).ticks(-2000.0, 0.1, 8)
    assert found == pytest.approx([-1000.0, -100.0, -10.0, -1.0, -0.1, 0.0, 0.1])
    # 0 stays where every second one is left out.
    assert 0.0 in SymLog(0.1, 0.6).ticks(-2000.0, 0.1, 4)


@pytest.mark.parametrize("scale", [Linear(), Log(), SymLog(0.01, 0.6)])
def test_scales_go_both_ways_and_ascend(scale):
    values = np.geomspace(1e-4, 1e4, 30)
    if not isinstance(scale, Log):
        values = np.concatenate([-values[::-1], [0.0], values])
    places = scale.forward(values)
    assert (np.diff(places) > 0).all()
    assert scale.inverse(places) == pytest.approx(values, rel=1e-12, abs=1e-15)


def test_symmetric_logarithm_is_matplotlibs():
    matplotlib_scale = pytest.importorskip("matplotlib.scale")
    theirs = matplotlib_scale.SymmetricalLogTransform(10, 0.01, 0.6)
    values = np.array([-300.0, -0.02, -0.01, -0.003, 0.0, 0.004, 0.5, 70.0])
    ours, known = SymLog(0.01, 0.6).forward(values), theirs.transform(values)
    assert ours / ours[-1] == pytest.approx(known / known[-1], rel=1e-12)


def test_ticks_have_as_many_decimals_as_one_of_them_needs():
    assert tick_texts([0.995, 1.0, 1.005]) == ["0.995", "1.000", "1.005"]
    assert tick_texts([-20.0, 0.0, 20.0]) == ["\N{MINUS SIGN}20", "0", "20"]
    assert tick_texts([0.001, 0.01, 0.1]) == ["0.001", "0.01", "0.1"]


def panel():
    figure = PageFigure(5.0, 3.0, grid=True)
    ax = figure.add_subplot()
    ax.plot([0.0, 1.0, 2.0], [1.0, 3.0, np.nan], color="#1f4e79", label="one & two")
    ax.set_xlabel("time [s]")
    return figure, ax


def test_a_figure_is_one_element_with_its_text_escaped():
    figure, ax = panel()
    ax.annotate("<b>", (1.0, 3.0), xytext=(4, 0), textcoords="offset points")
    ax.legend(loc="upper center", ncols=2)
    drawn = str(figure.svg('what "it" shows'))
    root = xml.dom.minidom.parseString(drawn).documentElement
    assert root.getAttribute("aria-label") == 'what "it" shows'
    texts = [node.firstChild.data for node in root.getElementsByTagName("text")]
    assert {"<b>", "one & two", "time [s]"} <= set(texts)
    # Of a value that is not a number nothing is drawn.
    assert "nan" not in drawn


def test_everything_is_within_what_is_cut_out():
    figure, ax = panel()
    ax.annotate("a long name beside it", (1.0, 3.0), xytext=(1.04, 0.5), textcoords="axes fraction")
    drawn = str(figure.svg("x"))
    left, top, width, height = map(float, re.search(r'viewBox="([^"]+)"', drawn)[1].split())
    found = re.findall(r'<text x="([\d.-]+)" y="([\d.-]+)" style="font-size:([\d.]+)px[^>]*">a long', drawn)
    ((x, y, size),) = [tuple(map(float, one)) for one in found]
    assert left < x
    assert x + width_of("a long name beside it", size) <= left + width
    assert top < y < top + height


def test_a_line_stands_where_matplotlib_puts_it():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    figure, ours = panel()
    plain = Figure(figsize=(5.0, 3.0), dpi=72)
    plain.subplots_adjust(left=0.09, right=0.91, bottom=0.11, top=0.9)
    theirs = plain.add_subplot()
    theirs.plot([0.0, 1.0, 2.0], [1.0, 3.0, np.nan])
    assert ours.get_xlim() == pytest.approx(theirs.get_xlim())
    assert ours.get_ylim() == pytest.approx(theirs.get_ylim())
    points = np.array([[0.0, 1.0], [1.0, 3.0], [0.3, 2.0]])
    known = theirs.transData.transform(points)
    found = ours.places(points)
    assert found[:, 0] == pytest.approx(known[:, 0])
    assert figure.height - found[:, 1] == pytest.approx(known[:, 1])


def test_equal_units_and_clips_of_two_figures():
    figure = PageFigure(4.0, 2.0)
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(-1.0, 1.0)
    ax.set_ylim(-1.0, 1.0)
    left, top, right, bottom = ax.box()
    assert right - left == pytest.approx(bottom - top)
    first, second = panel()[0], panel()[0]
    names = [re.findall(r'id="([^"]+)"', str(f.svg(w))) for f, w in ((first, "a"), (second, "b"))]
    assert not set(names[0]) & set(names[1])
    assert first.svg("a") == first.svg("a")

"""Figures as data and their two renderers: scales, ticks, every mark, and that both agree on places."""

import re
import xml.dom.minidom

import numpy as np
import pytest

from tests.internals import (
    PANEL,
    TOP,
    Area,
    Arrow,
    Cells,
    ChartAxis,
    Dots,
    Drawing,
    Line,
    LinearScale,
    LogScale,
    Panel,
    Plane,
    SymLogScale,
    Text,
    band,
    draw_on,
    line_across,
    shades,
    svg,
    tick_texts,
    to_matplotlib,
    width_of,
)


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
    assert LinearScale().ticks(low, high, most) == pytest.approx(expected[: most + 1], rel=1e-12)


def test_ticks_of_logarithmic_scales():
    assert LogScale().ticks(5e-5, 200.0, 9) == pytest.approx([1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0])
    assert LogScale().ticks(1e-12, 1e3, 6) == pytest.approx([1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3])
    found = SymLogScale(0.1, 0.6).ticks(-2000.0, 0.1, 8)
    assert found == pytest.approx([-1000.0, -100.0, -10.0, -1.0, -0.1, 0.0, 0.1])
    # 0 stays where every second one is left out.
    assert 0.0 in SymLogScale(0.1, 0.6).ticks(-2000.0, 0.1, 4)


@pytest.mark.parametrize("scale", [LinearScale(), LogScale(), SymLogScale(0.01, 0.6)])
def test_scales_go_both_ways_and_ascend(scale):
    values = np.geomspace(1e-4, 1e4, 30)
    if not isinstance(scale, LogScale):
        values = np.concatenate([-values[::-1], [0.0], values])
    places = scale.forward(values)
    assert (np.diff(places) > 0).all()
    assert scale.inverse(places) == pytest.approx(values, rel=1e-12, abs=1e-15)


def test_symmetric_logarithm_is_matplotlibs():
    matplotlib_scale = pytest.importorskip("matplotlib.scale")
    theirs = matplotlib_scale.SymmetricalLogTransform(10, 0.01, 0.6)
    values = np.array([-300.0, -0.02, -0.01, -0.003, 0.0, 0.004, 0.5, 70.0])
    ours, known = SymLogScale(0.01, 0.6).forward(values), theirs.transform(values)
    assert ours / ours[-1] == pytest.approx(known / known[-1], rel=1e-12)


def test_ticks_have_as_many_decimals_as_one_of_them_needs():
    assert tick_texts([0.995, 1.0, 1.005]) == ["0.995", "1.000", "1.005"]
    assert tick_texts([-20.0, 0.0, 20.0]) == ["\N{MINUS SIGN}20", "0", "20"]
    assert tick_texts([0.001, 0.01, 0.1]) == ["0.001", "0.01", "0.1"]


def panel(*marks):
    line = Line([0.0, 1.0, 2.0], [1.0, 3.0, np.nan], "#1f4e79", label="one & two")
    return Panel([line, *marks], ChartAxis("time [s]"), legend="below")


def drawn(*marks, words="x"):
    return str(svg(Drawing((panel(*marks),), 5.0, 3.0), words))


def test_a_figure_is_one_element_with_its_text_escaped():
    found = drawn(Text("<b>", (1.0, 3.0), shift=(4, 0)), words='what "it" shows')
    root = xml.dom.minidom.parseString(found).documentElement
    assert root.getAttribute("aria-label") == 'what "it" shows'
    texts = [node.firstChild.data for node in root.getElementsByTagName("text")]
    assert {"<b>", "one & two", "time [s]"} <= set(texts)
    # Of a value that is not a number nothing is drawn.
    assert "nan" not in found


def test_everything_is_within_what_is_cut_out():
    found = drawn(Text("a long name beside it", (1.04, 0.5), PANEL))
    left, top, width, height = map(float, re.search(r'viewBox="([^"]+)"', found)[1].split())
    texts = re.findall(r'<text x="([\d.-]+)" y="([\d.-]+)" style="font-size:([\d.]+)px[^>]*">a long', found)
    ((x, y, size),) = [tuple(map(float, one)) for one in texts]
    assert left < x
    assert x + width_of("a long name beside it", size) <= left + width
    assert top < y < top + height


def test_a_point_stands_where_matplotlib_puts_it():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    plain = Figure(figsize=(5.0, 3.0), dpi=72)
    plain.subplots_adjust(left=0.09, right=0.91, bottom=0.11, top=0.9)
    theirs = plain.add_subplot()
    draw_on(theirs, panel())
    ours = Plane.of(panel(), (0.09 * 360, 0.1 * 216, 0.91 * 360, 0.89 * 216))
    assert ours.x_ends == pytest.approx(theirs.get_xlim())
    assert ours.y_ends == pytest.approx(theirs.get_ylim())
    points = np.array([[0.0, 1.0], [1.0, 3.0], [0.3, 2.0]])
    known, found = theirs.transData.transform(points), ours.places(points)
    assert found[:, 0] == pytest.approx(known[:, 0])
    assert 216 - found[:, 1] == pytest.approx(known[:, 1])


@pytest.mark.parametrize(
    "mark",
    [
        Line([0.0, 1.0], [1.0, 2.0], dashes=(4.0, 3.0)),
        *(Dots([0.5], [2.0], shape) for shape in "osDx*"),
        Area([0.0, 1.0, 1.0], [1.0, 1.0, 2.0], alpha=0.5),
        line_across("x", 0.5),
        line_across("y", 1.5, dashes=(4.0, 3.0)),
        band(0.2, 0.4),
        Text("word", (1.0, 2.0), paper=True, italic=True),
        Arrow((0.0, 1.0), (1.0, 2.0), head=8.0, shorter=(2.0, 2.0)),
        Text("raised", (0.5, 1.0), TOP, (4.0, 23.0), stem=21.0),
        Cells((("#ff0000", "#00ff00"), ("#00ff00", "#00ff00"))),
    ],
    ids=lambda mark: f"{type(mark).__name__}-{getattr(mark, 'shape', '')}",
)
def test_both_renderers_draw_every_mark(mark):
    without, found = drawn(), drawn(mark)
    assert len(found) > len(without)
    xml.dom.minidom.parseString(found)
    figures = [to_matplotlib(Drawing((panel(*marks),), 5.0, 3.0)) for marks in ((), (mark,))]
    assert len(figures[1].axes[0].get_children()) > len(figures[0].axes[0].get_children())


def test_an_arrow_without_room_is_left_out():
    assert drawn(Arrow((0.0, 1.0), (1e-4, 1.0), head=8.0, least=8.0)) == drawn()


def test_cells_of_one_colour_are_one_path():
    found = drawn(Cells((("#ff0000", "#00ff00"), ("#00ff00", "#00ff00"))))
    assert found.count("fill:#00ff00") == found.count("fill:#ff0000") == 1


def test_equal_units_and_clips_of_two_figures():
    axis = ChartAxis(limits=(-1.0, 1.0))
    square = Panel([], axis, axis, bare=True, equal=True)
    left, top, right, bottom = Plane.of(square, (0.0, 0.0, 288.0, 144.0)).box
    assert right - left == pytest.approx(bottom - top)
    names = [re.findall(r'id="([^"]+)"', drawn(words=words)) for words in "ab"]
    assert not set(names[0]) & set(names[1])
    assert drawn() == drawn()


def test_shades_go_from_the_first_colour_to_the_last():
    assert shades(np.array([0.0, 0.5, 1.0]), ("#000000", "#808080", "#ffffff")) == [
        "#000000", "#808080", "#ffffff",
    ]  # fmt: skip

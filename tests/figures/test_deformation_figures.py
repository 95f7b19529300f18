"""The two figures of a report: what is on them."""

import matplotlib.figure
import numpy as np
import pytest

from psmr import Multirate, SingleRate, deformation
from tests.internals import EXACT, GREY, WRONG, DampingLimit, deformation_dots, eigenvalue_map
from tests.pencil.oracle import ode, partition, random_dae

CASES = {
    "usual": lambda: (random_dae(0), 0.02),
    "stiff": lambda: (random_dae(1, 9, 5, stiff=2000.0), 0.1),
    "no oscillation": lambda: (ode(np.diag([-1.0, -3.0])), 0.1),
    "double zero": lambda: (ode([[0.0, 377.0, 0, 0], [0, 0, 0, 0], [0, 0, -0.2, 8], [0, 0, -8, -0.2]]), 0.02),
    "only zero": lambda: (ode([[0.0, 1.0], [0.0, 0.0]]), 0.02),
    "unstable": lambda: (ode([[0.3, 8.0], [-8.0, 0.3]]), 0.02),
}


@pytest.fixture(params=CASES)
def report(request):
    linear, h = CASES[request.param]()
    scheme = Multirate(partition(linear, [0], []), h, 4) if linear.m else SingleRate("TM", h)
    return deformation(linear, scheme)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("draw", [eigenvalue_map, deformation_dots])
def test_both_figures_draw_every_kind_of_report(report, draw, tmp_path):
    figure = draw(report)
    assert isinstance(figure, matplotlib.figure.Figure)
    figure.savefig(tmp_path / "figure.png")
    figure.savefig(tmp_path / "figure.svg")


@pytest.mark.parametrize("draw", [eigenvalue_map, deformation_dots])
def test_both_figures_draw_on_given_axes(report, draw):
    figure = matplotlib.figure.Figure()
    axes = figure.add_subplot()
    assert draw(report, axes) is figure
    assert axes.get_xlabel()
    assert axes.get_ylabel()


def test_map_shows_each_mode_and_its_image():
    report = deformation(random_dae(0), SingleRate("TM", 0.02))
    axes = eigenvalue_map(report).axes[0]
    drawn = {line.get_label(): line.get_xydata() for line in axes.lines}
    np.testing.assert_allclose(drawn["system"], report.table[["real", "imag"]])
    np.testing.assert_allclose(drawn["scheme"], report.table[["real_numerical", "imag_numerical"]])


def dots(axes):
    return {line.get_markerfacecolor(): line.get_xdata() for line in axes.lines}


def test_dots_stand_at_the_deformation():
    report = deformation(random_dae(0), SingleRate("TM", 0.02))
    axes = deformation_dots(report).axes[0]
    ends = sorted(np.concatenate([*dots(axes).values()]))
    np.testing.assert_allclose(ends, sorted(100.0 * report.table["relative_deformation"]))
    assert len(axes.get_yticklabels()) == len(report.table)


def test_damping_off_limits_is_red_in_either_direction():
    """Of 5 % backward Euler makes 24 %, forward Euler 3 % at 5 ms; TM keeps it."""
    linear = ode([[0.0, 1.0, 0.0], [-64.0, -0.8, 0.0], [0.0, 0.0, -3.0]])
    for method, h, colour in (("BEM", 0.05, WRONG), ("FEM", 0.005, WRONG), ("TM", 0.05, EXACT)):
        report = deformation(linear, SingleRate(method, h))
        axes = deformation_dots(report).axes[0]
        assert list(dots(axes)) == [colour, GREY]
        change = f"{100 * report.dominant['damping_error']:+.2g} pp"
        assert any(change in text.get_text() for text in axes.texts) == (colour == WRONG)
        drawn = {line.get_label() for line in eigenvalue_map(report).axes[0].lines}
        assert ("scheme, damping off limits" in drawn) == (colour == WRONG)
    wide = DampingLimit(change=0.5)
    axes = deformation_dots(deformation(linear, SingleRate("BEM", 0.05)), limit=wide).axes[0]
    assert next(iter(dots(axes))) == EXACT

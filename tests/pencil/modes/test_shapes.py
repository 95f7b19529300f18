"""Mode shapes and participation: against a dense eigenproblem, and a mode known in closed form."""

from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

import psmr
from psmr import mode_shapes
from psmr.errors import InputError
from tests.internals import Text, compass, participation_bars, shape_drawing, shapes_at, shortened_name

KUNDUR = Path(__file__).resolve().parents[3] / "cases" / "kundur" / "kundur.toml"


@pytest.fixture(scope="module")
def linear():
    return psmr.build(psmr.read_case(KUNDUR)).linearise()


def test_vectors_and_shares_are_those_of_the_dense_eigenproblem(linear):
    s, left, right = scipy.linalg.eig(linear.state_matrix(), left=True, right=True)
    for shape in mode_shapes(linear, 3):
        k = np.abs(s - shape.s).argmin()
        assert abs(s[k] - shape.s) < 1e-9
        share = np.abs(left[:, k].conj() * right[:, k])
        assert shape.share == pytest.approx(share / share.sum(), abs=1e-10)
        largest = np.abs(shape.vector).argmax()
        ours, dense = shape.vector / shape.vector[largest], right[:, k] / right[largest, k]
        assert np.abs(ours - dense).max() < 1e-10


def test_the_areas_of_kundur_swing_against_each_other(linear):
    # Kundur 1994, example 12.6: in the slow mode the areas, in the others the machines of one area.
    between, *within = mode_shapes(linear, 3)
    assert 0.4 < between.frequency_hz < 0.8
    signs = np.sign(between.phasors().apply(np.real))
    assert signs["G1"] == signs["G2"] == -signs["G3"] == -signs["G4"]
    for shape in within:
        first, second = shape.phasors().index[:2]
        assert {first, second} in ({"G1", "G2"}, {"G3", "G4"})
        assert np.real(shape.phasors().iloc[1]) < 0


def test_two_masses_and_a_spring():
    class Mass(psmr.Component):
        """A mass on a spring to another."""

        states = ("x", "v")
        inputs = ("other",)
        units = {"x": "m", "v": "m/s", "other": "m"}

        @staticmethod
        def equations(m, v, p):
            return (v.v, v.other - v.x), (), ()

    devices = [psmr.Device("a", Mass, {}, {"other": "b.x"}), psmr.Device("b", Mass, {}, {"other": "a.x"})]
    linear = psmr.assemble(devices).linearise()
    (shape,) = shapes_at(linear, [1j * np.sqrt(2)])
    assert shape.phasors("x").abs().to_list() == pytest.approx([1.0, 1.0])
    assert shape.phasors("v").iloc[1] == pytest.approx(-1.0)
    assert shape.share == pytest.approx([0.25] * 4)
    with pytest.raises(InputError, match=r"quantity = 'y': no state is called so; there are v, x"):
        shape.phasors("y")


def test_figures_name_what_matters(linear):
    shape = mode_shapes(linear, 1)[0]
    figure = compass(shape.title, shape.quantity, shape.parts())
    assert {"G1", "G2", "G3", "G4"} <= {text.get_text() for text in figure.axes[0].texts}
    bars = participation_bars(shape.leading(5))
    names = [text.get_text() for text in bars.axes[0].texts]
    assert set(shape.participation.index[:5]) <= set(names)
    assert shape.participation.index[5] not in names
    both = shape_drawing(shape.title, shape.quantity, shape.parts(), shape.leading(6))
    written = {mark.text for panel in both.panels for mark in panel.marks if isinstance(mark, Text)}
    assert {"G1", "participation [%]", *shape.participation.index[:6]} <= written
    assert shape.plot(figure.axes[0]) is figure
    assert "0.614 Hz" in repr(shape)
    assert "<table" in shape._repr_html_()


@pytest.mark.parametrize(
    ("name", "longest", "shown"),
    [
        ("bus5_zero", 10, "bus5_zero"),
        ("transformer2-7_zero.i", 16, "trans…2-7_zero.i"),
        ("transformer1-4_zero", 10, "t…1-4_zero"),
        ("1-2-3-4-5-6-7-8-9", 10, "1-2-3…-8-9"),
    ],
)
def test_a_name_that_is_too_long_keeps_what_tells_it_from_others(name, longest, shown):
    assert shortened_name(name, longest) == shown


def test_a_system_is_not_a_linear_one():
    system = psmr.build(psmr.read_case(KUNDUR))
    with pytest.raises(InputError, match=r"must be a linearised system; write system.linearise\(\)"):
        psmr.mode_shapes(system)

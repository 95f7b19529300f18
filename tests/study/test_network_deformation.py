"""What phasors do to modes, beside what a scheme does to them."""

import numpy as np
import pytest

import psmr
from psmr.cli import main

LOOP = -37.44 + 16.72j


@pytest.fixture(scope="module")
def found():
    return psmr.network_deformation(
        psmr.case("wscc9-emt"),
        psmr.Region((3, 9)),
        psmr.SingleRate("TM", 1e-4),
        modes=(-0.225 + 8.602j, LOOP, -283.4 + 662.7j),
        loads="impedance",
    )


def test_each_mode_has_its_full_and_its_numerical_one(found):
    full = np.linalg.eigvals(
        psmr.build(psmr.case("wscc9-emt"), loads="impedance", dynamic=psmr.Region("all"))
        .linearise()
        .state_matrix()
    )
    for mode in found.full:
        assert abs(full - mode).min() < 1e-8 * abs(mode)
    # Of another formulation, with relaxed junctions: the electromechanical mode, loop and current control.
    assert np.allclose(found.full, (-0.231 + 8.601j, -38.2 + 16.69j, -231.7 + 511j), rtol=2e-4, atol=1e-3)


def test_both_deformations_are_those_of_the_definition(found):
    assert found.by_model[1] == pytest.approx(0.0182, abs=1e-3)
    s = found.modes[1]
    exact = np.log((1 + 0.5e-4 * s) / (1 - 0.5e-4 * s)) / 1e-4
    assert found.by_numerics[1] == pytest.approx(abs(exact - s) / abs(s), rel=1e-3)
    table = found.table
    assert list(table["by_model"]) == list(found.by_model)
    assert len(table.columns) == 8
    assert "change -283.4" in str(found)


def test_the_command_lists_modes_of_phasors_beside_full_ones(capsys):
    assert main(["modes", "cases/wscc9/wscc9.toml", "--network", "--loads", "impedance"]) == 0
    said = capsys.readouterr().out
    assert "real_full" in said
    assert "dynamics of the network that are left out change" in said

"""What phasors do to modes, beside what a scheme does to them."""

import re
from pathlib import Path

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


STUDY = """
format = "psmr-study"
version = 1
case = "wscc9-emt"
loads = "impedance"
{region}
[scheme]
type = "single"
method = "TM"
h = 1e-4

[simulation]
t_end = 0.01
"""
HEADING = "What leaving out dynamics of the network does to the modes"


def cells_of(page, mode):
    """Return the cells of the row of a mode by their heads, in what a page has from the heading on."""
    heads = re.findall(r"<th [^>]*>([^<]*)<", page.partition("</thead>")[0])
    rows = [re.findall(r"<td[^>]*>([^<]*)<", row) for row in page.split("<tr")]
    return dict(zip(heads, next(row for row in rows if row and row[0].startswith(mode)), strict=True))


@pytest.mark.parametrize(
    ("region", "options", "mode", "by_model"),
    [
        ("[dynamic]\nbuses = [3, 9]\n", (), "-37.4", 0.0182),
        ("", ("--network",), "-36.4", 0.0434),
    ],
)
def test_the_report_of_a_run_has_both_deformations(tmp_path, region, options, mode, by_model):
    """Of the phase-locked loop those of docs/dynamic-network.md."""
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(region=region))
    assert main(["run", str(path), "-o", str(tmp_path / "out"), *options]) == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert HEADING in page
    cells = cells_of(page.partition(HEADING)[2], mode)
    assert cells["full dynamics of the network [1/s]"] == "-38.2022 + j16.6897"
    assert percent(cells["by the model"]) == pytest.approx(by_model, abs=5e-5)
    assert cells["as simulated [1/s]"].startswith(mode)
    # TM at 100 us: |s h|^2 / 12.
    assert percent(cells["by the scheme"]) == pytest.approx(1.4e-6, rel=0.05)


def percent(cell):
    return float(cell.partition("\xa0")[0]) / 100


def test_a_phasor_study_that_does_not_ask_has_no_such_section(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(region=""))
    assert main(["run", str(path), "-o", str(tmp_path)]) == 0
    assert HEADING not in (tmp_path / "report.html").read_text()


def test_full_dynamics_that_cannot_be_are_said_in_the_report(tmp_path):
    case = tmp_path / "case.toml"
    case.write_text(
        Path("cases/wscc9/wscc9.toml").read_text().replace("x = 0.0576", "x = 0.0576\nb = -0.01", 1)
    )
    path = tmp_path / "study.toml"
    path.write_text(STUDY.format(region="").replace('"wscc9-emt"', '"case.toml"'))
    assert main(["run", str(path), "-o", str(tmp_path), "--network"]) == 0
    page = (tmp_path / "report.html").read_text().partition(HEADING)[2]
    assert "magnetising admittance at bus1, which has no charging" in page


def test_an_event_outside_the_region_is_a_reason_for_amber():
    system = psmr.build(psmr.case("wscc9-emt"), loads="impedance", dynamic=psmr.Region((3, 9)))
    with pytest.warns(psmr.errors.PsmrWarning, match="fault at bus5 .* outside the region"):
        run = psmr.simulate(system, psmr.SingleRate("TM", 1e-3), 0.2, [psmr.Fault(5, 0.1, 0.15)])
    assert run.judgement.colour == "amber"
    assert any("fault at bus5 (t = 0.1 s)" in reason for reason in run.judgement.reasons)

"""Cases written as PSS/E and MATPOWER files: read again they are the same network with the same dynamics."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from psmr import Case, build, read_case, write_case
from psmr.cli import main
from psmr.errors import CaseError, PsmrWarning
from tests.files.raw import raw_text
from tests.files.test_psse_dyr import GOOD
from tests.internals import BusRow, GeneratorRow, LineRow, LoadRow, TransformerRow, power_flow


@pytest.fixture
def everything(tmp_path):
    """The case of the readers' tests: every kind of record, and plants."""
    (tmp_path / "case.raw").write_text(raw_text())
    (tmp_path / "case.dyr").write_text(GOOD)
    return read_case(tmp_path / "case.raw", tmp_path / "case.dyr")


def same_flow(case, again):
    ours, theirs = power_flow(case), power_flow(again)
    for name in ("voltage", "p", "q"):
        np.testing.assert_allclose(getattr(theirs, name), getattr(ours, name), rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*RAW and DYR files cannot keep:psmr.errors.PsmrWarning")
def test_psse_and_back(everything, tmp_path):
    raw, dyr = write_case(everything, tmp_path / "out.raw")
    again = read_case(raw, dyr)
    same_flow(everything, again)
    systems = [build(case) for case in (everything, again)]
    assert systems[0].names_x == systems[1].names_x
    eigenvalues = [np.linalg.eigvals(system.linearise().state_matrix()) for system in systems]
    np.testing.assert_allclose(*(np.sort_complex(s) for s in eigenvalues), rtol=1e-9, atol=1e-9)
    # Once written in the format's own terms, no digit of the plants changes any more.
    write_case(again, tmp_path / "twice.raw")
    assert (tmp_path / "twice.dyr").read_text() == dyr.read_text()


def test_matpower_and_back(everything, tmp_path):
    with pytest.warns(
        PsmrWarning, match=r"cannot keep 4 dynamic devices, 2 loads that depend on the voltage"
    ):
        (path,) = write_case(everything, tmp_path / "out.m")
    same_flow(everything, read_case(path, frequency_hz=60.0))


def test_matpower_says_that_a_load_draws_less_at_low_voltage(tmp_path):
    """Behind x = 0.5 pu no more than 100 MW of constant power can be drawn; it falls below 0.7 pu."""
    case = Case(
        *("low", 100.0, 60.0, (BusRow(1), BusRow(2))),
        lines=(LineRow(1, 2, 0.5),),
        loads=(LoadRow(2, 110.0, 0.0, (0.0, 0.0, 1.0), (0.0, 0.0, 1.0)),),
        generators=(GeneratorRow("G", 1, "slack"),),
    )
    with pytest.warns(PsmrWarning, match=r"draw less than that"):
        drawn = power_flow(case).load_p[0]
    with pytest.warns(PsmrWarning, match=r"cannot keep 1 loads that draw less than they are given"):
        write_case(case, tmp_path / "low.m")
    with pytest.warns(PsmrWarning):
        again = read_case(tmp_path / "low.m")
    assert again.loads[0].p_mw == pytest.approx(100 * drawn, abs=1e-9)
    assert drawn < 1.0


def test_shunt_parts_of_branches(tmp_path):
    case = Case(
        name="two buses",
        base_mva=50.0,
        frequency_hz=50.0,
        buses=(BusRow(1), BusRow(2), BusRow(3)),
        lines=(LineRow(1, 2, 0.1, 0.01, 0.2, 0.03), LineRow(2, 1, 0.2, 0.01, 0.2, 0.03, status=0)),
        transformers=(
            TransformerRow(2, 3, 0.1, 0.01, -0.02, 0.01, tap=0.9, shift_deg=30.0),
            TransformerRow(3, 2, 0.1, 0.01, -0.02, 0.01, tap=1.1, shift_deg=-30.0, name="second"),
        ),
        loads=(
            LoadRow(3, 10.0, 5.0, (0.2, 0.3, 0.5), (0.5, 0.2, 0.3)),
            LoadRow(3, -5.0, 2.0, (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), name="other"),
            LoadRow(2, 3.0, 1.0, (0.5, 0.5, 0.0), (0.0, 1.0, 0.0), v_0=1.1),
        ),
        generators=(
            GeneratorRow("G1", 1, "slack", v=1.02, angle_deg=10.0),
            GeneratorRow("B", 3, "pq", p_mw=4.0, q_mvar=1.0),
        ),
    )
    with pytest.warns(PsmrWarning, match="4 of its names and values: other becomes load3-2; B becomes G3"):
        (raw,) = write_case(case, tmp_path / "out.raw")
    again = read_case(raw)
    assert [row.name for row in again.branches] == [
        *("line1-2", "line2-1-2", "transformer2-3", "transformer3-2-2")
    ]
    same_flow(case, again)
    # The load keeps its parts, not only its power: those at the solution's voltage are now those at 1 pu.
    load, v = again.loads[0], power_flow(case).v[2]
    parts = np.array(load.p_zip) * load.p_mw * (v**2, v, 1)
    np.testing.assert_allclose(parts, (2.0, 3.0, 5.0))
    with pytest.warns(PsmrWarning, match="1 admittances to ground of branches out of service"):
        (m,) = write_case(case, tmp_path / "out.m")
    same_flow(case, read_case(m, frequency_hz=50.0))


def test_what_psse_cannot_say(wscc9, everything, tmp_path):
    with pytest.raises(CaseError, match=r"PSS/E has no model of TwoAxisMachine.*keep the case as \.toml"):
        write_case(read_case(wscc9 / "wscc9.toml"), tmp_path / "out.raw")
    with pytest.raises(CaseError, match=r"out\.csv: must end in \.toml, \.raw or \.m"):
        write_case(everything, tmp_path / "out.csv")
    assert not list(tmp_path.glob("out.*"))


@pytest.mark.parametrize("suffix", ["raw", "m"])
@pytest.mark.parametrize("controls", [("pv", "pq"), ("slack", "pq"), ("slack", "pv")])
def test_generators_of_two_kinds_at_a_bus(tmp_path, suffix, controls):
    """The bus is of the kind of the one that decides; beside it given reactive power is a limit."""
    kinds = ("slack", "pq") if controls[0] == "pv" else ("pv", "pq")
    case = Case(
        name="two kinds",
        base_mva=100.0,
        frequency_hz=50.0,
        buses=(BusRow(1, 100.0), BusRow(2, 100.0), BusRow(3, 100.0)),
        lines=(LineRow(1, 2, 0.1, 0.01), LineRow(2, 3, 0.1, 0.01)),
        loads=(LoadRow(3, 80.0, 30.0, (0.0, 0.0, 1.0), (0.0, 0.0, 1.0)),),
        generators=(
            GeneratorRow("A", 2, controls[0], 30.0, 0.0, 1.02, rating_mva=100.0),
            GeneratorRow(
                "B", 2, controls[1], 20.0, 12.0, 1.0 if controls[1] == "pq" else 1.02, rating_mva=50.0
            ),
            GeneratorRow("C", 1, kinds[0], 10.0, 0.0, 1.03),
        ),
    )
    (path,) = write_case(case, tmp_path / f"out.{suffix}")
    again = read_case(path, **({"frequency_hz": 50.0} if suffix == "m" else {}))
    np.testing.assert_allclose(power_flow(again).voltage, power_flow(case).voltage, rtol=0, atol=1e-9)
    given = [(row.q_min_mvar, row.q_max_mvar) for row in again.generators if row.bus == 2][1]
    if controls[1] == "pq":
        assert given == pytest.approx((12.0, 12.0))


def test_a_parameter_without_a_place_in_the_record(everything, tmp_path):
    one, *others = everything.generators
    machine = replace(one.devices[0], parameters={**one.devices[0].parameters, "r_a": 0.01})
    case = replace(everything, generators=(replace(one, devices=(machine, *one.devices[1:])), *others))
    # The stator resistance has its place in the RAW file.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PsmrWarning)
        files = write_case(case, tmp_path / "out.raw")
    assert read_case(*files).generators[0].devices[0].parameters["r_a"] == 0.01


@pytest.mark.filterwarnings("ignore:.*RAW and DYR files cannot keep:psmr.errors.PsmrWarning")
def test_all_or_nothing(everything, tmp_path):
    (tmp_path / "out.dyr").mkdir()
    with pytest.raises(CaseError, match=r"cannot write to .*out\.dyr: it is a folder"):
        write_case(everything, tmp_path / "out.raw")
    assert not (tmp_path / "out.raw").exists()
    assert not list(tmp_path.glob(".out*"))


def test_command(wscc9, tmp_path, capsys):
    target = tmp_path / "wscc9.m"
    assert main(["convert", str(wscc9 / "wscc9.raw"), str(target)]) == 0
    assert f"Written {target}" in capsys.readouterr().out
    same_flow(read_case(wscc9 / "wscc9.raw"), read_case(target, frequency_hz=60.0))

"""Generators without dynamic models as loads of their power."""

from dataclasses import replace

import numpy as np
import pytest

from psmr import build, read_case
from psmr.errors import CaseError, PsmrWarning
from tests.files.raw import raw_text
from tests.internals import net_generators, power_flow

PARTLY = "2 'GENCLS' 'G1' 4.0 0.0 /\n"


def without(case, *names):
    """The case whose named generators have no devices."""
    rows = (replace(g, devices=()) if g.name in names else g for g in case.generators)
    return replace(case, generators=tuple(rows))


def test_the_power_flow_stays(wscc9):
    case = without(read_case(wscc9 / "wscc9.toml"), "G2")
    before = power_flow(case)
    with pytest.warns(PsmrWarning, match=r"\(G2\): has no dynamic model; netted: a load of -163 MW, -6\.65"):
        netted = net_generators(case, before)
    after = power_flow(netted)
    np.testing.assert_allclose(after.voltage, before.voltage, rtol=0, atol=1e-10)
    assert [g.name for g in netted.generators] == ["G1", "G3"]
    assert netted.loads[-1].name == "netted-G2"
    assert build(netted).n > 0


def test_a_slack_that_is_netted_moves(wscc9):
    """The largest generator left holds the angle, at that of the solution."""
    case = without(read_case(wscc9 / "wscc9.toml"), "G1")
    before = power_flow(case)
    with pytest.warns(PsmrWarning, match=r"\(G1\): is netted and was the slack; G2 at bus 2 is it now"):
        netted = net_generators(case, before)
    np.testing.assert_allclose(power_flow(netted).voltage, before.voltage, rtol=0, atol=1e-9)


def test_nothing_left(wscc9):
    case = without(read_case(wscc9 / "wscc9.toml"), "G1", "G2", "G3")
    message = r"netting leaves the island of bus 1 without a generator"
    with pytest.warns(PsmrWarning), pytest.raises(CaseError, match=message):
        net_generators(case, power_flow(case))


def test_from_files(tmp_path):
    """A generator that the DYR file does not have is a load; an error that names the option on request."""
    (tmp_path / "case.raw").write_text(raw_text())
    (tmp_path / "case.dyr").write_text(PARTLY)
    files = (tmp_path / "case.raw", tmp_path / "case.dyr")
    with pytest.raises(CaseError, match=r"no machine for generator '1' at bus 1; .*--net-unmodelled"):
        read_case(*files, net_unmodelled=False)
    with pytest.warns(PsmrWarning, match=r"case\.raw:\d+ \(generator\) \(G1\): has no dynamic model; netted"):
        case = read_case(*files, net_unmodelled=True, loads="impedance")
    assert [g.name for g in case.generators] == ["G2-G1"]
    assert case.loads[-1].impedance
    with pytest.warns(PsmrWarning, match="netted"):
        unasked = read_case(*files, loads="impedance")
    assert unasked.loads[-1].p_zip == (0.0, 1.0, 0.0)
    assert unasked.generators == case.generators
    np.testing.assert_allclose(
        power_flow(case).voltage, power_flow(read_case(files[0])).voltage, rtol=0, atol=1e-9
    )


@pytest.mark.parametrize(
    ("kind", "parts"),
    [("impedance", (1.0, 0.0, 0.0)), ("current", (0.0, 1.0, 0.0)), ("power", (0.0, 0.0, 1.0))],
)
def test_what_is_netted_stays_apart_from_loads(tmp_path, kind, parts):
    """In PowerWorld it is a current, beside loads that are impedances."""
    (tmp_path / "case.raw").write_text(raw_text())
    (tmp_path / "case.dyr").write_text(PARTLY)
    files = (tmp_path / "case.raw", tmp_path / "case.dyr")
    with pytest.warns(PsmrWarning, match="netted"):
        case = read_case(*files, net_unmodelled=True, loads="impedance", netted=kind)
    assert case.loads[-1].name == "netted-G1"
    assert (case.loads[-1].p_zip, case.loads[-1].q_zip) == (parts, parts)
    assert all(row.impedance for row in case.loads[:-1])
    with pytest.raises(CaseError, match=r"netted = .*: says what net_unmodelled makes of generators"):
        read_case(files[0], netted=kind)

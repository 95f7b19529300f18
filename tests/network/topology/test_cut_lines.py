"""Lines that are cut, and of which an end is open: what their buses see of them."""

import itertools

import numpy as np
import pytest

import psmr
from tests.internals import Place, Sections, sequence_networks

Z, Y = 0.032 + 0.161j, 0.01 + 0.306j

CUTS = list(itertools.product((0.0, 0.3, 1.0), (False, True), (False, True), (False, True)))


def hanging(z, y):
    """What an open-ended pi draws at its closed end."""
    return y / 2 + 1 / (z + 2 / y)


def test_a_line_with_one_end_open_is_an_open_ended_pi_at_the_other():
    for at in (0.0, 1.0):
        at_i = Sections(Z, Y, at, open_j=True).two_port()
        np.testing.assert_allclose(at_i, [[hanging(Z, Y), 0], [0, 0]], rtol=1e-14)
        at_j = Sections(Z, Y, at, open_i=True).two_port()
        np.testing.assert_allclose(at_j, [[0, 0], [0, hanging(Z, Y)]], rtol=1e-14)
    assert not Sections(Z, Y, open_i=True, open_j=True).two_port().any()


@pytest.mark.parametrize(("at", "open_i", "open_j", "gap"), CUTS)
def test_a_cut_at_a_bus_is_the_limit_of_one_beside_it(at, open_i, open_j, gap):
    near = min(max(at, 1e-7), 1 - 1e-7)
    here, beside = (Sections(Z, Y, place, open_i, open_j, gap) for place in (at, near))
    what = {"across": 3.0 - 2.0j} if gap else {"ground": 5.0 - 1.0j}
    v = np.array([[1.02 + 0.1j, 0.97 - 0.2j]])
    np.testing.assert_allclose(here.two_port(**what), beside.two_port(**what), atol=1e-5)
    np.testing.assert_allclose(here.voltages(v, **what), beside.voltages(v, **what), atol=1e-5)


@pytest.mark.parametrize(("at", "open_i", "open_j", "gap"), CUTS)
def test_a_line_written_the_other_way_round_is_the_same(at, open_i, open_j, gap):
    what = {"across": 3.0 - 2.0j} if gap else {"ground": 5.0 - 1.0j}
    there = Sections(Z, Y, at, open_i, open_j, gap).two_port(**what)
    back = Sections(Z, Y, 1 - at, open_j, open_i, gap).two_port(**what)
    np.testing.assert_allclose(there, back[::-1, ::-1], atol=1e-12)


@pytest.mark.parametrize(("opened", "hangs_at"), [("open_j", "bus5"), ("open_i", "bus7")])
@pytest.mark.parametrize("sequence", ["negative", "zero"])
def test_a_hanging_line_draws_its_charging_in_every_sequence(opened, hangs_at, sequence):
    """A shunt y at bus k changes the impedance at p to z_pp - z_pk^2 y / (1 + y z_kk) (Woodbury).

    Zero sequence by the usual ratios: three times the impedance, 0.6 of the charging.
    """
    z, y = ((0.032 + 0.161j), 0.306j) if sequence == "negative" else (3 * (0.032 + 0.161j), 0.6 * 0.306j)
    system = psmr.build(psmr.case("wscc9"))
    out = system.with_values([("line5-7", "status", 0.0)])

    def seen(system, bus):
        return getattr(sequence_networks(system, Place(bus, line=False, gap=False)), sequence)

    names = [device.name for device in system.devices if device.name.startswith("bus")]
    k, shunt = names.index(hangs_at), hanging(z, y)
    there, at_k = seen(out, "bus8"), seen(out, hangs_at)
    expected = there.impedance - there.voltages[k] ** 2 * shunt / (1 + shunt * at_k.impedance)
    found = seen(out.with_values([("line5-7", opened, 1.0)]), "bus8").impedance
    assert found == pytest.approx(expected, rel=1e-10)
    assert abs(found - there.impedance) > 1e-7

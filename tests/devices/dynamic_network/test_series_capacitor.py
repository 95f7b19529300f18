"""Series capacitors in regions: between buses with and without charging, and where they cannot be."""

import numpy as np
import pytest

import psmr
from psmr.errors import InputError

W0 = 2 * np.pi * 60
SOURCE = {"type": "InfiniteBus", "s_n": 100.0, "r_a": 0.0, "x_d1": 0.1}


def chain(*lines):
    """Return buses in a row, lines (r, x, b) from each to the next, and a source at both ends."""
    ends = (1, len(lines) + 1)
    return psmr.make_case(
        "chain",
        base_mva=100.0,
        frequency_hz=60.0,
        buses=[{"number": k} for k in range(1, len(lines) + 2)],
        lines=[
            {"from": k, "to": k + 1, "r": r, "x": x, "b": b, "name": f"line{k}"}
            for k, (r, x, b) in enumerate(lines, 1)
        ],
        generators=[
            {
                "name": f"G{ends[0]}",
                "bus": ends[0],
                "control": "pv",
                "p_mw": 50.0,
                "v": 1.0,
                "machine": SOURCE,
            },
            {"name": f"G{ends[1]}", "bus": ends[1], "control": "slack", "v": 1.0, "machine": SOURCE},
        ],
    )


def admittance(lines, s):
    """Return the nodal admittance at the complex frequency s in the turning frame, sources at rest."""
    p = (s + 1j * W0) / W0
    matrix = np.zeros((len(lines) + 1,) * 2, complex)
    for k, (r, x, b) in enumerate(lines):
        y = 1 / (r + (x * p if x > 0 else -x / p))
        matrix[k : k + 2, k : k + 2] += y * np.array([[1, -1], [-1, 1]]) + b / 2 * p * np.eye(2)
    for k in (0, -1):
        matrix[k, k] += 1 / (0.1 * p)
    return matrix


CHARGED, PLAIN = (0.02, 0.3, 0.1), (0.02, 0.3, 0.0)
CAPACITOR, LOSSY = (0.0, -0.12, 0.0), (0.001, -0.12, 0.0)


@pytest.mark.parametrize(
    "lines",
    [
        (CHARGED, CAPACITOR, PLAIN, CHARGED),
        (CHARGED, PLAIN, CAPACITOR, CHARGED),
        (CHARGED, PLAIN, LOSSY, PLAIN, CHARGED),
        (CHARGED, LOSSY, CHARGED),
        (CHARGED, PLAIN, CAPACITOR, CAPACITOR, CAPACITOR, PLAIN, CHARGED),
        (CHARGED, PLAIN, CAPACITOR, PLAIN, CAPACITOR, PLAIN, CHARGED),
        (CHARGED, PLAIN, (0.001, -0.12, 0.05), PLAIN, CHARGED),
    ],
)
def test_every_mode_is_a_zero_of_the_admittance(lines):
    system = psmr.build(chain(*lines), dynamic=psmr.Region("all"))
    assert (
        max(np.abs(system.f(system.x0, system.y0)).max(), np.abs(system.g(system.x0, system.y0)).max()) < 1e-9
    )
    modes = np.linalg.eigvals(system.linearise().state_matrix())
    for mode in modes:
        # A pair is one mode of the circuit: which of the two depends on the direction of its rotation.
        least = min(np.linalg.svd(admittance(lines, s), compute_uv=False)[-1] for s in (mode, np.conj(mode)))
        scale = np.abs(np.diff([admittance(lines, mode + d) for d in (-1, 1)], axis=0)).max()
        assert least < 1e-6 * max(scale, 1.0)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((CHARGED, CAPACITOR, CHARGED), "line2: a series capacitor without resistance between bus2 and bus3"),
        ((CHARGED, CAPACITOR, CAPACITOR, CHARGED), "line3 closes a ring of series capacitors"),
    ],
)
def test_capacitors_that_leave_no_current_are_refused_by_name(lines, words):
    with pytest.raises(InputError, match=words):
        psmr.build(chain(*lines), dynamic=psmr.Region("all"))


def test_the_phasor_network_takes_a_capacitor_outside_the_region():
    lines = (CHARGED, PLAIN, CAPACITOR, PLAIN, CHARGED)
    system = psmr.build(chain(*lines), dynamic=psmr.Region(1))
    assert "line3.v_re" not in system.names_x


def test_a_line_that_opens_keeps_its_charge():
    # Between its open ends nothing leads to ground: the charge of each phase is the one that it had.
    lines = ((0.0001, 0.002, 0.0), (0.02, 0.3, 0.2), (0.0001, 0.002, 0.0))
    case = chain((0.02, 0.3, 0.2), *lines, (0.02, 0.3, 0.2))
    system = psmr.build(case, dynamic=psmr.Region("all"))
    opened = [psmr.LineTrip("line2", 0.01), psmr.LineTrip("line4", 0.01)]
    run = psmr.simulate(system, psmr.VariableStep(1e-7), 0.05, opened, certify=False)
    t = np.linspace(0.0101, 0.05, 100)
    v = run.at(t, ["bus3.v_re", "bus3.v_im", "bus4.v_re", "bus4.v_im"]).to_numpy()
    charge = (v @ (1, 1j, 1, 1j)) * np.exp(1j * W0 * t)
    assert np.abs(charge - charge[0]).max() < 1e-5
    assert abs(charge[0]) > 1.5


def test_a_series_capacitor_of_a_raw_file_has_its_voltage_as_a_state(tmp_path):
    lines = (CHARGED, PLAIN, CAPACITOR, PLAIN, CHARGED)
    psmr.write_case(chain(*lines), tmp_path / "chain.raw")
    read = psmr.read_case(tmp_path / "chain.raw", tmp_path / "chain.dyr")
    system = psmr.build(read, dynamic=psmr.Region("all"))
    assert "line3-4.v_re" in system.names_x
    modes = np.linalg.eigvals(system.linearise().state_matrix())
    own = np.linalg.eigvals(psmr.build(chain(*lines), dynamic=psmr.Region("all")).linearise().state_matrix())
    assert np.sort(np.abs(modes)) == pytest.approx(np.sort(np.abs(own)), rel=1e-6)

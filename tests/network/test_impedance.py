"""Impedances at a bus: circuits by hand, the whole from its parts, Nyquist and eigenvalues, scans by runs."""

from dataclasses import replace

import numpy as np
import pytest

import psmr
from psmr.errors import InputError
from tests.components import Bus, InfiniteBus, Line, Shunt

R, X, X_SOURCE, G = 0.02, 0.3, 0.1, 0.5


def wired(name, *ends):
    ports = {}
    for suffix, bus in ends:
        for part in ("re", "im"):
            ports |= {f"v_{part}{suffix}": f"{bus}.v_{part}", f"i_{part}{suffix}": f"{bus}.i_{part}"}
    return {"name": name, "connections": ports}


@pytest.fixture(scope="module")
def circuit():
    """An infinite bus behind X_SOURCE, a line R + jX, and a conductance G at its end."""
    base = {"s_n": 100.0, "s_base": 100.0}
    devices = [
        psmr.Device("bus1", Bus, {}),
        psmr.Device("bus2", Bus, {}),
        psmr.Device(component=InfiniteBus, parameters={"x_d1": X_SOURCE, **base}, **wired("S", ("", "bus1"))),
        psmr.Device(
            component=Line, parameters={"r": R, "x": X}, **wired("L", ("_i", "bus1"), ("_j", "bus2"))
        ),
        psmr.Device(component=Shunt, parameters={"g": G}, **wired("Y", ("", "bus2"))),
    ]
    z = R + 1j * (X + X_SOURCE)
    i = 1.0 / (z + 1 / G)
    voltages = {"bus1": 1.0 - 1j * X_SOURCE * i, "bus2": i / G}
    start = {
        f"{b}.v_{p}": float(getattr(v, n))
        for b, v in voltages.items()
        for p, n in (("re", "real"), ("im", "imag"))
    }
    return psmr.assemble(devices, {**start, "S.e": 1.0, "S.delta": 0.0})


def test_a_circuit_has_the_impedances_of_its_elements(circuit):
    scan = psmr.impedance_scan(circuit, 2, plant="Y", f=[1.0, 50.0])
    z = np.array([[R, -(X + X_SOURCE)], [X + X_SOURCE, R]])
    assert np.allclose(scan.grid, z, rtol=1e-12)
    assert np.allclose(scan.plant_admittance, G * np.eye(2), rtol=1e-12, atol=1e-15)
    assert np.allclose(scan.passivity, G, rtol=1e-12)
    assert np.allclose(
        scan.sequence.grid, np.diag([R + 1j * (X + X_SOURCE), R - 1j * (X + X_SOURCE)]), atol=1e-14
    )
    assert scan.stable
    assert scan.unstable == (0, 0, 0)
    # L = G Z has the eigenvalues G (R +- j (X + X_SOURCE)).
    assert np.allclose(
        np.sort_complex(scan.loci[0]),
        np.sort_complex(G * np.array([z[0, 0] + 1j * z[1, 0], z[0, 0] - 1j * z[1, 0]])),
    )
    assert scan.sentences()[-1] == "The plant is passive at every frequency of the scan."


@pytest.mark.parametrize(
    ("case", "bus"), [("wscc9", 2), ("wscc9/wscc9-emt.toml", 3), ("kundur", 3), ("microgrid", 1)]
)
def test_the_whole_follows_from_grid_and_plant(case, bus):
    system = psmr.build(psmr.case(case))
    scan = psmr.impedance_scan(system, bus, f=np.geomspace(0.1, 1000, 25))
    together = np.linalg.solve(np.eye(2) + scan.grid @ scan.plant_admittance, scan.grid)
    assert np.abs(together - scan.whole).max() <= 1e-12 * np.abs(scan.whole).max()
    values = np.linalg.eigvals(system.linearise().state_matrix())
    assert scan.unstable[2] == (values.real > 1e-3).sum()


def test_the_plant_may_reach_beyond_the_bus():
    """Seen from bus 9 the plant is the converter with its transformer and bus 3."""
    system = psmr.build(psmr.case("wscc9/wscc9-emt.toml"))
    behind = [
        d.name
        for d in system.devices
        if {"bus3", "bus9"} <= {t.partition(".")[0] for t in d.connections.values()}
    ]
    scan = psmr.impedance_scan(system, 9, ["C3", "bus3", *behind], f=np.geomspace(0.1, 1000, 9))
    together = np.linalg.solve(np.eye(2) + scan.grid @ scan.plant_admittance, scan.grid)
    assert np.abs(together - scan.whole).max() <= 1e-12 * np.abs(scan.whole).max()
    assert scan.stable


@pytest.mark.parametrize(
    ("case", "bus", "names", "gain", "unstable"),
    [
        ("wscc9/wscc9-emt.toml", 3, ("kp_pll", "ki_pll"), 20.0, (0, 0, 0)),
        ("wscc9/wscc9-emt.toml", 3, ("kp_pll", "ki_pll"), 100.0, (0, 2, 0)),
        ("microgrid", 1, ("m_p",), 1.0, (0, 2, 0)),
        ("microgrid", 1, ("m_p",), 3.0, (0, 2, 2)),
    ],
)
def test_nyquist_counts_the_unstable_modes(case, bus, names, gain, unstable):
    """Of plants stable or not at a held voltage, and with the grid; eigenvalues of the whole decide."""
    system = psmr.build(psmr.case(case))
    parameters = [matrix.copy() for matrix in system.parameters]
    devices = []
    for device in system.devices:
        values = {n: v * (gain if n in names else 1.0) for n, v in device.parameters.items()}
        for name in set(names) & set(values):
            group, row, column = system.parameter_place(device.name, name)
            parameters[group][row, column] *= gain
        devices.append(replace(device, parameters=values))
    system = replace(system, parameters=tuple(parameters), devices=tuple(devices))
    scan = psmr.impedance_scan(system, bus, f=[1.0, 10.0])
    values = np.linalg.eigvals(system.linearise().state_matrix())
    assert scan.unstable == unstable
    assert (values.real > 1e-3).sum() == unstable[2]
    assert scan.stable == (unstable[2] == 0)


class Probe(psmr.Component):
    """A current into a bus, to be driven."""

    inputs = ("i_re", "i_im")
    outputs = ("at_re", "at_im")

    @staticmethod
    def equations(m, v, p):
        return (), (), (v.i_re, v.i_im)


@pytest.mark.parametrize("f", [10.0, 100.0, 1000.0])
def test_a_scan_by_simulation_has_the_impedance(f, tmp_path):
    """A converter in full: sinusoidal currents into its bus in two runs, the voltage there fitted."""
    case = psmr.build(psmr.case("wscc9/wscc9-emt.toml"))
    ends = {"at_re": "bus3.i_re", "at_im": "bus3.i_im"}
    names = (*case.names_x, *case.names_y, *case.names_u)
    start = dict(zip(names, case.w0[:-1].tolist(), strict=True)) | {"probe.i_re": 0.0, "probe.i_im": 0.0}
    system = psmr.assemble([*case.devices, psmr.Device("probe", Probe, {}, ends)], start)
    scheme, amplitude = psmr.SingleRate("TM", h=1 / (64 * f)), 1e-4
    count = 64 * max(4, round(0.5 * f))
    t = np.arange(count + 1) * scheme.h
    u = amplitude * np.sin(2 * np.pi * f * t)
    rows = "\n".join(f"{a!r},{b!r}" for a, b in zip(t.tolist(), u.tolist(), strict=True))
    (tmp_path / "sine.csv").write_text("t,u\n" + rows + "\n")
    found = np.empty((2, 2), dtype=complex)
    for k, part in enumerate(("re", "im")):
        series = psmr.TimeSeries(tmp_path / "sine.csv", "u", f"probe.i_{part}")
        run = psmr.simulate(system, scheme, t_end=float(t[-1]), events=[series], certify=False)
        last = run.t > t[-1] - 2 / f + scheme.h / 2
        times = run.t[last]
        waves = np.exp(2j * np.pi * f * times)
        columns = np.column_stack([waves.imag, waves.real, np.ones(len(times)), times])
        values = np.column_stack([run[f"bus3.v_{p}"].to_numpy()[last] for p in ("re", "im")])
        fit = np.linalg.lstsq(columns, values, rcond=None)[0]
        found[:, k] = (fit[0] + 1j * fit[1]) / amplitude
    own = case.state_space(["bus3.i_re", "bus3.i_im"], ["bus3.v_re", "bus3.v_im"])
    exact = own.response(f).values[0]
    assert np.abs(found - exact).max() <= 1e-3 * np.abs(exact).max()  # measured: 2.2e-4, 2.7e-4, 5.9e-5


def test_what_cannot_be_cut_is_refused():
    system = psmr.build(psmr.case("wscc9"))
    with pytest.raises(InputError, match=r"there is no bus 55"):
        psmr.impedance_scan(system, 55)
    with pytest.raises(InputError, match=r"no device 'G9'"):
        psmr.impedance_scan(system, 2, plant="G9")
    with pytest.raises(InputError, match=r"of the plant at bus2 and .* of the grid are wired to one another"):
        psmr.impedance_scan(system, 2, plant="G2")
    with pytest.raises(InputError, match=r"bus2 is the bus between grid and plant"):
        psmr.impedance_scan(system, 2, plant="bus2")
    emt = psmr.build(psmr.case("wscc9-emt"), loads="impedance", dynamic=psmr.Region((3, 9)))
    with pytest.raises(InputError, match=r"bus3.i_re: bus3 joins elements whose currents are states"):
        psmr.impedance_scan(emt, 3)
    with pytest.raises(InputError, match=r"bus9 has dynamics of its own"):
        psmr.impedance_scan(emt, 9, plant=["C3"] + [d.name for d in emt.devices if "bus3" in str(d)])
    none = psmr.impedance_scan(system, 5, f=[1.0])
    assert none.plant == ()
    assert none.stable is None
    assert "no source at the bus" in none.sentences()[-1]


def test_a_scan_is_drawn_and_written(circuit, tmp_path):
    scan = psmr.impedance_scan(circuit, 2, plant="Y", f=np.geomspace(1, 100, 5))
    figure = scan.sequence.plot()
    assert [ax.get_title(loc="left") or ax.get_title() for ax in figure.axes][
        2
    ] == "Loci of the loop gain: stable"
    scan.to_csv(tmp_path / "scan.csv")
    head = (tmp_path / "scan.csv").read_text().splitlines()[0].split(",")
    assert head[:3] == ["frequency_hz", "z_grid_dd_re", "z_grid_dd_im"]
    assert head[-1] == "passivity"

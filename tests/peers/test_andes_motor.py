"""The third-order induction motor against ANDES' Motor3, which is the same model.

ANDES does not start a motor at its load: it is switched on and runs up. Its load torque is constant here; the
quadratic part of the torque of Motor3 has the coefficient of the linear one.
"""

import contextlib
import io

import numpy as np
import pytest

from psmr import Device, assemble
from tests.components import InductionMotor
from tests.devices.test_jacobians import Signal
from tests.internals import Plant, solve_plants

andes = pytest.importorskip("andes")

pytestmark = pytest.mark.peers

VOLTAGE, TORQUE = 1.02, 0.15
CIRCUIT = {"r_s": 0.031, "x_s": 0.1, "x_m": 3.2, "r_r": 0.05, "x_r": 0.18, "h": 0.7}
NAMES = {"r_s": "rs", "x_s": "xs", "x_m": "xm", "r_r": "rr1", "x_r": "xr1", "h": "Hm"}


@pytest.fixture(scope="module")
def theirs():
    """ANDES' system of a motor at a bus with a held voltage, 6 s after the motor was switched on."""
    with contextlib.redirect_stdout(io.StringIO()):
        system = andes.System(default_config=True, no_output=True)
        for bus in (1, 2):
            system.add("Bus", {"idx": bus, "Vn": 20, "v0": VOLTAGE})
        system.add(
            "Slack", {"idx": "S", "bus": 1, "Vn": 20, "v0": VOLTAGE, "Sn": 100, "p0": 0, "q0": 0, "a0": 0}
        )
        system.add("Line", {"idx": "L", "bus1": 1, "bus2": 2, "x": 0.05, "Vn1": 20, "Vn2": 20})
        circuit = {NAMES[name]: value for name, value in CIRCUIT.items()}
        torque = {"c1": TORQUE, "c2": 0.0, "c3": 0.0}
        system.add(
            "Motor3", {"idx": "M", "bus": 1, "u": 0, "Sn": 60, "Vn": 20, "fn": 60, **circuit, **torque}
        )
        system.add("Toggle", {"model": "Motor3", "dev": "M", "t": 0.1})
        system.setup()
        system.PFlow.config.tol = 1e-12
        system.PFlow.run()
        settings = {"tf": 6.0, "tstep": 0.005, "fixt": 1, "shrinkt": 0, "tol": 1e-10, "criteria": 0}
        for name, value in {**settings, "no_tqdm": 1}.items():
            setattr(system.TDS.config, name, value)
        system.TDS.init()
        assert system.TDS.run(no_summary=True)
    return system


@pytest.fixture(scope="module")
def ours(theirs):
    """Our motor at the same voltage, started with the power that theirs takes."""
    power = complex(theirs.Motor3.p.v[0], theirs.Motor3.q.v[0])
    parameters = {"s_n": 60.0, "s_base": 100.0, "f_n": 60.0, **CIRCUIT, "torque_a": 0.0, "torque_b": 0.0}
    wires = {port: f"bus.{port}" for port in ("v_re", "v_im", "i_re", "i_im")}
    device = Device("m", InductionMotor, parameters, wires)
    start = solve_plants([Plant("m", (device,), complex(VOLTAGE), -np.conj(power / VOLTAGE))])
    outputs = [Device("re", Signal, {}), Device("im", Signal, {})]
    held = Device("m", InductionMotor, parameters, {"i_re": "re.s", "i_im": "im.s"})
    return assemble([held, *outputs], start | {"m.v_re": VOLTAGE, "m.v_im": 0.0})


def test_running_point(theirs, ours):
    motor = theirs.Motor3
    found = {name: ours.w0[ours.index(f"m.{name}")] for name in ("slip", "e_re", "e_im", "t_0", "b_shunt")}
    assert found["slip"] == pytest.approx(motor.slip.v[0], abs=1e-8)
    # Their q axis is our real axis.
    assert complex(found["e_re"], found["e_im"]) == pytest.approx(
        complex(motor.e1q.v[0], -motor.e1d.v[0]), abs=1e-7
    )
    assert found["t_0"] == pytest.approx(TORQUE * 100 / 60, abs=1e-7)
    assert found["b_shunt"] == pytest.approx(0.0, abs=1e-7)


def test_eigenvalues(theirs, ours):
    """Measured: 3.7e-8, what is left of the run-up after 6 s."""
    from kvxopt import matrix

    theirs.j_update(models=theirs.exist.pflow_tds)
    dae = theirs.dae
    f_x, f_y, g_x, g_y = (np.array(matrix(block)) for block in (dae.fx, dae.fy, dae.gx, dae.gy))
    expected = np.linalg.eigvals((f_x - f_y @ np.linalg.solve(g_y, g_x)) / np.array(dae.Tf)[:, None])
    found = np.linalg.eigvals(ours.linearise().state_matrix())
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(expected), rtol=1e-7)

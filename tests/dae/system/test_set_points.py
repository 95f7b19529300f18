"""Set-points that a start leaves out: solved for, or refused by name."""

from typing import Any

import numpy as np
import pytest

import psmr
from psmr.errors import InputError
from tests.conftest import ROOT

GAIN = 50.0


class SimpleAVR(psmr.Component):
    """One gain and one lag, as a user writes it."""

    states = ("v_f",)
    inputs = ("v_re", "v_im", "v_ref")
    k_a = psmr.Parameter("pu/pu", "gain")
    t_a = psmr.Parameter("s", "time constant")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        v_t = m.sqrt(v.v_re**2 + v.v_im**2)
        return ((p.k_a * (v.v_ref - v_t) - v.v_f) / p.t_a,), (), ()


class Deaf(SimpleAVR):
    """One that holds whatever field voltage it has and does not read its reference."""

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (0.0 * v.v_f,), (), ()


class Negative(SimpleAVR):
    """One whose field voltage is never above 0: no reference holds a machine that is excited."""

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return ((-p.k_a * v.v_ref**2 - v.v_f) / p.t_a,), (), ()


@pytest.fixture(scope="module")
def whole():
    return psmr.build(psmr.read_case(ROOT / "cases" / "wscc9" / "wscc9.toml"))


def replaced(whole, component, change=None):
    """Return the system with AVR2 and its stabiliser replaced by hand; nothing is said of the new one."""
    names = (*whole.names_x, *whole.names_y, *whole.names_u)
    start = {n: v for n, v in zip(names, whole.w0, strict=False) if not n.startswith(("AVR2.", "PSS2."))}
    others = [device for device in whole.devices if device.name not in ("AVR2", "PSS2")]
    connections = {"v_re": "bus2.v_re", "v_im": "bus2.v_im"}
    mine = psmr.Device("AVR2", component, {"k_a": GAIN, "t_a": 0.05}, connections=connections)
    return psmr.assemble([*others, mine], start=start | (change or {}))


def test_a_device_that_replaces_another_starts_at_rest(whole):
    system = replaced(whole, SimpleAVR)
    v_f = whole.w0[whole.index("AVR2.v_f")]
    assert system.w0[system.index("AVR2.v_f")] == pytest.approx(v_f, abs=1e-9)
    # By its equation: v_ref = v_t + v_f / k_a, with the 1.025 pu of the power flow at bus 2.
    assert system.w0[system.index("AVR2.v_ref")] == pytest.approx(1.025 + v_f / GAIN, abs=1e-9)
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-9
    assert np.abs(system.g(system.x0, system.y0)).max() < 1e-9


def test_what_is_given_stays(whole):
    system = replaced(whole, SimpleAVR, {"AVR2.v_ref": 1.2, "AVR2.v_f": 1.0})
    assert system.w0[system.index("AVR2.v_ref")] == 1.2
    assert system.w0[system.index("AVR2.v_f")] == 1.0


def test_what_cannot_rest_is_refused_with_its_residual(whole):
    with pytest.raises(
        InputError, match=r"AVR2\.v_ref has no start value, and no .*(G2\.e_q|AVR2\.v_f) has the residual"
    ):
        replaced(whole, Negative)


def test_what_nothing_determines_is_refused(whole):
    with pytest.raises(InputError, match=r"nothing determines AVR2\.v_ref at rest; give it a start value"):
        replaced(whole, Deaf)


def test_a_start_without_set_points_leaves_them_at_zero(whole):
    device = psmr.Device("D", SimpleAVR, {"k_a": 1.0, "t_a": 1.0}, {"v_re": "D.v_f", "v_im": "D.v_f"})
    assert psmr.assemble([device], {"D.v_f": 1.0}).u0.tolist() == [0.0]


def test_arrays_are_read_only(whole):
    linear = whole.linearise()
    arrays = [whole.w0, whole.lower, whole.together, whole.parameters[0], whole.groups[0].index]
    arrays += [linear.fx.data, linear.gy.indices, linear.groups]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1

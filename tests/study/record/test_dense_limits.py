"""Points between the accepted ones beside a limit that moves, against an exact solution and a finer run."""

import os
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import psmr

TOLERANCE = 1e-4


class Follower(psmr.Component):
    """x' = rate (turn - t) up to the limit b, which decays: b' = -b."""

    states = ("x", "b")
    limits = {"x": (None, "b")}
    rate = psmr.Parameter("1/s^2", "how fast the push on x falls")
    turn = psmr.Parameter("s", "when it changes its sign")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        return (p.rate * (p.turn - v.t), -v.b), (), ()


def exact(t, x0, rate, turn):
    """Free up to the limit exp(-t), on it until the push is below -exp(-t), free from there."""

    def free(t, begin, x):
        return x + rate * (turn * (t - begin) - 0.5 * (t**2 - begin**2))

    meets = brentq(lambda t: free(t, 0.0, x0) - np.exp(-t), 0.0, 0.9 * turn)
    leaves = brentq(lambda t: rate * (turn - t) + np.exp(-t), turn, turn + 5.0)
    return np.select(
        [t < meets, t < leaves],
        [free(t, 0.0, x0), np.exp(-t)],
        free(t, leaves, np.exp(-leaves)),
    )


# The second starts within a tolerance of its limit: the step is not broken off where it is met.
@pytest.mark.parametrize("x0", [0.5, 1.0 - 3e-5])
@pytest.mark.parametrize("rate", [3.0, 40.0])
def test_between_points_a_state_follows_its_limit(x0, rate):
    device = psmr.Device("F", Follower, {"rate": rate, "turn": 1.0})
    system = psmr.assemble([device], {"F.x": x0, "F.b": 1.0})
    run = psmr.simulate(system, psmr.VariableStep(TOLERANCE), 1.5, certify=False)
    times = np.linspace(0.0, 1.5, 1501)
    off = run.at(times, ["F.x"])["F.x"].to_numpy() - exact(times, x0, rate, 1.0)
    assert np.abs(off).max() <= 10 * TOLERANCE


@pytest.mark.filterwarnings("ignore::psmr.errors.PsmrWarning")
def test_a_ceiling_that_falls_with_the_voltage():
    # Kundur's system as ANDES ships it; between points AVR4.v_r was 4.024 in place of 4.190.
    andes = pytest.importorskip("andes")
    folder = os.path.join(os.path.dirname(andes.__file__), "cases", "kundur")
    raw, dyr = (os.path.join(folder, name) for name in ("kundur.raw", "kundur_full.dyr"))
    system = psmr.build(psmr.read_case(raw, dynamics=dyr))
    events = [psmr.Fault(bus=6, start=0.14, clear=0.23, trip="line5-6-2")]
    run = psmr.simulate(system, psmr.VariableStep(TOLERANCE), 1.5, events, certify=False)
    fine = psmr.simulate(system, psmr.VariableStep(1e-8), 1.5, events, certify=False)
    times = np.linspace(1.1712, 1.26, 9)
    off = run.at(times, ["AVR4.v_r"])["AVR4.v_r"] - fine.at(times, ["AVR4.v_r"])["AVR4.v_r"]
    assert off.abs().max() <= 10 * TOLERANCE

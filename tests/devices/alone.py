"""A device alone: its run by psmr, and its diagram as an ordinary differential equation solved with scipy.

A state that rests on a limit that moves follows it: its rate is then that of the limit, taken along the other
rates.
"""

from types import SimpleNamespace

import numpy as np

from psmr import Component, Device, SetPoint, SingleRate, assemble, simulate
from tests.devices.diagram import TIMES, integrate
from tests.internals import with_algebraic_resolved

# A limit that begins to move within a step of the trapezoidal rule is left up to a step late: by the ramp of
# 3 pu/s in a step. Elsewhere the error is that of its order, (h/T)^2/12 = 5e-7 at time constants of 20 ms.
H = 5e-5
TOLERANCE = 3.0 * H


class Sink(Component):
    """Takes what a device adds to a row."""

    algebraic = ("s",)

    @staticmethod
    def equations(m, v, p):
        return (), (-v.s,), ()


def run_alone(component, parameters, guess, inputs, h=H):
    """Values at TIMES of every variable of a device that starts from its guess, as a namespace."""
    wires = {port: f"sink-{port}.s" for port in component.outputs}
    device = Device("d", component, parameters, wires)
    start = {f"d.{k}": float(v) for k, v in guess.items()} | {f"d.{k}": f(-1.0) for k, f in inputs.items()}
    own = (*device.component.states, *device.component.algebraic, *component.inputs)
    sinks = [Device(wire.removesuffix(".s"), Sink, {}) for wire in wires.values()]
    system = with_algebraic_resolved(
        assemble([device, *sinks], {f"d.{k}": start[f"d.{k}"] for k in own if f"d.{k}" in start})
    )
    assert np.abs(system.f(system.x0, system.y0)).max() < 1e-9
    events = [SetPoint("d", name, f(t), t) for name, f in inputs.items() for t in getattr(f, "jumps", ())]
    run = simulate(system, SingleRate("TM", h), TIMES[-1], events)
    # The instant of an event stands twice; none is in TIMES.
    found = {
        name: np.interp(TIMES, run.t, values)
        for name, values in zip((*run.names_x, *run.names_y), np.hstack([run.x, run.y]).T, strict=True)
    }
    return SimpleNamespace(
        **{k.replace("sink-", "").removesuffix(".s").removeprefix("d."): v for k, v in found.items()}
    )


def guess_of(component, parameters, terminal):
    p = Device("d", component, parameters, {port: f"x.{port}" for port in component.outputs})
    return dict(p.component.guess(terminal, SimpleNamespace(**p.parameters)))


def respond(diagram, p, states, inputs):
    """Outputs at TIMES of a diagram: ``diagram(p, u, x)`` returns (rates, limits by place, outputs)."""
    small = 1e-7
    # A state this near to its limit is at it: the integration's error must not take it to and fro.
    near = 1e-7

    def rates(x, u):
        raw, limits, _ = diagram(p, u, x)
        rate = np.array(raw)
        for i, (low, high) in limits.items():
            rate[i] = rate[i] if low + near < x[i] < high - near else 0.0
        moved = diagram(p, u, x + small * rate)[1]
        found = np.array(raw)
        for i, (low, high) in limits.items():
            if x[i] >= high - near:
                found[i] = min(found[i], (moved[i][1] - high) / small)
            elif x[i] <= low + near:
                found[i] = max(found[i], (moved[i][0] - low) / small)
        return found

    def enter(x, u):
        """A limit that jumps takes its state along."""
        found = np.array(x)
        for i, (low, high) in diagram(p, u, x)[1].items():
            found[i] = min(max(found[i], low), high)
        return found

    points = integrate(rates, np.array(states, dtype=float), inputs, enter)
    return np.array([diagram(p, u, x)[2] for x, u in points])


def polygon(x, *points):
    return np.interp(x, *zip(*points, strict=True))

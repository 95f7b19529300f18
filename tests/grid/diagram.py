"""Block diagrams as their transfer functions, and the response of a device: two ways to one answer.

The blocks come from scipy.signal's state-space forms of the printed transfer functions; a limit on a block of
first order does not wind up. Devices are integrated as the system that psmr assembles, projected limits
included. Both with scipy's solve_ivp at tolerances far below the comparison's.
"""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
from scipy import signal
from scipy.integrate import solve_ivp

from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.grid.equilibrium.equilibrium import Terminal

TIMES = np.linspace(0.0, 4.0, 161)
ACCURACY = {"rtol": 1e-9, "atol": 1e-11, "max_step": 0.01}


class Block:
    """A proper transfer function num/den with optional limits on its output; leading zeros are dropped."""

    def __init__(self, num, den, limits=(-np.inf, np.inf), start=None):
        num, den = (np.trim_zeros(np.atleast_1d(np.asarray(c, dtype=float)), "f") for c in (num, den))
        self.order = len(den) - 1
        self.limits = limits
        if not len(num):
            self.order, den = 0, np.ones(1)
        if self.order:
            self.a, self.b, self.c, self.d = signal.tf2ss(num, den)
            self.b, self.c, self.d = self.b[:, 0], self.c[0], float(self.d[0, 0])
        else:
            self.d = num[0] / den[0] if len(num) else 0.0
        self.start = start
        self.x = np.zeros(self.order)

    def settle(self, u):
        """Take the state that belongs to the constant input u (an integrator: the given output)."""
        if self.order == 0:
            return
        if self.start is not None:
            self.x = np.array([self.start / self.c[0]])
        else:
            self.x = -np.linalg.solve(self.a, self.b * u)

    @property
    def out(self):
        """The output of a strictly proper block, before its input is known."""
        assert self.d == 0
        if self.order == 0:
            return 0.0
        return np.clip(self.c @ self.x, *self.limits)

    def inside(self):
        """The state within the limits: a block of first order without direct way."""
        if np.isfinite(self.limits[0]) and self.order == 1 and self.d == 0:
            return np.clip(self.c[0] * self.x, *self.limits) / self.c[0]
        return self.x

    def __call__(self, u):
        low, high = self.limits
        self.u = u
        if self.order == 0:
            return np.clip(self.d * u, low, high)
        self.rate = self.a @ self.x + self.b * u
        y = float(self.c @ self.x + self.d * u)
        if np.isfinite(low):
            slope = float(self.c @ self.rate)
            if (y >= high and slope > 0) or (y <= low and slope < 0):
                self.rate = np.zeros(1)
        return np.clip(y, low, high)


def integrate(rates, x0, inputs, enter=lambda x, u: x):
    """States at TIMES of x' = rates(x, inputs), in pieces between the jumps of the inputs.

    ``enter(x, u)`` is x after a jump to u, where that moves a limit past it.
    """
    jumps = sorted({t for f in inputs.values() for t in getattr(f, "jumps", ()) if t < TIMES[-1]})
    pieces, x = [], x0
    for begin, end in pairwise([0.0, *jumps, TIMES[-1]]):
        u = SimpleNamespace(**{name: f(0.5 * (begin + end)) for name, f in inputs.items()})
        inside = TIMES[(begin <= TIMES) & ((end > TIMES) | (end == TIMES[-1]))]
        if len(x0):
            x = enter(x, u)
            solution = solve_ivp(
                lambda t, x, u=u: rates(x, u), (begin, end), x, t_eval=np.union1d(inside, end), **ACCURACY
            )
            states = solution.y.T
            x = states[-1]
        else:
            states = np.zeros((len(inside) + 1, 0))
        pieces += [(state, u) for state in states[: len(inside)]]
    return pieces


def respond(blocks, wiring, inputs):
    """Response of ``wiring(b, u)``, which calls each block once, from rest at the inputs of t = 0-."""
    held = list(blocks.values())
    b = SimpleNamespace(**blocks)
    rest = SimpleNamespace(**{name: f(-1.0) for name, f in inputs.items()})

    def load(x):
        at = 0
        for block in held:
            block.x = x[at : at + block.order]
            at += block.order

    # Each pass settles one more block of the signal flow; a feedback settles geometrically.
    for _ in range(200):
        with np.errstate(all="ignore"):
            wiring(b, rest)
        for block in held:
            block.settle(block.u)

    def rates(x, u):
        load(x)
        wiring(b, u)
        return np.concatenate([block.rate for block in held if block.order])

    def enter(x, u):
        load(x)
        wiring(b, u)
        return np.concatenate([block.inside() for block in held if block.order])

    found = []
    for x, u in integrate(rates, np.concatenate([block.x for block in held]), inputs, enter):
        load(x)
        found.append(wiring(b, u))
    return np.array(found)


def device_response(component, parameters, output, inputs, signals):
    """Response of the device `component` from its own guess, which must be at rest, and the guess."""
    device = Device("d", component, parameters)
    p = SimpleNamespace(**device.parameters)
    guess = dict(device.component.guess(Terminal(1.0 + 0.0j, 0.0j, signals), p))
    start = {f"d.{k}": float(v) for k, v in guess.items()}
    start |= {f"d.{k}": f(-1.0) for k, f in inputs.items()}
    system = assemble([device], {k: v for k, v in start.items() if k in _names(device)})
    n, m = system.n, system.m
    place = {name: i for i, name in enumerate(system.names_u)}

    def held(u):
        values = system.u0.copy()
        for k, value in vars(u).items():
            values[place[f"d.{k}"]] = value
        return values

    y = system.y0.copy()

    def algebraic(x, u):
        """Newton with halved steps: between two sides of a limiter the full one may go to and fro."""
        nonlocal y
        residual = system.g(x, y, u) if m else np.zeros(0)
        for _ in range(100):
            size = np.abs(residual).max(initial=0.0)
            if size < 1e-13:
                break
            w = np.concatenate([x, y, u, [0.0]])
            change = np.linalg.solve(system.jacobian(w).toarray()[n:, n:], residual)
            for fraction in 0.5 ** np.arange(12):
                residual = system.g(x, y - fraction * change, u)
                if np.abs(residual).max() < size:
                    break
            y = y - fraction * change
        return y

    x0 = system.x0
    rest = held(SimpleNamespace())
    assert np.abs(system.f(x0, algebraic(x0, rest), rest)).max(initial=0.0) < 1e-9

    def limits(x, u):
        return system.limits(system.buffer(x, algebraic(x, u), u))

    def rates(x, u):
        rate, (lower, upper) = system.f(x, algebraic(x, held(u)), held(u)), limits(x, held(u))
        return np.where(((x >= upper) & (rate > 0)) | ((x <= lower) & (rate < 0)), 0.0, rate)

    def enter(x, u):
        return np.clip(x, *limits(x, held(u)))

    names = (*system.names_x, *system.names_y)
    found = [np.concatenate([x, algebraic(x, held(u))]) for x, u in integrate(rates, x0, inputs, enter)]
    return np.array(found)[:, names.index(f"d.{output}")], guess


def _names(device):
    component = device.component
    return {f"d.{v}" for v in (*component.states, *component.algebraic, *component.inputs)}


def step(before, *after):
    """A signal that jumps: (time, value) pairs after `before`; times off the output grid."""

    def at(t):
        value = before
        for when, then in after:
            if t >= when:
                value = then
        return value

    at.jumps = tuple(when for when, _ in after)
    return at

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

from psmr import Device, assemble
from tests.internals import Terminal

TIMES = np.linspace(0.0, 4.0, 161)
ACCURACY = {"rtol": 1e-9, "atol": 1e-11, "max_step": 0.01}


def clip(x, low, high):
    """A number within limits; numpy's function takes thirty times as long for one number."""
    return min(max(x, low), high)


class Block:
    """A proper transfer function num/den with optional limits on its output; leading zeros are dropped.

    The state `x` and its `rate` are tuples: blocks are of first and second order, where numbers are quicker
    than arrays.
    """

    def __init__(self, num, den, limits=(-np.inf, np.inf), start=None):
        num, den = (np.trim_zeros(np.atleast_1d(np.asarray(c, dtype=float)), "f") for c in (num, den))
        self.order = len(den) - 1
        self.limits = limits
        if not len(num):
            self.order, den = 0, np.ones(1)
        if self.order:
            a, b, c, d = signal.tf2ss(num, den)
            self.a, self.b, self.c = a.tolist(), b[:, 0].tolist(), c[0].tolist()
            self.d = float(d[0, 0])
        else:
            self.d = float(num[0] / den[0]) if len(num) else 0.0
        self.start = start
        self.x = (0.0,) * self.order

    def settle(self, u):
        """Take the state that belongs to the constant input u (an integrator: the given output)."""
        if self.order == 0:
            return
        if self.start is not None:
            self.x = (float(self.start / self.c[0]),)
        else:
            self.x = tuple((-np.linalg.solve(self.a, np.multiply(self.b, u))).tolist())

    def _of(self, x):
        return sum(c * value for c, value in zip(self.c, x, strict=True))

    @property
    def out(self):
        """The output of a strictly proper block, before its input is known."""
        assert self.d == 0
        if self.order == 0:
            return 0.0
        return clip(self._of(self.x), *self.limits)

    def inside(self):
        """The state within the limits: a block of first order without direct way."""
        if np.isfinite(self.limits[0]) and self.order == 1 and self.d == 0:
            return (clip(self.c[0] * self.x[0], *self.limits) / self.c[0],)
        return self.x

    def __call__(self, u):
        low, high = self.limits
        self.u = u
        if self.order == 0:
            return clip(self.d * u, low, high)
        if self.order == 1:
            self.rate = (self.a[0][0] * self.x[0] + self.b[0] * u,)
        else:
            self.rate = tuple(
                sum(a * value for a, value in zip(row, self.x, strict=True)) + b * u
                for row, b in zip(self.a, self.b, strict=True)
            )
        y = self._of(self.x) + self.d * u
        if low > -np.inf:
            slope = self._of(self.rate)
            if (y >= high and slope > 0) or (y <= low and slope < 0):
                self.rate = (0.0,)
        return clip(y, low, high)


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

    moving = [block for block in held if block.order]

    def load(x):
        values, at = x.tolist(), 0
        for block in moving:
            block.x = tuple(values[at : at + block.order])
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
        return np.array([rate for block in moving for rate in block.rate])

    def enter(x, u):
        load(x)
        wiring(b, u)
        return np.array([value for block in moving for value in block.inside()])

    found = []
    start = np.array([value for block in moving for value in block.x])
    for x, u in integrate(rates, start, inputs, enter):
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

    w, given, inverse = system.w0.copy(), None, None

    def take(u):
        """Write the inputs into w, where they are not there already."""
        nonlocal given
        if u is not given:
            for k, value in vars(u).items():
                w[n + m + place[f"d.{k}"]] = value
            given = u

    def settle(x, u):
        """Solve the algebraic equations at x in w; return the residual, raw rates first.

        Newton with halved steps: between two sides of a limiter the full one may go to and fro. The matrix
        serves as long as the residual falls tenfold.
        """
        nonlocal inverse
        take(u)
        w[:n] = x
        residual = system.residual(w)
        for _ in range(100 if m else 0):
            size = np.abs(residual[n:]).max()
            if size < 1e-13:
                break
            y, fresh = w[n : n + m].copy(), inverse is None
            if fresh:
                inverse = np.linalg.inv(system.jacobian(w).toarray()[n:, n:])
            change = inverse @ residual[n:]
            for fraction in 0.5 ** np.arange(12) if fresh else (1.0,):
                w[n : n + m] = y - fraction * change
                residual = system.residual(w)
                if np.abs(residual[n:]).max() < size:
                    break
            if not np.abs(residual[n:]).max() <= 0.1 * size:
                inverse = None
                if not fresh:
                    w[n : n + m] = y
                    residual = system.residual(w)
        return residual

    x0 = system.x0
    rest = SimpleNamespace()
    settle(x0, rest)
    assert np.abs(system.f(x0, w[n : n + m], w[n + m : -1])).max(initial=0.0) < 1e-9
    limited = system.limited.any()

    def rates(x, u):
        rate = settle(x, u)[:n]
        if not limited:
            return rate
        lower, upper = system.limits(w)
        return np.where(((x >= upper) & (rate > 0)) | ((x <= lower) & (rate < 0)), 0.0, rate)

    def enter(x, u):
        settle(x, u)
        return np.clip(x, *system.limits(w))

    names = (*system.names_x, *system.names_y)
    found = []
    for x, u in integrate(rates, x0, inputs, enter):
        settle(x, u)
        found.append(w[names.index(f"d.{output}")])
    return np.array(found), guess


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

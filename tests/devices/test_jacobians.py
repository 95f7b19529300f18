"""Compiled residuals and Jacobians against the plain equations and a complex step, in each limiter branch."""

from types import SimpleNamespace

import numpy as np
import pytest

from psmr import Component, Device, assemble
from tests.components import IEEEST, PSS1A, PSS2A, PSS2B, PSS2C, ST2CUT
from tests.devices.library import PARAMETERS, UNREACHED, VARIANTS, ZERO
from tests.internals import NumericMath, components, defaults, form_for, local_rows

STEP = 1e-30
POINTS = 300


class Signal(Component):
    """Something to read from and to add to."""

    algebraic = ("s",)

    @staticmethod
    def equations(m, v, p):
        return (), (-v.s,), ()


WHOLE = [(component, PARAMETERS.get(component)) for component in components()]
CODES = [
    *((IEEEST, PARAMETERS[IEEEST] | {"input": code}) for code in range(2, 7)),
    *((PSS2A, PARAMETERS[PSS2A] | {"input_2": a, "m": b, "n": c}) for a, b, c in ((6, 5, 1), (0, 0, 0))),
    *((PSS2B, PARAMETERS[PSS2B] | {"input_2": a, "m": b, "n": c}) for a, b, c in ((6, 5, 1), (4, 0, 0))),
    (PSS2C, PARAMETERS[PSS2C] | {"input_2": 6, "m": 4, "n": 1}),
    (PSS1A, PARAMETERS[PSS1A] | {"input": 6}),
    *((ST2CUT, PARAMETERS[ST2CUT] | {"input_1": a, "input_2": b}) for a, b in ((2, 6), (4, 0), (6, 2))),
]
FORMS = [(component, PARAMETERS[component] | dict.fromkeys(zero, 0.0)) for component, zero in ZERO.items()]
NAMES = [c.__name__ for c, _ in WHOLE] + [form_for(c, defaults(c) | p).__name__ for c, p in CODES]
NAMES += [f"{c.__name__}-algebraic" for c, _ in FORMS]


def alone(component, parameters):
    """The device with a signal of its own at each input and output."""
    component = form_for(component, defaults(component) | parameters)
    ports = (*component.inputs, *component.outputs)
    wires = {
        port: f"{side}-{port}.s"
        for side, kind in (("in", component.inputs), ("out", component.outputs))
        for port in kind
    }
    signals = [Device(wires[port].removesuffix(".s"), Signal, {}) for port in ports]
    device = Device("device", component, parameters, wires)
    return device, assemble([device, *signals])


def names_of(component):
    return (*component.states, *component.algebraic, *component.inputs)


class Branches(NumericMath):
    """Notes which branches of each limiter are taken, limiters numbered in the order of evaluation."""

    def __init__(self):
        self.seen = {}
        self.number = 0

    def _note(self, **taken):
        seen = self.seen.setdefault((self.number, tuple(taken)), set())
        seen.update(branch for branch, points in taken.items() if np.any(points))
        self.number += 1

    def clip(self, x, lower, upper):
        below, above = np.less(x, lower), np.greater(x, upper)
        self._note(below=below, within=~below & ~above, above=~below & above)
        return NumericMath.clip(x, lower, upper)

    def max(self, a, b):
        first = np.greater_equal(a, b)
        self._note(first=first, second=~first)
        return NumericMath.max(a, b)


def evaluate(component, device, m, values, shape):
    """The right-hand sides at many points at once: (rows, *shape)."""
    v = SimpleNamespace(**values, t=0.0)
    parts = component.equations(m, v, SimpleNamespace(**device.parameters))
    return np.array([np.broadcast_to(e, shape) for part in parts for e in part])


@pytest.mark.parametrize(("component", "parameters"), WHOLE + CODES + FORMS, ids=NAMES)
def test_jacobian_is_the_complex_step(component, parameters):
    if not (component.states or component.algebraic or component.outputs):
        # A relay that only acts: it has no row, and no Jacobian.
        assert component.equations(None, None, None) == ((), (), ())
        return
    branches = Branches()
    for change in ({}, *VARIANTS.get(component, ())):
        compare(component, parameters | change, branches)
    if component in VARIANTS and parameters != PARAMETERS[component]:
        return
    for (number, kinds), seen in branches.seen.items():
        unreached = UNREACHED.get(component, {}).get(number)
        assert seen == set(kinds) - {unreached}, f"limiter {number} was only met in {seen}"


def compare(component, parameters, branches):
    device, system = alone(component, parameters)
    component = device.component
    names = names_of(component)
    columns = [system.index(device.connections.get(n, f"device.{n}")) for n in names]
    targets = (*system.names_x, *system.names_g)
    rows = [targets.index(device.connections.get(r, f"device.{r}")) for r in local_rows(component)]
    own = len(rows) - len(component.outputs)
    rng = np.random.default_rng(1)
    size = system.n + system.m
    points = np.tile(system.w0, (POINTS, 1))
    points[:, :size] = rng.uniform(-1.5, 1.5, (POINTS, size))
    points[9::10, :size] *= 0.005  # a few points near zero, where voltages have their floors
    values = {name: points[:, c] for name, c in zip(names, columns, strict=True)}
    branches.number = 0
    evaluate(component, device, branches, values, (POINTS,))
    value = np.real(evaluate(component, device, NumericMath, values, (POINTS,)))
    # The last axis: which of the variables is disturbed.
    disturbed = {name: x[:, None] + 1j * STEP * (np.array(names) == name) for name, x in values.items()}
    disturbed = evaluate(component, device, NumericMath, disturbed, (POINTS, len(names)))
    expected = np.imag(disturbed) / STEP
    for i, state in enumerate(component.states):
        low, high = values[state] <= system.lower[i], values[state] >= system.upper[i]
        expected[i, (high & (value[i] > 0)) | (low & (value[i] < 0))] = 0.0
    block = np.ix_(rows, columns)
    points = np.array([system.with_constant_signals(w) for w in points])  # what is late is what is there
    found = np.array([system.jacobian(w).toarray()[block] for w in points])
    residual = np.array([system.residual(w)[rows] for w in points])
    # The row of a signal holds -s beside what the device adds; row and variable have one number.
    residual[:, own:] += points[:, rows[own:]]
    # Roundoff of the two ways of evaluating: 1e-12 of the largest entry of a point (measured: 6e-14).
    for ours, plain in ((residual, value.T), (found, np.moveaxis(expected, 1, 0))):
        axes = tuple(range(1, plain.ndim))
        scale = np.maximum(1.0, np.abs(plain).max(axis=axes, initial=0.0))
        assert (np.abs(ours - plain).max(axis=axes, initial=0.0) <= 1e-12 * scale).all()


def test_library_is_complete():
    assert set(PARAMETERS) == set(components())


@pytest.mark.parametrize("component", components(), ids=lambda c: c.__name__)
def test_every_component_has_a_source_and_units(component):
    text = (component.__doc__ or "") + (__import__(component.__module__, fromlist=["x"]).__doc__ or "")
    assert "ource" in text
    for name in dir(component):
        parameter = getattr(component, name)
        if type(parameter).__name__ == "Parameter":
            assert parameter.unit
            assert parameter.doc

"""Expressions: folded, shared, differentiated; what cannot be traced is refused in words."""

import numpy as np
import pytest

from psmr import Component, Device, Parameter, assemble
from psmr.errors import InputError
from tests.internals import Graph, NumericMath, trace


def everything(m, x, y, a):
    """Return expressions with every function and operation, limiters nested in limiters."""
    return (
        m.sin(x) * m.cos(y) - m.tan(x * y) / a,
        m.exp(-x) + m.log(2 + y) * m.sqrt(x**2 + y**2),
        m.atan2(y, x) ** 3 - x**-2 + y**0.5 + x**1.5 + (x * y) ** a + 2**x,
        m.abs(x - y) + m.min(x, a * y) * m.max(y, x) - m.abs(y - 1),
        m.clip(x * y, -a, m.where(m.ge(x, y), a, 2 * a)) / (1 + m.clip(x, 0.1, 0.9) ** 2),
        m.where(m.le(x, y), m.exp(x) / (x + a), m.where(m.ge(y, a), y / (x + a), m.log(x))),
        (x + y) / (x + a) + (x - y) / (x + a) + a / 3 - +x,
    )


class Everything(Component):
    """Every function in one component."""

    inputs = ("x", "y")
    outputs = tuple(f"r_{k}" for k in range(7))
    a = Parameter("pu", "a number")

    @staticmethod
    def equations(m, v, p):
        return (), (), everything(m, v.x, v.y, p.a)


class Sums(Component):
    """Variables and rows for the other one."""

    algebraic = ("x", "y", *(f"z_{k}" for k in range(5)))
    rows = tuple(f"r_{k}" for k in range(7))

    @staticmethod
    def equations(m, v, p):
        return (), (0,) * 7, ()


WIRES = {"x": "s.x", "y": "s.y"} | {f"r_{k}": f"s.r_{k}" for k in range(7)}


@pytest.mark.parametrize("x", [0.05, 0.3, 0.8, 1.7])
@pytest.mark.parametrize("y", [0.2, 0.7, 1.9])
def test_kernels_are_what_numbers_give_and_their_jacobian_is_the_complex_step(x, y):
    a, step = 0.6, 1e-30
    start = {"s.x": x, "s.y": y}
    system = assemble([Device("s", Sums, {}), Device("e", Everything, {"a": a}, WIRES)], start)
    # 2e-15: a few roundings, contracted or not, of terms up to 3
    assert np.allclose(system.residual(system.w0), everything(NumericMath, x, y, a), rtol=2e-15, atol=2e-15)
    matrix = system.jacobian(system.w0).toarray()
    by_x = [np.imag(e) / step for e in everything(NumericMath, x + 1j * step, complex(y), a)]
    by_y = [np.imag(e) / step for e in everything(NumericMath, complex(x), y + 1j * step, a)]
    # 1e-13: the complex step is exact to rounding; the largest derivative is 2 / 0.05**3 = 2e4, relative then
    assert np.allclose(matrix[:, 0], by_x, rtol=1e-13, atol=1e-13)
    assert np.allclose(matrix[:, 1], by_y, rtol=1e-13, atol=1e-13)
    assert not matrix[:, 2:].any()


def test_a_branch_that_is_not_taken_does_no_harm():
    class Guarded(Component):
        algebraic = ("x",)

        @staticmethod
        def equations(m, v, p):
            return (), (m.where(m.ge(v.x, 0), m.sqrt(v.x), 2 * v.x),), ()

    system = assemble([Device("g", Guarded, {})], {"g.x": -3.0})
    assert system.residual(system.w0).tolist() == [-6.0]
    assert system.jacobian(system.w0).toarray().tolist() == [[2.0]]


def test_equal_expressions_are_one_node_and_zeros_vanish():
    g = Graph()
    x, y = g.variable(0), g.variable(1)
    assert (x + y) * 2 is 2 * (y + x)
    assert x - y is -(y - x)
    assert 2 * x * y is x * (y * 2)
    assert x**3 is x * x * x
    assert (x - x) is g.zero
    assert 0 * g.log(x) is g.zero
    assert g.where(g.ge(2, 1), x, y) is x
    assert g.where(g.ge(x, y), x, x) is x
    assert g.clip(3, 0, 1) is g.one
    assert x * np.float64(2) is np.float64(2) * x
    assert x * True is x


def traced(equations, **attributes):
    """Trace a component with one state and two parameters."""
    own = {
        "states": ("x",),
        "equations": staticmethod(equations),
        "k": Parameter("pu", "a gain"),
        **attributes,
    }
    return trace(type("Some", (Component,), own))


@pytest.mark.parametrize(
    ("equations", "message"),
    [
        (
            lambda m, v, p: ((v.x if v.x > 0 else 0,), (), ()),
            r"Some\.equations, line \d+: .*use m\.where, m\.ge",
        ),
        (lambda m, v, p: ((v.x if p.k == 1 else 0,), (), ()), "traced symbolically"),
        (lambda m, v, p: ((np.sin(float(v.x)),), (), ()), "traced symbolically"),
        (lambda m, v, p: ((max(v.x, 1),), (), ()), "m.max"),
        (lambda m, v, p: ((v.x + 1j,), (), ()), "1j is not a real number"),
        (lambda m, v, p: ((None,), (), ()), "None is not a real number"),
        (lambda m, v, p: ((v.x / 0,), (), ()), "divided by the number 0"),
        (lambda m, v, p: ((m.sqrt(-1) * v.x,), (), ()), r"sqrt\(-1\) is not a real number"),
        (lambda m, v, p: ((v.x, v.x), (), ()), "returned 2 derivatives.*1 are declared"),
        (lambda m, v, p: ((v.x,), (v.x,), ()), "returned 1 residuals.*0 are declared"),
    ],
)
def test_what_cannot_be_traced_is_refused_in_words(equations, message):
    with pytest.raises(InputError, match=message):
        traced(equations)


def test_an_expression_of_another_evaluation_is_refused():
    kept = []

    def equations(m, v, p):
        kept.append(v.x)
        return (kept[0],), (), ()

    traced(equations)
    with pytest.raises(InputError, match="kept from another evaluation"):
        traced(equations)


def test_every_rate_of_change_is_declared():
    def equations(m, v, p):
        return (p.k * v.t - v.x,), (), ()

    assert traced(equations, ramps=("k",)).timed
    assert not traced(lambda m, v, p: ((p.k * v.x,), (), ())).timed
    with pytest.raises(InputError, match="read the time even where r = 0"):
        traced(equations, ramps=("r",), r=Parameter("pu/s", "a rate"))


def test_the_digest_is_that_of_the_equations_alone():
    gains = (2.0, 2, np.float64(2))
    same = [traced(lambda m, v, p, c=c: ((c * v.x * p.k,), (), ())).digest() for c in gains]
    assert len(set(same)) == 1
    other = traced(lambda m, v, p: ((2.5 * v.x * p.k,), (), ())).digest()
    assert other not in same

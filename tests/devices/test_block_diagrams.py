"""A component written as its block diagram: what follows from it, and what it refuses."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from psmr import Device, Parameter
from psmr.errors import InputError
from tests.internals import BlockDiagram, NumericMath, Terminal, components


class Regulator(BlockDiagram):
    """A regulator with a lead-lag, a PI controller, a limited lag and a feedback.

    It is nobody's.
    """

    states = ("x_l", "x_i", "v_r", "x_f")
    inputs = ("v_re", "v_im", "v_ref")
    set_point = "v_ref"

    t_c = Parameter("s", "lead")
    t_b = Parameter("s", "lag")
    k_p = Parameter("pu", "proportional gain")
    k_i = Parameter("pu/s", "integral gain")
    t_a = Parameter("s", "lag of the output")
    k_f = Parameter("pu", "gain of the feedback")
    t_f = Parameter("s", "lag of the feedback", lambda x: None if x > 0 else "must be > 0")
    low = Parameter("pu", "lower limit")
    high = Parameter("pu", "upper limit")

    @staticmethod
    def known(terminal, p):
        return {"v_f": terminal.signals["v_f"]}

    @classmethod
    def diagram(cls, b, v, p):
        fed_back = b.rate("x_f", v.v_f, "k_f", "t_f")
        led = b.lead_lag("x_l", v.v_ref - b.magnitude(v.v_re, v.v_im) - fed_back, "t_c", "t_b")
        v_r = b.lag("v_r", b.pi("x_i", led, "k_p", "k_i", ("low", "high")), "t_a", ("low", "high"))
        b.output("v_f", b.magnitude(v.v_re, v.v_im) * v_r)


P = {
    "t_c": 0.1,
    "t_b": 0.5,
    "k_p": 3.0,
    "k_i": 2.0,
    "t_a": 0.2,
    "k_f": 0.1,
    "t_f": 1.0,
    "low": -5.0,
    "high": 5.0,
}


def test_the_declaration_follows_from_the_diagram():
    assert Regulator.algebraic == ("v_f",)
    assert Regulator.lags == {"x_f": ("t_f",), "x_l": ("t_b",), "v_r": ("t_a",)}
    assert Regulator.limits == {"x_i": ("low", "high"), "v_r": ("low", "high")}
    assert Regulator.integrals == {"x_i": "k_i"}


def test_the_equations_are_those_of_the_blocks():
    v = {"x_l": 0.3, "x_i": 0.7, "v_r": 1.1, "x_f": 0.9, "v_f": 1.2, "v_re": 0.6, "v_im": 0.8, "v_ref": 1.4}
    derivatives, residuals, _ = Regulator.equations(NumericMath, SimpleNamespace(**v), SimpleNamespace(**P))
    error = 1.4 - 1.0 - 0.1 * (1.2 - 0.9)
    led = 0.3 + 0.2 * (error - 0.3)
    regulated = 3.0 * led + 0.7
    assert derivatives == pytest.approx(((error - 0.3) / 0.5, 2.0 * led, (regulated - 1.1) / 0.2, 1.2 - 0.9))
    assert residuals == pytest.approx((1.1 - 1.2,))


@pytest.mark.parametrize("k_i", [2.0, 0.0])
def test_the_guess_is_an_equilibrium(k_i):
    p = SimpleNamespace(**{name: np.array([x, 1.1 * x]) for name, x in (P | {"k_i": k_i}).items()})
    voltage = np.array([0.6 + 0.7j, 1.02 + 0.1j])
    found = Regulator.guess(Terminal(voltage, voltage, {"v_f": np.array([1.5, 2.5])}), p)
    found = {**found, "v_re": voltage.real, "v_im": voltage.imag}
    if k_i == 0:
        found["x_i"] = 0.0
    parts = Regulator.equations(NumericMath, SimpleNamespace(**found), p)
    for rate in (*parts[0], *parts[1]):
        assert rate == pytest.approx(0.0, abs=1e-14)


def test_the_drawing_stands_behind_the_first_paragraph():
    first, colons, drawing, rest = Regulator.__doc__.split("\n\n")
    assert (first[-9:], colons, rest) == ("feedback.", "::", "It is nobody's.")
    assert [line.strip() for line in drawing.splitlines()] == [
        "v_ref - |v| - s k_f/(1 + s t_f) v_f -> (1 + s t_c)/(1 + s t_b) -> k_p + k_i/s, limits [low, high]",
        "-> 1/(1 + s t_a), limits [low, high] -> v_r      v_f = |v| v_r",
    ]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"k_p": 0.0, "k_i": 0.0}, "k_p = k_i = 0: one of them must be > 0"),
        ({"t_b": 0.0}, "t_b = 0 and t_c = 0.1: t_b must be > 0 where t_c is not 0"),
        ({"low": 5.0}, "low = 5: must be below high = 5"),
    ],
)
def test_a_block_that_cannot_be_is_objected_to(changed, said):
    with pytest.raises(InputError, match=f"AVR: {said}"):
        Device("AVR", Regulator, P | changed)


def test_a_limiter_has_its_parameters_as_they_are():
    """A start beyond a limit tells the parameter by what it is given."""

    class Limiter(BlockDiagram):
        """A limiter."""

        inputs = ("u",)
        low = Parameter("pu", "lower limit")
        high = Parameter("pu", "upper limit")

        @classmethod
        def diagram(cls, b, v, p):
            b.output("y", b.limit(v.u, "low", "high"))

    seen = []

    class Recorder(NumericMath):
        @staticmethod
        def clip(x, lower, upper):
            seen.extend((lower, upper))
            return x

    low, high = type("Named", (float,), {})(-1.0), type("Named", (float,), {})(1.0)
    Limiter.equations(Recorder, SimpleNamespace(u=0.5, y=0.5), SimpleNamespace(low=low, high=high))
    assert seen[0] is low
    assert seen[1] is high


def test_a_value_to_branch_on_is_refused():
    with pytest.raises(InputError, match="diagrams are traced symbolically: use b"):

        class Wrong(BlockDiagram):
            """A lag that branches."""

            inputs = ("u",)
            t = Parameter("s", "lag")

            @classmethod
            def diagram(cls, b, v, p):
                b.lag("x", v.u if v.u > 0 else 0, "t")


DRAWN = [
    kind
    for kind in components()
    if issubclass(kind, BlockDiagram) and not isinstance(vars(kind)["__doc__"], str)
]


@pytest.mark.parametrize("kind", DRAWN)
def test_every_diagram_can_be_drawn(kind):
    drawing = kind.__doc__.split("::")[1].split("\n\n")[1]
    assert "->" in drawing or "' = " in drawing
    assert not [side for sides in kind.limits.values() for side in sides if side and side not in drawing]
    assert max(map(len, drawing.splitlines())) <= 160


def test_states_that_the_diagram_has_not_are_refused():
    with pytest.raises(InputError, match=r"Wrong: states = \('y',\): the diagram has \('x',\)"):

        class Wrong(BlockDiagram):
            """A lag."""

            states = ("y",)
            inputs = ("u",)
            t = Parameter("s", "lag")

            @classmethod
            def diagram(cls, b, v, p):
                b.lag("x", v.u, "t")


def diagram(write, **attributes):
    """Return a class whose diagram is `write`, with a lag t, a gain k and two limits."""
    parameters = {name: Parameter("pu", name) for name in ("t", "k", "low", "high")}
    own = {"inputs": ("u",), "diagram": classmethod(lambda cls, b, v, p: write(b, v, p))}
    return type("Wrong", (BlockDiagram,), {"__doc__": "A lag.", **parameters, **own, **attributes})


@pytest.mark.parametrize(
    ("write", "error", "said"),
    [
        (
            lambda b, v, p: b.lag("x", b.lag("x", v.u, "t"), "t"),
            InputError,
            "x is the state or output of two blocks: each needs a name of its own",
        ),
        (
            lambda b, v, p: b.output("x", b.lag("x", v.u, "t")),
            InputError,
            "x is the state or output of two blocks",
        ),
        (
            lambda b, v, p: b.output("u", v.u),
            InputError,
            "Wrong: u is the state or output of a block, and an input",
        ),
        (
            lambda b, v, p: b.output("k", v.u),
            InputError,
            "Wrong: k is the state or output of a block, and a parameter",
        ),
        (lambda b, v, p: b.output("a b", v.u), InputError, "'a b' is no name for a state or output"),
        (
            lambda b, v, p: b.lag("x", v.u, "t", ("low", "hihg")),
            InputError,
            "Wrong: the diagram names 'hihg', which is no parameter or variable; did you mean 'high'?",
        ),
        (
            lambda b, v, p: b.lag("x", v.u, "t", (-1.0, "high")),
            InputError,
            "Wrong: the diagram names -1.0, which is no parameter or variable; a limit is given by its name",
        ),
        (
            lambda b, v, p: b.lag("x", v.u, "t", "high"),
            InputError,
            "x: limits = 'high': must be the names of the lower and the upper limit, None for none",
        ),
        (
            lambda b, v, p: b.lag("x", v.u, "t", idle="kk"),
            InputError,
            "Wrong: the diagram names 'kk', which is no parameter; did you mean 'k'?",
        ),
        (
            lambda b, v, p: b.lag("x", p.kk * v.u, "t"),
            AttributeError,
            "there is no parameter 'kk'; did you mean 'k'?",
        ),
        (
            lambda b, v, p: b.lag("x", v.u, "tt"),
            AttributeError,
            "there is no parameter 'tt'; did you mean 't'?",
        ),
        (
            lambda b, v, p: b.leadlag("x", v.u, "t", "t"),
            AttributeError,
            "there is no block or function b.leadlag; did you mean 'lead_lag'?",
        ),
        (lambda b, v, p: b.lag("x", v.u if p.k == 0 else 0, "t"), InputError, "traced symbolically"),
        (lambda b, v, p: b.lag("x", np.sqrt(v.u), "t"), InputError, "the functions of b"),
    ],
)
def test_a_mistake_in_a_diagram_is_told_where_it_is_declared(write, error, said):
    with pytest.raises(error, match=re.escape(said)):
        diagram(write)


def test_a_set_point_is_one_of_the_inputs():
    with pytest.raises(InputError, match="Wrong: set_point = 'w': is none of its inputs"):
        diagram(lambda b, v, p: b.lag("x", v.u, "t"), set_point="w")


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (
            lambda b, v, p: b.lag("x", b.exp(v.u), "t"),
            "leads back through blocks, sums, products and quotients",
        ),
        (lambda b, v, p: b.lag("x", v.u * v.u, "t"), "does not find u: no line of blocks leads there"),
    ],
)
def test_a_guess_without_a_way_back_is_told(write, said):
    kind = diagram(write, set_point="u", known=staticmethod(lambda terminal, p: {"x": 1.0}))
    with pytest.raises(InputError, match=said):
        kind.guess(Terminal(np.array([1.0]), np.array([1.0]), {}), SimpleNamespace(**P, t=0.1, k=2.0))


def test_the_guess_finds_what_begins_at_the_set_point_beside_the_line_to_it():
    def write(b, v, p):
        b.lag("beside", 3 * v.u, "t")
        b.lag("x", p.k * v.u, "t")

    known = staticmethod(lambda terminal, p: {"x": 4.0})
    kind = diagram(write, set_point="u", known=known)
    found = kind.guess(Terminal(np.array([1.0]), np.array([1.0]), {}), SimpleNamespace(t=0.1, k=2.0))
    assert found == {"x": 4.0, "u": 2.0, "beside": 6.0}


def test_the_guess_leads_back_through_a_sign_and_a_quotient():
    kind = diagram(
        lambda b, v, p: b.lag("x", p.k / -v.u, "t"),
        set_point="u",
        known=staticmethod(lambda terminal, p: {"x": 4.0}),
    )
    found = kind.guess(Terminal(np.array([1.0]), np.array([1.0]), {}), SimpleNamespace(t=0.1, k=2.0))
    assert found["u"] == -0.5


def test_a_drawing_follows_the_signals():
    """Blocks that close a loop may stand in any order in a diagram; the drawing begins at the set-point."""

    def write(b, v, p):
        b.output("y", b.limit(v.x, "low", "high"))
        fed_back = b.named("back", p.k * v.y)
        b.lag("x", v.u - b.lag("m", v.w, "t") - fed_back, "t")

    lines = diagram(write, inputs=("u", "w"), set_point="u").__doc__.split("\n\n")[2].splitlines()
    assert [line.strip() for line in lines] == [
        "w -> 1/(1 + s t) -> m      u - m - back -> 1/(1 + s t) -> x      x -> limits [low, high] -> y",
        "back = k y",
    ]

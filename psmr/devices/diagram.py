"""A component as its block diagram: each block named once, with its state, its limits and its value at rest.

`BlockDiagram.diagram` is run in three ways: with numbers or expressions, for the equations; with what is
known of a plant at rest, for the guess; with words, for the declaration and the drawing of the docstring.
Diagrams of the blocks: P. Kundur, Power System Stability and Control (1994), chapters 8 and 12; IEEE Std
421.5-2016.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from psmr.base.errors import InputError, nearest, shown
from psmr.dae.declare.component import (
    Component,
    NumericMath,
    Terms,
    crossed,
    improper,
    parameters_of,
    positive,
    ungained,
)
from psmr.devices.at_rest import Unknown, guess_of
from psmr.devices.blocks import dead_band, error_at_rest, error_band, pade, through_points
from psmr.devices.drawing import Anything, BlockDrawing, DrawnDocstring, SymbolNames, Writing, between

Limits = tuple[str | None, str | None]


class Blocks:
    """The functions of `m`, and the blocks of a diagram: each returns its output and notes what it is.

    States are named; time constants, gains and limits are names of parameters (a limit also of a variable),
    time constants and gains numbers or expressions as well.

    Attributes
    ----------
    slopes, rows
        Derivatives by state, residuals by algebraic variable.
    lags, limits, integrals
        As in `Component`, with all time constants and gains that have a name; where a drawing is made.
    leads, ranges, gains
        Pairs of names for the objections `improper`, `crossed` and `ungained`; where a drawing is made.
    """

    def __init__(
        self, m: Any, v: Any, p: Any, rest: dict[str, Any] | None = None, drawing: Any = None
    ) -> None:
        self._m, self._v, self._p, self._rest, self._drawing = m, v, p, rest, drawing
        self.slopes: dict[str, Any] = {}
        self.rows: dict[str, Any] = {}
        self.lags: dict[str, tuple[str, ...]] = {}
        self.limits: dict[str, Limits] = {}
        self.integrals: dict[str, str] = {}
        self.leads: list[tuple[str, str]] = []
        self.ranges: list[tuple[str, str]] = []
        self.gains: list[tuple[str, str]] = []

    def __getattr__(self, name: str) -> Any:
        if not hasattr(NumericMath, name):
            blocks = [key for key in (*vars(Blocks), *vars(NumericMath)) if not key.startswith("_")]
            raise AttributeError(f"there is no block or function b.{name}{nearest(name, blocks)}", name=name)
        return getattr(self._m, name)

    def lag(self, state: str, u: Any, t: Any, limits: Limits | None = None, idle: str = "") -> Any:
        """Lag 1/(1 + s t) with non-windup limits; its output is its state, 0 where `idle` is."""
        x = self._lagged(state, u, t, limits, idle)
        return self._drawn(x, u, "1/(1 + s {})", t, limits=limits, name=state)

    def lead_lag(
        self, state: str, u: Any, lead: Any, t: Any, limits: Limits | None = None, checked: bool = True
    ) -> Any:
        """Lead-lag (1 + s lead)/(1 + s t); limits hold for the output and, without windup, for the state.

        One that a code may leave out is not `checked` for a lead without its lag.
        """
        if checked:
            self._pair(self.leads, lead, t)
        x = self._lagged(state, u, t, limits)
        if self._rest is not None:
            return x
        output = x + (self._of(lead) / self._of(t)) * (u - x)
        if limits is not None:
            self.ordered(*limits)
            output = self._within(output, limits)
        return self._drawn(output, u, "(1 + s {})/(1 + s {})", lead, t, limits=limits)

    def washout(self, state: str, u: Any, t: Any, idle: str = "") -> Any:
        """Washout s t/(1 + s t), whose state is the lagged input; at rest nothing passes.

        All passes where the parameter `idle` is zero.
        """
        x = self._lagged(state, u, t, None, idle)
        return 0.0 if self._rest is not None else self._drawn(u - x, u, "s {0}/(1 + s {0})", t)

    def rate(self, state: str, u: Any, gain: str, t: str, idle: str = "") -> Any:
        """Return the derivative behind a lag, s gain/(1 + s t); at rest nothing passes.

        Its state is 0 where the parameter `idle` is.
        """
        self._pair(self.leads, gain, t)
        x = self._lagged(state, u, t, None, idle)
        if self._rest is not None:
            return 0.0
        return self._drawn(self._of(gain) / self._of(t) * (u - x), u, "s {}/(1 + s {})", gain, t)

    def second_order(
        self, states: tuple[str, str], u: Any, below: tuple[str, str], above: tuple[str, str] | None = None
    ) -> Any:
        """Filter (1 + b_1 s + b_2 s^2)/(1 + a_1 s + a_2 s^2); the second state is the first's derivative."""
        (x, y), (a_1, a_2) = states, below
        if above is not None:
            self._pair(self.leads, above[1], a_2)
        if self._rest is not None:
            self._rest[y] = 0.0
            return self._settled(x, u)
        held, slope = getattr(self._v, x), getattr(self._v, y)
        bend = (u - held - self._of(a_1) * slope) / self._of(a_2)
        self._note(x, slope, lags=(a_1, a_2))
        self._note(y, bend, lags=(a_2,))
        if above is None:
            return self._drawn(held, u, "1/(1 + {} s + {} s^2)", *below, name=x)
        output = held + self._of(above[0]) * slope + self._of(above[1]) * bend
        return self._drawn(output, u, "(1 + {} s + {} s^2)/(1 + {} s + {} s^2)", *above, *below)

    def integrator(
        self, state: str, u: Any, gain: str = "", t: Any = None, limits: Limits | None = None
    ) -> Any:
        """Integrator gain/s or 1/(s t) with non-windup limits, whose input is 0 at rest.

        A gain that may be zero leaves it out.
        """
        if self._rest is not None:
            return self._balanced(state, u)
        scaled = self._of(gain) * u if gain else u
        self._note(state, scaled if t is None else scaled / self._of(t), limits, idle=gain)
        template = "{}/s" if t is None else "{}/(s {})"
        return self._drawn(getattr(self._v, state), u, template, gain or 1, t, limits=limits, name=state)

    def pi(self, state: str, u: Any, k_p: str, k_i: str, limits: Limits) -> Any:
        """Control by k_p + k_i/s; limits hold for its output and, without windup, for its integral part."""
        return self._controlled(u, k_p, (state, k_i), None, limits)

    def pid(
        self,
        states: tuple[str, str],
        u: Any,
        gains: tuple[str, str, str],
        t: str,
        limits: Limits,
        scale: str = "",
    ) -> Any:
        """Control by k_p + k_i/s + s k_d/(1 + s t), times the gain `scale`; limits as those of `pi`.

        Its states are those of the integral, with the gain, and of the derivative.
        """
        (x_i, x_d), (k_p, k_i, k_d) = states, gains
        return self._controlled(u, k_p, (x_i, k_i), (x_d, k_d, t), limits, scale)

    def _controlled(
        self,
        u: Any,
        k_p: str,
        integral: tuple[str, str],
        rate: tuple[str, str, str] | None,
        limits: Limits,
        scale: str = "",
    ) -> Any:
        state, k_i = integral
        self._pair(self.gains, k_p, k_i)
        self.ordered(*limits)
        proportional, integrated = self._of(k_p), self._of(k_i)
        if self._rest is not None:
            if rate:
                self._rest[rate[0]] = u
            direct = self._of(scale) * proportional if scale else proportional
            output = Unknown(u, lambda y: error_at_rest(y, direct, integrated))
            return self._rest.setdefault(state, output)
        self._note(state, (self._of(scale) * integrated if scale else integrated) * u, limits, idle=k_i)
        x, output, transfer = getattr(self._v, state), proportional * u, "{} + {}/s"
        output = output if scale else output + x
        if rate:
            lagged, k_d, t = rate
            self._pair(self.leads, k_d, t)
            output = output + self._of(k_d) / self._of(t) * (u - self._lagged(lagged, u, t, None))
            transfer += f" + s {k_d}/(1 + s {t})"
        if scale:
            output, transfer = self._of(scale) * output + x, f"{scale} ({transfer})"
        return self._drawn(self._within(output, limits), u, transfer, k_p, k_i, limits=limits)

    def delay(self, states: Sequence[str], u: Any, t: str) -> Any:
        """Transport delay t by the Padé approximation of an even order, that of the number of its states.

        State k is (t d/dt)^k of the delayed signal's inner state: at rest the first is u, all others are 0.
        The gain is 1 at every frequency. The phase is that of the delay to 0.1 degrees up to w t = 1 with two
        states, up to 6 with six. Where t is zero all states are algebraic, and the output is u. Source: G. A.
        Baker and P. Graves-Morris, Padé Approximants (1996), chapter 1: the approximants [n/n] of exp.
        """
        if self._rest is not None:
            self._rest.update(dict.fromkeys(states, 0.0) | {states[0]: u})
            return u
        c, q = pade(len(states)), [getattr(self._v, state) for state in states]
        highest = (u - sum(a * x for a, x in zip(c, q, strict=False))) / c[-1]
        output = u - 2 * sum(a * x for a, x in zip(c[1::2], q[1::2], strict=False))
        for state, x in zip(states, (*q[1:], highest), strict=True):
            self._note(state, x / self._of(t), lags=(t,))
        return self._drawn(output, u, "delay {}", t)

    def state(
        self,
        name: str,
        slope: Any,
        lags: Sequence[str] = (),
        limits: Limits | None = None,
        idle: str = "",
    ) -> Any:
        """State with a derivative of its own.

        It is algebraic where all the time constants `lags` are zero, and 0 where the parameter `idle` is.
        """
        if self._rest is not None:
            return self._balanced(name, slope)
        self._note(name, slope, limits, lags, idle)
        if self._drawing is not None:
            self._drawing.define(f"{name}'", slope, between(limits))
        return getattr(self._v, name)

    def timer(self, state: str, rate: Any, limits: tuple[str, str], words: str = "") -> Any:
        """State that counts, within limits and without windup; at rest it is at its lower limit."""
        low = self._of(limits[0])
        if self._rest is not None:
            return self._rest.setdefault(state, low)
        x = getattr(self._v, state)
        self.ordered(*limits)
        self._note(state, low - x if self.opened else rate, limits)
        if self._drawing is not None:
            self._drawing.define(f"{state}'", words or rate, between(limits))
        return x

    @property
    def opened(self) -> bool:
        """Whether limiters, gates and dead bands are open, as for the start."""
        return getattr(self._m, "opened", False) is True

    @property
    def at_rest(self) -> bool:
        """Whether the diagram is run for its guess."""
        return self._rest is not None

    def held(self, state: str, rest: Callable[[], Any]) -> Any:
        """Return a state that is declared behind, from its value at rest."""
        return getattr(self._v, state) if self._rest is None else self._rest.setdefault(state, rest())

    def limit(self, x: Any, low: str, high: str, scale: Any = None) -> Any:
        """Limiter between two parameters, where given times `scale`, which must not cross."""
        self.ordered(low, high)
        sides = self._of(low), self._of(high)
        # As they are: a start beyond a limit is told by its parameter's name.
        return self.clip(x, *(sides if scale is None else (scale * side for side in sides)))

    def dead_band(self, x: Any, low: Any, high: Any, regulated: bool = False) -> Any:
        """Return by how much x is beyond a dead band; open at the start where the error is `regulated`."""
        if self._drawing is not None:
            return self._drawing.block(x, f"dead band [{low}, {high}]", "")
        return (error_band if regulated else dead_band)(self._m, x, low, high)

    def polygon(self, x: Any, points: Sequence[tuple[Any, Any]]) -> Any:
        """Return the polygon through points at x, constant beyond its ends."""
        if self._drawing is not None:
            shown = [f"({a}, {c})" for a, c in (points[0], points[-1])]
            return self._drawing.block(x, f"polygon {' to '.join(shown)}", "")
        return through_points(self._m, x, points)

    def ordered(self, low: str | None, high: str | None) -> None:
        """Object to limits that leave nothing between them; blocks whose output is limited do so already."""
        self._pair(self.ranges, low, high)

    def magnitude(self, re: Any, im: Any) -> Any:
        """Return the magnitude of a phasor."""
        if self._rest is not None:
            return np.abs(re + 1j * im)
        if self._drawing is not None:
            return self._drawing.magnitude(re, im)
        return self.sqrt(re**2 + im**2)

    def named(self, name: str, value: Any, words: str = "") -> Any:
        """Return a value, which has a name in the drawing; `words` say what it is, where that is shorter."""
        if self._drawing is None:
            return value
        return self._drawing.define(name, words or value)

    def output(self, name: str, value: Any, words: str = "") -> None:
        """Declare an algebraic variable and its value."""
        if self._rest is not None:
            self._settled(name, value)
            return
        if self._drawing is not None:
            self._once(name)
            self._drawing.result(name, words or value)
        self.rows[name] = value - getattr(self._v, name)

    def implicit(self, name: str, residual: Callable[[Any], Any], rest: Any, words: str = "") -> None:
        """Declare an algebraic variable by a function of it that is zero, with a first guess."""
        if self._rest is not None:
            self._rest[name] = rest
            return
        if self._drawing is not None:
            self._once(name)
            if words:
                self._drawing.define(name, words)
        self.rows[name] = residual(getattr(self._v, name))

    def _of(self, name: Any) -> Any:
        return getattr(self._p, name) if isinstance(name, str) else name

    def _lagged(self, state: str, u: Any, t: Any, limits: Limits | None, idle: str = "") -> Any:
        """Return the state of a first-order block; at rest that is its input."""
        if self._rest is not None:
            return self._settled(state, u)
        x = getattr(self._v, state)
        self._note(state, (u - x) / self._of(t), limits, (t,) if isinstance(t, str) else (), idle)
        return x

    def _note(
        self,
        state: str,
        slope: Any,
        limits: Limits | None = None,
        lags: Sequence[str] = (),
        idle: str = "",
    ) -> None:
        if self._drawing is None:
            self.slopes[state] = slope
            return
        self._once(state)
        self.slopes[state] = slope
        if limits is not None:
            pair: Any = limits
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                what = "must be the names of the lower and the upper limit, None for none"
                raise InputError(f"{state}: limits = {shown(limits)}: {what}")
            self.limits[state] = limits
        if lags:
            self.lags[state] = tuple(lags)
        if idle:
            self.integrals[state] = idle

    def _once(self, name: str) -> None:
        if not (isinstance(name, str) and name.isidentifier()):
            raise InputError(f"{shown(name)} is no name for a state or output")
        if name in self.slopes or name in self.rows:
            raise InputError(f"{name} is the state or output of two blocks: each needs a name of its own")

    def _within(self, x: Any, limits: Limits) -> Any:
        return self.clip(x, *(getattr(self._p, side) for side in limits if side))

    def _pair(self, into: list[tuple[str, str]], first: Any, second: Any) -> None:
        if self._drawing is not None and isinstance(first, str) and isinstance(second, str):
            into.append((first, second))

    def _settled(self, name: str, u: Any) -> Any:
        """Return a variable that is u at rest: what is known of it, which u then follows, or u."""
        found: dict[str, Any] = self._rest  # type: ignore[assignment]
        value = found.setdefault(name, u)
        if isinstance(u, Unknown) and value is not u:
            u.settle_as(value)
        return value

    def _balanced(self, name: str, u: Any) -> Any:
        """Return a variable at rest, where u is zero."""
        if isinstance(u, Unknown):
            u.settle(0.0)
        return self._rest.setdefault(name, Unknown())  # type: ignore[union-attr]

    def _drawn(
        self, output: Any, u: Any, transfer: str, *parts: Any, limits: Limits | None = None, name: str = ""
    ) -> Any:
        if self._drawing is None:
            return output
        return self._drawing.block(u, transfer.format(*parts), between(limits), name)


_FOLLOWING = frozenset(("states", "algebraic", "lags", "limits", "integrals", "conflict", "guess"))
"""What follows from a diagram where a class does not declare it."""


class BlockDiagram(Component):
    """A component that is written as its block diagram.

    `states`, `algebraic`, `lags`, `limits`, `integrals`, `conflict`, `equations`, `guess` and the drawing in
    the docstring follow from `diagram`; what a class declares itself stands. A class that others complete
    says so, ``class Exciter(BlockDiagram, part=True)``, and has its `role` for them.

    Attributes
    ----------
    set_point
        The input that initialisation solves for.
    """

    role: ClassVar[str] = ""
    set_point: ClassVar[str] = ""
    _role: ClassVar[str] = ""
    _given: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def diagram(cls, b: Any, v: Any, p: Any) -> None:
        """Connect the blocks of `b`, with variables and parameters as in `equations`."""
        raise NotImplementedError

    @staticmethod
    def objection(p: Mapping[str, float]) -> str | None:
        """Return what is wrong between parameters that is no question of a single block."""
        return None

    @staticmethod
    def known(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the variables that follow from what the machine needs, for the guess."""
        return {}

    def __init_subclass__(cls, part: bool = False, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        own = vars(cls)
        cls._given = cls._given | (own.keys() & _FOLLOWING)
        if part:
            cls._role, cls.role = own.get("role", cls._role), ""
        elif "role" not in own:
            cls.role = cls._role
        # A form of a class (`psmr.dae.declare.device.derived`) and a class with equations have all they need.
        if part or "made_by" in own or "equations" in own:
            return
        anything, declared = Anything(), parameters_of(cls)
        b = Blocks(anything, anything, parameters := Anything(declared), drawing=anything)
        cls.diagram(b, anything, parameters)
        _check(cls, b)
        ordered = set(cls.states) == b.slopes.keys()
        if "states" in own and not ordered:
            raise InputError(f"{cls.__name__}: states = {cls.states}: the diagram has {tuple(b.slopes)}")
        named = {name for names in (*b.lags.values(), b.integrals.values()) for name in names}
        lasting = {name for name in named if declared[name].check is positive}
        states = cls.states if ordered else tuple(b.slopes)
        found: dict[str, Any] = {
            "states": states,
            "algebraic": tuple(b.rows),
            "lags": {x: b.lags[x] for x in states if x in b.lags and not lasting & set(b.lags[x])},
            "limits": {x: b.limits[x] for x in states if x in b.limits},
            "integrals": {x: b.integrals[x] for x in states if b.integrals.get(x, "") not in {"", *lasting}},
            "conflict": staticmethod(_conflict(cls, b)),
            "guess": staticmethod(guess_of(cls, Blocks)),
        }
        for name, value in found.items():
            if name not in cls._given or name == "states":
                setattr(cls, name, value)
        text = own.get("__doc__")
        drawn = text if not text or "::" in text else DrawnDocstring(text, _drawing)
        for name, value in {"equations": staticmethod(_equations(cls)), "__doc__": drawn}.items():
            setattr(cls, name, value)


def _check(kind: type[BlockDiagram], b: Blocks) -> None:
    """Object to a name in a diagram that is declared nowhere, or twice."""
    parameters = parameters_of(kind)
    for name in (*b.slopes, *b.rows):
        if name in parameters or name in kind.inputs:
            what = "a parameter" if name in parameters else "an input"
            raise InputError(f"{kind.__name__}: {name} is the state or output of a block, and {what}")
    sides = [side for limits in b.limits.values() for side in limits if side is not None]
    others = [*b.lags.values(), b.integrals.values(), *b.leads, *b.ranges, *b.gains]
    variables = [*b.slopes, *b.rows, *kind.inputs, *kind.algebraic]
    for names, known in ((sides, [*parameters, *variables]), ([x for y in others for x in y], [*parameters])):
        for name in names:
            if name not in known:
                what = "parameter or variable" if names is sides else "parameter"
                hint = nearest(name, known) if isinstance(name, str) else "; a limit is given by its name"
                raise InputError(
                    f"{kind.__name__}: the diagram names {shown(name)}, which is no {what}{hint}"
                )
    if kind.set_point and kind.set_point not in kind.inputs:
        hint = nearest(kind.set_point, kind.inputs)
        raise InputError(f"{kind.__name__}: set_point = {kind.set_point!r}: is none of its inputs{hint}")


def _drawing(kind: type[BlockDiagram]) -> BlockDrawing:
    drawing, v, p = BlockDrawing(kind.set_point), SymbolNames(), SymbolNames(parameters_of(kind))
    kind.diagram(Blocks(Writing(drawing), v, p, drawing=drawing), v, p)
    return drawing


def _equations(kind: type[BlockDiagram]) -> Callable[[Any, Any, Any], tuple[Terms, Terms, Terms]]:
    states, diagram = kind.states, kind.diagram

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives and residuals of the blocks."""
        b = Blocks(m, v, p)
        diagram(b, v, p)
        return tuple(b.slopes[state] for state in states), tuple(b.rows.values()), ()

    return equations


def _conflict(kind: type[BlockDiagram], b: Blocks) -> Callable[[Mapping[str, float]], str | None]:
    gains, leads, ranges, objection = b.gains, b.leads, b.ranges, kind.objection

    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to controllers without a gain, leads without their lags, crossed limits, and the rest."""
        return ungained(p, *gains) or improper(p, *leads) or crossed(p, *ranges) or objection(p)

    return conflict

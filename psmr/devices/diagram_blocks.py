"""The blocks of a diagram: functions that return their output and note what they are.

Diagrams of the blocks: P. Kundur, Power System Stability and Control (1994), chapters 8 and 12; IEEE Std
421.5-2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from psmr.base.errors import InputError, nearest, shown
from psmr.dae.declare.component import NumericMath
from psmr.devices.at_rest import Unknown
from psmr.devices.blocks import dead_band, error_at_rest, error_band, pade, through_points
from psmr.devices.drawing import between

Limits = tuple[str | None, str | None]

FAR = 1e9
"""The other side of a gate in pu: beyond all signals."""


class Closed(NumericMath):
    """The mathematical functions for the start of what rests at its own limits."""

    opened = True


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
    gates
        Signals of limiters with their places: (name, code of the place, signal), of an exciter that has some.
    margins
        By name, how far a signal is beyond what it limits: above zero where it acts.
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
        self.gates: Sequence[tuple[str, int, Any]] = ()
        self.margins: dict[str, Any] = {}
        self._closed = m is Closed

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

    def pi(self, state: str, u: Any, k_p: str, k_i: str, limits: Limits, rests: int = 0) -> Any:
        """Control by k_p + k_i/s; limits hold for its output and, without windup, for its integral part.

        That of a limiter is at rest at one of them, ``limits[rests]``.
        """
        return self._controlled(u, k_p, (state, k_i), None, limits, rests=rests)

    def pid(
        self,
        states: tuple[str, str],
        u: Any,
        gains: tuple[str, str, str],
        t: str,
        limits: Limits,
        scale: str = "",
        rests: int = 0,
    ) -> Any:
        """Control by k_p + k_i/s + s k_d/(1 + s t), times the gain `scale`; limits as those of `pi`.

        Its states are those of the integral, with the gain, and of the derivative.
        """
        (x_i, x_d), (k_p, k_i, k_d) = states, gains
        return self._controlled(u, k_p, (x_i, k_i), (x_d, k_d, t), limits, scale, rests)

    def _controlled(
        self,
        u: Any,
        k_p: str,
        integral: tuple[str, str],
        rate: tuple[str, str, str] | None,
        limits: Limits,
        scale: str = "",
        rests: int = 0,
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
        slope = (self._of(scale) * integrated if scale else integrated) * u
        slope = self._of(limits[rests]) - getattr(self._v, state) if self._closed else slope
        self._note(state, slope, limits, idle=k_i)
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

    def timer(self, state: str, rate: Any, limits: tuple[str, str], words: str = "", rests: int = 0) -> Any:
        """State that counts, within limits and without windup; at rest it is at one of them."""
        at_rest = self._of(limits[rests])
        if self._rest is not None:
            return self._rest.setdefault(state, at_rest)
        x = getattr(self._v, state)
        self.ordered(*limits)
        self._note(state, at_rest - x if self.opened else rate, limits)
        if self._drawing is not None:
            self._drawing.define(f"{state}'", words or rate, between(limits))
        return x

    def gated(self, x: Any, code: int = 2) -> Any:
        """Return x behind the gates that are placed here: the higher of an UEL, then the lower of an OEL."""
        for end in ("uel", "oel"):
            for name, place, signal in self.gates:
                if place == code and name.endswith(end):
                    high = end == "uel"
                    self.margins[name] = signal - x if high else x - signal
                    x = self.clip(x, signal, FAR) if high else self.clip(x, -FAR, signal)
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
        settled = self._within(u, limits) if self._closed and limits else u
        self._note(state, (settled - x) / self._of(t), limits, (t,) if isinstance(t, str) else (), idle)
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

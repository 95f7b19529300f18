"""What all exciters share: their inputs, the voltage that they regulate, and what acts on them from outside.

A limiter gives an exciter its signal, which is added to the error of the voltage or goes to a gate, by a code
of the exciter: so PSS/E and IEEE Std 421.5-2016 place it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from psmr.base.errors import InputError
from psmr.dae.declare.component import Action, Component, Parameter, Terms, nonnegative, whole
from psmr.dae.declare.derived import derived
from psmr.devices.blocks import machine_to_network
from psmr.devices.diagram import BlockDiagram
from psmr.devices.diagram_blocks import Blocks
from psmr.devices.drawing import Anything
from psmr.devices.placement import placement


class Exciter(BlockDiagram, part=True):
    """Inputs of an exciter; its output is the field voltage v_f.

    `places` has the codes of limiters' places where no parameter gives them.
    """

    role = "exciter"
    inputs: ClassVar[tuple[str, ...]] = ("v_re", "v_im", "v_s", "v_ref")
    optional = {"v_s": 0.0}
    set_point = "v_ref"
    places: ClassVar[Mapping[str, int]] = {}

    @classmethod
    def place(cls, kind: str, values: Mapping[str, float]) -> int:
        """Return the code of a limiter's place: a parameter, what the class says, or the error."""
        return int(values.get(kind, cls.places.get(kind, 1)))

    @staticmethod
    def known(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the field voltage that the machine needs."""
        return {"v_f": terminal.signals.get("v_f", 1.0)}


def place_of(limiter: str, gates: int = 1, default: float = 1.0) -> Parameter:
    """Return the parameter that places a limiter: at the error or at one of some gates."""
    where = "0, 1 at the error, 2 at the gate" + (f", to {gates + 1} the later ones" if gates > 1 else "")
    # A code without a limiter may be anything; `limited` knows those that have a gate.
    return Parameter("code", f"place of the {limiter}: {where}", whole(0, 99), default)


class Regulator(Exciter, part=True):
    """An exciter that measures the voltage with a lag."""

    t_r = Parameter("s", "time constant of the voltage transducer", nonnegative)


WITH_FIELD_CURRENT = ("v_re", "v_im", "v_s", "i_f", "v_ref")
"""Inputs of an exciter that reads the field current of the machine."""


def regulated_voltage(b: Any, v: Any) -> Any:
    """Return the voltage that an exciter regulates: of its terminals, or the compensated one if it has it."""
    return b.magnitude(*((v.u_re, v.u_im) if "u_re" in vars(v) else (v.v_re, v.v_im)))


def measured(b: Any, v: Any) -> Any:
    """Return the regulated voltage behind its transducer."""
    return b.lag("v_m", regulated_voltage(b, v), "t_r")


class IEEEVC(Component):
    """Voltage compensator: the exciter regulates the voltage behind, or before, an impedance of the machine.

    ::

        u = v + (r_c + j x_c) i,    and the exciter reads |u| in place of |v|

    i is the current that the machine sends out, per unit on its base. With x_c > 0 the machine shares
    reactive power with others at its bus, with x_c < 0 it regulates a point in the network, as beyond a part
    of its transformer. Where the terminal voltage also feeds the exciter, the supply stays |v|. The record
    COMP is |v - j x_e i|: r_c = 0, x_c = -x_e. Source: IEEE Std 421.5-2005, section 4, load compensator;
    PSS/E, Model Library, IEEEVC and COMP; for the signs OpenIPSL, STEPS and PowerWorld.
    """

    role = "compensator"
    records = ("COMP x_comp", "IEEEVC r_c x_c")
    algebraic = ("u_re", "u_im")
    inputs = ("v_re", "v_im", "delta", "i_d", "i_q")
    together = (("u_re", "u_im"),)

    r_c = Parameter("pu on machine base", "resistance of the compensation")
    x_c = Parameter("pu on machine base", "reactance of the compensation")

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the compensated voltage."""
        i_re, i_im = machine_to_network(m, v.i_d, v.i_q, v.delta)
        u_re = v.v_re + p.r_c * i_re - p.x_c * i_im
        u_im = v.v_im + p.r_c * i_im + p.x_c * i_re
        return (), (u_re - v.u_re, u_im - v.u_im), ()

    @staticmethod
    def guess(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the terminal voltage, from which the compensated one is not far."""
        voltage = np.asarray(terminal.voltage)
        return {"u_re": voltage.real, "u_im": voltage.imag}


@derived
def compensated(exciter: type[Component]) -> tuple[str, Mapping[str, Any]]:
    """Return an exciter beside a compensator: it regulates |u|, and what feeds it stays |v|."""
    return "compensated", {"inputs": (*exciter.inputs, "u_re", "u_im")}


Condition = Callable[[Any, Any, Any], Any]


def switched(
    flag: str,
    margin: Condition,
    back: Condition | None = None,
    on: str = "",
    off: str = "",
    delay: Callable[[Any], Any] = lambda p: 0.0,
    **about: Any,
) -> tuple[Action, ...]:
    """Return how a flag is 1 from when a margin has been above zero for a delay, 0 from when `back` is.

    `back` is the margin with the other sign where it is left out.
    """
    back = back or (lambda m, v, p: -margin(m, v, p))

    def of(p: Any) -> Any:
        return getattr(p, flag)

    def words(said: str) -> Callable[[Any, str], str] | None:
        return (lambda p, machine: said.format(machine)) if said else None

    return (
        Action(
            on,
            lambda m, v, p: m.min(margin(m, v, p), 0.5 - of(p)),
            delay,
            effect=lambda v, p: {flag: 1.0},
            words=words(on),
            **about,
        ),
        Action(
            off,
            lambda m, v, p: m.min(back(m, v, p), of(p) - 0.5),
            effect=lambda v, p: {flag: 0.0},
            words=words(off),
            **about,
        ),
    )


def takes_over(margin: Condition, what: str = "field current", flag: str = "limiting") -> tuple[Action, ...]:
    """Return how a limiter takes over and lets go, by a margin."""
    on, off = f"{what} of {{}} limited", f"{what} of {{}} free again"
    return switched(flag, margin, on=on, off=off, kind="limiter")


def flag_of(what: str, default: float = 0.0) -> Parameter:
    """Return the parameter that remembers whether something is so."""
    return Parameter("1", f"whether {what}", default=default)


def until(count: Any, end: Any, rate: Any) -> Any:
    """Return the time in s in which a count is at its end at a rate; infinite where it does not go there."""
    rising = np.asarray(rate) > 0
    return np.where(count >= end, 0.0, np.where(rising, (end - count) / np.where(rising, rate, 1.0), np.inf))


LIMITS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "oel": ("field current", ("v_oel",)),
    "uel": ("under-excitation", ("v_uel",)),
    "scl": ("stator current", ("v_scl_oel", "v_scl_uel")),
}
"""Of each kind of limiter what it limits, and its signals: those of over- and of underexcitation."""

ACTIVE = 1e-6
"""Signal in pu above which a limiter at the error acts: far above rounding, far below any effect."""


class _Dividing:
    """Parameters with 1 for time constants that are zero: what they divide is zero there."""

    def __init__(self, p: Any, lags: Collection[str]) -> None:
        self._p, self._lags = p, lags

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._p, name)
        return np.where(value == 0, 1.0, value) if name in self._lags else value


@derived
def limited(
    exciter: type[BlockDiagram], places: tuple[tuple[str, int], ...]
) -> tuple[str, Mapping[str, Any]]:
    """Return an exciter with limiters: of each its kind (`LIMITS`) and the code of its place.

    Signals at the error are added to the reference, those at a gate go to it.
    """
    signals = [(name, code) for kind, code in places for name in LIMITS[kind][1]]
    added = [name for name, code in signals if code < GATE]

    def blocks(m: Any, v: Any, p: Any) -> Blocks:
        b, own = Blocks(m, v, p), dict(vars(v))
        own["v_ref"] = sum((own[name] for name in added), own["v_ref"])
        b.gates = [(name, code, own[name]) for name, code in signals if code >= GATE]
        exciter.diagram(b, SimpleNamespace(**own), p)
        return b

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives and residuals of the blocks."""
        b = blocks(m, v, p)
        return tuple(b.slopes[state] for state in exciter.states), tuple(b.rows.values()), ()

    lags = {name for constants in exciter.lags.values() for name in constants}
    names = (*exciter.states, *exciter.algebraic, *exciter.inputs, *(name for name, _ in signals))

    anything = Anything()
    known = blocks(anything, SimpleNamespace(**dict.fromkeys(names, anything)), anything).margins
    for name, code in signals:
        if code >= GATE and name not in known:
            raise InputError(f"{exciter.__name__}: {name}: there is no gate with the code {code}")

    def margin(kind: str, code: int) -> Condition:
        ends = LIMITS[kind][1]

        def beyond(m: Any, v: Any, p: Any) -> Any:
            if code < GATE:
                return (
                    m.max(-getattr(v, ends[0]), getattr(v, ends[-1])) - ACTIVE
                    if len(ends) > 1
                    else (getattr(v, ends[0]) * (1 if kind == "uel" else -1) - ACTIVE)
                )
            here = SimpleNamespace(**{name: getattr(v, name) for name in names})
            found = blocks(m, here, _Dividing(p, lags)).margins
            return m.max(found[ends[0]], found[ends[-1]])

        return beyond

    flags = {f"limiting_{kind}": flag_of(f"the {kind.upper()} acts") for kind, _ in places}
    acting = [takes_over(margin(kind, code), LIMITS[kind][0], f"limiting_{kind}") for kind, code in places]
    return "limited_" + "_".join(f"{kind}{code}" for kind, code in places), {
        "inputs": (*exciter.inputs, *(name for name, _ in signals)),
        "equations": staticmethod(equations),
        "actions": (*exciter.actions, *(action for pair in acting for action in pair)),
        "acts_on": "source",
        "memory": (*placement(exciter).memory, *flags),
        **flags,
    }


GATE = 2
"""Code from which on a limiter is at a gate."""

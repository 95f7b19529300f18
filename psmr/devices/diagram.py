"""A component as its block diagram: each block named once, with its state, its limits and its value at rest.

`BlockDiagram.diagram` is run in three ways: with numbers or expressions, for the equations; with what is
known of a plant at rest, for the guess; with words, for the declaration and the drawing of the docstring.
Diagrams of the blocks: P. Kundur, Power System Stability and Control (1994), chapters 8 and 12; IEEE Std
421.5-2016.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from psmr.base.errors import InputError, nearest, shown
from psmr.dae.declare.component import (
    Component,
    Terms,
    crossed,
    improper,
    parameters_of,
    positive,
    ungained,
)
from psmr.devices.at_rest import guess_of
from psmr.devices.diagram_blocks import Blocks, Closed
from psmr.devices.drawing import Anything, BlockDrawing, DrawnDocstring, SymbolNames, Writing

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
    closed
        Whether it rests at its own limits, as a limiter does: they hold while the start is sought.
    """

    role: ClassVar[str] = ""
    set_point: ClassVar[str] = ""
    closed: ClassVar[bool] = False
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
    states, diagram, closed = kind.states, kind.diagram, kind.closed

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the derivatives and residuals of the blocks."""
        b = Blocks(Closed if closed and getattr(m, "opened", False) is True else m, v, p)
        diagram(b, v, p)
        return tuple(b.slopes[state] for state in states), tuple(b.rows.values()), ()

    return equations


def _conflict(kind: type[BlockDiagram], b: Blocks) -> Callable[[Mapping[str, float]], str | None]:
    gains, leads, ranges, objection = b.gains, b.leads, b.ranges, kind.objection

    def conflict(p: Mapping[str, float]) -> str | None:
        """Object to controllers without a gain, leads without their lags, crossed limits, and the rest."""
        return ungained(p, *gains) or improper(p, *leads) or crossed(p, *ranges) or objection(p)

    return conflict

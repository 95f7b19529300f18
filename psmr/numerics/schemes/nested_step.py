"""A common step within which devices take steps of their own: what a run of `SelfAdjusting` did once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from psmr.arguments import settle_fields
from psmr.errors import SchemeError
from psmr.numerics.refine.activity import JOINED, OwnSteps
from psmr.numerics.schemes.choices import choice, positive
from psmr.numerics.schemes.implicit_pairs import PAIRS
from psmr.numerics.schemes.scheme import Scheme
from psmr.numerics.schemes.variable_step import VariableStep
from psmr.numerics.step.program import Program

# Devices that are named before the others are counted.
NAMED = 4


@dataclass(frozen=True, repr=False)
class NestedStep(Scheme):
    r"""Advance all variables by a step, and devices over the same time by steps of their own.

    The common step of `SelfAdjusting` with a split that stays.

    Parameters
    ----------
    method
        As in `VariableStep`.
    h
        Common step in s.
    levels
        Who takes which steps in it, fewest first; the steps of a level are within those of the one before.

    Raises
    ------
    SchemeError
        For an unknown method, a step that is none, levels that are out of order, or a device in two of them.
    """

    method: Annotated[str, tuple(PAIRS)]
    h: float
    levels: tuple[OwnSteps, ...]

    newton: ClassVar[str] = "very dishonest"
    split: ClassVar[None] = None

    def __post_init__(self) -> None:
        settle_fields(self, SchemeError)
        choice("method", self.method, tuple(PAIRS))
        positive("h", self.h, "s")
        grids = [(1.0,), *(level.ends for level in self.levels)]
        if len(grids) == 1 or any(not set(a) < set(b) for a, b in itertools.pairwise(grids)):
            counts = ", ".join(str(level.steps) for level in self.levels)
            raise SchemeError(
                f"levels with {counts or 'no'} steps: must be one at least, each with steps within those of "
                "the one before, and the last one ending with the common step, at 1"
            )
        if any(list(ends) != sorted({*ends}) or ends[0] <= 0.0 for ends in grids):
            raise SchemeError("ends of steps: must be above 0 and ascend to 1, in units of the common step")
        devices = [device for level in self.levels for device in level.devices]
        if twice := {device for device in devices if devices.count(device) > 1}:
            raise SchemeError(f"{min(twice)} is in two levels: must be in one")

    @property
    def step(self) -> float:
        """The common step in s."""
        return self.h

    @property
    def ratio(self) -> int:  # type: ignore[override]
        """Steps of those who take the most."""
        return self.levels[-1].steps

    @property
    def level_program(self) -> Program:
        """The program of a step of any level."""
        return VariableStep(method=self.method).program(self.h)

    @property
    def nested(self) -> NestedStep:
        """See `Scheme`."""
        return self

    def steady_program(self) -> NoReturn:
        """See `Scheme`: a program has no interpolation between steps that are under way."""
        raise SchemeError(
            f"{self}: its map is dense, of every mode of at most 2000 variables (leave out modes=); beyond, "
            "judge the common step with none refined, scheme.at_step(h)"
        )

    def own_steps(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the mean step in s that the device of each variable takes, by their names."""
        steps = {d: self.h / level.steps for level in self.levels for d in members(level.devices)}
        return np.array([steps.get(owner(name), self.h) for name in names])

    def __str__(self) -> str:
        own = "; ".join(f"{listed(level.devices)} in steps of h/{level.steps}" for level in self.levels)
        return f"{self.method}, h = {self.h:g} s, {own}"


def owner(name: str) -> str:
    """Return the device of a variable or an equation by its name."""
    return name.rpartition(".")[0]


def members(devices: Sequence[str]) -> Iterator[str]:
    """Return devices one by one, those too that cannot be parted."""
    for joined in devices:
        yield from joined.split(JOINED)


def listed(devices: Sequence[str]) -> str:
    """Name the first devices, and count the others."""
    shown = ", ".join(devices[:NAMED])
    return shown if len(devices) <= NAMED else f"{shown} and {len(devices) - NAMED} more"

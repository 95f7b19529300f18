"""The estimated error of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

from psmr.integrate.schemes.scheme import Scheme

MARGIN = 0.9
"""Part of the limit of the error beyond which a run is amber.

The run from which it is estimated has up to a tenth of the error itself.
"""


@dataclass(frozen=True)
class Advice:
    """What would bring the error of a run below its limit; see `psmr.study.record.advice`.

    `scheme`: What to take: the scheme of the run with smaller steps or tolerances, or error control.
    `error`: The estimated error that it gave when it was tried; None of a guess.
    `another`: Whether it is error control in place of the scheme of the run.
    """

    scheme: Scheme
    error: GlobalError | None = None
    another: bool = False

    def __str__(self) -> str:
        choices = [
            f"{name} = {value:.12g}{unit and f' {unit}'}" for name, value, unit in self.scheme.accuracy
        ]
        take = ", ".join(['type = "variable"', *choices] if self.another else choices)
        if self.error is None:
            return f"Take {take}. That is a guess by the order of the method: to try it takes too long."
        return f"Take {take}. Tried: an estimated error of {self.error.at_most}{self.error.percent} %."


@dataclass(frozen=True)
class GlobalError:
    """The largest estimated error of a run, of voltages and speeds, relative to the size of the disturbance.

    It is the difference from a run with error control; see `psmr.study.record.reintegrate` for what it
    contains.

    Attributes
    ----------
    part
        Error in parts of `change`.
    what, signal, t
        What has it: ``"voltage"``, ``"speed"`` (of a system without buses the name of the variable), the name
        of the signal, and when in s.
    value
        Error there, in pu (of a system without buses in the unit of the variable).
    change
        Largest change of any voltage, or of any speed, from the start of the run; alike.
    reference
        Scheme of the run from which it is the difference.
    scheme
        That of the run itself.
    bound
        Whether that one may have the larger error of the two.
    note
        Why there is no estimate, in words, of one whose `part` is NaN; "" where there is one.
    advice
        What would bring it below the limit; None where it is below, or that was not sought.
    """

    part: float
    what: str
    signal: str
    t: float
    value: float
    change: float
    reference: Scheme
    scheme: Scheme
    bound: bool = False
    note: str = ""
    advice: Advice | None = None

    @classmethod
    def unknown(cls, scheme: Scheme, note: str) -> GlobalError:
        """Return what stands for the error of a run of which there is no estimate."""
        return cls(math.nan, "", "", math.nan, math.nan, math.nan, scheme, scheme, note=note)

    def exceeds(self, limit: float) -> bool:
        """Return whether a run is off by so much that it is amber."""
        return self.part > MARGIN * limit

    @property
    def size(self) -> str:
        """The error with its unit, where it is known."""
        return f"{self.value:.2g}{' pu' if self.what in ('voltage', 'speed') else ''}"

    @property
    def percent(self) -> str:
        """The error in percent of `change`, in two digits."""
        rounded = f"{100.0 * self.part:.2g}"
        return f"{float(rounded):.0f}" if self.part >= 1.0 else rounded

    @property
    def where(self) -> str:
        """What has it, in words."""
        device, _, name = self.signal.rpartition(".")
        return self.signal if self.what == name and name != "v" else f"{self.what} of {device}"

    @property
    def largest_deviation(self) -> str:
        """In words, by what it is measured."""
        return f"the largest {self.what} deviation"

    @property
    def at_most(self) -> str:
        """Words before the error where it is a bound."""
        return "at most " if self.bound else ""

    @property
    def _by(self) -> str:
        if self.reference.error_control is not None:
            return f"tolerance {self.reference.tolerance:g}"
        name, step, _ = self.reference.accuracy[0]
        return f"{name} = {step:g} s"

    def __str__(self) -> str:
        if self.note:
            return f"the error of the run was not estimated: {self.note}"
        if not self.signal:
            return "the run has no point at which its error could be estimated"
        return (
            f"estimated error {self.at_most}{self.percent} % of {self.largest_deviation} ({self.where}, "
            f"{self.size} at t = {self.t:.4g} s), against a run with {self._by}"
        )

"""The estimated error of a run."""

from __future__ import annotations

from dataclasses import dataclass, fields

from psmr.integrate.schemes.scheme import Scheme

AIM = 0.5
"""Part of the limit at which a proposed step aims, since orders of convergence hold for small steps only."""


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
    def largest_change(self) -> str:
        """In words, by what it is measured."""
        return f"the largest change of any {self.what}"

    def remedy(self, limit: float) -> str:
        """Return what would bring the error below a limit, in words."""
        scheme, finer = self.scheme, self.scheme.finer(AIM * limit / self.part)
        if finer is not None:
            for field in fields(finer):  # type: ignore[arg-type]
                value = getattr(finer, field.name)
                if value != getattr(scheme, field.name):
                    return f"Take {field.name} = {value:g}{'' if scheme.follows_error else ' s'}."
        return "Take smaller steps."

    @property
    def _by(self) -> str:
        if self.reference.follows_error:
            return f"tolerance {self.reference.tolerance:g}"
        return f"{self.reference.step_name} = {self.reference.step:g} s"

    def __str__(self) -> str:
        if not self.signal:
            return "the run has no point at which its error could be estimated"
        most = "at most " if self.bound else ""
        return (
            f"estimated error {most}{self.percent} % of {self.largest_change} ({self.where}, "
            f"{self.size} at t = {self.t:.4g} s), against a run with {self._by}"
        )

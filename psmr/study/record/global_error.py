"""The estimated error of a run over all its points and variables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GlobalError:
    """The estimated error of a run over all its points, and variables of devices in service.

    It is the difference from a run at a tenth of the tolerance; see `psmr.study.record.reintegrate` for what
    it contains.

    Attributes
    ----------
    tolerance
        What the scheme was asked for.
    largest, rms
        Error relative to the largest value of each variable or 1.
    variable, t
        Where the largest one is, and when in s.
    """

    tolerance: float
    largest: float
    rms: float
    variable: str
    t: float

    def __str__(self) -> str:
        return (
            f"estimated error of the run {self.rms:.1e} rms, {self.largest:.1e} at most ({self.variable}, "
            f"t = {self.t:.4g} s), for a tolerance of {self.tolerance:g}"
        )

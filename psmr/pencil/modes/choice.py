"""Which modes of a system a report is about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from psmr.base.arguments import check_arguments, settle_fields
from psmr.base.errors import InputError, nearest
from psmr.base.keywords import explains_keywords


@explains_keywords(InputError)
@dataclass(frozen=True)
class ModeChoice:
    """The modes that a deformation report is about; the rest is not computed.

    Parameters
    ----------
    least_damped
        So many oscillatory modes of smallest damping ratio within the band.
    band_hz
        Lowest and highest frequency |Im s| / 2 pi in Hz. The default is the range of electromechanical
        oscillations, 0.1 to 3 Hz. Without `least_damped` every oscillatory mode in the band is taken whose
        damping ratio is below `damping_below`.
    damping_below
        Largest damping ratio of interest, a fraction.
    near
        Values in 1/s + j rad/s; the mode nearest to each is taken, which must lie within 10 % of its
        magnitude. Excludes the other choices.

    Raises
    ------
    InputError
        For a count below 1, a band that is none, a value that is not finite, or nothing chosen.

    Examples
    --------
    >>> ModeChoice(least_damped=20)
    >>> ModeChoice(band_hz=(0.2, 0.8), damping_below=0.1)
    >>> ModeChoice(near=(-0.2 + 8.4j,))
    """

    least_damped: int | None = None
    band_hz: tuple[float, float] | None = None
    damping_below: float = 1.0
    near: tuple[complex, ...] = ()

    def __post_init__(self) -> None:
        settle_fields(self)
        count, below = self.least_damped, self.damping_below
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise InputError(f"least_damped = {count!r}: must be a whole number >= 1")
        if isinstance(below, bool) or not (isinstance(below, int | float) and 0.0 < below <= 1.0):
            raise InputError(f"damping_below = {below!r}: must be a damping ratio above 0 and at most 1")
        object.__setattr__(self, "near", tuple(complex(value) for value in self.near))
        for value in self.near:
            if not (math.isfinite(value.real) and math.isfinite(value.imag)) or value == 0:
                raise InputError(f"near = {value}: must be finite and not 0, in 1/s + j rad/s")
        if self.near and (count is not None or self.band_hz is not None or below != 1.0):
            raise InputError(
                "near excludes least_damped, band_hz and damping_below; ask for one or the other"
            )
        if not self.near and count is None and self.band_hz is None:
            raise InputError("no modes are chosen; give least_damped, band_hz or near")
        if not self.near:
            band = (0.1, 3.0) if self.band_hz is None else tuple(float(f) for f in self.band_hz)
            good = len(band) == 2 and all(map(math.isfinite, band)) and 0.0 <= band[0] < band[1]
            if not good:
                raise InputError(
                    f"band_hz = {self.band_hz!r}: must be two frequencies in Hz, 0 <= lowest < highest"
                )
            object.__setattr__(self, "band_hz", band)

    @classmethod
    def of(cls, wanted: ModeChoice | Mapping[str, Any] | int | Iterable[complex]) -> ModeChoice:
        """Return a choice from itself, from its fields by name, a number (least damped) or values (near).

        Raises
        ------
        InputError
            For a field that there is none of.
        """
        check_arguments(ModeChoice.of, locals())
        if isinstance(wanted, ModeChoice):
            return wanted
        if isinstance(wanted, Mapping):
            known = [field.name for field in fields(cls)]
            for key in wanted:
                if key not in known:
                    raise InputError(
                        f"modes: there is no field {key!r}{nearest(str(key), known)}; known: "
                        f"{', '.join(known)}"
                    )
            return cls(**wanted)
        if isinstance(wanted, Iterable):
            return cls(near=tuple(wanted))
        return cls(least_damped=wanted)

    def __str__(self) -> str:
        if self.near:
            return "the modes nearest to " + ", ".join(f"{v.real:.4g}{v.imag:+.4g}j" for v in self.near)
        assert self.band_hz is not None
        count = "all" if self.least_damped is None else f"the {self.least_damped} least damped"
        below = (
            f" with a damping ratio below {100 * self.damping_below:g} %" if self.damping_below < 1.0 else ""
        )
        return f"{count} oscillatory modes from {self.band_hz[0]:g} to {self.band_hz[1]:g} Hz{below}"

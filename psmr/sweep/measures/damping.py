"""The modes of the system at each point with the least damped one, and the stability of the scheme."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from psmr.base.arguments import settle_fields
from psmr.base.errors import InputError, StudyError
from psmr.base.keywords import explains_keywords
from psmr.dae.system.eigenvalues import modes
from psmr.study.certificate.certificate import damping
from psmr.study.run.run import Run
from psmr.sweep.measures.measure import Column, Start, refuses_events
from psmr.sweep.measures.outcomes import CERTIFICATE, certified

if TYPE_CHECKING:
    from psmr.study.file.study import Study


@explains_keywords(StudyError)
@dataclass(frozen=True)
class Damping:
    """The least damped oscillatory mode of a band, and all others of it, of the linearised system.

    Parameters
    ----------
    from_hz, up_to_hz
        Frequencies that count.

    Raises
    ------
    StudyError
        For an invalid band.
    """

    from_hz: float = 0.05
    up_to_hz: float = 5.0

    kind: ClassVar[str] = "damping"
    order: ClassVar[tuple[tuple[str, bool], ...]] = (("damping_ratio", True),)
    shown: ClassVar[tuple[str, ...]] = (
        "damping_ratio",
        "frequency",
        "mode_real",
        "mode_imag",
        "dominant_state",
    )
    longest_fault: ClassVar[None] = None
    columns: ClassVar[tuple[Column, ...]] = (
        Column("damping_ratio", "number", "", "of the least damped oscillatory mode in the band"),
        Column("frequency", "number", "Hz", "of that mode"),
        Column("mode_real", "number", "1/s", "that mode"),
        Column("mode_imag", "number", "rad/s", "that mode"),
        Column("dominant_state", "text", "", "state of the largest participation factor in it"),
        Column("growing", "count", "", "modes of any frequency that grow"),
        Column("real", "numbers", "1/s", "all modes in the band, the least damped first"),
        Column("imag", "numbers", "rad/s", "all modes in the band, the least damped first"),
    )

    def __post_init__(self) -> None:
        settle_fields(self, StudyError, numbers=True)
        if not (0 <= self.from_hz < self.up_to_hz < math.inf):
            raise StudyError(
                f"{self.kind}: from_hz = {self.from_hz!r}, up_to_hz = {self.up_to_hz!r}: must be a band of "
                "frequencies, the first >= 0 and below the second"
            )

    def check(self, study: Study, events: bool) -> None:
        """See `Measure`."""
        refuses_events(self.kind, study, events)

    def of(self, start: Start) -> tuple[Mapping[str, Any], Run | None]:
        """See `Measure`."""
        table = modes(start.system.linearise())
        within = table["pair"] & table["frequency_hz"].between(self.from_hz, self.up_to_hz)
        band = table[within].sort_values("damping_ratio", kind="stable")
        values: dict[str, Any] = {
            "real": band["real"].tolist(),
            "imag": band["imag"].tolist(),
            "growing": int(table["grows"].sum()),
        }
        if len(band):
            least = band.iloc[0]
            values |= {
                "damping_ratio": float(least["damping_ratio"]),
                "frequency": float(least["frequency_hz"]),
                "mode_real": float(least["real"]),
                "mode_imag": float(least["imag"]),
                "dominant_state": str(least["dominant_state"]),
            }
        return values, None


@dataclass(frozen=True)
class Stability:
    """Stability of the scheme on the linearised system, and the deformation of its least damped mode."""

    kind: ClassVar[str] = "stability"
    order: ClassVar[tuple[tuple[str, bool], ...]] = (("spectral_radius", False), ("deformation", False))
    shown: ClassVar[tuple[str, ...]] = ("stable", "spectral_radius", "deformation", "damping_change")
    longest_fault: ClassVar[None] = None
    columns: ClassVar[tuple[Column, ...]] = (
        *CERTIFICATE,
        Column(
            "damping_change", "number", "", "damping ratio of that mode in the scheme less that of the system"
        ),
    )

    def check(self, study: Study, events: bool) -> None:
        """See `Measure`."""
        refuses_events(self.kind, study, events)

    def of(self, start: Start) -> tuple[Mapping[str, Any], Run | None]:
        """See `Measure`."""
        certificate = start.certify(None)
        if certificate.stability is None:
            raise InputError(f"no certificate: {certificate.note}")
        both = certificate.mode, certificate.mode_numerical
        changed = None if None in both else damping(both[1]) - damping(both[0])  # type: ignore[arg-type]
        return {**certified(certificate), "damping_change": changed}, None

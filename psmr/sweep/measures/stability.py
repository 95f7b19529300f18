"""What the scheme of each point does to the modes, by the pencil."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from psmr.base.errors import InputError
from psmr.study.certificate.certificate import damping
from psmr.study.run.run import Run
from psmr.sweep.measures.measure import Column, Start, refuses_events
from psmr.sweep.measures.outcomes import CERTIFICATE, certified

if TYPE_CHECKING:
    from psmr.study.file.study import Study


@dataclass(frozen=True)
class Stability:
    """Stability of the scheme on the linearised system, and the deformation of its least damped mode."""

    kind: ClassVar[str] = "stability"
    order: ClassVar[tuple[tuple[str, bool], ...]] = (("spectral_radius", False), ("deformation", False))
    shown: ClassVar[tuple[str, ...]] = ("stable", "spectral_radius", "deformation", "damping_change")
    longest_fault: ClassVar[None] = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """See `Measure`."""
        return COLUMNS

    def check(self, study: Study, events: bool) -> None:
        """See `Measure`."""
        refuses_events(self.kind, study, events)

    def of(self, start: Start) -> tuple[Mapping[str, Any], Run | None]:
        """See `Measure`."""
        certificate = start.certify(None)
        if not certificate.verdict:
            raise InputError(f"no certificate: {certificate.note}")
        both = certificate.mode, certificate.mode_numerical
        changed = None if None in both else damping(both[1]) - damping(both[0])  # type: ignore[arg-type]
        return {**certified(certificate), "damping_change": changed}, None


COLUMNS = (
    *CERTIFICATE,
    Column(
        "damping_change", "number", "", "damping ratio of that mode in the scheme less that of the system"
    ),
)

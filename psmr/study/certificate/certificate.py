"""The certificate of a run: how much its own numerics bent the system's modes, in a line each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psmr.integrate.schemes.scheme import Scheme as Scheme
from psmr.pencil.modes.verdict import DampingLimit, Verdict, changed_most

if TYPE_CHECKING:
    from psmr.pencil.deformation.report import Deformation


@dataclass(frozen=True)
class AtStep:
    """What the pencil says of one step of a run whose scheme chose its steps.

    `which`: Which step: the longest, the median one, the median one of the quiet part.
    `h`: The step in s.
    `stability`: The verdict with it.
    `mode_numerical`, `deformation`, `mode`: As in `Certificate`.
    """

    which: str
    h: float
    stability: Verdict
    mode_numerical: complex | None = None
    deformation: float | None = None
    mode: complex | None = None

    @property
    def stable(self) -> bool | None:
        """As in `Certificate`, with this step."""
        return self.stability.stable

    @property
    def hidden(self) -> tuple[complex, ...]:
        """As in `Certificate`, with this step."""
        return self.stability.hidden

    @property
    def words(self) -> str:
        """What the scheme does with this step, in words."""
        words = [] if self.stable is not False else ["unstable"]
        if self.hidden:
            words.append(f"hides an instability of the system, mode {mode_text(self.hidden[0])}")
        if self.mode_numerical is not None and self.deformation is not None:
            words.append(
                f"the dominant mode becomes {mode_text(self.mode_numerical)}, deformed by "
                f"{percent(self.deformation)}"
            )
        elif self.mode is not None:
            words.append("the dominant mode is not represented")
        return "; ".join(words) or "stable"

    def __str__(self) -> str:
        return f"{self.which}, {self.h:.4g} s: {self.words}"


@dataclass(frozen=True)
class Certificate:
    """What the pencil says of the scheme on the system, linearised where the run starts.

    Attributes
    ----------
    scheme, partition
        One line each; the partition of a single-rate scheme says that there is none.
    stability
        The pencil's verdict in fields, a `psmr.pencil.modes.verdict.Verdict`: of a scheme that chose its
        steps the worst one at any of them, with what is hidden at any; None where nothing was computed.
    verdict
        `stability` in one sentence; "" where nothing was computed.
    stable
        Whether no numerical mode grows; None where nothing was computed, and where the equations read the
        time and a mode of theirs grows while it is held.
    growing
        Modes of the system that grow, in 1/s and rad/s, one of each pair, by more than 2 % in the run.
    hidden
        Those of them that the scheme damps or does not show, at one of the steps at least.
    spectral_radius
        Largest magnitude of an eigenvalue of one macro step; None where nothing was computed.
    mode, mode_numerical
        Eigenvalue (1/s, rad/s) of the least damped oscillatory mode, and what the scheme makes of it; None
        where there is no such mode or the step size cannot represent it.
    deformation
        Relative deformation of that mode, a fraction.
    least_stable
        The numerical mode of largest real part (1/s, rad/s), modes at zero left out.
    note
        Why nothing was computed, or what else should be known, beside the notes of `stability`.
    subject
        Which system was linearised, and where.
    at_steps
        For a scheme that chose its steps: what it does to the modes at some of them; what stands above is
        that of the median step.
    report
        The deformation of every mode, from which the certificate follows, where it was computed.
    columns
        Where the system is periodic, the columns of its exponents: `psmr.periodic_modes`.
    prediction
        A sentence on an explicit prediction that breaks down, also in the `note`; "" where none does.
    """

    scheme: str
    partition: str
    stability: Verdict | None = None
    spectral_radius: float | None = None
    mode: complex | None = None
    mode_numerical: complex | None = None
    deformation: float | None = None
    least_stable: complex | None = None
    note: str = ""
    subject: str = "the pre-disturbance system"
    at_steps: tuple[AtStep, ...] = ()
    report: Deformation | None = field(default=None, compare=False, repr=False)
    prediction: str = ""
    columns: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def verdict(self) -> str:
        """The verdict in one sentence; see above."""
        return "" if self.stability is None else str(self.stability)

    @property
    def stable(self) -> bool | None:
        """Whether no numerical mode grows; see above."""
        return None if self.stability is None else self.stability.stable

    @property
    def growing(self) -> tuple[complex, ...]:
        """Modes of the system that grow; see above."""
        return () if self.stability is None else self.stability.growing

    @property
    def hidden(self) -> tuple[complex, ...]:
        """Those of them that the scheme damps or does not show."""
        return () if self.stability is None else self.stability.hidden

    @property
    def blames_scheme(self) -> bool:
        """Whether the scheme is unstable on a system that is not."""
        return self.stability is not None and self.stability.blames_scheme

    def over(self, t_end: float) -> Certificate:
        """Return the certificate of a run to t_end in s, in which what hardly grows is a note."""
        if self.stability is None or t_end >= self.stability.t_end:
            return self
        steps = tuple(replace(step, stability=step.stability.over(t_end)) for step in self.at_steps)
        return replace(self, stability=self.stability.over(t_end), at_steps=steps)

    def record(self) -> dict[str, Any]:
        """Return the fields by name and what follows from them, `report` and `columns` left out."""
        found = asdict(replace(self, report=None, columns=None))
        del found["report"], found["columns"]
        for steps, step in zip(found["at_steps"], self.at_steps, strict=True):
            del steps["stability"]
            steps |= {"stable": step.stable, "hidden": step.hidden}
        found["note"] = self._noted()
        names = ("verdict", "stable", "growing", "hidden")
        found["stability"] = None if self.stability is None else self.stability.kind.value
        return found | {name: getattr(self, name) for name in names}

    @property
    def unhiding(self) -> str:
        """What would show an instability that is hidden, in words."""
        if self.at_steps:
            return "take an h_max below the step that hides it"
        return "take smaller steps, or the method TM"

    def judged(self, scheme: Scheme) -> Scheme:
        """Return the scheme that was judged: of one that chose its steps that of the first of `at_steps`."""
        if not self.at_steps or scheme.error_control is None:
            return scheme
        return scheme.error_control.at_step(self.at_steps[0].h)

    @property
    def short(self) -> str:
        """Which system it is of, in words, without where that was linearised."""
        return self.subject.partition(",")[0].removeprefix("the ")

    def entries(self) -> tuple[tuple[str, str], ...]:
        """Return the certificate as pairs of words: what, and what is found of it; the verdict first."""
        setting = (("partition", self.partition), ("scheme", self.scheme))
        if self.stability is None:
            return ("verdict", f"not computed: {self.note}"), *setting
        least = () if self.least_stable is None else (mode_text(self.least_stable),)
        note = self._noted()
        return (
            ("verdict", self.verdict),
            *self._dominant(),
            *((f"at {step.which}, {step.h:.4g} s", step.words) for step in self.at_steps),
            *(("slowest-decaying simulated mode", words) for words in least),
            *setting,
            *((("note", note),) if note else ()),
        )

    def lines(self) -> tuple[str, ...]:
        """Return the certificate as lines of text."""
        (_, verdict), *others = self.entries()
        return verdict, *(f"{what}: {words}" for what, words in others)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _noted(self) -> str:
        notes = () if self.stability is None else self.stability.notes
        return " ".join(filter(None, (*notes, self.note)))

    def _dominant(self) -> tuple[tuple[str, str], ...]:
        if self.mode is None:
            return ()
        if self.mode_numerical is None or self.deformation is None:
            words = f"{mode_text(self.mode)} is not represented at this step size"
        else:
            words = (
                f"{mode_text(self.mode)} becomes {mode_text(self.mode_numerical)}, deformed by "
                f"{percent(self.deformation)} (damping ratio {percent(damping(self.mode))} -> "
                f"{percent(damping(self.mode_numerical))})"
            )
        return (("dominant mode", words),)

    def changed_damping(self, limit: DampingLimit) -> tuple[tuple[complex, complex | None], ...]:
        """Return the oscillations whose damping the scheme changes by more than a limit, least damped first.

        Each is a mode of the system and what the scheme makes of it, in 1/s and rad/s, None where the step
        cannot show it. Modes that grow and are `hidden` are not among them. Of a scheme that chose its steps
        these are those of the median step: it takes longer ones where an oscillation has died out, and a step
        that is too long to show one has none to show.
        """
        columns = self.columns if self.report is None else self.report.columns
        if columns is None:
            return ()
        changed = changed_most(columns, limit)
        return tuple(
            (s, s_hat)
            for s, s_hat in changed
            if not np.isclose(s, self.hidden).any() and not (s_hat is None and self.at_steps)
        )


def mode_text(s: complex) -> str:
    """Return an eigenvalue, with its conjugate where it has one, as text to six digits."""
    oscillates = abs(s.imag) >= 1e-9
    return f"{s.real:.6g} ± j{abs(s.imag):.6g} 1/s" if oscillates else f"{s.real:.6g} 1/s"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage to three digits."""
    return f"{100 * fraction:.3g} %"


def damping(s: complex) -> float:
    """Return the damping ratio of an eigenvalue."""
    return -s.real / abs(s) if s != 0 else float(np.nan)

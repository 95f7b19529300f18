"""What is handed to `simulate`: the slips that are easily made get a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from numpy.typing import ArrayLike

from psmr.base.errors import InputError, SchemeError, shown
from psmr.base.slips import sentence
from psmr.study.detectors.detection import Monitor

_STEP = 'the step belongs to the scheme, for instance scheme=psmr.SingleRate("TM", h={value!r})'
_END = "t_end={value!r} is the length of the run in s"
_START = "start=(x, y) sets the first point"

MEANT: Mapping[str, str] = {
    "memory": "record=psmr.Record(memory={value!r}) bounds the memory of what is kept, in MiB",
    "files": "record=psmr.Record(files={value!r}) writes files while the run goes",
    "signals": "record={value!r} keeps these signals; the others are not kept",
    "tolerance": "the tolerance belongs to the scheme, scheme=psmr.VariableStep(tolerance={value!r})",
    "method": "the method belongs to the scheme, for instance scheme=psmr.SingleRate({value!r}, h=0.005)",
    **dict.fromkeys(("h", "dt", "step", "step_size"), _STEP),
    **dict.fromkeys(("tend", "t_stop", "tstop", "tf", "end", "duration", "until", "time"), _END),
    **dict.fromkeys(("x0", "y0"), _START),
}
"""What a keyword that a run does not have was meant to say, as one writes it."""


def refuse_slips(slips: Mapping[str, object], function: Callable[..., object]) -> None:
    """Raise InputError for keywords that a function does not have, with what was meant."""
    for name, value in slips.items():
        raise InputError(sentence(function, name, slips, MEANT.get(name, "").format(value=value)))


def refuse_number_as_scheme(scheme: object, t_end: object) -> None:
    """Raise SchemeError where the length of a run was handed over as its scheme."""
    if isinstance(scheme, int | float) and t_end is None:
        raise SchemeError(f"scheme = {shown(scheme)}: must be a scheme; write t_end= for the length of a run")


def checked_start(start: tuple[ArrayLike, ArrayLike] | None) -> tuple[ArrayLike, ArrayLike] | None:
    """Return (x, y), or None for the equilibrium; raise InputError for what is not two arrays."""
    if start is None:
        return None
    given = tuple(start)
    if len(given) != 2:
        raise InputError("start: must be two arrays, (x, y), or left out for the equilibrium")
    return given[0], given[1]


def checked_monitors(monitors: Iterable[Monitor], t_end: float) -> tuple[Monitor, ...]:
    """Return the monitors of a run to t_end (s); raise InputError for what is none or has no effect."""
    if not isinstance(monitors, Iterable):
        raise InputError(
            f"monitors: {monitors!r} is not a list of monitors; write [monitor] for a single one"
        )
    monitors = tuple(monitors)
    for monitor in monitors:
        if isinstance(monitor, type) or not callable(getattr(monitor, "detector", None)):
            raise InputError(
                f"{monitor!r} is not a monitor; use psmr.AngleSpread, psmr.VoltageCollapse, "
                "psmr.FrequencyOutside or psmr.Island"
            )
        duration = getattr(monitor, "duration", 0.0)
        if duration > t_end:
            raise InputError(
                f"monitor {monitor}: duration = {duration:g} s is longer than the run, t_end = {t_end:g} s, "
                "so that it could never end it; take a shorter duration or a longer run"
            )
    return monitors

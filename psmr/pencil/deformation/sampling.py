"""What sampling does to the modes of a design, and what a scheme makes of them, beside each other.

The continuous design is the limit of short periods of the same law: of what a sampler writes, z+ = m(z, r),
a value of which m(z, r) - z falls with the period is a state with the rate (m(z, r) - z) / T, and any other
one follows at once, m(z, r) = z. The sampled system has the modes log(z) / P of the multipliers z of a common
period P (`psmr.pencil.operator.sampled`), which are nearest to those of the design that they are like.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from psmr.base.errors import first_few
from psmr.base.threads import on_one_thread
from psmr.dae.system.eigenvalues import EPS, Modes, modes_of
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.scheme import Scheme
from psmr.pencil.deformation.deformation import Spectra, report_of
from psmr.pencil.deformation.report import Deformation
from psmr.pencil.modes.spectrum import Match, Multipliers, match, multipliers_of
from psmr.pencil.modes.verdict import DampingLimit, damping_ratio, mode_text
from psmr.pencil.operator.sampled import (
    NotLinearisedError,
    SampledDae,
    exact_operator,
    sampled_operator,
    scheme_period,
    workable,
)

SHORT = 1e-4
"""Part of its periods at which a law is compared with its limit: of its rates a square, 1e-8, is left."""

PARTS = ("half", "a quarter", "an eighth", "a 16th", "a 32nd", "a 64th")
"""How often periods and delays are halved in search of ones that do."""


@dataclass(frozen=True, eq=False)
class Design:
    """A continuous system like a sampled one.

    `linear`: It.
    `order`: Places of its variables in (x, z, y).
    `unread`: Devices whose law does not read its period, which is taken for an Euler step of it.
    """

    linear: LinearDae
    order: np.ndarray
    unread: tuple[str, ...]


def design_of(sampled: SampledDae) -> Design:
    """Return the limit of short periods; a law that does not read its period is taken for an Euler step."""
    n, s, N = sampled.states, sampled.s, sampled.linear.n + sampled.linear.m
    rates, rest = sp.lil_array((s, N)), sp.lil_array((s, N))
    follows, unread = np.ones(s, bool), []
    shorter = [sampled.scaled(SHORT / k) for k in (1, 2)] if sampled.scalable else []
    for k, sampler in enumerate(sampled.samplers):
        same = sp.eye_array(N, format="csr")[n + sampler.at]
        changes = [(other.samplers[k].map - same).toarray() for other in shorter]
        own = (sampler.map - same).toarray()
        if not shorter or all(np.array_equal(own, change) for change in changes):
            kept = np.abs((own + same.toarray())[np.arange(len(own)), n + sampler.at]) > 0.0
            if kept.any():
                unread.append(sampler.device)
            slopes, left = own / sampler.period, own
        else:
            sizes = [np.abs(change).max(axis=1) for change in changes]
            kept = (sizes[1] <= 0.75 * sizes[0]) & (sizes[0] <= 10 * SHORT * np.abs(own).max(axis=1))
            slopes = (4.0 * changes[1] - changes[0]) / (SHORT * sampler.period)
            left = 2.0 * changes[1] - changes[0]
        follows[sampler.at] = ~kept
        rates[sampler.at], rest[sampler.at] = slopes, left
    linear, states = sampled.linear, n + np.flatnonzero(~follows)
    order = np.concatenate([np.arange(n), states, n + np.flatnonzero(follows), np.arange(n + s, N)])
    rows = sp.csr_array(sp.block_array([[linear.fx, linear.fy], [linear.gx, linear.gy]]))
    rows = sp.csr_array(sp.vstack([rows[:n], sp.csr_array(rates), rows[n + s :]]))
    rows = sp.csr_array(
        sp.vstack([rows[order[: n + states.size]], sp.csr_array(rest)[follows], rows[n + s :]])
    )
    J, cut = sp.csc_matrix(rows[:, order]), n + states.size
    names = np.array([*linear.names_x, *linear.names_y], dtype=object)[order]
    made = LinearDae(
        *(J[:cut, :cut], J[:cut, cut:], J[cut:, :cut], J[cut:, cut:]),
        tuple(names[:cut]), tuple(names[cut:]), tuple(names[cut:]), np.arange(N),
    )  # fmt: skip
    return Design(made, order, tuple(unread))


@dataclass(frozen=True, eq=False)
class Sampled:
    """The modes of a sampled system beside those of its design.

    `modes`, `period`: Modes of the sampled system, with vectors on (x, z, y), of a common period in s.
    `design`, `matched`: Modes of the design, and which of the others each has become.
    """

    modes: Modes
    period: float
    design: Modes
    matched: Match


@on_one_thread
def sampled_modes(sampled: SampledDae, design: Design, period: Fraction) -> Sampled:
    """Return the modes of a sampled system, by matrix exponentials; see the module's text.

    Raises SingularError where the algebraic equations of system or design are singular.
    """
    n, length = sampled.linear.n, float(period)
    found = multipliers_of(exact_operator(sampled, period), n)
    vectors = np.vstack([found.vectors, sampled.linear.following() @ found.vectors])
    vectors = vectors / np.linalg.norm(vectors, axis=0)
    shares = np.vstack([found.participation, np.zeros((sampled.linear.m, found.z.size))])
    own, order = modes_of(design.linear), design.order
    matched = match(own, Multipliers(found.z, vectors[order], shares[order], found.error), length)
    s = np.log(found.z.astype(complex)) / length
    taken = matched.partner >= 0
    s[matched.partner[taken]] = np.where(
        np.isnan(matched.s_numerical[taken]), s[matched.partner[taken]], matched.s_numerical[taken]
    )
    zero = np.abs(found.z - 1.0) <= np.maximum(found.error, 1e3 * n * EPS)
    s[zero] = 0.0
    error = found.error / (np.abs(found.z) * length)
    split = float(np.sqrt(EPS) * np.abs(s).max(initial=0.0))
    rank = np.lexsort((-s.imag, np.abs(s.imag), -s.real))
    modes = Modes(s[rank], vectors[:, rank], found.participation[:, rank], error[rank], split)
    place = np.append(np.argsort(rank), -1)
    return Sampled(modes, length, own, replace(matched, partner=place[matched.partner]))


def sampling_deformation(linear: LinearDae, scheme: Scheme) -> Deformation:
    """Return what a scheme makes of the modes of a sampled system, beside its continuous design.

    The report's system is the sampled one. Further columns: ``real_continuous`` and ``imag_continuous`` of
    the design's mode; ``sampling_deformation`` = |s - s_continuous| / |s_continuous|, and
    ``delay_deformation`` the part of it that the computing delay makes, |s - s_without| / |s_continuous|.

    Raises SchemeError for a partition of another system, or a scheme without a step to judge; SingularError
    when an equation has no unique solution.
    """
    if linear.samples is not None and linear.samples.broken:
        raise NotLinearisedError(
            f"the samples cannot be linearised: {linear.samples.broken}; psmr.ringdown(system, scheme) fits "
            "modes to a run"
        )
    sampled, held = workable(SampledDae.of(linear), scheme)
    period, design = scheme_period(sampled, scheme), design_of(sampled)
    own = sampled_modes(sampled, design, period)
    size, names = sampled.linear.n + sampled.linear.m, (*sampled.linear.names_x, *sampled.linear.names_y)
    numerical = multipliers_of(sampled_operator(sampled, scheme), size)
    report = report_of(scheme, "exact", Spectra.of(own.modes, numerical, float(period)), names)
    without = sampled.without_delays()
    prompt = own if without is sampled else sampled_modes(without, design, period)
    columns = dict(report.columns) | _beside(own, prompt, report.columns)
    report = replace(report, columns=columns)
    words = (*_of_dominant(report), *_words(sampled, design, own, prompt, held))
    return replace(report, said=(*words, *report.said))


def _of_dominant(report: Deformation) -> tuple[str, ...]:
    """Return what sampling does to the least damped oscillation, and over which time multipliers act."""
    columns, k = report.columns, report.dominant_at
    every = f"Samples and steps come round every {report.step:.4g} s, which a multiplier acts over."
    if k is None or not np.isfinite(columns["real_continuous"][k]):
        return (every,)
    s, design = (complex(columns[f"real{e}"][k], columns[f"imag{e}"][k]) for e in ("", "_continuous"))
    words = f"By sampling the dominant mode is {mode_text(s)}, in the continuous design {mode_text(design)}"
    words += f" (damping ratio {100 * _ratio(s):.3g} and {100 * _ratio(design):.3g} %)."
    return words, every


def _beside(own: Sampled, prompt: Sampled, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the further columns of a table of modes."""
    s = columns["real"] + 1j * columns["imag"]
    design, delayed = np.full((2, s.size), np.nan + 0j)
    for k, j in enumerate(own.matched.partner.tolist()):
        row = np.flatnonzero(s == own.modes.s[j]) if j >= 0 else ()
        i = prompt.matched.partner[k]
        for r in row:
            design[r] = own.design.s[k]
            delayed[r] = own.modes.s[j] - prompt.modes.s[i] if i >= 0 else np.nan
    size = np.where(design == 0.0, np.nan, np.abs(design))
    return {
        "real_continuous": design.real,
        "imag_continuous": design.imag,
        "sampling_deformation": np.abs(s - design) / size,
        "delay_deformation": np.abs(delayed) / size,
    }


def _words(
    sampled: SampledDae, design: Design, own: Sampled, prompt: Sampled, held: tuple[str, ...]
) -> tuple[str, ...]:
    """Return what must be said of sampling: what it does to oscillations, and what would help."""
    words = list(held)
    assert sampled.source.samples is not None
    if whole := sampled.source.samples.whole:
        words.append(
            f"Held, since their code takes them as whole numbers or switches on them: {first_few(whole, 3)}."
        )
    if design.unread:
        words.append(
            f"The law of {', '.join(design.unread)} does not read its period: for the continuous design it "
            "is taken for an Euler step of a continuous law."
        )
    limit, off = DampingLimit(), _changed(own, DampingLimit())
    grown = own.design.s.real.max(initial=-np.inf) <= 0.0 and own.modes.s[own.modes.s.real > own.modes.error]
    if not off and not np.size(grown):
        return tuple(words)
    for k in off[:2]:
        s, now = own.design.s[k], own.modes.s[own.matched.partner[k]]
        text = f"Sampling takes the damping ratio of {s.imag / (2 * np.pi):.3g} Hz from "
        text += f"{100 * _ratio(s):.3g} % in the continuous design to {100 * _ratio(now):.3g} %"
        if prompt is not own and (i := prompt.matched.partner[k]) >= 0:
            text += f"; without the computing delay it would be {100 * _ratio(prompt.modes.s[i]):.3g} %"
        words.append(text + ".")
    if np.size(grown):
        words.append("The sampled system is unstable, and its continuous design is not.")
    return (*words, _remedy(sampled, design, limit))


def _changed(own: Sampled, limit: DampingLimit) -> list[int]:
    """Return the oscillations of a design whose damping sampling changes beyond a limit, worst first."""
    partner = own.matched.partner
    s_hat = np.where(partner >= 0, np.append(own.modes.s, np.nan)[partner], np.nan)
    over = np.where(np.isnan(s_hat), 0.0, limit.excess(own.design.s, s_hat))
    return [int(k) for k in np.argsort(-over, kind="stable") if over[k] > 1.0]


def _ratio(s: complex) -> float:
    return float(damping_ratio(np.array([s]))[0])


def _remedy(sampled: SampledDae, design: Design, limit: DampingLimit) -> str:
    """Return what would bring sampling within a limit: no delay, or shorter periods."""

    def does(other: SampledDae) -> bool:
        found = sampled_modes(other, design, other.period)
        return not _changed(found, limit) and bool((found.modes.s.real <= found.modes.error).all())

    prompt = sampled.without_delays()
    if prompt is not sampled and does(prompt):
        return "Without the computing delay sampling would change no damping by more than the limit."
    for k in range(1, len(PARTS) + 1) if sampled.scalable else ():
        if does(sampled.scaled(0.5**k)):
            shortest = min(sampler.period for sampler in sampled.samplers) * 0.5**k
            return (
                f"Periods and delays {PARTS[k - 1]} as long would do: the shortest period is then "
                f"{shortest:.3g} s."
            )
    return "Take shorter periods and less delay, or tune the controllers for those that there are."

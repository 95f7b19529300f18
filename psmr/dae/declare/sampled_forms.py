"""Forms of a sampled component: with a computing delay or a hold of order one, and at rest.

Both are written in sampled variables and equations of their own, so that whatever runs a system knows samples
with a period and an offset, and nothing else. Output y of a component with a delay is written from
``y_computed``, which the sample wrote a delay ago. With a hold of order one y is an algebraic variable,
``y = y_held + (y_held - y_before) (t - t_held) / period``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Component, Terms, rows_of
from psmr.dae.declare.derived import derived
from psmr.dae.declare.sampling import check_sampled, samplings

TIME, TURNING = "t_held", "turning"
"""When a line began; how fast angles turn in rad/s, of variables at rest."""


def sampled_form(component: type[Component], values: Mapping[str, float]) -> type[Component]:
    """Return `component` with what the delay of `values` and its hold need, itself where that is nothing.

    Raises InputError for samples that are declared wrongly.
    """
    check_sampled(component)
    if vars(component).get("written"):
        component = component.__mro__[1]
    samples = component.samples
    if samples is None or component.written or (samples.hold == 0 and samples.times(values)[2] == 0.0):
        return component
    return held_form(component, samples.times(values)[2] > 0.0)


@derived
def held_form(component: type[Component], delayed: bool) -> tuple[str, Mapping[str, Any]]:
    """Return `component` with outputs that come a computing delay after the sample or go on along a line."""
    samples, outputs = component.samples, component.sampled_outputs
    assert samples is not None
    lines = samples.hold == 1
    computed, held, before = ([f"{y}_{end}" for y in outputs] for end in ("computed", "held", "before"))
    written = computed if delayed else held
    releases = dict(zip(held if lines else outputs, computed, strict=True)) if delayed else {}
    if lines:
        releases |= dict(zip(before, held, strict=True)) | {TIME: "t"}
    inner, first_guess, period = component.equations, component.guess, samples.period
    more = (name for name in dict.fromkeys((*written, *releases)) if name not in outputs)

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the equations with the lines along which outputs go on at the end."""
        derivatives, residuals, injections = inner(m, v, p)
        part = (v.t - getattr(v, TIME)) / getattr(p, period)
        on = [
            getattr(v, h) + (getattr(v, h) - getattr(v, b)) * part - getattr(v, y)
            for y, h, b in zip(outputs, held, before, strict=True)
        ]
        return derivatives, (*residuals, *on), injections

    def guess(terminal: Any, p: Any) -> Mapping[str, float]:
        """Return the component's own guess, with what stands for an output equal to it."""
        found = dict(first_guess(terminal, p))
        ends = [
            (y, name) for names in (computed, held, before) for y, name in zip(outputs, names, strict=True)
        ]
        return found | {name: found[y] for y, name in ends if y in found}

    own: dict[str, Any] = {
        "sampled_states": (*component.sampled_states, *more),
        "sampled_outputs": () if lines else outputs,
        "written": (*component.sampled_states, *written),
        "releases": releases,
        "guess": staticmethod(guess),
    }
    # As it is declared, of which the numbers of values are checked.
    if component.sample is not None:
        values = samplings(component)[0].values
        own["sample"] = staticmethod(lambda m, v, p: (values(m, v, p),))
    if lines:
        own |= {
            "algebraic": (*component.algebraic, *outputs),
            "rows": (*rows_of(component), *outputs),
            "ramps": (),
            "equations": staticmethod(equations),
        }
    return "_".join(["line"] * lines + ["delayed"] * delayed), own


@derived
def resting_form(component: type[Component]) -> tuple[str, Mapping[str, Any]]:
    """Return `component` with what it keeps between samples as algebraic variables: each sample changes none.

    What external code computes is not known: its outputs are inputs then, set-points that the start solves
    for, and its sampled states and the inputs that nothing provides are inputs with the value 0.
    """
    assert component.samples is not None
    done = [s for s in samplings(component) if not s.external]
    names = tuple(name for s in done for name in s.names)
    given = [name for s in samplings(component) if s.external for name in s.names]
    unknown = {*component.sampled_outputs, *component.releases.values()}
    inner, period = component.equations, component.samples.period

    def equations(m: Any, v: Any, p: Any) -> tuple[Terms, Terms, Terms]:
        """Return the equations with what a sample changes at the end."""
        derivatives, residuals, injections = inner(m, v, p)
        new = [value for s in done for value in s.values(m, v, p)]
        # Angles turn with the network, where a start says how fast it turns.
        turned = getattr(p, period) * getattr(v, TURNING, 0.0)
        moved = (
            value - getattr(v, name) - (turned if component.units.get(name) == "rad" else 0.0)
            for name, value in zip(names, new, strict=True)
        )
        return derivatives, (*residuals, *moved), injections

    held = dict.fromkeys((*component.inputs, *given), 0.0) if given else {}
    return "resting", {
        "algebraic": (*component.algebraic, *names),
        "rows": (*rows_of(component), *names),
        "inputs": (*component.inputs, *given),
        "optional": {k: x for k, x in (held | dict(component.optional)).items() if k not in unknown},
        "equations": staticmethod(equations),
        "kept": names,
        **dict.fromkeys(("sampled_states", "sampled_outputs", "written"), ()),
        **dict.fromkeys(("samples", "sample", "reads")),
        "releases": {},
    }

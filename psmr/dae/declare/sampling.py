"""What the samples of a component read and write, and whether they are declared rightly."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from psmr.base.errors import InputError, nearest
from psmr.dae.declare.component import Component, Terms, parameters_of
from psmr.dae.declare.samples import Samples


def sampled_variables(component: type[Component]) -> tuple[str, ...]:
    """Return what a component keeps between samples: its sampled states, then its sampled outputs."""
    return (*component.sampled_states, *component.sampled_outputs)


@dataclass(frozen=True)
class Sampling:
    """What is read and written together at samples of a component.

    `names`: The sampled variables that are written.
    `values`: ``values(m, v, p)`` returns their new values, or where the code is external, what it is handed.
    `external`: Whether external code computes the new values.
    `released`: Whether it comes a computing delay after the sample.
    """

    names: tuple[str, ...]
    values: Callable[[Any, Any, Any], Terms]
    external: bool = False
    released: bool = False


def samplings(component: type[Component]) -> tuple[Sampling, ...]:
    """Return what a component does at its samples; nothing where it has none.

    `values` raises InputError where `sample` does not return what is declared.
    """
    if component.samples is None:
        return ()
    names = component.written or sampled_variables(component)
    external = component.reads is not None
    first = Sampling(names, _read(component) if external else _sampled(component), external)
    if not component.releases:
        return (first,)
    sources = tuple(component.releases.values())
    return first, Sampling(
        tuple(component.releases), lambda m, v, p: tuple(getattr(v, s) for s in sources), released=True
    )


def _sampled(component: type[Component]) -> Callable[[Any, Any, Any], Terms]:
    """Return the function of all new values of a component in one tuple."""
    wanted = (len(component.sampled_states), len(component.sampled_outputs))

    def values(m: Any, v: Any, p: Any) -> Terms:
        parts = component.sample(m, v, p)
        if not (isinstance(parts, tuple | list) and all(isinstance(part, tuple | list) for part in parts)):
            raise InputError(
                f"{component.__name__}.sample must return two tuples: new states, outputs; one of nothing is "
                "(), one of a single expression (x,)"
            )
        found = tuple(map(len, parts))
        if not component.written and found != wanted:
            raise InputError(
                f"{component.__name__}.sample returned {' and '.join(map(str, found))} values, {wanted[0]} "
                f"sampled states and {wanted[1]} sampled outputs are declared"
            )
        return tuple(value for part in parts for value in part)

    return values


def _read(component: type[Component]) -> Callable[[Any, Any, Any], Terms]:
    def values(m: Any, v: Any, p: Any) -> Terms:
        found = component.reads(m, v, p)
        if not isinstance(found, tuple | list):
            raise InputError(
                f"{component.__name__}.reads must return one tuple of what the code is handed; one of a "
                "single expression is (x,)"
            )
        return tuple(found)

    return values


def check_sampled(component: type[Component]) -> None:
    """Raise InputError for a component whose samples are declared wrongly."""
    if wrong := _wrong(component):  # type: ignore[arg-type]  # a class is hashable
        raise InputError(f"{component.__name__}: {wrong}")


def added_names(component: type[Component]) -> tuple[str, ...]:
    """Return the names of what a computing delay and a hold of order one may add to a component."""
    samples = component.samples
    assert samples is not None
    ends = ("computed",) * bool(samples.delay) + ("held", "before") * samples.hold
    return (*(f"{y}_{end}" for end in ends for y in component.sampled_outputs), *(("t_held",) * samples.hold))


@functools.cache
def _wrong(component: type[Component]) -> str:
    """Return the objection to the declaration of samples, with the remedy; empty where there is none."""
    names = sampled_variables(component)
    samples: Any = component.samples  # as a user declares it
    if samples is None:
        given = [name for name in ("sampled_states", "sampled_outputs") if getattr(component, name)]
        given += [name for name in ("sample", "reads") if getattr(component, name) is not None]
        return f'{given[0]} without samples; write samples = psmr.Samples(period="T")' if given else ""
    if not isinstance(samples, Samples):
        return f'samples must be psmr.Samples(period="T"), not {type(samples).__name__}'
    for what in ("period", "offset", "delay"):
        name = getattr(samples, what)
        known = parameters_of(component)
        if name not in known and (name or what == "period"):
            return f"samples: {what} = {name!r} is none of its parameters{nearest(name, known)}; declare it"
    if not (component.sampled_outputs or component.releases):
        return "it has samples and no sampled_outputs: nothing it computes could act; name one at least"
    if (component.sample is None) == (component.reads is None):
        return (
            "it must have either sample(m, v, p), which computes, or reads(m, v, p), which says what "
            "external code is handed"
        )
    others = (*component.states, *component.algebraic, *component.inputs, *parameters_of(component), "t")
    for k, name in enumerate(names):
        if name in others or name in names[:k]:
            return f"{name} is a sampled variable and something else as well; give it another name"
    more = () if component.written else added_names(component)  # a form has them
    for k, name in enumerate(more):
        if name in others or name in names or name in more[:k]:
            return f"{name} is what a computing delay or a hold of order one adds; give yours another name"
    return ""


def check_times(name: str, component: type[Component], values: Mapping[str, float]) -> None:
    """Raise InputError for a device whose times between samples, offset or delay are out of range."""
    if component.samples is not None and (wrong := component.samples.objection(values)):
        raise InputError(f"{name}: {wrong}")


def check_code(name: str, component: type[Component], code: Any) -> None:
    """Raise InputError where a device has external code that nothing calls, or lacks the code it needs."""
    if code is None and component.reads is not None:
        raise InputError(
            f"{name}: {component.__name__} hands external code what it reads; give it code = ..."
        )
    if code is not None and component.reads is None:
        raise InputError(
            f"{name}: code: {component.__name__} declares no reads(m, v, p) that it could be handed"
        )

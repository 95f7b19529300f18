"""The types of schemes that a study file names, and where each is declared; loaded when one is asked for."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterable
from dataclasses import fields
from types import ModuleType

from psmr.files.toml.fields import Spec, specification
from psmr.integrate.schemes.scheme import Scheme
from psmr.study.file.split import Split

HOMES = {
    "multirate": "psmr.integrate.schemes.multirate.Multirate",
    "single": "psmr.integrate.schemes.single_rate.SingleRate",
    "smes": "psmr.papers.shi_rojas.smes.Smes",
    "arc-length": "psmr.papers.kuznetsov_krasnikov.arc_length.ArcLength",
    "adaptive": "psmr.papers.kuznetsov_krasnikov.adaptive.Adaptive",
    "variable": "psmr.integrate.schemes.variable_step.VariableStep",
    "slow-manifold": "psmr.papers.gil_sanfelice_nikravesh.slow_manifold.SlowManifold",
}

SPLIT: Spec = specification(Split)


def scheme_class(kind: str) -> type[Scheme]:
    """Return the class of a type of `HOMES`."""
    module, _, name = HOMES[kind].rpartition(".")
    found: type[Scheme] = getattr(importlib.import_module(module), name)
    return found


def fields_of(made: type[Scheme]) -> Spec:
    """Return the fields of a study file's table for a scheme, with those of the split where it needs one."""
    split = SPLIT if "split" in {field.name for field in fields(made)} else {}  # type: ignore[arg-type]
    return {**split, **specification(*made.makers(), without=("linear", "split"))}


@functools.cache
def scheme_fields(kind: str) -> Spec:
    """Return the fields of a study file's table of a type of `HOMES`."""
    return fields_of(scheme_class(kind))


def own_schemes(modules: Iterable[ModuleType]) -> dict[str, type[Scheme]]:
    """Return the schemes of the user's own that modules have, by name; psmr's are not among them."""
    return {
        kind.__name__: kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Scheme) and not kind.__module__.startswith("psmr.")
    }

"""The scheme of a study file: its class, its fields, its partition, made with a linearised system."""

from __future__ import annotations

import functools
import importlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import ModuleType
from typing import Annotated, Any

import numpy as np

import partitioning
from partitioning import Partition, PartitionError
from psmr.base.errors import InputError, SchemeError, SingularError
from psmr.base.threads import one_thread
from psmr.dae.system.linear import LinearDae
from psmr.files.toml.document import Spec, specification
from psmr.integrate.schemes.multirate import Multirate
from psmr.integrate.schemes.scheme import Scheme
from psmr.study.certificate.certify import LARGEST

ALGEBRAIC = ("participation", "fast")


@dataclass(frozen=True)
class Split:
    """How the fast variables are found: by a threshold in 1/s, or named as devices or as variables.

    Exactly one of `delta`, `fast_devices` and `fast_variables` is given; `algebraic` belongs to the
    threshold.
    """

    delta: Annotated[float | None, "multirate: threshold in 1/s; faster modes are fast", "D"] = None
    algebraic: Annotated[
        str, ALGEBRAIC, "where algebraic variables go: by their participation (default), or all fast"
    ] = "participation"
    fast_devices: tuple[str, ...] = ()
    fast_variables: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ways = [self.delta is not None, bool(self.fast_devices), bool(self.fast_variables)]
        if sum(ways) != 1:
            found = "none" if not any(ways) else "several"
            raise SchemeError(
                "a multirate scheme needs exactly one of "
                f"delta (1/s), fast_devices and fast_variables; {found} is given"
            )

    def of(
        self,
        linear: LinearDae,
        scheme: Mapping[str, Any] | None = None,
        stage: Callable[[str], None] | None = None,
    ) -> Partition:
        """Return the partition of a system; with the scheme's choices, one whose step is stable.

        Raises PartitionError for a name that is not there, or a split that nothing makes well posed.
        """
        checks = _stability_checks(linear, scheme, stage) if scheme else {}
        linear = linear.without_delays()  # the checks have them
        if self.fast_devices:
            return partitioning.by_device(linear, fast=list(self.fast_devices), **checks)
        if self.fast_variables:
            return partitioning.by_hand(linear, fast=list(self.fast_variables), **checks)
        assert self.delta is not None
        with one_thread(linear.n):
            return partitioning.by_participation(linear, delta=self.delta, algebraic=self.algebraic, **checks)


def _stability_checks(
    linear: LinearDae, choices: Mapping[str, Any], stage: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Return how a split is checked against its scheme; nothing above the size of dense eigenvalues."""
    if linear.n + linear.m > LARGEST:
        return {}

    # The split that was asked for is nothing to speak of.
    tried, shown = itertools.count(), itertools.count(1)

    def radius(split: Partition) -> float:
        from psmr.pencil.deformation.deformation import spectral_radius

        if stage is not None and next(tried):
            stage(f"looking for a stable partition, {next(shown)} tried")
        try:
            return spectral_radius(linear, Multirate.chosen({"split": split, **choices}, linear))
        except SingularError:
            return np.inf

    # A system that grows by itself may grow as fast in the scheme.
    at_once = linear.without_delays()
    growth = max(0.0, float(np.linalg.eigvals(at_once.state_matrix()).real.max(initial=0.0)))
    step = Multirate.chosen({"split": partitioning.all_slow(at_once), **choices}, linear).h_slow
    return {"spectral_radius": radius, "limit": float(np.exp(growth * step))}


def partition_of(split: Split, linear: LinearDae) -> Partition:
    """Return the partition alone, its errors as psmr's own."""
    try:
        return split.of(linear)
    except PartitionError as error:
        raise InputError(str(error)) from error


HOMES = {
    "multirate": "psmr.integrate.schemes.multirate.Multirate",
    "single": "psmr.integrate.schemes.one_step.SingleRate",
    "smes": "psmr.papers.shi_rojas.smes.Smes",
    "arc-length": "psmr.papers.kuznetsov_krasnikov.arc_length.ArcLength",
    "adaptive": "psmr.papers.kuznetsov_krasnikov.arc_length.Adaptive",
    "quasi-steady": "psmr.integrate.schemes.quasi_steady.QuasiSteadyState",
    "sampled": "psmr.integrate.schemes.sampled.SampledMultirate",
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


def needs_split(made: type[Scheme]) -> bool:
    """Return whether a scheme that takes a partition finds none by itself."""
    return any(field.name == "split" and field.default is MISSING for field in fields(made))  # type: ignore[arg-type]


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


@dataclass(frozen=True)
class Recipe:
    """The choices of a scheme, and where it needs a partition how its fast variables are found.

    `choices` are arguments of the scheme; `Multirate` takes ``h_fast`` in place of ``ratio`` too, and `Smes`
    without ``delta`` or ``micro`` those of `Smes.for_system`. `kind` is a type of `HOMES`, or the name of
    `own`, a scheme of the user's own; by default single rate without a split, multirate with one. Where none
    was named (`usual`) and something samples, two rates by samples take its choices.
    """

    choices: Mapping[str, Any] = field(default_factory=dict)
    split: Split | None = None
    kind: str = ""
    own: type[Scheme] | None = None
    usual: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.kind or ("single" if self.split is None else "multirate"))

    @property
    def made(self) -> type[Scheme]:
        """The class of the scheme."""
        return self.own or scheme_class(self.kind)

    def scheme(self, linear: LinearDae, stage: Callable[[str], None] | None = None) -> Scheme:
        """Return the scheme for a system; SchemeError for choices that are out of range or do not fit.

        `stage` is called with words for each split that a search for a stable one tries.
        """
        choices = dict(self.choices)
        try:
            if self.split is not None:
                checked = self.choices if self.kind == "multirate" else None
                choices["split"] = self.split.of(linear, checked, stage)
            made = self.made
            if self.usual and linear is not None and linear.held and choices.get("method") != "BDF":
                made = scheme_class("sampled")
            found = made.chosen(choices, linear)
        except PartitionError as error:
            raise SchemeError(str(error)) from error
        assert found is not None
        return found

    def check(self) -> None:
        """Raise SchemeError now for choices that no system would make right."""
        none = np.zeros(0, dtype=bool)
        one_fast = Partition(np.ones(1, dtype=bool), none, none, None, "manual", ("x",), (), ())
        split = {} if self.split is None else {"split": one_fast}
        self.made.chosen({**split, **self.choices}, None)

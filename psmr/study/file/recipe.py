"""A recipe: how to make a scheme for a system that is not built yet, as a study file says it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

import partitioning
from partitioning import Partition, PartitionError
from psmr.dae.system.linear import LinearDae
from psmr.errors import InputError, SchemeError, SingularError
from psmr.numerics.schemes.adaptive import Adaptive
from psmr.numerics.schemes.arc_length import ArcLength
from psmr.numerics.schemes.multirate import Multirate
from psmr.numerics.schemes.single_rate import SingleRate
from psmr.numerics.schemes.slow_manifold import SlowManifold
from psmr.numerics.schemes.smes import Smes
from psmr.numerics.schemes.variable_step import VariableStep
from psmr.study.record.certificate import LARGEST, Scheme

ALGEBRAIC = ("participation", "fast")


@dataclass(frozen=True)
class Split:
    """How the fast variables are found: by a threshold in 1/s, or named as devices or as variables.

    Exactly one of `delta`, `fast_devices` and `fast_variables` is given; `algebraic` belongs to the
    threshold.
    """

    delta: float | None = None
    algebraic: Annotated[str, ALGEBRAIC] = "participation"
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

        Raises
        ------
        PartitionError
            For a name that is not there, or a split that nothing makes well posed.
        """
        checks = _stability_checks(linear, scheme, stage) if scheme else {}
        if self.fast_devices:
            return partitioning.by_device(linear, fast=list(self.fast_devices), **checks)
        if self.fast_variables:
            return partitioning.by_hand(linear, fast=list(self.fast_variables), **checks)
        assert self.delta is not None
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
            return spectral_radius(linear, _multirate(split, choices))
        except SingularError:
            return np.inf

    # A system that grows by itself may grow as fast in the scheme.
    growth = max(0.0, float(np.linalg.eigvals(linear.state_matrix()).real.max(initial=0.0)))
    step = _multirate(partitioning.all_slow(linear), choices).h_slow
    return {"spectral_radius": radius, "limit": float(np.exp(growth * step))}


@dataclass(frozen=True)
class Recipe:
    """The choices of a scheme, and where it needs a partition how its fast variables are found.

    Attributes
    ----------
    choices
        Arguments of the scheme; `Multirate` takes ``h_fast`` in place of ``ratio`` too, and `Smes` without
        ``delta`` or ``micro`` those of `Smes.for_system`.
    split
        None for a scheme without fast and slow variables.
    kind
        ``"single"``, ``"multirate"``, ``"slow-manifold"``, ``"smes"``, ``"arc-length"``, ``"variable"`` or
        ``"adaptive"``. Default: single rate without a split, multirate with one.
    """

    choices: Mapping[str, Any] = field(default_factory=dict)
    split: Split | None = None
    kind: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.kind or ("single" if self.split is None else "multirate"))

    def scheme(self, linear: LinearDae, stage: Callable[[str], None] | None = None) -> Scheme:
        """Return the scheme for a system.

        `stage` is called with words for each split that a search for a stable one tries.

        Raises
        ------
        SchemeError
            For choices that are out of range, do not fit together, or cannot be had on this system.
        """
        if self.kind == "smes" and not {"delta", "micro"} <= self.choices.keys():
            return Smes.for_system(linear, **self.choices)
        if self.split is None:
            return WHOLE[self.kind](**self.choices)
        try:
            if self.kind == "slow-manifold":
                return SlowManifold(self.split.of(linear), **self.choices)
            return _multirate(self.split.of(linear, self.choices, stage), self.choices)
        except PartitionError as error:
            raise SchemeError(str(error)) from error

    def check(self) -> None:
        """Raise SchemeError now for choices that no system would make right."""
        if self.kind == "multirate":
            _multirate(_anonymous(), self.choices)
        elif self.kind == "slow-manifold":
            SlowManifold(_anonymous(), **self.choices)
        elif self.kind != "smes":
            WHOLE[self.kind](**self.choices)
        elif {"delta", "micro"} <= self.choices.keys():
            if "margin" in self.choices:
                raise SchemeError("margin is for the search of micro; leave out margin, or delta and micro")
            Smes(**self.choices)
        elif "micro" in self.choices:
            raise SchemeError("micro needs delta beside it; leave out both to have them searched")


WHOLE: Mapping[str, Callable[..., Scheme]] = {
    "single": SingleRate,
    "smes": Smes,
    "arc-length": ArcLength,
    "adaptive": Adaptive,
    "variable": VariableStep,
}
"""Schemes without fast and slow variables."""


def _multirate(split: Partition, choices: Mapping[str, Any]) -> Multirate:
    options = dict(choices)
    h_fast = options.pop("h_fast", None)
    if (h_fast is None) == ("ratio" not in options):
        raise SchemeError("a multirate scheme needs h_fast (s) or ratio, one of them")
    if h_fast is None:
        return Multirate(split, **options)
    return Multirate.from_steps(split, options.pop("h_slow"), h_fast, **options)


def partition_of(split: Split, linear: LinearDae) -> Partition:
    """Return the partition alone, its errors as psmr's own."""
    try:
        return split.of(linear)
    except PartitionError as error:
        raise InputError(str(error)) from error


def _anonymous() -> Partition:
    """Return a partition of one fast state, on which the other choices of a scheme can be checked."""
    none = np.zeros(0, dtype=bool)
    return Partition(np.ones(1, dtype=bool), none, none, None, "manual", ("x",), (), ())

"""How a study file says which variables are fast."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

import partitioning
from partitioning import Partition, PartitionError
from psmr.base.errors import InputError, SchemeError, SingularError
from psmr.dae.system.linear import LinearDae
from psmr.integrate.schemes.multirate import Multirate
from psmr.study.certificate.certify import LARGEST

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
            return spectral_radius(linear, Multirate.chosen({"split": split, **choices}, linear))
        except SingularError:
            return np.inf

    # A system that grows by itself may grow as fast in the scheme.
    growth = max(0.0, float(np.linalg.eigvals(linear.state_matrix()).real.max(initial=0.0)))
    step = Multirate.chosen({"split": partitioning.all_slow(linear), **choices}, linear).h_slow
    return {"spectral_radius": radius, "limit": float(np.exp(growth * step))}


def partition_of(split: Split, linear: LinearDae) -> Partition:
    """Return the partition alone, its errors as psmr's own."""
    try:
        return split.of(linear)
    except PartitionError as error:
        raise InputError(str(error)) from error

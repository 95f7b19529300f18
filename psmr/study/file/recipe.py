"""A recipe: how to make a scheme for a system that is not built yet, as a study file says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from partitioning import Partition, PartitionError
from psmr.base.errors import SchemeError
from psmr.dae.system.linear import LinearDae
from psmr.study.certificate.certificate import Scheme
from psmr.study.file.schemes import scheme_class
from psmr.study.file.split import Split


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
        ``"adaptive"``, or the name of `own`. Default: single rate without a split, multirate with one.
    own
        A scheme of the user's own.
    """

    choices: Mapping[str, Any] = field(default_factory=dict)
    split: Split | None = None
    kind: str = ""
    own: type[Scheme] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.kind or ("single" if self.split is None else "multirate"))

    @property
    def made(self) -> type[Scheme]:
        """The class of the scheme."""
        return self.own or scheme_class(self.kind)

    def scheme(self, linear: LinearDae, stage: Callable[[str], None] | None = None) -> Scheme:
        """Return the scheme for a system.

        `stage` is called with words for each split that a search for a stable one tries.

        Raises
        ------
        SchemeError
            For choices that are out of range, do not fit together, or cannot be had on this system.
        """
        choices = dict(self.choices)
        try:
            if self.split is not None:
                checked = self.choices if self.kind == "multirate" else None
                choices["split"] = self.split.of(linear, checked, stage)
            return self.made.chosen(choices, linear)
        except PartitionError as error:
            raise SchemeError(str(error)) from error

    def check(self) -> None:
        """Raise SchemeError now for choices that no system would make right."""
        split = {} if self.split is None else {"split": _anonymous()}
        self.made.check_choices({**split, **self.choices})


def _anonymous() -> Partition:
    """Return a partition of one fast state, on which the other choices of a scheme can be checked."""
    none = np.zeros(0, dtype=bool)
    return Partition(np.ones(1, dtype=bool), none, none, None, "manual", ("x",), (), ())

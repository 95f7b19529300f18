"""The slow-manifold scheme of Gil, Sanfelice and Nikravesh (2013): its record and the matrices of a step.

With x the slow and z the fast states and the algebraic variables eliminated, x' = f(x, z) and z' = g(x, z).
Around the start (x_n, z_n) of a step g is linear; H(x) = z_n - g_z^-1 (g_x (x - x_n) + g_n) is where the fast
states would rest, and y = z - H their distance from it. x follows Runge-Kutta 4 on f(x, H(x)) plus the
integral of f_z y, and y follows matrix exponentials.

The published text has slips, corrected here: the block matrix (47) is [A C B; 0 0 1; 0 0 0], and H in step 2
reads z_n and g_z where y_n and g_y are printed. `psmr.papers.gil_sanfelice_nikravesh` has the evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from partitioning import Partition
from psmr.base.arguments import settle_fields
from psmr.base.errors import SchemeError
from psmr.base.keywords import explains_keywords
from psmr.integrate.schemes.choices import (
    NEWTONS,
    Newton,
    check_choice,
    check_newton_tolerance,
    check_partition,
    check_positive,
)
from psmr.integrate.schemes.scheme import Scheme

if TYPE_CHECKING:
    from psmr.dae.system.linear import LinearDae
    from psmr.dae.system.system import System

JACOBIANS = ("step", "kept")


@explains_keywords(SchemeError)
@dataclass(frozen=True, repr=False)
class SlowManifold(Scheme):
    """Slow states by Runge-Kutta 4 on the slow manifold, fast ones by matrix exponentials (Gil et al., 2013).

    Parameters
    ----------
    split
        Which states are fast. All algebraic variables are eliminated by solving g = 0, so it does not matter
        on which side they are.
    h
        Step in s. Runge-Kutta 4 must be stable for the slow states: about 2.8 / |lambda| of the fastest of
        them.
    jacobian
        ``"step"``: linearise at every step, as published. ``"kept"``: keep the linearisation and its
        exponentials until they have drifted.
    drift
        With ``"kept"``: linearise anew when what the linearisation said of the fast states' rest differs from
        what it turned out to be by more than this share of their movement in the step. At the default the
        pendulum of the paper keeps its energy to 2.2e-5 J with 93 linearisations, to 1.3e-5 J with one at
        each of its 1000 steps.
    newton
        When the Jacobian of the algebraic equations is refreshed, as in `SingleRate`.
    tolerance
        Of the algebraic equations, as in `SingleRate`; the condition of g_z times the rounding unit must stay
        below it.

    Raises
    ------
    SchemeError
        For an unknown choice, a value out of range, or a partition without fast states.
    """

    split: Partition
    h: float
    jacobian: Literal["step", "kept"] = "step"
    drift: float = 1e-3
    newton: Newton = "dishonest"
    tolerance: float = 1e-10

    ratio: ClassVar[int] = 1

    def __post_init__(self) -> None:
        settle_fields(self, SchemeError)
        check_partition(self.split)
        check_positive("h", self.h, "s")
        check_positive("drift", self.drift)
        check_newton_tolerance(self.tolerance)
        check_choice("jacobian", self.jacobian, JACOBIANS)
        check_choice("newton", self.newton, NEWTONS)
        if not self.split.fast_x.any():
            raise SchemeError(
                f"split has no fast state ({self.split}), so the scheme would be Runge-Kutta 4; "
                "use SingleRate('RK4', h) or a smaller delta"
            )

    @property
    def step(self) -> float:
        """Time between two accepted points in s."""
        return self.h

    def with_step(self, h: float) -> SlowManifold:
        """See `Scheme`."""
        return replace(self, h=h)

    def engine(self, system: System, parameters: Sequence[Any], w: Any, every: bool) -> Any:
        """See `Scheme`: a step of matrix exponentials is no program."""
        from psmr.papers.gil_sanfelice_nikravesh.manifold_engine import ManifoldChoices, ManifoldEngine

        kept = self.jacobian == "kept"
        choices = ManifoldChoices(self.split, self.h, kept, self.drift, self.newton, self.tolerance)
        return ManifoldEngine(system, choices, parameters, w)

    def operator(self, linear: LinearDae) -> NDArray[np.float64]:
        """See `Scheme`.

        Raises
        ------
        SchemeError
            For a partition of another system, or fast states without a quasi-steady state.
        """
        from psmr.integrate.schemes.stability import with_algebraic
        from psmr.integrate.solve.partition_sides import require_same_system
        from psmr.papers.gil_sanfelice_nikravesh.manifold import require_fit, slow_manifold_map

        require_same_system(self.split, linear)
        A, fast = linear.state_matrix(), self.split.fast_x
        names = tuple(name for name, side in zip(linear.names_x, fast, strict=True) if side)
        require_fit(A[np.ix_(fast, fast)], names, self.tolerance, "linearised system")
        return with_algebraic(linear, slow_manifold_map(A, fast, self.h))

    def limit(self, linear: LinearDae) -> str:
        """See `Scheme`."""
        from psmr.papers.gil_sanfelice_nikravesh.manifold import manifold_limit

        return manifold_limit(linear.state_matrix(), self.split.fast_x)

    def __str__(self) -> str:
        when = "at every step" if self.jacobian == "step" else f"kept until a drift of {self.drift:g}"
        return f"slow manifold, h = {self.h:g} s, {self.split.fast_x.sum()} fast states, linearised {when}"

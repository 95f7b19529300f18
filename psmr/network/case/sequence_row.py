"""A row of sequence data: what an element is to the negative- and the zero-sequence network."""

from __future__ import annotations

from dataclasses import dataclass

from psmr.base.errors import nearest
from psmr.network.case.row import Row

WINDINGS = ("YN", "Y", "D")
"""How windings are connected: a star with its neutral grounded, a star, a delta."""

CONNECTIONS = tuple(f"{first}{second.lower()}" for first in WINDINGS for second in WINDINGS)
"""Connections of a transformer, first the winding at the from bus: ``"YNd"``, ``"Dyn"``, ``"YNyn"``."""


@dataclass(frozen=True)
class SequenceRow(Row):
    """Negative- and zero-sequence data of an element; what is left out is taken by the usual ratios.

    Attributes
    ----------
    element
        Name of a line, transformer, generator, shunt or load.
    r2, x2
        Negative-sequence impedance of a generator, per unit on its rating.
    r0, x0
        Zero-sequence impedance: of a line, as a whole, and of a transformer in pu on the system base, of a
        generator on its rating.
    g0, b0
        Zero-sequence admittance to ground in pu on the system base: of a line, half at each end, a shunt or a
        load.
    connection
        Of a transformer one of `CONNECTIONS`, of a generator, shunt or load one of `WINDINGS`.
    r_ground, x_ground, r_ground_to, x_ground_to
        Impedance between neutral and ground, on the base of the zero-sequence impedance: of a generator, or
        of the winding at the from bus; of the winding at the to bus.
    """

    element: str
    r2: float | None = None
    x2: float | None = None
    r0: float | None = None
    x0: float | None = None
    g0: float | None = None
    b0: float | None = None
    connection: str = ""
    r_ground: float = 0.0
    x_ground: float = 0.0
    r_ground_to: float = 0.0
    x_ground_to: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        known = (*WINDINGS, *CONNECTIONS)
        right = f"must be one of {', '.join(known)}{nearest(self.connection, known)}"
        self.require(self.connection in ("", *known), "connection", right)
        for r, x in (("r2", "x2"), ("r0", "x0")):
            given = [getattr(self, name) for name in (r, x)]
            self.require(given[0] is None or given[1] is not None, x, f"must be given with {r}")
            self.require(given[1] != 0, x, "must not be 0")
        windings = self.windings
        ends = (("r_ground", "x_ground"), ("r_ground_to", "x_ground_to"))
        for winding, names in zip(windings, ends, strict=False):
            for name in names:
                right = f"the winding {winding} has no grounded neutral, and no zero-sequence current there"
                self.require(winding == "YN" or getattr(self, name) == 0, name, right)
        if windings and "YN" not in windings:
            for name in ("r0", "x0", "g0", "b0"):
                right = f"no zero-sequence path leads through {self.connection}; leave it out, or ground it"
                self.require(getattr(self, name) is None, name, right)

    @property
    def place(self) -> str:
        """See `Row`."""
        return f"{self.where or type(self).__name__} ({self.element})"

    @property
    def windings(self) -> tuple[str, ...]:
        """The windings of the connection, from bus first; none where it is left out."""
        for first in WINDINGS:
            for second in WINDINGS:
                if self.connection == f"{first}{second.lower()}":
                    return first, second
        return (self.connection,) if self.connection else ()

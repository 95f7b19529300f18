"""What the abstract states of the theta method with delays, and the numbers of its claims.

Abstract and introduction were at hand, not the paper's sections, tables and figures: the examples are ours.
"""

from __future__ import annotations

from typing import Any

from psmr.papers.bouterakos_tzounas import new_england, scalar_equation
from psmr.papers.bouterakos_tzounas.figures import by_delay
from psmr.papers.bouterakos_tzounas.figures import new_england as drawn
from psmr.papers.bouterakos_tzounas.new_england import stable_numbers
from psmr.papers.reproduction import Paper, Results


def numbers(r: Results) -> dict[str, Any]:
    """Return the numbers by their names in ``claims.toml``."""
    bounds = r.boundaries.to_dict("list")
    by_step = r.thetas.set_index("theta")
    whole, quarter = r.simulated
    return {
        "tau": scalar_equation.TAU,
        "exact": scalar_equation.exact_growth(scalar_equation.oscillator(scalar_equation.TAU)),
        "trapezoidal": float(by_step.loc[0.5, "h = tau/1"]),
        "finer": float(by_step.loc[0.5, "h = tau/2"]),
        "theta": float(by_step.loc[0.51, "h = tau/1"]),
        "backward": float(by_step.loc[1.0, "h = tau/1"]),
        "formula": bounds["2 m tan(pi/4m)"],
        "least": bounds["oscillator, least (w - mu) tau"],
        "largest": bounds["x' = -b x(t - tau), largest b tau"],
        "independent": r.independent,
        "grown": whole.grown,
        "decayed": quarter.grown,
        "run_apart": max(whole.difference, quarter.difference),
        "exact_plants": list(r.by_number["exact"]),
        "few": float(r.by_number["TM, h = 0.2 s"].iloc[-2]),
        "many": float(r.by_number["TM, h = 0.2 s"].iloc[-1]),
        "stable": {
            column: str(len(stable_numbers(r.by_number, column)))
            for column in r.by_number
            if column.startswith("TM")
        },
        "finest": list(r.by_number["TM, h = 0.1 s"]),
        "backward_plants": list(r.by_number["BEM, h = 0.3 s"]),
        "swings": r.swings,
        "ratio": r.swings.ratio,
    }


PAPER = Paper(
    name="bouterakos-tzounas",
    citation="A. Bouterakos, G. Tzounas, Stability of the theta method for systems with multiple "
    "time-delayed variables, arXiv 2409.04399 (abstract and introduction)",
    parts={
        "scalar test equation": lambda r: {
            "boundaries": scalar_equation.boundaries(),
            "thetas": scalar_equation.thetas(),
            "growth_by_delay": scalar_equation.growth_by_delay(),
        },
        "delay-independent stability": lambda r: {"independent": scalar_equation.delay_independent()},
        "runs of the test equation": lambda r: {
            "simulated": [scalar_equation.simulated(parts) for parts in (1, 4)]
        },
        "New England with delayed stabilisers": lambda r: {
            "by_number": new_england.by_number(),
            "swings": new_england.swings(),
        },
    },
    tables=lambda r: {
        "Boundaries: of stability by the trapezoidal rule": r.boundaries,
        "Theta: growth of the test equation in 1/s by theta and step": r.thetas,
        "Growth by number: New England, least stable oscillation in 1/s": r.by_number,
    },
    figures={
        "Test equation: growth over the delay": ("bouterakos-delay.svg", by_delay),
        "New England: delayed stabilisers": ("bouterakos-new-england.svg", drawn),
    },
    numbers=numbers,
)

"""The paper: Table 1, examples 1 to 3, and what it says of limit points."""

from __future__ import annotations

from psmr.papers.kuznetsov_krasnikov import runs
from psmr.papers.kuznetsov_krasnikov.figures import example_three, gain
from psmr.papers.kuznetsov_krasnikov.numbers import numbers
from psmr.papers.reproduction import Paper

PAPER = Paper(
    name="kuznetsov-krasnikov",
    citation="E. B. Kuznetsov, S. D. Krasnikov, To numerical solution of singular perturbed equations "
    "transformed to the best argument, ICCS 2003, LNCS 2658, pp. 500-506",
    parts={
        "Table 1": lambda r: dict(zip(("runs", "table"), runs.table_one(), strict=True)),
        "Edsberg": lambda r: {"edsberg": runs.edsberg_table()},
        "van der Pol to 0.01 s": lambda r: {
            "van_der_pol": runs.van_der_pol_table(),
            "work": runs.time_and_step(),
        },
        "van der Pol to 2 s": lambda r: {"end": runs.to_the_end()},
        "limit points, conditions": lambda r: {
            "farther": runs.farther(),
            "multipliers": runs.multipliers(),
            "transformed": runs.limit_point(homogeneous=False),
            "homogeneous": runs.limit_point(homogeneous=True),
            "conditions": runs.conditions(),
        },
    },
    tables=lambda r: {
        "Table 1: example 3, Euler along time (E) and along the arc (BP)": r.table,
        "Van der Pol, evaluations to t = 0.01 s": r.van_der_pol,
        "Edsberg, evaluations to t = 1 s": r.edsberg,
        "Claims beyond the tables: conditions, limit points, long runs": runs.claims_table(r),
    },
    figures={
        "Example 3: boundary layer and chatter": ("kuznetsov-layer.svg", example_three),
        "Van der Pol: where the gain ends": ("kuznetsov-gain.svg", gain),
    },
    numbers=numbers,
)

"""The reproduction of the paper: its table and examples, and a finding for each of its claims."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from psmr.papers.kuznetsov_krasnikov import figures, tables
from psmr.papers.kuznetsov_krasnikov.claims import conditions, limit_point, to_the_end
from psmr.papers.kuznetsov_krasnikov.evidence import Evidence, claims_table
from psmr.papers.kuznetsov_krasnikov.findings import CLAIMS, findings
from psmr.papers.reproduction import Reproduction

NAME = "kuznetsov-krasnikov"
CITATION = (
    "E. B. Kuznetsov, S. D. Krasnikov, To numerical solution of singular perturbed equations transformed to "
    "the best argument, ICCS 2003, LNCS 2658, pp. 500-506"
)
PARTS = (
    "Table 1",
    "Edsberg",
    "van der Pol to 0.01 s",
    "van der Pol to 2 s",
    "limit points, conditions",
    "figures",
)


def reproduce(folder: Path, progress: Callable[[str], None] | None = None) -> Reproduction:
    """Reproduce Table 1 and examples 1 to 3, and try what the paper says of limit points.

    Parameters
    ----------
    folder
        Where the figures go.
    progress
        Called with the name of each of `PARTS` as it begins.
    """
    say = progress or (lambda words: None)
    say("Table 1")
    runs, table = tables.table_one()
    say("Edsberg")
    first = tables.edsberg_table()
    say("van der Pol to 0.01 s")
    second = tables.van_der_pol_table()
    work = tables.time_and_step()
    say("van der Pol to 2 s")
    end = to_the_end()
    say("limit points, conditions")
    evidence = Evidence(
        runs=runs,
        table=table,
        van_der_pol=second,
        edsberg=first,
        farther=tables.farther(),
        multipliers=tables.multipliers(),
        work=work,
        end=end,
        transformed=limit_point(homogeneous=False),
        homogeneous=limit_point(homogeneous=True),
        conditions=conditions(),
    )
    say("figures")
    return Reproduction(
        name=NAME,
        citation=CITATION,
        tables={
            "Table 1: example 3, Euler along time (E) and along the arc (BP)": table,
            "Van der Pol, evaluations to t = 0.01 s": second,
            "Edsberg, evaluations to t = 1 s": first,
            CLAIMS: claims_table(evidence),
        },
        figures={
            "Example 3: boundary layer and chatter": figures.example_three(
                evidence, folder / "kuznetsov-layer.svg"
            ),
            "Van der Pol: where the gain ends": figures.gain(evidence, folder / "kuznetsov-gain.svg"),
        },
        findings=findings(evidence),
    )

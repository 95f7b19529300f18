"""The report on the start of a case: as text, and as plain values."""

from __future__ import annotations

from dataclasses import asdict
from html import escape
from typing import Any

from psmr.network.start.findings import Found
from psmr.network.start.report_text import report_text


class Report(Found):
    """The start of a case; for its fields see `psmr.network.start.findings.Found`."""

    def text(self, everything: bool = False, warned: int = 0) -> str:
        """Return the report as text: a summary, problems and notes, or every variable as well.

        `warned` is how many warnings the reading of the case gave, which are not repeated.
        """
        return report_text(self, everything, warned)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        verdict = "can be simulated" if self.good else "cannot be simulated"
        return f"Report({self.case.name!r}: {verdict}, {len(self.findings)} findings)"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"

    def record(self) -> dict[str, Any]:
        """Return the report as plain values by name."""
        flow = self.flow
        return {
            "case": self.case.name,
            "good": self.good,
            "power_flow": None
            if flow is None
            else {
                "iterations": flow.iterations,
                "mismatch": flow.mismatch,
                "start": flow.start,
                "reactive_limits": flow.reactive_limits,
                "notes": list(flow.notes),
                "from_stored": None if flow.stored is None else flow.stored.largest,
                "islands": self.islands,
                "buses": flow.buses().reset_index().to_dict("records"),
                "generators": flow.generators().reset_index().to_dict("records"),
                "loads": flow.loads().reset_index().to_dict("records"),
            },
            "findings": [asdict(finding) for finding in self.findings],
            "modes": None if self.modes is None else asdict(self.modes),
            "variables": self.variables.to_dict("records"),
        }

"""The choices of a scheme on a page, and the table of a study that they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FORMS: dict[str, dict[str, Any]] = {
    "variable": {"tolerance": 1e-4},
    "single": {"method": ("TM", "BEM", "FEM", "SDIRK2", "RK4"), "h": 0.01},
    "multirate": {
        "delta": 20.0,
        "h_slow": 0.02,
        "h_fast": 0.002,
        "predictor": ("TM", "FEM", "BEM", "extrapolation"),
        "solution": ("TM", "BEM"),
        "coupling": ("end", "mean"),
        "interface": ("held", "schur"),
    },
}
"""For each type of scheme that a page offers its fields: a number to begin with, or the choices."""

TITLES = {"variable": "steps by a tolerance", "single": "one fixed step", "multirate": "two step sizes"}


class SchemeForm:
    """Widgets for the fields of a scheme; `changed` is called with the table [scheme] that they make."""

    def __init__(self, changed: Callable[[dict[str, Any]], None]) -> None:
        from bokeh.models import NumericInput, Select

        self.changed, self.busy = changed, False
        self.type = Select(title="Scheme", value="variable", options=list(TITLES.items()))
        self.fields: dict[str, Any] = {}
        for fields in FORMS.values():
            for name, value in fields.items():
                if isinstance(value, tuple):
                    self.fields[name] = Select(title=name, value=value[0], options=list(value))
                else:
                    unit = {"tolerance": "", "delta": " [1/s]"}.get(name, " [s]")
                    self.fields[name] = NumericInput(title=name + unit, value=value, mode="float")
        for widget in (self.type, *self.fields.values()):
            widget.on_change("value", self._on_change)
        self._arrange()

    @property
    def widgets(self) -> list[Any]:
        """All widgets, those that do not belong to the type hidden."""
        return [self.type, *self.fields.values()]

    def show(self, table: dict[str, Any]) -> None:
        """Show the table [scheme] of a study; fields that no widget has stay in the study."""
        self.busy = True
        self.type.value = table.get("type", "variable")
        for name, widget in self.fields.items():
            if name in table:
                widget.value = table[name]
        self._arrange()
        self.busy = False

    def _arrange(self) -> None:
        for name, widget in self.fields.items():
            widget.visible = name in FORMS.get(self.type.value, {})

    def _on_change(self, attribute: str, old: Any, new: Any) -> None:
        if self.busy or self.type.value not in FORMS:
            return
        self._arrange()
        chosen = FORMS[self.type.value]
        table = {name: self.fields[name].value for name in chosen if self.fields[name].value is not None}
        self.changed({"type": self.type.value} | table)

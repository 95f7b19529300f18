"""Turbine governors: they read the speed of the machine and give it its mechanical torque `t_m`.

The set-point `p_ref` is a power (or gate opening) in per unit on the machine base; the standard library's
speed reference is droop times this. Torque and power are taken as one number, as the machines here do.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from psmr.devices.diagram import BlockDiagram


class Governor(BlockDiagram, part=True):
    """A turbine and its governor; its output is the torque t_m."""

    role = "governor"
    inputs: ClassVar[tuple[str, ...]] = ("omega", "p_ref")
    set_point = "p_ref"

    @staticmethod
    def known(terminal: Any, p: Any) -> Mapping[str, Any]:
        """Return the torque that the machine needs."""
        return {"t_m": terminal.signals.get("t_m", 0.0)}

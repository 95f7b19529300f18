"""The fields of a study's tables [[monitor]], by type of monitor."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from psmr.study.file.fields import Field
from psmr.study.monitors.monitors import AngleSpread, Island, Monitor, VoltageCollapse

KIND, NUMBER = Field("text", needed=True), Field("number")

MONITORS: Mapping[str, tuple[Callable[..., Monitor], Mapping[str, Field]]] = {
    "angle-spread": (AngleSpread, {"type": KIND, "limit_deg": NUMBER}),
    "voltage-collapse": (VoltageCollapse, {"type": KIND, "v_min": NUMBER, "duration": NUMBER}),
    "island": (Island, {"type": KIND}),
}

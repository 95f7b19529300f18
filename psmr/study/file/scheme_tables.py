"""The fields of a study's table [scheme], by type of scheme."""

from __future__ import annotations

from collections.abc import Mapping

from psmr.numerics.schemes.choices import NEWTONS
from psmr.numerics.schemes.interpolation import HISTORY
from psmr.numerics.schemes.multirate import PREDICTED, PREDICTORS, SOLUTIONS
from psmr.numerics.schemes.single_rate import ONE_STEP_METHODS
from psmr.study.file.fields import Field

NUMBER, NEEDED_NUMBER = Field("number"), Field("number", needed=True)

SINGLE: Mapping[str, Field] = {
    "type": Field("text", needed=True),
    "method": Field("text", needed=True, among=ONE_STEP_METHODS),
    "h": NEEDED_NUMBER,
    "newton": Field("text", among=NEWTONS),
    "tolerance": NUMBER,
}
MULTIRATE: Mapping[str, Field] = {
    "type": Field("text", needed=True),
    "delta": NUMBER,
    "algebraic": Field("text", among=("participation", "fast")),
    "fast_devices": Field("list"),
    "fast_variables": Field("list"),
    "h_slow": NEEDED_NUMBER,
    "h_fast": NUMBER,
    "ratio": Field("whole"),
    "predictor": Field("text", among=PREDICTORS),
    "solution": Field("text", among=SOLUTIONS),
    "interpolation": Field("text", among=tuple(HISTORY)),
    "newton": Field("text", among=NEWTONS),
    "corrections": Field("count", among=("converge",)),
    "predict": Field("text", among=PREDICTED),
    "epsilon": NUMBER,
    "tolerance": NUMBER,
}
SLOW_MANIFOLD: Mapping[str, Field] = {
    **{name: MULTIRATE[name] for name in ("type", "delta", "algebraic", "fast_devices", "fast_variables")},
    "h": NEEDED_NUMBER,
    "jacobian": Field("text", among=("step", "kept")),
    "drift": NUMBER,
    "newton": Field("text", among=NEWTONS),
    "tolerance": NUMBER,
}
SMES: Mapping[str, Field] = {
    "type": Field("text", needed=True),
    "h": NEEDED_NUMBER,
    "delta": NUMBER,
    "micro": Field("whole"),
    "base": Field("text", among=("FEM", "RK2", "RK4")),
    "nodes": Field("text", among=("macro", "settled")),
    "margin": NUMBER,
    "newton": Field("text", among=NEWTONS),
    "tolerance": NUMBER,
}
ADAPTIVE: Mapping[str, Field] = {
    "type": Field("text", needed=True),
    "method": Field("text", needed=True, among=("RK54", "Adams")),
    "rtol": NUMBER,
    "atol": NUMBER,
    "longest": NUMBER,
    "most_steps": Field("whole"),
    "newton": Field("text", among=NEWTONS),
    "tolerance": NUMBER,
}
ARC_LENGTH: Mapping[str, Field] = {
    "type": Field("text", needed=True),
    "method": Field("text", needed=True, among=("FEM", "RK2", "RK4")),
    "h": NEEDED_NUMBER,
    "weights": NUMBER,
    "weight_t": NUMBER,
    "most_steps": Field("whole"),
    "newton": Field("text", among=NEWTONS),
    "tolerance": NUMBER,
}
SCHEMES: Mapping[str, Mapping[str, Field]] = {
    "multirate": MULTIRATE,
    "single": SINGLE,
    "slow-manifold": SLOW_MANIFOLD,
    "smes": SMES,
    "adaptive": ADAPTIVE,
    "arc-length": ARC_LENGTH,
}

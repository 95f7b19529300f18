"""What plant controls read: a bus, the plant itself, or a branch that carries its power."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psmr.dae.declare.component import Parameter, nonnegative, whole
from psmr.devices.renewables.electrical import V_LEAST

INPUTS = (
    "v_re",
    "v_im",
    "v_re_r",
    "v_im_r",
    "p_e",
    "q_e",
    "ref",
    "p_plant",
    "f_ref",
    "i_re_b",
    "i_im_b",
    "v_re_b",
    "v_im_b",
)
"""Voltage of the plant and of the regulated bus, powers of the plant, set-points, current and voltage of the
branch."""

OPTIONAL: Mapping[str, float] = {"f_ref": 1.0, "i_re_b": 0.0, "i_im_b": 0.0, "v_re_b": 1.0, "v_im_b": 0.0}

BRANCH = ("from_bus", "to_bus", "circuit", "i_re_b", "i_im_b", "v_re_b", "v_im_b")
"""Parameters by which a monitored branch is found, and the inputs that read it."""

PLANT_BASE = Parameter(
    "MVA", "base of the plant's powers, needed where a branch is monitored", nonnegative, 0.0
)

MONITORED = (
    Parameter("number", "bus at which the monitored branch is read, 0 for none", whole(0, 999999), 0.0),
    Parameter("number", "other bus of the monitored branch", whole(0, 999999), 0.0),
    Parameter("number", "circuit of the monitored branch", whole(0, 999999), 1.0),
)


def measured_powers(m: Any, v: Any, p: Any) -> tuple[Any, Any, Any, Any]:
    """Return (p, q, i_re, i_im) at the measuring point: of the monitored branch, or of the plant itself."""
    square = m.max(v.v_re**2 + v.v_im**2, V_LEAST**2)
    i_re, i_im = (v.p_e * v.v_re + v.q_e * v.v_im) / square, (v.p_e * v.v_im - v.q_e * v.v_re) / square
    scale = p.s_base / m.where(m.le(p.s_n, 0), 1, p.s_n)
    b_re, b_im = scale * v.i_re_b, scale * v.i_im_b
    power, reactive = v.v_re_b * b_re + v.v_im_b * b_im, v.v_im_b * b_re - v.v_re_b * b_im
    own, branch = (v.p_e, v.q_e, i_re, i_im), (power, reactive, b_re, b_im)
    monitored = m.ge(p.from_bus, 1)
    p_at, q_at, re, im = (m.where(monitored, b, o) for b, o in zip(branch, own, strict=True))
    return p_at, q_at, re, im

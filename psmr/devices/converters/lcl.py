"""The LCL filter between a converter's bridge and its bus, in the frame of the converter."""

from __future__ import annotations

from typing import Any

import numpy as np

from psmr.dae.declare.component import Terms


def lcl_filter(
    v: Any, p: Any, w: Any, source: tuple[Any, Any], bus: tuple[Any, Any], grid: tuple[Any, Any]
) -> Terms:
    """Return the derivatives of i_d, i_q (bridge), v_cd, v_cq (capacitor), i_od, i_oq (grid side), 1/s.

    Parameters
    ----------
    v, p
        The device's variables, those six among them, and its parameters: r_f, x_f and b_f of the filter in
        pu, f_n in Hz.
    w
        Speed of the frame, pu.
    source, bus
        Voltages of the bridge and of the bus, (d, q), pu.
    grid
        Resistance and reactance from the capacitor to the bus, pu.

    Notes
    -----
    Kirchhoff's laws of the three elements in a frame that turns with w. Source: the papers of
    `GridFormingConverter` and `FilteredConverter`, which hold them.
    """
    w_n = 2 * np.pi * p.f_n
    (e_d, e_q), (v_d, v_q), (r, x) = source, bus, grid
    return (
        w_n * ((e_d - v.v_cd - p.r_f * v.i_d) / p.x_f + w * v.i_q),
        w_n * ((e_q - v.v_cq - p.r_f * v.i_q) / p.x_f - w * v.i_d),
        w_n * ((v.i_d - v.i_od) / p.b_f + w * v.v_cq),
        w_n * ((v.i_q - v.i_oq) / p.b_f - w * v.v_cd),
        w_n * ((v.v_cd - v_d - r * v.i_od) / x + w * v.i_oq),
        w_n * ((v.v_cq - v_q - r * v.i_oq) / x - w * v.i_od),
    )

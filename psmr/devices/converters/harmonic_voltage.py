"""Negative sequence and harmonics of the voltage at a converter, in addition to the fundamental.

The phasors of the network carry the fundamental alone. These are the negative sequence of an unbalanced load
nearby, and the 5th and the 7th harmonic (of negative and of positive sequence). Seen from a stator they turn
at -w_n, -5 w_n and 7 w_n, in a frame that turns at nominal frequency w_n at -2, -6 and +6 w_n. They are zero
at the start; an event sets them. Their effect on the converter is modelled correctly. The network responds to
its currents at these frequencies with the impedance for the fundamental, which is wrong for them: the ripple
in the network is no study of unbalance or harmonics.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psmr.dae.declare.component import Parameter, nonnegative

V_2 = Parameter("pu", "negative sequence of the voltage at the bus", nonnegative, default=0.0)
V_5 = Parameter("pu", "fifth harmonic of the voltage at the bus", nonnegative, default=0.0)
V_7 = Parameter("pu", "seventh harmonic of the voltage at the bus", nonnegative, default=0.0)

HARMONICS = ("v_2", "v_5", "v_7")


def with_harmonics(m: Any, v: Any, p: Any) -> tuple[Any, Any]:
    """Return the real and the imaginary part of the whole voltage at the bus, pu.

    Parameters
    ----------
    m, v, p
        Functions; `v_re`, `v_im` of the fundamental in pu and the time t in s; the sizes in pu and f_n in Hz.

    Notes
    -----
    Source of the sequences: C. L. Fortescue, Method of symmetrical co-ordinates applied to the solution of
    polyphase networks, AIEE Transactions 37, 1918.
    """
    angle = 4 * np.pi * p.f_n * v.t
    c, s = m.cos(angle), m.sin(angle)
    c_6, s_6 = c * (4 * c**2 - 3), s * (3 - 4 * s**2)  # of three times the angle
    v_re = v.v_re + p.v_2 * c + (p.v_7 + p.v_5) * c_6
    return v_re, v.v_im - p.v_2 * s + (p.v_7 - p.v_5) * s_6

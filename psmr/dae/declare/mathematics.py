"""The two namespaces in which a component's equations are evaluated: numbers and expressions.

``NumericMath`` works on floats, arrays and complex arrays (comparisons look at the real part, so that a
complex step passes through them); `psmr.dae.compile.expression.Graph` is the other one. A component writes
``m.sin(v.delta)`` and is served by both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NEAR = 1e-9
"""A limit counts as reached within this distance: ten times the residual that a start is allowed."""


class NumericMath:
    """Mathematical functions on numbers and arrays, safe for complex-step differentiation."""

    sin = staticmethod(np.sin)
    cos = staticmethod(np.cos)
    tan = staticmethod(np.tan)
    exp = staticmethod(np.exp)
    log = staticmethod(np.log)
    sqrt = staticmethod(np.sqrt)

    @staticmethod
    def atan2(y: Any, x: Any) -> Any:
        """Return the angle of (x, y), analytic in both arguments."""
        if np.iscomplexobj(y) or np.iscomplexobj(x):
            # A complex step perturbs the angle by the imaginary part of log(x + jy) taken along the real
            # axis.
            base = np.arctan2(np.real(y), np.real(x))
            square = np.real(x) ** 2 + np.real(y) ** 2
            return base + 1j * (np.real(x) * np.imag(y) - np.real(y) * np.imag(x)) / square
        return np.arctan2(y, x)

    @staticmethod
    def ge(a: Any, b: Any) -> Any:
        """Return whether a >= b."""
        return np.real(a) >= np.real(b)

    @staticmethod
    def le(a: Any, b: Any) -> Any:
        """Return whether a <= b."""
        return np.real(a) <= np.real(b)

    @staticmethod
    def where(condition: Any, a: Any, b: Any) -> Any:
        """Return a where the condition holds, b elsewhere."""
        return np.where(condition, a, b)

    @staticmethod
    def min(a: Any, b: Any) -> Any:
        """Return the smaller of a and b."""
        return np.where(np.real(a) <= np.real(b), a, b)

    @staticmethod
    def max(a: Any, b: Any) -> Any:
        """Return the larger of a and b."""
        return np.where(np.real(a) >= np.real(b), a, b)

    @staticmethod
    def clip(x: Any, lower: Any, upper: Any) -> Any:
        """Return x limited to [lower, upper]."""
        return NumericMath.min(NumericMath.max(x, lower), upper)

    @staticmethod
    def abs(x: Any) -> Any:
        """Return the absolute value."""
        return np.where(np.real(x) >= 0, x, -x)

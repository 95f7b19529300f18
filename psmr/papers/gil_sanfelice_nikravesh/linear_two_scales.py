"""The linear test equation (50) of Gil, Sanfelice and Nikravesh, in real variables."""

from __future__ import annotations

from typing import Any

from psmr.dae.declare.component import Component, Parameter, nonnegative, nonzero
from psmr.dae.declare.device import Device
from psmr.dae.system.assemble import assemble
from psmr.dae.system.system import System


class LinearTwoScales(Component):
    """x' = λ_s x + μ z, z' = δ x + λ_f z, all complex: λ_f = α λ_s, μ = β λ_s, δ = β λ_f ((50), (51))."""

    states = ("x_re", "x_im", "z_re", "z_im")
    units = {"x_re": "1", "x_im": "1", "z_re": "1", "z_im": "1"}
    re = Parameter(unit="1/s", doc="real part of the slow eigenvalue λ_s")
    im = Parameter(unit="rad/s", doc="imaginary part of the slow eigenvalue λ_s")
    alpha = Parameter(unit="1", doc="ratio of the time scales, λ_f / λ_s", check=nonzero)
    beta = Parameter(unit="1", doc="coupling, δ / λ_f = μ / λ_s", check=nonnegative)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the four derivatives."""
        slow_re, slow_im = v.x_re + p.beta * v.z_re, v.x_im + p.beta * v.z_im
        fast_re, fast_im = p.alpha * (p.beta * v.x_re + v.z_re), p.alpha * (p.beta * v.x_im + v.z_im)
        derivatives = (
            p.re * slow_re - p.im * slow_im,
            p.im * slow_re + p.re * slow_im,
            p.re * fast_re - p.im * fast_im,
            p.im * fast_re + p.re * fast_im,
        )
        return derivatives, (), ()


FAST = ("T.z_re", "T.z_im")


def linear_two_scales(alpha: float, beta: float, slow: complex = -1.0 + 1.0j) -> System:
    """Return the test equation at x = z = 1, the start (62) of the accuracy analysis."""
    parameters = {"re": slow.real, "im": slow.imag, "alpha": alpha, "beta": beta}
    return assemble(
        [Device("T", LinearTwoScales, parameters)],
        {"T.x_re": 1.0, "T.z_re": 1.0},
        name="linear test equation (50)",
    )

"""Sampled loops whose solution is a recursion: what stands between two samples is solved exactly."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

import partitioning
import psmr
from psmr import Component, Device, Parameter, assemble


class Integrator(Component):
    """Adds T times what it reads at each sample, and holds it."""

    inputs = ("e",)
    sampled_states = ("integral",)
    sampled_outputs = ("u",)
    samples = psmr.Samples(period="T", offset="T_0", delay="T_d")
    T = Parameter("s", "time between samples", None, 0.01)
    T_0 = Parameter("s", "time of the first sample", None, 0.0)
    T_d = Parameter("s", "computing delay", None, 0.0)

    @staticmethod
    def sample(m: Any, v: Any, p: Any) -> Any:
        """Return the new integral, which is the output."""
        integral = v.integral + p.T * v.e
        return (integral,), (integral,)


class Deadbeat(Component):
    """Takes x' = a (u - x) to what is wanted within one sample."""

    inputs = ("x", "r")
    optional = {"r": 1.0}
    sampled_outputs = ("u",)
    samples = psmr.Samples(period="T")
    T = Parameter("s", "time between samples", None, 0.01)
    a = Parameter("1/s", "rate of the plant", None, 3.0)

    @staticmethod
    def sample(m: Any, v: Any, p: Any) -> Any:
        """Return the output of the inverse of the discrete plant."""
        left = m.exp(-p.a * p.T)
        return (), ((v.r - left * v.x) / (1 - left),)


class Counter(Component):
    """Counts its samples and keeps the last of what it reads."""

    inputs = ("x",)
    sampled_states = ("count",)
    sampled_outputs = ("last",)
    samples = psmr.Samples(period="T", offset="T_0")
    T = Parameter("s", "time between samples", None, 0.01)
    T_0 = Parameter("s", "time of the first sample", None, 0.0)

    @staticmethod
    def sample(m: Any, v: Any, p: Any) -> Any:
        """Return how many samples there were, and what was read."""
        return (v.count + 1,), (v.x,)


class Plant(Component):
    """x' = a (u - x)."""

    states = ("x",)
    inputs = ("u",)
    a = Parameter("1/s", "rate", None, 3.0)

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the derivative."""
        return (p.a * (v.u - v.x),), (), ()


class Difference(Component):
    """An algebraic variable e = r - x."""

    algebraic = ("e",)
    inputs = ("x", "r")
    optional = {"r": 1.0}

    @staticmethod
    def equations(m: Any, v: Any, p: Any) -> Any:
        """Return the residual."""
        return (), (v.e - (v.r - v.x),), ()


def integrating(T: float = 0.01, T_0: float = 0.0, T_d: float = 0.0, a: float = 3.0) -> psmr.System:
    """Return a sampled integrator that drives a plant towards 1, and a slow state that reads the plant."""
    devices = [
        Device("C", Integrator, {"T": T, "T_0": T_0, "T_d": T_d}, {"e": "E.e"}),
        Device("P", Plant, {"a": a}, {"u": "C.u"}),
        Device("E", Difference, {}, {"x": "P.x"}),
        Device("S", Plant, {"a": 0.5}, {"u": "P.x"}),
    ]
    start = {"P.x": 0.0, "E.e": 1.0, "C.integral": 0.0, "C.u": 0.0, "S.x": 0.0}
    return assemble(devices, start)


def integrating_solution(
    steps: int, T: float = 0.01, T_d: float = 0.0, a: float = 3.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return x and the integral at the samples 0, 1, ... `steps`, just before each is taken."""
    x = integral = u = 0.0
    found = [(x, integral)]
    for _ in range(steps):
        integral += T * (1.0 - x)
        if T_d > 0.0:
            x = u + (x - u) * math.exp(-a * T_d)
        u = integral
        x = u + (x - u) * math.exp(-a * (T - T_d))
        found.append((x, integral))
    return np.array(found).T


def fast_split(system: psmr.System, devices: tuple[str, ...]) -> partitioning.Partition:
    """Return the partition in which the variables and equations of some devices are fast."""
    split = partitioning.by_participation(system.linearise(), delta=1e9)
    fast = {
        f"fast_{kind}": np.array([name.split(".")[0] in devices for name in names])
        for kind, names in zip("xyg", (system.names_x, system.names_y, system.names_g), strict=True)
    }
    return replace(split, **fast)

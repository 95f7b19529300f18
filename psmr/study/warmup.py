"""Compile everything that a first run would compile."""

from __future__ import annotations

import time

import numpy as np
from scipy import sparse

from partitioning import by_hand
from psmr.dae.compile.cache import folder
from psmr.dae.compile.codegen import compile_components
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.linear_system import linear_system
from psmr.grid.models.catalogue import components
from psmr.numerics.run.engine import Scheme
from psmr.numerics.run.integrate import march
from psmr.numerics.schemes.adaptive import ADAPTIVE_METHODS, Adaptive
from psmr.numerics.schemes.arc_length import ArcLength
from psmr.numerics.schemes.scheme import Multirate, SingleRate
from psmr.numerics.schemes.slow_manifold import SlowManifold
from psmr.numerics.schemes.smes import Smes


def warmup() -> str:
    """Compile every component of the library and every integrator, and say where the machine code is kept."""
    began = time.perf_counter()
    library = components()
    compile_components(library)
    linear = _small()
    system = linear_system(linear)
    split = by_hand(linear, fast=["a"])
    schemes: list[Scheme] = [SingleRate(method, h=0.1) for method in ("TM", "RK4", "SDIRK2")]
    schemes += [SlowManifold(split, 0.1), Smes(0.1, 0.01, 2), ArcLength("RK4", 0.1)]
    schemes += [Adaptive(method) for method in ADAPTIVE_METHODS]
    for predictor, interpolation in (("FEM", "linear"), ("TM", "spline")):
        schemes.append(
            Multirate(split, 0.1, 2, predictor=predictor, interpolation=interpolation, corrections=1)
        )
    for scheme in schemes:
        march(system, scheme, 0.5)
    seconds = time.perf_counter() - began
    return f"{len(library)} components and the integrators are compiled in {folder()} ({seconds:.1f} s)"


def _small() -> LinearDae:
    """Return a' = -a + y, b' = -b, 0 = b - y: the smallest system with states and algebraic variables."""
    block = sparse.csc_matrix
    return LinearDae(
        fx=block(np.array([[-1.0, 0.0], [0.0, -1.0]])),
        fy=block(np.array([[1.0], [0.0]])),
        gx=block(np.array([[0.0, 1.0]])),
        gy=block(np.array([[-1.0]])),
        names_x=("a", "b"),
        names_y=("y",),
        names_g=("g",),
        groups=np.arange(3),
    )

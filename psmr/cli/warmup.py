"""Compile everything that a first run would compile; a wheel with compiled code has what this leaves."""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from tqdm import tqdm

from partitioning import Partition, by_hand
from psmr.cli.run_study import run_study
from psmr.dae.compile.cache_files import root
from psmr.dae.compile.codegen import compile_components
from psmr.dae.compile.notice import silent
from psmr.dae.system.assemble import linear_system
from psmr.dae.system.linear import LinearDae
from psmr.devices.catalogue import components
from psmr.files.shipped import case_path
from psmr.integrate.run.integrate import integrate
from psmr.integrate.run.samples import sample_now
from psmr.integrate.schemes.multirate import Multirate
from psmr.integrate.schemes.one_step import SingleRate
from psmr.integrate.schemes.scheme import Scheme
from psmr.integrate.schemes.variable_step import VariableStep
from psmr.integrate.step.sampling import Samplers
from psmr.study.file.read_study import read_study
from psmr.study.file.recipe import scheme_class
from psmr.study.output import FEWEST_COMPILED, csv_lines
from psmr.study.run.simulate import simulate


def warmup() -> str:
    """Compile every component of the library and every integrator, and say where the machine code is kept.

    On a terminal a bar on standard error shows how far it is.
    """
    began = time.perf_counter()
    library = components()
    linear = _small()
    schemes = _schemes(by_hand(linear, fast=["a"]))
    with silent(), tqdm(total=len(library) + len(schemes), file=sys.stderr, disable=None, leave=False) as bar:

        def shown(missing: Sequence[Any]) -> Iterator[Any]:
            bar.update(len(library) - len(missing))
            for kernels in missing:
                bar.set_description(kernels.component.__name__)
                yield kernels
                bar.update()

        compile_components(library, shown)
        system = linear_system(linear)
        system.residual(system.w0)  # as the equilibrium does
        for scheme in schemes:
            bar.set_description(type(scheme).__name__)
            integrate(system, scheme, 0.5)
            bar.update()
        bar.set_description("report")
        _first_run()
    seconds = time.perf_counter() - began
    return f"{len(library)} components and the integrators are compiled in {root()} ({seconds:.1f} s)"


def _schemes(split: Partition) -> list[Scheme]:
    """Return schemes that use every integrator between them."""
    schemes: list[Scheme] = [SingleRate(method, h=0.1) for method in ("TM", "RK4", "SDIRK2")]
    schemes += [VariableStep(), VariableStep(method="BDF")]
    for kind, choices in (
        ("slow-manifold", {"split": split, "h": 0.1}),
        ("smes", {"h": 0.1, "delta": 0.01, "micro": 2}),
        ("arc-length", {"method": "RK4", "h": 0.1}),
        ("adaptive", {"method": "RK54"}),
        ("adaptive", {"method": "Adams"}),
    ):
        schemes.append(scheme_class(kind)(**choices))
    for predictor, interpolation in (("FEM", "linear"), ("TM", "spline")):
        schemes.append(
            Multirate(split, 0.1, 2, predictor=predictor, interpolation=interpolation, corrections=1)
        )
    return schemes


def _first_run() -> None:
    """Do what a first run does beside the integration: look at its points, write its table, draw its page.

    Values between points and a table of many numbers, which compile code of their own, are asked for as well.
    """
    study = read_study(case_path("wscc9/fault-published"))
    with tempfile.TemporaryDirectory() as folder:
        system, run, _ = run_study(study, folder)
        run.write_table(Path(folder) / "signals.csv")
    simulate(system, VariableStep(), 0.1).at(0.05)
    sample_now(Samplers(system), -math.inf, system.w0.copy())
    csv_lines(np.ones((FEWEST_COMPILED, 1)))


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

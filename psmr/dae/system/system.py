"""A system: a semi-explicit index-1 DAE  x' = f(x, y), 0 = g(x, y)  with names and kernels.

All variables stand in one buffer w = (x, y, u, t): states, algebraic variables, held inputs, time. Nothing
after this point knows that the system is a power system.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.errors import InputError, nearest
from psmr.base.modules import function_above
from psmr.dae.compile.kernels import Kernels, Reals, constant_jacobian, jacobian, residual
from psmr.dae.compile.restrict import restrict
from psmr.dae.declare.component import NEAR, Turn, local_rows, local_variables, parameters_of
from psmr.dae.declare.device import Device
from psmr.dae.system.linear import Delay, Delays, LinearDae, LinearSamples, read_only
from psmr.dae.system.places import (
    Group,
    device_rows,
    devices_by_name,
    limit_columns,
    parameter_columns,
    variable_places,
)
from psmr.dae.system.samplers import Sampler, sampled_count, samplers_of

if TYPE_CHECKING:
    from psmr.dae.system.state_space import StateSpace


OFF_SOLUTION = 1e-4
"""Part of max(1, |y|) by which algebraic variables of a point to linearise at may be off.

No tolerance of a run leaves more of them (`least_accurate` of `psmr.integrate.constants`); a load step of
one per cent moves voltages by ten times as much.
"""


def require_solution(system: System, w: Reals, gy: sparse.csc_matrix) -> None:
    """Raise InputError for a buffer w that does not satisfy the algebraic equations."""
    g = system.residual(w)[system.n :]
    if not g.any():
        return
    try:
        off = np.abs(splu(sparse.csc_matrix(gy)).solve(g))
    except RuntimeError:  # singular: the state matrix says so
        return
    off /= np.maximum(1.0, np.abs(w[system.n : system.n + system.m]))
    if (off <= OFF_SOLUTION).all():
        return
    row, column = int(np.argmax(np.abs(g))), int(np.argmax(np.nan_to_num(off, nan=np.inf)))
    raise InputError(
        f"the point does not satisfy the algebraic equations of {system.name or 'the system'}: "
        f"{system.names_g[row]} has the residual {g[row]:.3g}, and {system.names_y[column]} is off by about "
        f"{off[column]:.2g}. After an event of a run the system is another one: take run.linearise(t), "
        "or solve for y"
    )


def _samples_at(system: System, w: Reals) -> LinearSamples:
    found: LinearSamples = function_above("dae.system.linear_samples.samples_at")(system, w)
    return found


@dataclass(frozen=True, eq=False)
class System:
    """A DAE with names and compiled kernels; made by `psmr.dae.system.assemble.assemble` or `psmr.build`.

    Its arrays are read-only; `with_start` and `dataclasses.replace` give another system.

    Attributes
    ----------
    names_x, names_y, names_u, names_g
        Names of the n states, m algebraic variables, k held inputs and m algebraic equations,
        ``"device.variable"``. The first s held inputs are what samples write.
    w0
        (n + m + k + 1,) starting values: states, algebraic variables, held inputs, time.
    groups, parameters
        Devices by component, and a (count, parameters) matrix for each group.
    together
        (n + m,) labels; variables with one label stay on one side of a partition.
    lower, upper
        (n,) non-windup limits that are constant, infinite where there are none.
    lower_at, upper_at
        (n,) positions in w of the limits that move with a variable, -1 for the others; see `limits`.
    devices
        What the system was assembled from.
    name
        Name of the case.
    delays
        What is read with a delay. The values read stand among the held inputs; those of a single point (x, y)
        are those of signals that have always had their values there.
    timers
        What is under way at the start of a run, of a system of another run's instant.
    sampled
        Time in s up to which samples have been taken, of a system of another run's instant.
    """

    names_x: tuple[str, ...]
    names_y: tuple[str, ...]
    names_u: tuple[str, ...]
    names_g: tuple[str, ...]
    w0: Reals
    groups: tuple[Group, ...]
    parameters: tuple[Reals, ...]
    together: NDArray[np.intp]
    lower: Reals
    upper: Reals
    lower_at: NDArray[np.intp]
    upper_at: NDArray[np.intp]
    devices: tuple[Device, ...] = field(repr=False)
    name: str = ""
    delays: tuple[Delay, ...] = ()
    timers: tuple[Turn, ...] = ()
    sampled: float = -np.inf

    def __post_init__(self) -> None:
        for name in ("w0", "together", "lower", "upper", "lower_at", "upper_at"):
            object.__setattr__(self, name, read_only(getattr(self, name)))
        object.__setattr__(self, "parameters", tuple(map(read_only, self.parameters)))

    def __repr__(self) -> str:
        return f"System({self.name!r}, n={self.n}, m={self.m}, k={self.k})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(group.compiled.component.__name__)}</td><td>{len(group.names)}</td>"
            f"<td style='text-align:left'>{escape(', '.join(group.names[:6]))}"
            f"{', ...' if len(group.names) > 6 else ''}</td></tr>"
            for group in self.groups
        )
        sizes = f"{self.n} states, {self.m} algebraic variables, {self.k} held inputs"
        return f"<p><strong>{escape(self.name or 'system')}</strong>: {sizes}</p><table>{rows}</table>"

    @property
    def n(self) -> int:
        """Number of states."""
        return len(self.names_x)

    @property
    def m(self) -> int:
        """Number of algebraic variables."""
        return len(self.names_y)

    @property
    def k(self) -> int:
        """Number of held inputs."""
        return len(self.names_u)

    @property
    def s(self) -> int:
        """Number of sampled variables, the first of the held inputs: samples write them."""
        return sampled_count(self)

    @property
    def samplers(self) -> tuple[Sampler, ...]:
        """What samples, when, and what a run needs for it; see `psmr.dae.system.samplers.Sampler`."""
        return self._samplers

    @functools.cached_property
    def _samplers(self) -> tuple[Sampler, ...]:
        return samplers_of(self)

    @property
    def x0(self) -> Reals:
        """(n,) states at the start."""
        return self.w0[: self.n].copy()

    @property
    def y0(self) -> Reals:
        """(m,) algebraic variables at the start."""
        return self.w0[self.n : self.n + self.m].copy()

    @property
    def u0(self) -> Reals:
        """(k,) held inputs at the start."""
        return self.w0[self.n + self.m : -1].copy()

    @functools.cached_property
    def _kernels(self) -> Kernels:
        return self.kernels()

    def __getstate__(self) -> dict[str, Any]:
        # What is derived is made anew: the table of the kernels holds addresses and pointers of this process.
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def index(self, name: str) -> int:
        """Return the position in w of a variable or held input.

        Raises
        ------
        InputError
            For a name that is not there, with the nearest known one.
        """
        places = variable_places(self)
        if name not in places:
            raise InputError(f"{self.name or 'the system'} has no variable {name!r}{nearest(name, places)}")
        return places[name]

    def parameter_place(self, device: str, parameter: str) -> tuple[int, int, int]:
        """Return (group, row, column) of a device's parameter in `parameters`.

        Raises
        ------
        InputError
            For a device or parameter that is not there, with the nearest known one.
        """
        rows = device_rows(self)
        if device in rows:
            g, row = rows[device]
            known = parameter_columns(self.groups[g].compiled.component)
            if parameter not in known:
                raise InputError(f"{device} has no parameter {parameter!r}{nearest(parameter, known)}")
            return g, row, known[parameter]
        raise InputError(f"{self.name or 'the system'} has no device {device!r}{nearest(device, rows)}")

    def parameter(self, device: str, parameter: str) -> float:
        """Return the value of a device's parameter."""
        group, row, column = self.parameter_place(device, parameter)
        return float(self.parameters[group][row, column])

    def parameters_at(self, device: str, parameters: Sequence[Reals] | None = None) -> dict[str, float]:
        """Return all parameters of a device by name, from other parameter matrices where given."""
        group, row = device_rows(self)[device]
        names = parameters_of(self.groups[group].compiled.component)
        return dict(zip(names, (parameters or self.parameters)[group][row].tolist(), strict=True))

    def device(self, name: str) -> Device:
        """Return a device as it was declared."""
        return devices_by_name(self)[name]

    def buffer(
        self,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
        u: ArrayLike | None = None,
        t: float = 0.0,
    ) -> Reals:
        """Return a buffer w with the given parts, those of the start where they are left out.

        What is read with a delay is what is there now: the signals are taken as constant.
        """
        w = self.w0.copy()
        parts = ((x, 0, self.n, "x"), (y, self.n, self.m, "y"), (u, self.n + self.m, self.k, "u"))
        for part, first, count, name in parts:
            if part is not None:
                values = np.asarray(part, dtype=float)
                if values.shape != (count,):
                    raise InputError(f"{name} has shape {values.shape}, needed is ({count},)")
                w[first : first + count] = values
        w[-1] = t
        return self.with_constant_signals(w)

    def with_constant_signals(self, w: Reals) -> Reals:
        """Return a buffer in which what is read with a delay has the value that its signal has there."""
        if not self.delays:
            return w
        w = w.copy()
        w[[delay.input for delay in self.delays]] = w[[delay.source for delay in self.delays]]
        return w

    @property
    def limited(self) -> NDArray[np.bool_]:
        """(n,) whether a state has a non-windup limit."""
        return np.asarray(np.isfinite(self.lower) | np.isfinite(self.upper) | self.limits_move)

    @property
    def limits_move(self) -> NDArray[np.bool_]:
        """(n,) whether a limit of the state moves with a variable."""
        return np.asarray((self.lower_at >= 0) | (self.upper_at >= 0))

    def constant_limits(self, parameters: Sequence[Reals]) -> tuple[Reals, Reals]:
        """Return the (n,) lower and upper non-windup limits that do not move, for the given parameters."""
        both = self.lower.copy(), self.upper.copy()
        for side, group, column, places in limit_columns(self):
            both[side][places] = parameters[group][:, column]
        return both

    def limits(self, w: Reals, constant: tuple[Reals, Reals] | None = None) -> tuple[Reals, Reals]:
        """Return the (n,) lower and upper non-windup limits at a buffer w.

        Parameters
        ----------
        w
            Values of the variables that limits move with.
        constant
            Those that do not move; `lower` and `upper` where left out.
        """
        lower, upper = constant or (self.lower, self.upper)
        return (
            np.where(self.lower_at >= 0, w[self.lower_at], lower),
            np.where(self.upper_at >= 0, w[self.upper_at], upper),
        )

    def residual(self, w: Reals) -> Reals:
        """Return (n + m,) raw derivatives (limits not applied) and algebraic residuals at a buffer w."""
        out = np.empty(self.n + self.m + 1)
        residual(self._kernels.table, np.array(w, dtype=float), out)
        return out[:-1]

    def f(self, x: ArrayLike, y: ArrayLike, u: ArrayLike | None = None, t: float = 0.0) -> Reals:
        """Return (n,) derivatives, the variable's unit per second; 0 where a constant limit holds the state.

        At a limit that moves the raw derivative is returned: how fast the limit moves is not in x and y.
        """
        w = self.buffer(x, y, u, t)
        raw = self.residual(w)[: self.n]
        return np.where(self._held(w, raw, (self.lower, self.upper)), 0.0, raw)

    def g(self, x: ArrayLike, y: ArrayLike, u: ArrayLike | None = None, t: float = 0.0) -> Reals:
        """Return (m,) residuals of the algebraic equations."""
        return self.residual(self.buffer(x, y, u, t))[self.n :]

    def _held(
        self, w: Reals, raw: Reals, limits: tuple[Reals, Reals], push: float = 0.0
    ) -> NDArray[np.bool_]:
        x, (lower, upper) = w[: self.n], limits
        return np.asarray(((x >= upper) & (raw > push)) | ((x <= lower) & (raw < -push)))

    def kernels(self, parameters: Sequence[Reals] | None = None) -> Kernels:
        """Return the compiled face of the whole system, with other parameter matrices where given."""
        everything = np.arange(self.n + self.m)
        return restrict(self, parameters, everything, everything)

    def jacobian(self, w: Reals) -> sparse.csc_matrix:
        """Return the (n + m, n + m) Jacobian of `f` and `g` with respect to x and y at a buffer w.

        A state at a constant limit is held (its row is zero) where its derivative points outward by more
        than `NEAR`. At rest at a limit the derivative is zero up to rounding, and the Jacobian is that of the
        inside. A state between two equal limits is held. What is read with a delay counts as read at once,
        as at a point of rest.
        """
        matrix, delays = self._jacobian_at_once(w), self._delays_at(w)
        return matrix if delays is None else sparse.csc_matrix(matrix + delays.b @ delays.c)

    def _delays_at(self, w: Reals) -> Delays | None:
        """Return the terms of what is read with a delay at a buffer w; None where nothing is."""
        return function_above("dae.system.complex_step.delays_at")(self, w) if self.delays else None

    def _jacobian_at_once(self, w: Reals) -> sparse.csc_matrix:
        """Return the Jacobian with what is read with a delay held."""
        kernels = self._kernels
        w = np.array(w, dtype=float)
        constant, values = np.empty(kernels.nnz + 1), np.empty(kernels.nnz + 1)
        constant_jacobian(kernels.table, w, constant)
        jacobian(kernels.table, constant, w, values)
        size = self.n + self.m
        matrix = sparse.csc_matrix((values[:-1], kernels.indices, kernels.indptr), shape=(size, size))
        matrix.data[self.held_at_limits(w)[matrix.indices]] = 0.0
        return matrix

    def held_at_limits(self, w: Reals) -> NDArray[np.bool_]:
        """Return (n + m,) whether the row is that of a state that a constant limit holds at a buffer w."""
        held = np.zeros(self.n + self.m, dtype=bool)
        raw = self.residual(w)[: self.n]
        held[: self.n] = self._held(w, raw, (self.lower, self.upper), NEAR)
        held[: self.n] |= self.lower >= self.upper
        return held

    def limited_by(self, place: tuple[int, int, int]) -> NDArray[np.intp]:
        """Return the states of which a parameter, by group, row and column, is a non-windup limit."""
        group, row, column = place
        found = [places[row] for _, g, c, places in limit_columns(self) if (g, c) == (group, column)]
        return np.array(found, dtype=np.intp)

    def state_space(self, inputs: str | Iterable[str], outputs: str | Iterable[str]) -> StateSpace:
        """Return the system, linearised at its starting point, as matrices between inputs and outputs.

        Parameters
        ----------
        inputs
            Names or patterns: held inputs (``"AVR1.v_ref"``), currents and powers into a bus (``"bus5.i_d"``,
            ``"bus5.p"``), parameters that are no whole numbers (``"load5.p"``); see docs/matrices.md.
        outputs
            Names or patterns of signals: variables and all that is computed from them, as of a run.

        Raises
        ------
        InputError
            For an input or output that does not exist, with the nearest one; see `linearise` as well.
        """
        made: StateSpace = function_above("network.signals.state_space.state_space")(self, inputs, outputs)
        return made

    def linearise(self, x: ArrayLike | None = None, y: ArrayLike | None = None) -> LinearDae:
        r"""Return the DAE linearised at (x, y), by default at the starting point, with its inputs and time.

        It is that of the parameters of this system, whatever a run did to them: `psmr.Run.linearise` has the
        system as it stands at a time of a run. What samples write is held fixed (`LinearDae.held`): the
        certificate of a run has what sampling does to each mode.

        Raises
        ------
        InputError
            For an x or y that is given and does not satisfy the algebraic equations: y is off by more than
            `OFF_SOLUTION` times max(1, \|y\|), judged by a step of Newton's method. Where a limit that moves
            holds a state: there the state is no differential variable.
        """
        w, n = self.buffer(x, y, t=float(self.w0[-1])), self.n
        raw, constant = self.residual(w)[:n], (self.lower, self.upper)
        for i in np.flatnonzero(self._held(w, raw, self.limits(w), NEAR) & ~self._held(w, raw, constant)):
            raise InputError(
                f"{self.names_x[i]} = {w[i]:g} is held at a limit that moves, no state of its own there; "
                "linearise at a point within the limit"
            )
        if x is not None or y is not None:
            require_solution(self, w, self.jacobian(w)[n:, n:])
        matrix = self._jacobian_at_once(w)
        return LinearDae(
            fx=sparse.csc_matrix(matrix[:n, :n]),
            fy=sparse.csc_matrix(matrix[:n, n:]),
            gx=sparse.csc_matrix(matrix[n:, :n]),
            gy=sparse.csc_matrix(matrix[n:, n:]),
            names_x=self.names_x,
            names_y=self.names_y,
            names_g=self.names_g,
            groups=self.together,
            delays=self._delays_at(w),
            held=self.names_u[: self.s],
            linearised_samples=functools.partial(_samples_at, self, w) if self.s else None,
        )

    def with_start(
        self, x: ArrayLike | None = None, y: ArrayLike | None = None, u: ArrayLike | None = None
    ) -> System:
        """Return the same system with other starting values, at the same time."""
        return replace(self, w0=self.buffer(x, y, u, float(self.w0[-1])))

    def with_values(self, values: Iterable[tuple[str, str, float]]) -> System:
        """Return the system with other values, (device, parameter or held input, value) each, in order.

        Raises
        ------
        InputError
            For a device, parameter or held input that is not there, and a value that is no number.
        """
        parameters, w0 = list(self.parameters), self.w0.copy()
        places = variable_places(self)
        for device, name, value in values:
            if np.isnan(value):
                raise InputError(f"{device}.{name} = nan: must be a number")
            place = places.get(f"{device}.{name}", -1)
            if place >= self.n + self.m:
                w0[place] = value
            else:
                group, row, column = self.parameter_place(device, name)
                if parameters[group] is self.parameters[group]:
                    parameters[group] = parameters[group].copy()
                parameters[group][row, column] = value
        return replace(self, parameters=tuple(parameters), w0=w0)


def first_invalid_table(system: System) -> str:
    """Return the name of the first table of a system that does not fit the others, "" where all do.

    Compiled code indexes with these tables without checking ranges.
    """
    return next((name for name, valid in _checks(system) if not valid), "")


def _checks(system: System) -> Iterator[tuple[str, bool]]:
    n, m, size = system.n, system.m, system.n + system.m + system.k + 1
    yield "w0", _has(system.w0, "f8", (size,))
    yield "names_g", len(system.names_g) == m
    yield "together", _has(system.together, "i8", (n + m,))
    for name in ("lower", "upper"):
        yield name, _has(getattr(system, name), "f8", (n,))
    for name in ("lower_at", "upper_at"):
        table = getattr(system, name)
        yield name, _has(table, "i8", (n,)) and _within(table, -1, size)
    yield "parameters", len(system.parameters) == len(system.groups)
    for group, matrix in zip(system.groups, system.parameters, strict=True):
        component, count = group.compiled.component, len(group.names)
        yield "parameters", _has(matrix, "f8", (count, len(tuple(parameters_of(component)))))
        yield "index", _has(group.index, "u4", (count, len(local_variables(component))))
        yield "index", _within(group.index, 0, size)
        yield "row", _has(group.row, "u4", (count, len(local_rows(component))))
        yield "row", _within(group.row, 0, n + m)


def _has(table: Any, dtype: str, shape: tuple[int, ...]) -> bool:
    return isinstance(table, np.ndarray) and table.dtype == np.dtype(dtype) and table.shape == shape


def _within(table: np.ndarray, least: int, below: int) -> bool:
    return not table.size or bool(table.min() >= least and table.max() < below)

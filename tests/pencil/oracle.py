"""The schemes once more, as plain dense steps on one vector, written from their description only.

Also random index-1 DAEs to try them on.
"""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp

from partitioning import Partition
from psmr import Multirate, SingleRate
from tests.internals import LinearDae


def random_dae(seed: int, n: int = 6, m: int = 5, stiff: float = 40.0) -> LinearDae:
    """A stable index-1 DAE with oscillations and, in its first third, states of about -stiff 1/s.

    Its algebraic equation j determines variable j + 1, so that a mix-up of rows and variables shows.
    """
    rng = np.random.default_rng(seed)
    target = np.zeros((n, n))
    fast = n // 3
    target[:fast, :fast] = np.diag(-stiff * (1.0 + 0.3 * np.arange(fast)))
    for k in range(fast, n - 1, 2):
        target[k : k + 2, k : k + 2] = [[-0.3 - 0.1 * k, 1.5 * k], [-1.5 * k, -0.3 - 0.1 * k]]
    if (n - fast) % 2:
        target[-1, -1] = -0.7
    target += 0.15 * rng.standard_normal((n, n))
    fy, gx = rng.standard_normal((n, m)), rng.standard_normal((m, n))
    gy = -4.0 * np.eye(m) + 0.4 * rng.standard_normal((m, m))
    fx = target + fy @ np.linalg.solve(gy, gx) if m else target
    return linear_dae(fx, fy, np.roll(gx, -1, axis=0), np.roll(gy, -1, axis=0))


def linear_dae(fx: np.ndarray, fy: np.ndarray, gx: np.ndarray, gy: np.ndarray) -> LinearDae:
    n, m = len(fx), len(gy)
    return LinearDae(
        *(sp.csc_matrix(block) for block in (fx, fy, gx, gy)),
        names_x=tuple(f"x{i}" for i in range(n)),
        names_y=tuple(f"y{i}" for i in range(m)),
        names_g=tuple(f"g{i}" for i in range(m)),
        groups=np.arange(n + m),
    )


def ode(matrix: np.ndarray) -> LinearDae:
    n = len(matrix)
    return linear_dae(np.asarray(matrix, float), np.zeros((n, 0)), np.zeros((0, n)), np.zeros((0, 0)))


def partition(linear: LinearDae, fast_x: list[int], fast_y: list[int]) -> Partition:
    """A partition of a `random_dae`."""

    def flags(size: int, chosen: list[int]) -> np.ndarray:
        return np.isin(np.arange(size), chosen)

    names = (linear.names_x, linear.names_y, linear.names_g)
    fast_g = [(j - 1) % linear.m for j in fast_y]
    sides = flags(linear.n, fast_x), flags(linear.m, fast_y), flags(linear.m, fast_g)
    return Partition(*sides, None, "manual", *names)


class Oracle:
    """One step of a scheme on a state vector."""

    def __init__(self, linear: LinearDae, scheme: SingleRate | Multirate):
        self.n, self.size, self.scheme = linear.n, linear.n + linear.m, scheme
        self.fx, self.fy, self.gx, self.gy = (
            b.toarray() for b in (linear.fx, linear.fy, linear.gx, linear.gy)
        )

    def operator(self) -> np.ndarray:
        if isinstance(self.scheme, SingleRate):
            return np.column_stack([self.single(w) for w in np.eye(self.size)])
        self.sides()
        if self.scheme.interpolation == "linear":
            return np.column_stack([self.multi(w, None, None) for w in np.eye(self.size)])
        kept = np.arange(self.size) if self.scheme.interface == "schur" else self.sigma
        columns = []
        for w in np.eye(self.size + 2 * len(kept)):
            now, *parts = np.split(w, [self.size, self.size + len(kept)])
            older, oldest = np.zeros((2, self.size))
            older[kept], oldest[kept] = parts
            columns.append(np.concatenate([self.multi(now, older, oldest), now[kept], older[kept]]))
        return np.column_stack(columns)

    def f(self, w: np.ndarray) -> np.ndarray:
        return self.fx @ w[: self.n] + self.fy @ w[self.n :]

    def y_of(self, x: np.ndarray) -> np.ndarray:
        return np.linalg.solve(self.gy, -self.gx @ x)

    def theta(self, w: np.ndarray, h: float, old: float, new: float, start: np.ndarray) -> np.ndarray:
        """x = x_start + h (old f(w) + new f(x, y)) with g = 0, in the state space."""
        reduced = self.fx - self.fy @ np.linalg.solve(self.gy, self.gx)
        x = np.linalg.solve(np.eye(self.n) - h * new * reduced, start[: self.n] + h * old * self.f(w))
        return np.concatenate([x, self.y_of(x)])

    def single(self, w: np.ndarray) -> np.ndarray:
        h, method = self.scheme.h, self.scheme.method
        if method == "FEM":
            return self.theta(w, h, 1.0, 0.0, w)
        if method == "TM":
            return self.theta(w, h, 0.5, 0.5, w)
        if method == "BEM":
            return self.theta(w, h, 0.0, 1.0, w)
        if method == "SDIRK2":
            gamma = 1.0 - np.sqrt(0.5)
            first = self.theta(w, h, 0.0, gamma, w)
            return self.theta(first, h, 1.0 - gamma, gamma, w)

        def point(x: np.ndarray) -> np.ndarray:
            return np.concatenate([x, self.y_of(x)])

        x = w[: self.n]
        k1 = self.f(w)
        k2 = self.f(point(x + h / 2 * k1))
        k3 = self.f(point(x + h / 2 * k2))
        k4 = self.f(point(x + h * k3))
        return point(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))

    def sides(self) -> None:
        split = self.scheme.split
        fast_row, fast_variable = np.r_[split.fast_x, split.fast_g], np.r_[split.fast_x, split.fast_y]
        self.phi_rows, self.sigma_rows = np.flatnonzero(fast_row), np.flatnonzero(~fast_row)
        self.phi, self.sigma = np.flatnonzero(fast_variable), np.flatnonzero(~fast_variable)

    def subset(
        self, rows: np.ndarray, unknown: np.ndarray, w: np.ndarray, given: np.ndarray, old: float, new: float
    ) -> np.ndarray:
        """Solve rows of (x - x_w - old f(w) - new f = 0, g = 0) for some variables, the others as given."""

        def residual(v: np.ndarray) -> np.ndarray:
            states = v[: self.n] - w[: self.n] - old * self.f(w) - new * self.f(v)
            return np.concatenate([states, self.gx @ v[: self.n] + self.gy @ v[self.n :]])[rows]

        v = given.copy()
        v[unknown] = 0.0
        columns = []
        for j in unknown:
            moved = v.copy()
            moved[j] = 1.0
            columns.append(residual(moved) - residual(v))
        if len(unknown):
            v[unknown] = np.linalg.solve(np.column_stack(columns), -residual(v))
        return v

    def multi(self, w: np.ndarray, older: np.ndarray | None, oldest: np.ndarray | None) -> np.ndarray:
        """One macro step; `older` and `oldest` are points as `operator` remembers them."""
        scheme, weights = self.scheme, {"FEM": (1.0, 0.0), "TM": (0.5, 0.5), "BEM": (0.0, 1.0)}
        hs, hf = scheme.h_slow, scheme.h_slow / scheme.ratio
        a, a_star = (hs * x for x in weights[scheme.predictor])
        b, b_star = (hf * x for x in weights[scheme.solution])
        everything = np.arange(self.size)
        if scheme.predict == "all":
            predicted = self.subset(everything, everything, w, w, a, a_star)
        else:
            predicted = self.subset(self.sigma_rows, self.sigma, w, w, a, a_star)
        passes = 200 if scheme.corrections == "converge" else scheme.corrections + 1
        for _ in range(passes):
            points = [w]
            for i in range(1, scheme.ratio + 1):
                between = self.between(i / scheme.ratio, w, predicted, older, oldest)
                point = points[-1]
                given = point.copy()
                given[self.sigma] = between[self.sigma]
                points.append(self.fast(point, given, between, b, b_star))
            new = self.slow(w, points, weights[scheme.solution])
            before = predicted.copy()
            predicted[self.sigma] = new[self.sigma]
            change = np.abs((predicted - before)[self.sigma]).max(initial=0.0)
            if scheme.corrections == "converge" and change < 1e-15:
                break
        return new

    def fast(
        self, point: np.ndarray, given: np.ndarray, between: np.ndarray, b: float, b_star: float
    ) -> np.ndarray:
        """A fast step; with the Schur interface slow y follow what is beside the interpolated point."""
        answers = np.zeros((self.size, self.size))
        if self.scheme.interface == "schur":
            y = self.sigma[self.sigma >= self.n]
            g = self.sigma_rows[self.sigma_rows >= self.n] - self.n
            jacobian = np.hstack([self.gx, self.gy])[g]
            answers[np.ix_(y, self.phi)] = -np.linalg.solve(jacobian[:, y], jacobian[:, self.phi])

        def whole(v: np.ndarray) -> np.ndarray:
            return v + answers @ (v - between)

        def residual(v: np.ndarray) -> np.ndarray:
            v = whole(v)
            states = v[: self.n] - point[: self.n] - b * self.f(point) - b_star * self.f(v)
            return np.concatenate([states, self.gx @ v[: self.n] + self.gy @ v[self.n :]])[self.phi_rows]

        v = given.copy()
        start, identity = residual(v), np.eye(self.size)
        columns = [residual(v + identity[j]) - start for j in self.phi]
        if columns:
            v[self.phi] -= np.linalg.solve(np.column_stack(columns), start)
        return whole(v)

    def slow(self, w: np.ndarray, points: list[np.ndarray], rule: tuple[float, float]) -> np.ndarray:
        """The slow step, with the last of the fast points or with their mean."""
        c, c_star = rule
        hs, last = self.scheme.h_slow, points[-1]
        if self.scheme.coupling == "end":
            return self.subset(self.sigma_rows, self.sigma, w, last, hs * c, hs * c_star)
        ends = list(itertools.pairwise(points))
        mean = sum(c * before + c_star * after for before, after in ends) / len(ends)
        leg = self.subset(self.sigma_rows, self.sigma, w, mean, 0.0, hs * c_star)
        carried = last.copy()
        carried[self.sigma] = (leg + (c_star - 1.0) * w)[self.sigma] / c_star
        rows, unknown = (places[places >= self.n] for places in (self.sigma_rows, self.sigma))
        return self.subset(rows, unknown, carried, carried, 0.0, 0.0)

    @staticmethod
    def between(theta: float, now, new, older, oldest) -> np.ndarray:
        if older is None:
            return now + theta * (new - now)
        nodes, values = (-2.0, -1.0, 0.0, 1.0), np.array([oldest, older, now, new])
        coefficients = np.linalg.solve(np.vander(nodes, 4), values)  # the cubic through the four points
        return np.array([theta**3, theta**2, theta, 1.0]) @ coefficients

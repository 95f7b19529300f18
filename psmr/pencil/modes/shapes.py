"""Mode shapes and participation of chosen modes at any size, and the modes that a ringdown shows."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError, nearest
from psmr.base.modules import draw
from psmr.dae.system.characteristic_roots import collocated, roots_from
from psmr.dae.system.linear import LinearDae
from psmr.pencil.modes.search import ModeChoice, ShiftInvert, find

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# The shift beside the eigenvalue, relative to it, and how often the inverse is applied there: each time what
# belongs to a mode at the relative distance d falls by 1e-9 / d.
BESIDE, TIMES = 1e-9, 3

# A rotor's speed moves with its angle, in the same proportions: of both the speed is shown.
SHOWN_FOR: Mapping[str, str] = {"delta": "omega"}


@dataclass(frozen=True, eq=False)
class ModeShape:
    """A mode with its right eigenvector and participation factors.

    Attributes
    ----------
    s
        Eigenvalue in 1/s and rad/s.
    names
        Names of the n states.
    vector
        (n,) right eigenvector, of length 1.
    share
        (n,) participation factors, which add up to 1 (Perez-Arriaga, Verghese and Schweppe, 1982).
    """

    s: complex
    names: tuple[str, ...]
    vector: NDArray[np.complexfloating]
    share: NDArray[np.float64]

    @property
    def frequency_hz(self) -> float:
        """Frequency in Hz."""
        return self.s.imag / (2 * np.pi)

    @property
    def damping_ratio(self) -> float:
        """Damping ratio, a fraction."""
        return -self.s.real / abs(self.s)

    def leading(self, most: int | None = None) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """Return the states of largest participation, at `most` so many, and their factors."""
        order = np.argsort(-self.share, kind="stable")[:most]
        return tuple(self.names[k] for k in order), self.share[order]

    @functools.cached_property
    def participation(self) -> pd.Series:
        """Participation factors by state, the largest first."""
        import pandas as pd  # slow to import, for tables alone

        names, share = self.leading()
        return pd.Series(share, index=list(names), name=self.title)

    @property
    def quantity(self) -> str:
        """The quantity whose phasors say most: that of the state of largest participation."""
        kind = self.leading(1)[0][0].rpartition(".")[2]
        shown = SHOWN_FOR.get(kind, kind)
        return shown if any(name.endswith(f".{shown}") for name in self.names) else kind

    def phasors(self, quantity: str | None = None) -> pd.Series:
        """Return the complex part of every device in the mode, the largest first and equal to 1.

        Parameters
        ----------
        quantity
            Of which state, ``"omega"``; None: `quantity`, for a swing the speeds.

        Raises
        ------
        InputError
            For a quantity that no state is.
        """
        import pandas as pd  # slow to import, for tables alone

        devices, parts = self.parts(quantity)
        return pd.Series(parts, index=list(devices), name=self.quantity if quantity is None else quantity)

    def parts(self, quantity: str | None = None) -> tuple[tuple[str, ...], NDArray[np.complexfloating]]:
        """Return the devices and values of `phasors`."""
        wanted = self.quantity if quantity is None else quantity
        rows = [i for i, name in enumerate(self.names) if name.rpartition(".")[2] == wanted]
        if not rows:
            known = sorted({name.rpartition(".")[2] for name in self.names})
            raise InputError(
                f"quantity = {wanted!r}: no state is called so{nearest(wanted, known)}; there are "
                f"{', '.join(known)}"
            )
        parts = self.vector[rows]
        order = np.argsort(-np.abs(parts), kind="stable")
        devices = tuple(self.names[rows[k]].rpartition(".")[0] for k in order)
        return devices, parts[order] / parts[order[0]]

    @property
    def title(self) -> str:
        """The mode in words: frequency and damping ratio."""
        return f"{self.frequency_hz:.3g} Hz, damping ratio {100 * self.damping_ratio:.3g} %"

    def plot(self, ax: Axes | None = None, quantity: str | None = None) -> Figure:
        """Return the compass of phasors; see `psmr.figures.modes.figures.compass`."""
        shown = self.quantity if quantity is None else quantity
        figure: Figure = draw("modes.figures.compass", self.title, shown, self.parts(quantity), ax)
        return figure

    def plot_participation(self, ax: Axes | None = None, most: int = 8) -> Figure:
        """Return a bar for each state; see `psmr.figures.modes.figures.participation_bars`."""
        figure: Figure = draw("modes.figures.participation_bars", self.leading(most), ax)
        return figure

    def __repr__(self) -> str:
        return f"ModeShape({self.s:.6g}: {self.title})"

    def _repr_html_(self) -> str:
        import pandas as pd

        phasors = self.phasors().head(10)
        table = pd.DataFrame(
            {"size": phasors.abs(), "angle [deg]": np.degrees(np.angle(phasors))}, index=phasors.index
        )
        head = f"<p><strong>{self.title}</strong>, phasors of {self.quantity}</p>"
        return head + str(table.to_html(float_format="{:.3g}".format))


def mode_shapes(
    linear: LinearDae, modes: ModeChoice | Mapping[str, Any] | int | Iterable[complex] = 3
) -> tuple[ModeShape, ...]:
    """Return the shapes of chosen modes, at any size.

    Parameters
    ----------
    linear
        The linearised system.
    modes
        A number of least damped oscillations from 0.1 to 3 Hz, values in 1/s near which a mode is, or a
        `ModeChoice`.

    Raises
    ------
    InputError
        For a choice without modes, with delays also one of which the collocation alone has any.
    SingularError
        When gy is singular.
    """
    check_arguments(mode_shapes, locals())
    found = _chosen(linear, ModeChoice.of(modes))
    return shapes_at(linear, found[np.argsort(-found.real / np.abs(found), kind="stable")])


def _chosen(linear: LinearDae, choice: ModeChoice) -> NDArray[np.complex128]:
    """Return the chosen modes in 1/s; with delays the roots that those of the collocated waves lead to."""
    if linear.delays is None:
        return np.asarray(find(ShiftInvert(linear), choice).s)
    waves = collocated(linear)
    found = find(ShiftInvert(waves), choice)
    own = np.r_[: linear.n, waves.n : waves.n + waves.m]
    roots = roots_from(linear, found.s, found.vectors[own])
    if not len(roots):
        raise InputError(f"{choice}: no root of the characteristic equation is there; ask for others")
    return roots


def shapes_at(linear: LinearDae, values: Iterable[complex]) -> tuple[ModeShape, ...]:
    """Return the shapes of eigenvalues that are known, by inverse iteration on the sparse pencil.

    Raises SingularError when gy is singular.
    """
    pencil, n = ShiftInvert(linear.without_delays()), linear.n
    found = []
    for s in map(complex, values):
        if linear.delays is not None:  # what is late for e^{s t}: s is an eigenvalue with that Jacobian
            pencil.J = sp.csc_array(linear.jacobian_at_once() + linear.delays.at(s))
        factors = pencil.factorised(s * (1 + BESIDE))
        vectors = []
        for side in ("N", "T"):
            # The same start for the same system, so that a figure is the same again.
            x = np.random.default_rng(n).standard_normal(n) + 0j
            for _ in range(TIMES):
                full = factors.solve(np.concatenate([x, np.zeros(linear.m)]), side)
                x = full[:n] / np.linalg.norm(full[:n])
            vectors.append(x)
        right, left = vectors
        share = np.abs(left * right)
        found.append(ModeShape(s, tuple(linear.names_x), right, share / share.sum()))
    return tuple(found)


def participation(
    linear: LinearDae,
    modes: ModeChoice | Mapping[str, Any] | int | Iterable[complex],
    least: float = 0.01,
) -> pd.DataFrame:
    """Return the participation factors of chosen modes, without the state matrix.

    Parameters
    ----------
    linear
        The linearised system.
    modes
        A `psmr.ModeChoice`, its fields as a dictionary, a number (so many least damped) or a sequence of
        values in 1/s (the mode nearest to each).
    least
        Smallest share that is listed.

    Returns
    -------
    DataFrame
        A row per mode and state, modes by descending real part, states by descending share: ``mode``
        (number), ``real`` (1/s), ``imag`` (rad/s), ``frequency_hz``, ``damping_ratio``, ``state``,
        ``participation`` (|l_k r_k| over its sum over all states); ``residual`` and ``left_residual`` of the
        two eigenvectors, relative to the terms of J w = s E w; ``condition``, the factor by which a change of
        the state matrix moves the mode.

    Raises
    ------
    InputError
        For a mode that does not exist, or a band without modes.
    SingularError
        For a singular gy.

    Notes
    -----
    Perez-Arriaga, Verghese and Schweppe, IEEE Trans. Power App. Syst. 101, 1982. Right and left eigenvectors
    come from inverse iteration with one sparse factorisation of J - s E beside the mode.
    """
    check_arguments(participation, locals())
    import pandas as pd

    if not 0 <= least <= 1:
        raise InputError(f"least = {least!r}: must be a share between 0 and 1")
    pencil, n = ShiftInvert(linear), linear.n
    found = find(pencil, ModeChoice.of(modes))
    pairs = []
    for value, vector in zip(found.s, found.vectors.T, strict=True):
        s, right, lu, _ = pencil.polished(value, vector)
        left = pencil.left(lu)
        pairs.append((s, right, left))
    rows: list[dict[str, Any]] = []
    for number, (s, right, left) in enumerate(sorted(pairs, key=lambda pair: (-pair[0].real, -pair[0].imag))):
        products = left[:n].conj() * right[:n]
        share = np.abs(products) / np.abs(products).sum()
        lengths = np.linalg.norm(left[:n]) * np.linalg.norm(right[:n])
        beside = {
            "residual": pencil.residual(s, right),
            "left_residual": pencil.left_residual(s, left),
            "condition": float(lengths / abs(products.sum())),
        }
        mode = {
            "mode": number,
            "real": s.real,
            "imag": s.imag,
            "frequency_hz": abs(s.imag) / (2 * np.pi),
            "damping_ratio": -s.real / abs(s) if s != 0 else np.nan,
        }
        order = np.argsort(-share, kind="stable")
        listed = [int(k) for k in order if share[k] >= least] or [int(order[0])]
        rows += [
            {**mode, "state": linear.names_x[k], "participation": float(share[k]), **beside} for k in listed
        ]
    return pd.DataFrame(rows)


# Singular values below this share of the largest belong to what a kick of 1e-3 leaves of second and third
# order.
_RANK = 1e-8

# The singular values of a Hankel matrix of K points cost K^3: 8000 points take half a minute, 1000 a tenth of
# a second, and show a mode as well.
_MOST_POINTS = 1000


def fit_mode(t: np.ndarray, signal: np.ndarray, near: complex, order: int | None = None) -> complex:
    """Fit a sum of damped oscillations to a signal and return the one nearest to a mode.

    Parameters
    ----------
    t
        (K,) equally spaced times in s, K >= 8. Of more than 1000 points evenly spaced ones are used.
    signal
        (K,) the signal, for instance the speed difference of two machines after a small kick.
    near
        The mode to look for, in 1/s; the frequency is unwrapped towards it.
    order
        Number of exponentials. Default: the singular values of the signal's Hankel matrix above 1e-8 of the
        largest.

    Returns
    -------
    complex
        The fitted mode in 1/s.

    Raises
    ------
    InputError
        For times that are not equally spaced, too few points, a signal that is not finite or zero throughout.

    Notes
    -----
    Matrix pencil method: Hua and Sarkar, IEEE Trans. Acoustics, Speech and Signal Processing 38 (1990). With
    the Hankel matrix H of the signal = U S V^H, truncated to its rank, the rows of V that belong to the
    samples k and k + 1 differ by the multipliers z = exp(s h).
    """
    check_arguments(fit_mode, locals())
    if order is not None and order < 1:
        raise InputError(f"order = {order}: must be a whole number >= 1 of exponentials")
    t, signal = np.asarray(t, dtype=float), np.asarray(signal)
    if t.ndim != 1 or signal.shape != t.shape or len(t) < 8:
        raise InputError(f"t {t.shape} and signal {signal.shape}: both must be of one length >= 8")
    steps = np.diff(t)
    step = (t[-1] - t[0]) / (len(t) - 1)
    # Times are sums of steps: they carry the rounding of t itself.
    if step <= 0 or np.abs(steps - step).max() > 1e-6 * step:
        raise InputError(
            f"t is not equally spaced: steps from {steps.min():g} to {steps.max():g} s; "
            "cut out a stretch that is"
        )
    if not np.isfinite(signal).all() or not signal.any():
        raise InputError(
            "the signal has values that are not finite, or is 0 throughout: there is nothing to fit"
        )
    stride = -(-len(t) // _MOST_POINTS)
    s = exponentials(signal[::stride], stride * step, order)
    turn = 2.0 * np.pi / (stride * step)
    s = s + 1j * turn * np.round((near.imag - s.imag) / turn)
    return complex(s[np.abs(s - near).argmin()])


def exponentials(signal: np.ndarray, step: float, order: int | None = None) -> np.ndarray:
    """Return the s, in 1/s, of the e^{s t} that a signal with points a step in s apart is a sum of.

    See `fit_mode`.
    """
    window = len(signal) // 2
    hankel = np.lib.stride_tricks.sliding_window_view(signal, window + 1)
    _, size, right = np.linalg.svd(hankel, full_matrices=False)
    rank = order if order is not None else int(np.count_nonzero(size > _RANK * size[0]))
    basis = right[: min(rank, window)].T
    z = np.linalg.eigvals(np.linalg.lstsq(basis[:-1], basis[1:], rcond=None)[0])
    return np.asarray(np.log(z[np.abs(z) > 0.0].astype(complex)) / step)

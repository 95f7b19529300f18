"""The mode that a trajectory shows: a fit of damped oscillations to a ringdown."""

from __future__ import annotations

import numpy as np

from psmr.base.arguments import check_arguments
from psmr.base.errors import InputError

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
    signal, step = signal[::stride], stride * step
    window = len(signal) // 2
    hankel = np.lib.stride_tricks.sliding_window_view(signal, window + 1)
    _, size, right = np.linalg.svd(hankel, full_matrices=False)
    rank = order if order is not None else int(np.count_nonzero(size > _RANK * size[0]))
    basis = right[: min(rank, window)].T
    z = np.linalg.eigvals(np.linalg.lstsq(basis[:-1], basis[1:], rcond=None)[0])
    s = np.log(z[np.abs(z) > 0.0].astype(complex)) / step
    turn = 2.0 * np.pi / step
    s = s + 1j * turn * np.round((near.imag - s.imag) / turn)
    return complex(s[np.abs(s - near).argmin()])

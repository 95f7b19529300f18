"""The nine-bus system with static exciters once more, from the books' data: dense, complex steps, no psmr.

Also participation factors, written from the paper's equations.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import fsolve

LINES = (
    *((1, 4, 0.0, 0.0576, 0.0), (2, 7, 0.0, 0.0625, 0.0), (3, 9, 0.0, 0.0586, 0.0)),
    *((4, 5, 0.010, 0.085, 0.176), (4, 6, 0.017, 0.092, 0.158), (5, 7, 0.032, 0.161, 0.306)),
    *((6, 9, 0.039, 0.170, 0.358), (7, 8, 0.0085, 0.072, 0.149), (8, 9, 0.0119, 0.1008, 0.209)),
)
LOADS = {5: 1.25 + 0.5j, 6: 0.9 + 0.3j, 8: 1.0 + 0.35j}
# H, x_d, x'_d, x_q, x'_q, T'_d0, T'_q0 of the machines at buses 1, 2, 3 (Sauer and Pai, chapter 7).
MACHINES = (
    (23.64, 0.146, 0.0608, 0.0969, 0.0969, 8.96, 0.31),
    (6.4, 0.8958, 0.1198, 0.8645, 0.1969, 6.0, 0.535),
    (3.01, 1.3125, 0.1813, 1.2578, 0.25, 5.89, 0.6),
)
STATES = ("delta", "omega", "e_q", "e_d", "v_m", "x_l", "v_a", "x_f", "x_g", "x_w", "x_s")
ALGEBRAIC = ("i_d", "i_q", "v_f", "v_s", "t_m")


def admittance(loads: dict[int, complex] | None = None) -> np.ndarray:
    Y = np.zeros((9, 9), complex)
    for start, end, r, x, b in LINES:
        i, j, y = start - 1, end - 1, 1.0 / (r + 1j * x)
        Y[i, i] += y + 0.5j * b
        Y[j, j] += y + 0.5j * b
        Y[i, j] -= y
        Y[j, i] -= y
    for bus, value in (loads or {}).items():
        Y[bus - 1, bus - 1] += value
    return Y


def voltages() -> np.ndarray:
    """Solve the power flow: bus 1 slack at 1.04, 163 and 85 MW at 1.025."""
    Y, fixed = admittance(), np.array([1.04, 1.025, 1.025])
    power = np.zeros(9, complex)
    power[1], power[2] = 1.63, 0.85
    for bus, s in LOADS.items():
        power[bus - 1] -= s

    def phasors(u: np.ndarray) -> np.ndarray:
        return np.r_[fixed, u[8:]] * np.exp(1j * np.r_[0.0, u[:8]])

    def mismatch(u: np.ndarray) -> np.ndarray:
        v = phasors(u)
        s = v * np.conj(Y @ v) - power
        return np.r_[s.real[1:], s.imag[3:]]

    return phasors(fsolve(mismatch, np.r_[np.zeros(8), np.ones(6)], xtol=1e-13))


def matrices(p: dict[str, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return fx, fy, gx, gy at the equilibrium for ``role.parameter`` values."""
    e, g, s = ({k.split(".")[1]: v for k, v in p.items() if k.startswith(r)} for r in ("ex", "gov", "st"))
    v = voltages()
    Y = admittance({bus: np.conj(power) / abs(v[bus - 1]) ** 2 for bus, power in LOADS.items()})
    current = Y @ v
    x0, y0, held = [], [], []
    for k, (_, xd, xd1, xq, xq1, _, _) in enumerate(MACHINES):
        delta = np.angle(v[k] + 1j * xq * current[k])
        turn = np.exp(-1j * (delta - np.pi / 2))
        vd, vq, i_d, i_q = (v[k] * turn).real, (v[k] * turn).imag, *_parts(current[k] * turn)
        e_q, e_d = vq + xd1 * i_d, vd - xq1 * i_q
        v_f = e_q + (xd - xd1) * i_d
        t_m = e_d * i_d + e_q * i_q + (xq1 - xd1) * i_d * i_q
        x0 += [delta, 1.0, e_q, e_d, abs(v[k]), v_f / e["k_a"], v_f, v_f, t_m, 0.0, 0.0]
        y0 += [i_d, i_q, v_f, 0.0, t_m]
        held.append((abs(v[k]) + v_f / e["k_a"], t_m))
    w0 = np.r_[x0, y0, np.c_[v.real, v.imag].ravel()]
    n = len(x0)

    def residuals(w: np.ndarray) -> np.ndarray:
        f, stator, injected = [], [], [[0.0, 0.0] for _ in range(9)]
        net = w[n + 15 :].reshape(9, 2)
        for k, (h, xd, xd1, xq, xq1, td, tq) in enumerate(MACHINES):
            delta, omega, e_q, e_d, v_m, x_l, v_a, x_f, x_g, x_w, x_s = w[11 * k : 11 * k + 11]
            i_d, i_q, v_f, v_s, t_m = w[n + 5 * k : n + 5 * k + 5]
            sin, cos, (re, im) = np.sin(delta), np.cos(delta), net[k]
            t_e = e_d * i_d + e_q * i_q + (xq1 - xd1) * i_d * i_q
            error = held[k][0] + v_s - v_m - e["k_f"] / T_F * (v_f - x_f)
            led = x_l + e["t_c"] / e["t_b"] * (error - x_l)
            washed = s["k"] * (omega - 1.0) - x_w
            gate = held[k][1] - (omega - 1.0) / g["droop"]
            f += [
                2 * np.pi * 60.0 * (omega - 1.0),
                (t_m - t_e) / (2.0 * h),
                (v_f - e_q - (xd - xd1) * i_d) / td,
                (-e_d + (xq - xq1) * i_q) / tq,
                (np.sqrt(re**2 + im**2) - v_m) / e["t_r"],
                (error - x_l) / e["t_b"],
                (e["k_a"] * led - v_a) / e["t_a"],
                (v_f - x_f) / T_F,
                (gate - x_g) / g["t_2"],
                washed / T_W,
                (washed - x_s) / s["t_2"],
            ]
            stator += [
                e_q - (re * cos + im * sin) - xd1 * i_d,
                e_d - (re * sin - im * cos) + xq1 * i_q,
                v_a - v_f,
                x_s + s["t_1"] / s["t_2"] * (washed - x_s) - v_s,
                x_g + g["t_1"] / g["t_2"] * (gate - x_g) - t_m,
            ]
            injected[k] = [i_d * sin + i_q * cos, i_q * sin - i_d * cos]
        drawn = Y.real @ net, Y.imag @ net
        for bus in range(9):
            stator.append(injected[bus][0] - drawn[0][bus, 0] + drawn[1][bus, 1])
            stator.append(injected[bus][1] - drawn[0][bus, 1] - drawn[1][bus, 0])
        return np.array([*f, *stator])

    assert np.abs(residuals(w0)).max() < 1e-9
    J = np.empty((len(w0), len(w0)))
    for j in range(len(w0)):
        moved = w0.astype(complex)
        moved[j] += 1e-30j
        J[:, j] = residuals(moved).imag / 1e-30
    return J[:n, :n], J[:n, n:], J[n:, :n], J[n:, n:]


T_F, T_W = 1.0, 10.0  # s: the same in every set


def names() -> tuple[list[str], list[str]]:
    """Return (states, algebraic variables) as psmr calls them."""
    device = {**dict.fromkeys(("v_m", "x_l", "v_a", "x_f", "v_f"), "AVR"), "x_g": "GOV", "t_m": "GOV"}
    device |= {"x_w": "PSS", "x_s": "PSS", "v_s": "PSS"}
    own = {"x_s": "x_l"}

    def called(k: int, name: str) -> str:
        return f"{device.get(name, 'G')}{k}.{own.get(name, name)}"

    states = [called(k, name) for k in (1, 2, 3) for name in STATES]
    algebraic = [called(k, name) for k in (1, 2, 3) for name in ALGEBRAIC]
    return states, algebraic + [f"bus{b}.{part}" for b in range(1, 10) for part in ("v_re", "v_im")]


def participation(fx, fy, gx, gy):
    """Return eigenvalues, P_x by (16) and P_y by (17), its rows scaled to one."""
    C = -np.linalg.solve(gy, gx)
    values, V = np.linalg.eig(fx + fy @ C)
    P_x = V * np.linalg.inv(V).T
    P_y = C @ P_x
    return values, P_x, P_y / np.linalg.norm(P_y, axis=1)[:, None]


def _parts(z: complex) -> tuple[float, float]:
    return z.real, z.imag

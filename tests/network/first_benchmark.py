"""The first benchmark model written another way: fluxes of windings in the frame of the rotor, DOP853."""

import numpy as np
import scipy.integrate
import scipy.optimize

W0 = 2 * np.pi * 60
H = np.array([0.092897, 0.155589, 0.85867, 0.884215, 0.868495, 0.0342165])
K = np.array([19.303, 34.929, 52.038, 70.858, 2.822])
FRACTIONS = np.array([0.3, 0.26, 0.22, 0.22, 0.0, 0.0])
STIFFNESS = np.diag(np.r_[K, 0] + np.r_[0, K]) - np.diag(K, 1) - np.diag(K, -1)
GENERATOR = 4
R, X, V_SYSTEM, POWER = 0.02, 0.14 + 0.5 + 0.06, 0.886468, 0.9
X_SOURCE = 1e-6


class Windings:
    """The inductances and resistances of one axis: stator, outer and inner rotor winding."""

    def __init__(self, x, x1, x2, t1, t2, x_l, outside):
        x_m = x - x_l
        x_f = 1 / (1 / (x1 - x_l) - 1 / x_m)
        x_k = 1 / (1 / (x2 - x_l) - 1 / x_m - 1 / x_f)
        self.r = np.array([(x_m + x_f) / (W0 * t1), (x_k + x_m * x_f / (x_m + x_f)) / (W0 * t2)])
        self.x_m = x_m
        self.matrix = np.full((3, 3), x_m) + np.diag([x_l + outside, x_f, x_k])
        self.inverse = np.linalg.inv(self.matrix)


class FirstBenchmark:
    """States: fluxes of d (stator with network, field, damper), of q, capacitor d and q, angles, speeds."""

    def __init__(self, x_c, d_axis, q_axis):
        self.x_c = x_c
        self.d, self.q = Windings(*d_axis, X), Windings(*q_axis, X)
        z = R + 1j * (X - x_c)
        angle = scipy.optimize.brentq(
            lambda a: (np.exp(1j * a) * np.conj((np.exp(1j * a) - V_SYSTEM) / z)).real - POWER, 0, 1.5
        )
        v = np.exp(1j * angle)
        i = (v - V_SYSTEM) / z
        self.source = V_SYSTEM - 1j * X_SOURCE * i
        delta = np.angle(v + 1j * (self.q.matrix[0, 0] - X) * i)
        i_dq = i * np.exp(-1j * (delta - np.pi / 2))
        i_d, i_q = i_dq.real, i_dq.imag
        v_q = (v * np.exp(-1j * (delta - np.pi / 2))).imag
        field = (v_q + (self.d.matrix[0, 0] - X) * i_d) / self.d.x_m
        psi_d, psi_q = self.d.matrix @ [-i_d, field, 0], self.q.matrix @ [-i_q, 0, 0]
        self.torque = psi_d[0] * i_q - psi_q[0] * i_d
        self.e_f = self.d.r[0] * field
        net = self.torque * FRACTIONS
        net[GENERATOR] -= self.torque
        twist = np.linalg.lstsq(STIFFNESS, net, rcond=None)[0]
        angles = delta + twist - twist[GENERATOR]
        # In steady state the capacitor has -j x_c i.
        self.x0 = np.r_[psi_d, psi_q, x_c * i_q, -x_c * i_d, angles, np.ones(6)]

    def derivatives(self, x):
        """Return dx/dt in 1/s."""
        d, q, c_d, c_q, delta, omega = x[:3], x[3:6], x[6], x[7], x[8:14], x[14:]
        current_d, current_q = self.d.inverse @ d, self.q.inverse @ q
        i_d, i_q = -current_d[0], -current_q[0]
        w, turn = omega[GENERATOR], delta[GENERATOR]
        # The source's own reactance is a phasor's: it has no transient.
        source_d = -X_SOURCE * i_q + self.source.real * np.sin(turn) - self.source.imag * np.cos(turn)
        source_q = X_SOURCE * i_d + self.source.real * np.cos(turn) + self.source.imag * np.sin(turn)
        torque = d[0] * i_q - q[0] * i_d
        net = self.torque * FRACTIONS - STIFFNESS @ delta
        net = net - torque * (np.arange(6) == GENERATOR)
        rotor_d = W0 * (np.array([self.e_f, 0]) - self.d.r * current_d[1:])
        rotor_q = -W0 * self.q.r * current_q[1:]
        return np.concatenate(
            [
                [W0 * (R * i_d + c_d + source_d + w * q[0])],
                rotor_d,
                [W0 * (R * i_q + c_q + source_q - w * d[0])],
                rotor_q,
                [W0 * (self.x_c * i_d + w * c_q), W0 * (self.x_c * i_q - w * c_d)],
                W0 * (omega - 1),
                net / (2 * H),
            ]
        )

    def eigenvalues(self):
        """Return the eigenvalues at the equilibrium, from complex steps."""
        n = len(self.x0)
        columns = [self.derivatives(self.x0 + 1e-30j * row).imag / 1e-30 for row in np.eye(n)]
        return np.linalg.eigvals(np.array(columns).T)

    def shaft_torques(self, t, twist):
        """Return the five torques at the times `t`, (K, 5), after section 1 is turned by `twist` in rad."""
        x0 = self.x0.copy()
        x0[8] += twist
        run = scipy.integrate.solve_ivp(
            lambda _, x: self.derivatives(x), (0, t[-1]), x0, "DOP853", t, rtol=1e-11, atol=1e-12
        )
        return (K[:, None] * -np.diff(run.y[8:14], axis=0)).T


def shaft_frequencies():
    """Return the frequencies of the shaft alone in rad/s, the rigid rotation left out."""
    return np.sqrt(np.sort(np.linalg.eigvals(W0 / (2 * H)[:, None] * STIFFNESS).real)[1:])

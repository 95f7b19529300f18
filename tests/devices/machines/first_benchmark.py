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
X_SOURCE, X_SYSTEM, X_FAULT = 1e-6, 0.06, 0.04


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
        # By the fluxes of the loop of stator and fault, of the rotor, of the loop of system and fault.
        loops = np.zeros((4, 4))
        loops[:3, :3] = self.matrix - np.diag([X_SYSTEM, 0, 0])
        loops[0, 3], loops[3] = -X_FAULT, [X_SYSTEM, 0, 0, X_SYSTEM + X_FAULT]
        self.faulted = np.linalg.inv(loops)


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

    def derivatives(self, x, faulted=False):
        """Return dx/dt in 1/s; with a fault x ends with the flux of the system's loop over it, d and q."""
        d, q, c_d, c_q, delta, omega = x[:3], x[3:6], x[6], x[7], x[8:14], x[14:20]
        inverse_d, inverse_q = (
            (self.d.faulted, self.q.faulted) if faulted else (self.d.inverse, self.q.inverse)
        )
        loop_d, loop_q = (x[20:21], x[21:22]) if faulted else ([], [])
        current_d, current_q = inverse_d @ np.r_[d, loop_d], inverse_q @ np.r_[q, loop_q]
        i_d, i_q = -current_d[0], -current_q[0]
        w, turn = omega[GENERATOR], delta[GENERATOR]
        # The source's own reactance is a phasor's: it has no transient.
        source_d = -X_SOURCE * i_q + self.source.real * np.sin(turn) - self.source.imag * np.cos(turn)
        source_q = X_SOURCE * i_d + self.source.real * np.cos(turn) + self.source.imag * np.sin(turn)
        torque = d[0] * i_q - q[0] * i_d
        if faulted:  # the fault's current is in the flux of the stator's loop, and drives no torque
            torque += X_FAULT * (current_d[3] * i_q - current_q[3] * i_d)
        net = self.torque * FRACTIONS - STIFFNESS @ delta
        net = net - torque * (np.arange(6) == GENERATOR)
        rotor_d = W0 * (np.array([self.e_f, 0]) - self.d.r * current_d[1:3])
        rotor_q = -W0 * self.q.r * current_q[1:3]
        return np.concatenate(
            [
                [W0 * (R * i_d + c_d + (0 if faulted else source_d) + w * q[0])],
                rotor_d,
                [W0 * (R * i_q + c_q + (0 if faulted else source_q) - w * d[0])],
                rotor_q,
                [W0 * (self.x_c * i_d + w * c_q), W0 * (self.x_c * i_q - w * c_d)],
                W0 * (omega - 1),
                net / (2 * H),
                W0 * np.array([source_d + w * loop_q[0], source_q - w * loop_d[0]]) if faulted else [],
            ]
        )

    def fault_torques(self, before, t):
        """Return the shaft's torques at times `t` of a fault at bus B from 0, and after it from t[-1] on.

        The fault has its current as a state. It ends with the line's current as it is.
        """
        i_d, i_q = -(self.d.inverse @ self.x0[:3])[0], -(self.q.inverse @ self.x0[3:6])[0]
        x0 = np.r_[self.x0, -X_SYSTEM * i_d, -X_SYSTEM * i_q]
        x0[0] += X_SYSTEM * i_d
        x0[3] += X_SYSTEM * i_q
        during = self._run(x0, before, True)
        end = during[-1]
        current_d, current_q = self.d.faulted @ end[[0, 1, 2, 20]], self.q.faulted @ end[[3, 4, 5, 21]]
        cleared = end[:20].copy()
        cleared[:3], cleared[3:6] = self.d.matrix @ current_d[:3], self.q.matrix @ current_q[:3]
        return [K * -np.diff(x[:, 8:14], axis=1) for x in (during, self._run(cleared, t, False))]

    def _run(self, x0, t, faulted):
        run = scipy.integrate.solve_ivp(
            lambda _, x: self.derivatives(x, faulted), (0, t[-1]), x0, "DOP853", t, rtol=1e-11, atol=1e-12
        )
        return run.y.T

    def eigenvalues(self):
        """Return the eigenvalues at the equilibrium, from complex steps."""
        n = len(self.x0)
        columns = [self.derivatives(self.x0 + 1e-30j * row).imag / 1e-30 for row in np.eye(n)]
        return np.linalg.eigvals(np.array(columns).T)

    def shaft_torques(self, t, twist):
        """Return the five torques at the times `t`, (K, 5), after section 1 is turned by `twist` in rad."""
        x0 = self.x0.copy()
        x0[8] += twist
        return K * -np.diff(self._run(x0, t, False)[:, 8:14], axis=1)


def shaft_frequencies():
    """Return the frequencies of the shaft alone in rad/s, the rigid rotation left out."""
    return np.sqrt(np.sort(np.linalg.eigvals(W0 / (2 * H)[:, None] * STIFFNESS).real)[1:])

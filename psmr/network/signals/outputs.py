"""How signals depend on the variables of a system at a point: their rows in its matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from psmr.base.arrays import Reals
from psmr.base.errors import InputError
from psmr.dae.declare.component import local_rows
from psmr.dae.system.complex_step import Place, derivatives, injection_derivatives
from psmr.dae.system.linear import LinearDae
from psmr.dae.system.system import System
from psmr.network.signals.signals import CENTRE, Signals, of_centre, quantity
from psmr.network.signals.terminals import Terminal
from psmr.network.topology.dead_parts import islands
from psmr.network.topology.network import out_of_service, power_base
from psmr.network.topology.sources import island_of, leading, shares, sources_of


class OutputRows:
    """Rows of signals over the variables, held inputs and chosen parameters of a system.

    Parameters
    ----------
    system, w
        The system and the point, a buffer of it.
    parameters
        Places of the parameters that are inputs.
    """

    def __init__(self, system: System, w: Reals, signals: Signals, parameters: Sequence[Place]) -> None:
        self._system, self._w, self._signals = system, w, signals
        self._parameters = {place: len(w) + k for k, place in enumerate(parameters)}
        self._size = len(w) + len(parameters)
        self._terminals = {name: t for t in signals.terminals for name in t.names}

    def matrix(self, names: Sequence[str]) -> sparse.csr_array:
        """Return (len(names), n + m + k + 1 + parameters) derivatives; of a frequency that of the angle.

        Raises
        ------
        InputError
            For the magnitude of a current that is zero, which has no derivative, and for phases and
            sequences, which are the positive sequence where a system is balanced.
        """
        for name in set(names) & set(self._signals.unbalanced):
            device, _, kind = name.rpartition(".")
            balanced = {"v": "v", "i": "i_from"}[kind[0]]
            raise InputError(f"{name} is a quantity of one phase or sequence; take {device}.{balanced}")
        rows = [self._row(name) for name in names]
        return sparse.csr_array(sparse.vstack(rows, format="csr"))

    def _row(self, name: str) -> sparse.csr_array:
        device, kind = name.rpartition(".")[0], quantity(name)
        if not self._signals.computed(name):
            return self._over({self._system.index(name): 1.0})
        if name in self._terminals:
            return self._of_terminal(self._terminals[name], kind.partition("_")[0])
        if of_centre(name):
            return self._of_centre(name, "" if device == CENTRE else device)
        re, im = (self._system.index(f"{device}.v_{part}") for part in ("re", "im"))
        a, b = self._w[[re, im]]
        size = np.hypot(a, b)
        if kind == "v":
            return self._over({re: a / size, im: b / size})
        return self._over({re: -b / size**2, im: a / size**2})

    def _of_centre(self, name: str, bus: str) -> sparse.csr_array:
        """Return the row of the angle of a centre of inertia, of the largest island where no bus is named."""
        out, sources = out_of_service(self._system), sources_of(self._system)
        places = island_of(bus, islands(self._system, out), out, sources)
        if not places:
            raise InputError(
                f"{name}: there is no machine or forming converter in service in the island of {bus}"
            )
        own = [sources[k] for k in leading(places, sources)]
        return self._over({self._system.index(s.angle): a for s, a in zip(own, shares(own), strict=True)})

    def _over(self, entries: Mapping[int, float]) -> sparse.csr_array:
        values = np.array(list(entries.values()), dtype=float)
        places = np.array(list(entries), dtype=np.intp)
        row = sparse.coo_array((values, (np.zeros(len(places), dtype=np.intp), places)), (1, self._size))
        return sparse.csr_array(row)

    def _of_terminal(self, terminal: Terminal, kind: str) -> sparse.csr_array:
        system, w = self._system, self._w
        group = next(g for g, one in enumerate(system.groups) if terminal.device in one.names)
        device = system.groups[group].names.index(terminal.device)
        current, slopes = 0j, np.zeros(self._size, dtype=complex)
        for unit, output in ((1.0, f"i_re{terminal.port}"), (1j, f"i_im{terminal.port}")):
            value, places, own = injection_derivatives(system, w, group, device, output)
            current += terminal.sign * unit * value
            np.add.at(slopes, places, terminal.sign * unit * own)
            row = local_rows(system.groups[group].compiled.component).index(output)
            for (g, d, parameter), column in self._parameters.items():
                if (g, d) == (group, device):
                    by = derivatives(system, w, group, [device], parameter=parameter)[0, row]
                    slopes[column] += terminal.sign * unit * by
        if kind == "i":
            if current == 0:
                raise InputError(
                    f"{terminal.device}.i{terminal.end} is zero at this point, where its magnitude has no "
                    f"derivative; take {terminal.device}.p{terminal.end} or q{terminal.end}"
                )
            return self._dense(np.real(np.conj(current) * slopes) / abs(current))
        re, im = (system.index(f"{terminal.bus}.v_{part}") for part in ("re", "im"))
        base = power_base(system)
        assert base is not None
        power = base * complex(w[re], w[im]) * np.conj(slopes)
        power[re] += base * np.conj(current)
        power[im] += base * 1j * np.conj(current)
        return self._dense(power.real if kind == "p" else power.imag)

    def _dense(self, values: Reals) -> sparse.csr_array:
        places = np.flatnonzero(values)
        return self._over(dict(zip(places.tolist(), values[places].tolist(), strict=True)))


def rate_rows(
    linear: LinearDae, b: sparse.csc_array, rows: sparse.csr_array, direct: Reals
) -> tuple[sparse.csr_array, Reals, Reals]:
    """Return the rows, the feedthrough and that of the inputs' rates of the rates of change of signals.

    Of a signal c w + d u that is c_x x' + c_y y' + d u' with y' = -g_y^-1 (g_x x' + B_g u') and
    x' = f_x x + f_y y + B_f u.
    """
    n = linear.n
    back = splu(sparse.csc_matrix(linear.gy)).solve(rows[:, n:].toarray().T, "T").T if linear.m else 0.0
    back = np.asarray(back).reshape(rows.shape[0], linear.m)
    of_rates = sparse.csr_array(rows[:, :n].toarray() - back @ linear.gx)
    jacobian = sparse.csr_array(linear.jacobian())[:n]
    b = sparse.csc_array(b)
    return (
        sparse.csr_array(of_rates @ jacobian),
        np.asarray((of_rates @ b[:n]).toarray()),
        np.asarray(direct - back @ b[n:].toarray()),
    )

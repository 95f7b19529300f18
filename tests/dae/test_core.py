"""Declaration to kernels: Jacobian, blocks, names, limits, pickling, messages."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from psmr import Component, Device, Parameter, assemble, modes
from psmr.errors import InputError, SingularError
from tests.internals import constant_jacobian, jacobian, linear_system, positive, residual, restrict


class Node(Component):
    """A node with a shunt, in rectangular coordinates."""

    algebraic = ("v_re", "v_im")
    rows = ("i_im", "i_re")
    together = (("v_re", "v_im"),)
    g = Parameter("pu", "shunt conductance", default=0.0)

    @staticmethod
    def equations(m, v, p):
        return (), (-p.g * v.v_im, -p.g * v.v_re), ()


class Swing(Component):
    """A classical machine with a limited speed and an optional signal."""

    states = ("delta", "omega")
    inputs = ("v_re", "v_im", "t_m", "v_s")
    outputs = ("i_re", "i_im")
    optional = {"v_s": 0.25}
    limits = {"omega": ("omega_min", "omega_max")}
    H = Parameter("s", "inertia constant", positive)
    x = Parameter("pu", "reactance", positive)
    e = Parameter("pu", "voltage behind the reactance")
    omega_min = Parameter("pu", "lowest speed", default=0.9)
    omega_max = Parameter("pu", "highest speed", default=1.1)

    @staticmethod
    def equations(m, v, p):
        e_re, e_im = p.e * m.cos(v.delta), p.e * m.sin(v.delta)
        i_re, i_im = (e_im - v.v_im) / p.x, (v.v_re - e_re) / p.x
        power = e_re * i_re + e_im * i_im
        signal = m.clip(v.v_s, -0.1, 0.3)
        return (314.0 * (v.omega - 1), (v.t_m - power + signal) / (2 * p.H)), (), (i_re, i_im)


class Load(Component):
    """Constant power that becomes an impedance below 0.7."""

    inputs = ("v_re", "v_im")
    outputs = ("i_re", "i_im")
    p = Parameter("pu", "power")

    @staticmethod
    def equations(m, v, p):
        square = v.v_re**2 + v.v_im**2
        g = m.where(m.ge(m.sqrt(square), 0.7), p.p / square, p.p / 0.49)
        return (), (), (-g * v.v_re, -g * v.v_im)


WIRES = {"v_re": "bus.v_re", "v_im": "bus.v_im", "i_re": "bus.i_re", "i_im": "bus.i_im"}
START = {"bus.v_re": 1.0, "bus.v_im": 0.02, "G.omega": 1.0, "G.t_m": 0.5, "G.delta": 0.1}


def small_system(**changes):
    """One machine and one load at one bus."""
    machine = {"H": 3.0, "x": 0.2, "e": 1.05}
    devices = [
        Device("bus", Node, {}),
        Device("G", Swing, machine, WIRES),
        Device("L", Load, {"p": 0.5}, WIRES),
    ]
    return assemble(devices, START | changes, name="small")


@pytest.mark.parametrize("voltage", [1.0, 0.5])
def test_jacobian_is_the_derivative_of_the_residual_in_each_branch(voltage):
    system = small_system(**{"bus.v_re": voltage})
    w = system.w0
    exact = system.jacobian(w).toarray()
    for j in range(system.n + system.m):
        step = np.zeros_like(w)
        step[j] = 1e-6
        difference = (system.residual(w + step) - system.residual(w - step)) / 2e-6
        # central differences with 1e-6: truncation 1e-12 * third derivative, rounding 314 * 1e-16 / 1e-6
        assert np.allclose(difference, exact[:, j], atol=1e-6)


def test_optional_input_holds_its_constant_and_names_tell_where_things_are():
    system = small_system()
    assert system.names_u == ("G.t_m", "G.v_s")
    assert system.u0.tolist() == [0.5, 0.25]
    assert system.names_g == ("bus.i_im", "bus.i_re")
    assert system.index("bus.v_im") == 3
    assert system.together[2] == system.together[3]
    with pytest.raises(InputError, match=r"no variable 'G\.omeg'; did you mean 'G\.omega'"):
        system.index("G.omeg")


def test_a_state_at_its_limit_is_held_only_while_pushed_outward():
    system = small_system(**{"G.omega": 1.1, "G.t_m": 5.0})
    assert system.f(system.x0, system.y0)[1] == 0.0
    assert system.residual(system.w0)[1] > 0.0
    inward = small_system(**{"G.omega": 1.1, "G.t_m": -5.0})
    assert inward.f(inward.x0, inward.y0)[1] == inward.residual(inward.w0)[1] < 0.0
    held = system.jacobian(system.w0).toarray()
    assert np.all(held[1] == 0.0)


@pytest.mark.parametrize(("push", "slope"), [(0.0, "inside"), (1e-10, "inside"), (1e-6, "held")])
def test_a_state_at_rest_at_its_limit_has_the_slope_of_the_inside(push, slope):
    """There rounding decides the sign of its derivative."""
    at = small_system(**{"G.omega": 1.1})
    rest = at.w0[at.index("G.t_m")] - 6.0 * at.residual(at.w0)[1]
    at = small_system(**{"G.omega": 1.1, "G.t_m": rest + 6.0 * push})
    inside = small_system(**{"G.omega": 1.0, "G.t_m": rest})
    row = at.jacobian(at.w0).toarray()[1]
    assert (
        row.tolist() == (inside.jacobian(inside.w0).toarray()[1] if slope == "inside" else 0 * row).tolist()
    )


def test_a_state_between_equal_limits_is_held():
    system = small_system()
    bus, machine, load = system.devices
    equal = machine.parameters | {"omega_min": 1.0, "omega_max": 1.0}
    pinned = assemble([bus, replace(machine, parameters=equal), load], START)
    assert not pinned.jacobian(pinned.w0).toarray()[1].any()


@pytest.mark.parametrize(
    ("signal", "slope"),
    [(0.1, 1), (0.3, 1), (0.3 + 1e-12, 1), (0.3 + 1e-8, 0), (-0.1 - 1e-12, 1), (-0.1 - 1e-8, 0)],
)
def test_a_limiter_at_its_limit_has_the_slope_of_the_inside(signal, slope):
    class Limiter(Component):
        algebraic = ("y",)
        states = ("x",)

        @staticmethod
        def equations(m, v, p):
            return (0.0 * v.x,), (m.clip(v.x, -0.1, 0.3) - v.y,), ()

    system = assemble([Device("L", Limiter, {})], {"L.x": signal})
    assert system.jacobian(system.w0).toarray()[1].tolist() == [slope, -1.0]


def test_a_block_equals_the_rows_and_columns_of_the_whole():
    system = small_system()
    whole = system.jacobian(system.w0).toarray()
    rows, columns = np.array([1, 2]), np.array([1, 3])
    block = restrict(system, None, rows, columns)
    constant, values = np.empty(block.nnz + 1), np.empty(block.nnz + 1)
    constant_jacobian(block.table, system.w0, constant)
    jacobian(block.table, constant, system.w0, values)
    dense = np.zeros((2, 2))
    for column in range(2):
        for entry in range(block.indptr[column], block.indptr[column + 1]):
            dense[block.indices[entry], column] = values[entry]
    assert np.allclose(dense, whole[np.ix_(rows, columns)], atol=1e-15)
    out = np.empty(3)
    residual(block.table, system.w0, out)
    assert np.allclose(out[:2], system.residual(system.w0)[rows], atol=1e-15)


def test_a_block_without_the_load_does_not_call_it():
    system = small_system()
    block = restrict(system, None, np.array([0]), np.array([0]))
    assert [chosen.size for chosen in block.selected] == [0, 1, 0]
    assert block.table.shape == (1, 8)


def test_parameters_are_found_and_loaded():
    system = small_system()
    assert system.parameter("L", "p") == 0.5
    group, row, column = system.parameter_place("L", "p")
    changed = tuple(matrix.copy() for matrix in system.parameters)
    changed[group][row, column] = 0.0
    kernels = system.kernels()
    before, after = np.empty(5), np.empty(5)
    residual(kernels.table, system.w0, before)
    kernels.load(changed)
    residual(kernels.table, system.w0, after)
    assert before[3] - after[3] == pytest.approx(-0.5 * 1.0 / (1.0 + 0.02**2), rel=1e-14)
    with pytest.raises(InputError, match="no parameter 'q'"):
        system.parameter("L", "q")
    with pytest.raises(InputError, match="no device 'M'"):
        system.parameter("M", "p")
    with pytest.raises(InputError, match=r"L\.p = nan: must be a number"):
        system.with_values([("L", "p", np.nan)])


def test_a_system_survives_pickling():
    system = small_system()
    again = pickle.loads(pickle.dumps(system))
    assert np.array_equal(again.residual(system.w0), system.residual(system.w0))


def test_the_linear_system_is_the_linearisation():
    linear = small_system().linearise()
    again = linear_system(linear).linearise()
    assert np.allclose(again.jacobian().toarray(), linear.jacobian().toarray(), atol=0)
    assert again.names_x == linear.names_x
    swing = modes(linear)
    assert np.allclose(
        np.sort_complex(np.linalg.eigvals(linear.state_matrix()))[-1].real, swing["real"].max()
    )


def test_a_singular_algebraic_part_is_named():
    system = assemble([Device("alone", Node, {})], name="island")
    with pytest.raises(SingularError, match=r"alone\.v_"):
        system.linearise().state_matrix()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Device("G", Swing, {"H": -1.0, "x": 0.2, "e": 1.0}, WIRES), r"G\.H = -1\.0: must be > 0"),
        (lambda: Device("G", Swing, {"H": np.nan, "x": 0.2, "e": 1.0}, WIRES), "must be finite"),
        (lambda: Device("G", Swing, {"x": 0.2, "e": 1.0}, WIRES), r"G\.H: missing.*inertia constant in s"),
        (lambda: Device("G", Swing, {"H": 1.0, "X": 0.2, "e": 1.0}, WIRES), "no parameter 'X'"),
        (lambda: Device("L", Load, {"p": 1.0}, {"v_re": "bus.v_re"}), "output 'i_re' is not connected"),
        (lambda: Device("L", Load, {"p": 1.0}, WIRES | {"v_x": "bus.v_re"}), "no input or output 'v_x'"),
        (lambda: assemble([Device("b", Node, {}), Device("b", Node, {})]), "two devices are called 'b'"),
        (
            lambda: assemble([Device("L", Load, {"p": 1.0}, WIRES)]),
            r"connected to 'bus\.v_re', which is not there",
        ),
        (lambda: assemble([Device("b", Node, {})], {"b.v_r": 1.0}), r"no variable 'b\.v_r'; did you mean"),
        (lambda: assemble([Device("b", Node, {})], {"b.v_re": np.inf}), "must be a finite number"),
    ],
)
def test_wrong_input_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()

"""The system as matrices, against complex steps of the whole system, its own runs, and scipy."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.io
import scipy.signal

import psmr
from psmr.errors import InputError
from tests.internals import NumericMath, local_variables, parameters_of

STEP = 1e-40
CASES = ("wscc9", "wscc9/wscc9-emt.toml", "wscc9/wscc9-renewable.toml", "kundur")


def built(name):
    return psmr.build(psmr.case(name))


@pytest.fixture(scope="module")
def wscc9():
    return built("wscc9")


def residual(system, w, parameters, injected=None):
    """f and g of a system at complex numbers, device by device; `injected` is added to rows by name."""
    out = np.zeros(system.n + system.m, dtype=complex)
    for group, matrix in zip(system.groups, parameters, strict=True):
        component = group.compiled.component
        for device in range(len(group.names)):
            v = dict(zip(local_variables(component), w[group.index[device]], strict=True))
            p = dict(zip(parameters_of(component), matrix[device], strict=True))
            with np.errstate(all="ignore"):
                parts = component.equations(NumericMath, SimpleNamespace(**v), SimpleNamespace(**p))
            values = [value for part in parts for value in part]
            for row, value in zip(group.row[device], values, strict=True):
                out[row] += value
    for name, value in (injected or {}).items():
        out[system.n + system.names_g.index(name)] += value
    return out


def slopes_of(system, function):
    """J, by a complex step of every variable, and what `function(w, parameters)` gives, of every one."""
    size = system.n + system.m
    parameters = [matrix.astype(complex) for matrix in system.parameters]
    jacobian, outputs = np.empty((size, size)), []
    for k in range(size):
        w = system.w0.astype(complex)
        w[k] += 1j * STEP
        jacobian[:, k] = residual(system, w, parameters).imag / STEP
        outputs.append(function(w, parameters).imag / STEP)
    return jacobian, np.array(outputs).T


def eliminated(n, jacobian, b, c, d):
    """A, B, C and D without the algebraic variables."""
    gy = jacobian[n:, n:]
    x, u = (np.linalg.solve(gy, part[n:]) for part in (jacobian[:, :n], b))
    return (
        jacobian[:n, :n] - jacobian[:n, n:] @ x,
        b[:n] - jacobian[:n, n:] @ u,
        c[:, :n] - c[:, n:] @ x,
        d - c[:, n:] @ u,
    )


@pytest.mark.parametrize("name", CASES)
def test_matrices_are_the_complex_step_derivatives(name):
    system = built(name)
    n, loads = system.n, [d for d in system.devices if d.name.startswith("load")]
    load, line = loads[0], next(d for d in system.devices if d.name.startswith("line"))
    bus = load.connections["i_re"].partition(".")[0]
    references = [u for u in system.names_u if u.endswith("_ref")][:3]
    inputs = [*references, f"{bus}.i_re", f"{bus}.q", f"{load.name}.p"]
    outputs = [system.names_x[3], f"{bus}.v", f"{bus}.angle", f"{line.name}.p_from", f"{line.name}.i_to"]
    outputs.append(f"{load.name}.q")
    own = system.state_space(inputs, outputs)
    assert own.inputs == tuple(inputs)
    assert own.outputs == tuple(outputs)

    g, row, _ = system.parameter_place(line.name, "x")
    base = next(d.parameters["s_base"] for d in system.devices if "s_base" in d.parameters)

    def values(w, parameters):
        v = w[system.index(f"{bus}.v_re")] + 1j * 0, w[system.index(f"{bus}.v_im")] + 1j * 0
        group = system.groups[g]
        component = group.compiled.component

        def injections(device, matrix, position):
            names = dict(zip(local_variables(component_of[device]), w[position], strict=True))
            p = dict(zip(parameters_of(component_of[device]), matrix, strict=True))
            parts = component_of[device].equations(
                NumericMath, SimpleNamespace(**names), SimpleNamespace(**p)
            )
            return parts[2], names

        lg, lrow, _ = system.parameter_place(load.name, "p")
        component_of = {line.name: component, load.name: system.groups[lg].compiled.component}
        (i_re, i_im, j_re, j_im), at = injections(line.name, parameters[g][row], group.index[row])
        p_from = -base * (at["v_re_i"] * i_re + at["v_im_i"] * i_im)
        i_to = np.sqrt(j_re**2 + j_im**2)
        (l_re, l_im), there = injections(load.name, parameters[lg][lrow], system.groups[lg].index[lrow])
        q = -base * (there["v_im"] * l_re - there["v_re"] * l_im)
        voltage, angle = np.sqrt(v[0] ** 2 + v[1] ** 2), NumericMath.atan2(v[1], v[0])
        return np.array([w[3], voltage, angle, p_from, i_to, q])

    jacobian, c = slopes_of(system, values)
    b, d = np.zeros((len(jacobian), len(inputs))), np.zeros((len(outputs), len(inputs)))
    v = complex(*(system.w0[system.index(f"{bus}.v_{part}")] for part in ("re", "im")))
    for k, entry in enumerate(inputs):
        w, parameters = system.w0.astype(complex), [m.astype(complex) for m in system.parameters]
        injected = {}
        if entry in references:
            w[system.index(entry)] += 1j * STEP
        elif entry.endswith(".p"):
            place = system.parameter_place(load.name, "p")
            parameters[place[0]][place[1:]] += 1j * STEP
        elif entry.endswith("i_re"):
            injected = {f"{bus}.i_re": 1j * STEP}
        else:  # 1 Mvar: i = conj(j / base / v)
            current = np.conj(1j / base / v)
            injected = {f"{bus}.i_re": 1j * STEP * current.real, f"{bus}.i_im": 1j * STEP * current.imag}
        b[:, k] = residual(system, w, parameters, injected).imag / STEP
        d[:, k] = values(w, parameters).imag / STEP
    for ours, theirs in zip((own.A, own.B, own.C, own.D), eliminated(n, jacobian, b, c, d), strict=True):
        assert np.abs(ours - theirs).max() <= 1e-12 * max(1.0, np.abs(theirs).max())


def test_response_is_that_of_the_matrices_and_a_frequency_the_rate_of_an_angle(wscc9):
    own = wscc9.state_space(["AVR2.v_ref", "bus5.p"], ["G1.omega", "bus8.angle", "bus8.frequency"])
    f = np.array([0.05, 1.3, 20.0])
    found = own.response(f)
    s = 2j * np.pi * f
    for k in range(3):
        dense = own.C @ np.linalg.solve(s[k] * np.eye(len(own.A)) - own.A, own.B) + own.D + s[k] * own.d_rate
        assert np.abs(found.values[k] - dense).max() <= 1e-12 * np.abs(dense).max()
    for name in own.inputs:
        turning = s * found["bus8.angle", name] / (2 * np.pi)
        assert np.abs(found["bus8.frequency", name] - turning).max() <= 1e-12 * np.abs(turning).max()


def test_residues_are_a_step_response(wscc9):
    """A step of 1e-5 pu of a reference in the nonlinear simulation: linear to 1e-5 of its size."""
    step, signal = 1e-5, "bus5.v"
    own = wscc9.state_space("AVR2.v_ref", signal)
    events = [psmr.SetPoint("AVR2", "v_ref", wscc9.w0[wscc9.index("AVR2.v_ref")] + step, 0.0)]
    run = psmr.simulate(wscc9, psmr.VariableStep(tolerance=1e-10), t_end=5.0, events=events)
    t = run.t[2:]
    expected = np.zeros(len(t))
    for row in own.residues(signal, "AVR2.v_ref").itertuples():
        s = complex(row.real, row.imag)
        part = row.residue * np.expm1(s * t) / s if s else row.residue * t**row.order
        expected += (2.0 if row.imag > 0 else 1.0) * np.real(part)
    found = (run[signal].to_numpy()[2:] - run[signal].iloc[0]) / step
    assert np.abs(found - expected).max() <= 1e-4 * np.abs(expected).max()
    times, theirs = scipy.signal.step(own.to_scipy(), T=np.linspace(0.0, 5.0, 501))
    ours = np.interp(times, t, expected)
    assert np.abs(ours - np.ravel(theirs)).max() <= 2e-3 * np.abs(expected).max()


def test_participation_and_shapes_of_states_are_those_of_the_modes(wscc9):
    names = [f"G{k}.omega" for k in (1, 2, 3)]
    own = wscc9.state_space("AVR1.v_ref", names)
    shapes = own.mode_shapes()
    mode = int(np.abs(shapes["imag"] - 8.0).argmin())
    row = shapes.iloc[mode]
    chosen = next(s for s in psmr.mode_shapes(wscc9.linearise(), [complex(row["real"], row["imag"])]))
    phasors = chosen.phasors("omega")
    for name in names:
        device = name.partition(".")[0]
        assert abs(row[name] - phasors[device] / phasors.loc[phasors.abs().idxmax()]) < 1e-6
    factors = own.participation()
    assert np.allclose(
        [np.sqrt((factors[n] ** 2 * np.where(factors["imag"] > 0, 2, 1)).sum()) for n in names], 1.0
    )


def test_matrices_after_an_event_are_those_of_the_system_there(wscc9):
    events = [psmr.LineTrip("5-7", 0.5)]
    run = psmr.simulate(wscc9, psmr.SingleRate("TM", h=0.01), t_end=2.0, events=events)
    own = run.state_space(2.0, "AVR2.v_ref", "bus5.v")
    assert np.array_equal(own.A, run.linearise(2.0).state_matrix())
    there = run.system_at(2.0).state_space("AVR2.v_ref", "bus5.v")
    assert np.array_equal(own.C, there.C)
    assert not np.allclose(own.C, wscc9.state_space("AVR2.v_ref", "bus5.v").C)
    rested = run.state_space(2.0, "AVR2.v_ref", "bus5.v", at="equilibrium")
    assert np.array_equal(rested.A, run.linearise(2.0, at="equilibrium").state_matrix())


def test_matrices_go_to_files_and_packages(wscc9, tmp_path):
    own = wscc9.state_space(["AVR1.v_ref", "bus5.q"], ["bus5.v", "G1.p"])
    own.save(tmp_path / "system.mat")
    read = scipy.io.loadmat(tmp_path / "system.mat")
    for name in "ABCD":
        assert np.array_equal(read[name], getattr(own, name))
    assert [str(cell[0]) for cell in read["outputs"].ravel()] == ["bus5.v", "G1.p"]
    n = wscc9.n
    j, e = read["J"].toarray(), read["E"].toarray()
    assert e.trace() == n
    eliminated_there = eliminated(n, j, read["Bw"].toarray(), read["Cw"].toarray(), read["Dw"])
    assert np.allclose(eliminated_there[3], own.D, rtol=1e-10, atol=1e-12)
    control = pytest.importorskip("control")
    assert isinstance(own.to_control(), control.StateSpace)


def test_what_does_not_exist_is_refused(wscc9):
    with pytest.raises(InputError, match=r"no input 'AVR1.vref'; did you mean 'AVR1.v_ref'"):
        wscc9.state_space("AVR1.vref", "bus5.v")
    with pytest.raises(InputError, match=r"no signal 'bus5.volt'; did you mean 'bus5.v'"):
        wscc9.state_space("AVR1.v_ref", "bus5.volt")
    with pytest.raises(InputError, match=r"no input 'line4-5.status'"):
        wscc9.state_space("line4-5.status", "bus5.v")
    with pytest.raises(InputError, match="inputs: none is given"):
        wscc9.state_space([], "bus5.v")
    with pytest.raises(InputError, match="f = 0 Hz is a pole"):
        wscc9.state_space("GOV1.p_ref", "G1.delta").response(0.0)
    jumping = wscc9.state_space("bus5.p", "bus5.frequency")
    with pytest.raises(InputError, match=r"bus5.frequency follows the rate of change of bus5.p"):
        jumping.to_scipy()
    with pytest.raises(InputError, match=r"there is no output 'bus5.w'"):
        jumping.residues("bus5.w", "bus5.p")


def test_a_parameter_that_is_the_limit_at_which_a_state_is_held_is_refused():
    class Limited(psmr.Component):
        states = ("x",)
        inputs = ("u",)
        limits = {"x": (None, "top")}
        top = psmr.Parameter("pu", "upper limit")

        @staticmethod
        def equations(m, v, p):
            return (v.u - v.x,), (), ()

    system = psmr.assemble([psmr.Device("D", Limited, {"top": 1.0})], {"D.x": 1.0, "D.u": 2.0})
    with pytest.raises(InputError, match=r"D.top is the limit that holds D.x"):
        system.state_space("D.top", "D.x")
    assert system.state_space("D.u", "D.x").B == 0.0
    free = psmr.assemble([psmr.Device("D", Limited, {"top": 1.0})], {"D.x": 0.5, "D.u": 0.5})
    assert free.state_space(["D.u", "D.top"], "D.x").B.tolist() == [[1.0, 0.0]]

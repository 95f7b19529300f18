"""The certificate of a grid with a digital regulator, beside what its runs show after small kicks."""

import psmr

MODULE = '''
import psmr


class DigitalExciter(psmr.Component):
    """A static exciter as a program."""

    role = "exciter"
    inputs = ("v_re", "v_im", "v_ref", "v_s")
    optional = {"v_s": 0.0}
    sampled_states = ("lag",)
    sampled_outputs = ("v_f",)
    samples = psmr.Samples(period="T", delay="T_d")
    T = psmr.Parameter("s", "time between samples", default=0.02)
    T_d = psmr.Parameter("s", "computing delay", default=0.02)
    k = psmr.Parameter("pu", "gain", default=60.0)
    t_a = psmr.Parameter("s", "lag", default=0.05)

    @staticmethod
    def sample(m, v, p):
        error = v.v_ref + v.v_s - m.sqrt(v.v_re**2 + v.v_im**2)
        lag = v.lag + p.T / p.t_a * (p.k * error - v.lag)
        return (lag,), (lag,)
'''


def digital_wscc9(folder):
    """WSCC 9-bus with a program as the exciter of machine 2."""
    text = (psmr.case_path("wscc9")).read_text()
    head, first, second, third = text.split("[generator.exciter]\n")
    second = '[generator.exciter]\ntype = "DigitalExciter"\n\n' + second.split("\n\n", 1)[1]
    text = head + "[generator.exciter]\n" + first + second + "[generator.exciter]\n" + third
    text = text.replace("frequency_hz = 60.0", 'frequency_hz = 60.0\nmodules = ["digital_exciter"]', 1)
    (folder / "digital_exciter.py").write_text(MODULE)
    (folder / "digital.toml").write_text(text)
    return psmr.build(psmr.read_case(folder / "digital.toml", allow_code=True))


def test_runs_show_the_modes_of_the_certificate(tmp_path):
    """Local modes to 1e-6, that of the governors (damped by 37 %) to 1 %; sampling had moved them by more."""
    system, scheme = digital_wscc9(tmp_path), psmr.SingleRate("TM", 0.005)
    report = psmr.deformation(system.linearise(), scheme).table
    shown = report.real_numerical + 1j * report.imag_numerical
    found = psmr.ringdown(system, scheme, 8.0)
    seen = found[found.agreement < 1e-3]
    assert len(seen) == 3
    for row in seen.itertuples():
        s = complex(row.real, row.imag)
        off = (shown - s).abs()
        assert off.min() < (1e-6 if row.imag > 5.0 else 1e-2) * abs(s)
        if row.imag > 5.0:
            assert report.sampling_deformation[off.idxmin()] > 5e-3


def test_a_run_has_it_in_its_certificate(tmp_path):
    system = digital_wscc9(tmp_path)
    certificate = psmr.simulate(system, psmr.SingleRate("TM", 0.005), 0.1).certificate
    assert certificate.stable
    assert "By sampling the dominant mode is -0.3906 ± j9.089 1/s, in the continuous design -0.4303" in str(
        certificate
    )


def test_a_run_with_many_samples_in_a_step_leaves_the_certificate_to_who_asks(tmp_path):
    system = digital_wscc9(tmp_path).with_values([("AVR2", "T", 1e-5), ("AVR2", "T_d", 1e-5)])
    run = psmr.simulate(system, psmr.SampledMultirate(1e-3), 0.02)
    assert "samples in a step are more than the 100 with which each run has a certificate" in str(
        run.certificate
    )

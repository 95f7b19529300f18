"""PSS4B: its block diagram past every limit, without its optional blocks, and a record of IEEE's values."""

import pytest

from psmr import Device
from psmr.errors import InputError
from tests.components import PSS4B
from tests.devices.diagram import Block, clip
from tests.devices.stabilisers import test_stabilisers
from tests.files.back import there_and_back
from tests.files.test_psse_dyr import GOOD

SIDES = ((1, 11, (1, 3, 5)), (2, 17, (7, 9, 11)))
BANDS = {
    "l": {
        "k_l": 4.0,
        "v_l_max": 0.012,
        "v_l_min": -0.015,
        "t_l1": 1.7,
        "t_l2": 2.0,
        "t_l7": 2.0,
        "t_l8": 2.5,
    },
    "i": {"k_i": 5.0, "v_i_max": 0.04, "v_i_min": -0.05, "t_i1": 0.2, "t_i2": 0.3, "t_i7": 0.3, "t_i8": 0.4},
    "h": {"k_h": 3.0, "v_h_max": 0.06, "v_h_min": -0.04, "t_h1": 0.05, "t_h2": 0.1, "t_h7": 0.1, "t_h8": 0.2},
}
PARAMETERS = {
    PSS4B: {
        **{"c_li": 1e-4, "d_li": -2e-3, "a_li": 2e-3, "b_li": 0.05, "t_h": 0.02, "a_h": 0.3, "b_h": 0.9},
        **{"m": 2.0, "v_st_max": 0.08, "v_st_min": -0.07},
        **{"b_l1": 3.0, "w_l1": 9.0, "b_l2": 2.0, "w_l2": 5.0, "b_h1": 4.0, "w_h1": 12.0},
        **{"b_h2": 1.0, "w_h2": 6.0},
        **{f"k_{x}{k}": 3.0 for x in BANDS for k in (1, 2)},
        **{f"k_{x}11": 1.0 for x in BANDS},
        **{f"k_{x}17": 0.9 for x in BANDS},
        **{f"t_{x}{k}": 0.1 + 0.01 * k for x in BANDS for k in (3, 4, 5, 6, 9, 10, 11, 12)},
        **{name: value for band in BANDS.values() for name, value in band.items()},
    }
}
ZERO = {
    PSS4B: (
        *("c_li", "d_li", "a_li", "b_li", "t_h", "b_l1", "b_h2"),
        *(f"t_{x}{k}" for x in BANDS for k in (3, 4, 5, 6, 9, 10, 11, 12)),
    )
}
IEEE = (
    "0 -1.759E-3 1.2739E-4 1.7823E-2 0 0 0 0 0.0125 1 2.0125 7 0 0 0 0"
    " 66 1 1.730 1.769 0 0 0 0 66 1 1.769 1.809 0 0 0 0 7.5 0.075 -0.075"
    " 66 1 0.1730 0.1769 0 0 0 0 66 1 0.1769 0.1809 0 0 0 0 30 0.15 -0.15"
    " 66 1 0.01730 0.01769 0 0 0 0 66 1 0.01769 0.01809 0 0 0 0 120 0.15 -0.15 0.15 -0.15"
)


def diagram(p):
    """The blocks of the standard's figure; a notch is one block, and a band two chains of three."""
    blocks = {
        "sensor": Block([1], [1]),
        "power": Block([1], [1]),
        "speed": Block([p["c_li"], p["d_li"], 1], [p["a_li"], p["b_li"], 1]),
        "lag": Block([1], [p["t_h"], 1]),
        "rate": Block([1, 0, 0], [p["a_h"], p["b_h"], 1]),
        "inertia": Block([1], [p["m"], 1]),
    }
    for x in ("l1", "l2", "h1", "h2"):
        width, square = p[f"b_{x}"], p[f"w_{x}"] ** 2
        blocks[f"n_{x}"] = Block([1, 0, square], [1, width, square]) if width else Block([1], [1])
    for x in BANDS:
        for k, rest, leads in SIDES:
            first, second, third = ((p[f"t_{x}{n}"], p[f"t_{x}{n + 1}"]) for n in leads)
            blocks[f"{x}{k}1"] = Block([first[0], p[f"k_{x}{rest}"]], [first[1], 1])
            blocks[f"{x}{k}2"], blocks[f"{x}{k}3"] = (
                test_stabilisers.lead_lag(*second),
                test_stabilisers.lead_lag(*third),
            )

    def band(b, x, u):
        chains = []
        for k in (1, 2):
            y = p[f"k_{x}{k}"] * u
            for n in (1, 2, 3):
                y = getattr(b, f"{x}{k}{n}")(y)
            chains.append(y)
        return clip(p[f"k_{x}"] * (chains[0] - chains[1]), p[f"v_{x}_min"], p[f"v_{x}_max"])

    def wiring(b, u):
        low = b.n_l2(b.n_l1(b.speed(test_stabilisers.signal(b.sensor, u, 1))))
        high = b.n_h2(b.n_h1(b.inertia(b.rate(b.lag(-test_stabilisers.signal(b.power, u, 3))))))
        total = band(b, "l", low) + band(b, "i", low) + band(b, "h", high)
        return clip(total, p["v_st_min"], p["v_st_max"])

    return blocks, wiring


@pytest.mark.parametrize("form", ["whole", "algebraic"])
def test_pss4b_is_its_block_diagram(form):
    p = PARAMETERS[PSS4B] | (dict.fromkeys(ZERO[PSS4B], 0.0) if form == "algebraic" else {})
    found = test_stabilisers.compare(PSS4B, diagram, p, test_stabilisers.INPUTS)
    assert found.max() == pytest.approx(0.08, abs=1e-12)
    assert found.min() == pytest.approx(-0.07, abs=1e-12)
    for x in BANDS:
        alone = dict.fromkeys((f"k_{other}" for other in BANDS if other != x), 0.0)
        found = test_stabilisers.compare(
            PSS4B, diagram, p | alone | {"v_st_max": 9.0, "v_st_min": -9.0}, test_stabilisers.INPUTS
        )
        assert found.max() == pytest.approx(p[f"v_{x}_max"], abs=1e-12)
        assert found.min() == pytest.approx(p[f"v_{x}_min"], abs=1e-12)


def test_a_record_of_the_values_of_ieee(tmp_path):
    _, mine, theirs = there_and_back(tmp_path, f"{GOOD}1 'PSS4B' 1 {IEEE} /\n")
    assert mine == theirs
    given = mine["PSS4B"]
    assert (given["d_li"], given["a_h"], given["m"], given["t_i8"]) == (-1.759e-3, 1.0, 7.0, 0.1809)
    assert (given["k_h"], given["v_l_max"], given["v_st_min"]) == (120.0, 0.075, -0.15)


def test_what_it_refuses():
    own = PARAMETERS[PSS4B]
    for wrong, match in (
        ({"w_h1": 0.0}, "w_h1 must be > 0 where the notch has a width"),
        ({"t_i8": 0.0}, "t_i8 must be > 0 where t_i7 is not 0"),
        ({"m": 0.0}, "m = 0"),
        ({"v_l_min": 0.1}, "v_l_min"),
    ):
        with pytest.raises(InputError, match=match):
            Device("d", PSS4B, own | wrong)

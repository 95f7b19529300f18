"""A PSS/E case of 2,000 buses: how long reading and building take."""

import random

import pytest

from psmr import build, read_case
from tests.files.raw import raw_text

BUSES = 2000


def texts(buses=BUSES):
    """Return RAW and DYR texts: a meshed ring, with a plant behind a transformer at every fifth bus."""
    rng = random.Random(1)
    plants = range(5, buses + 1, 5)
    high = [i for i in range(1, buses + 1) if i % 5]
    ring = list(zip(high, high[1:] + high[:1], strict=True))
    chords = [(bus, high[(k + 37) % len(high)]) for k, bus in enumerate(high) if k % 3 == 0]
    kinds = {i: 3 if i == 5 else 2 if i % 5 == 0 else 1 for i in range(1, buses + 1)}
    rates = "0.0,0.0,0.0,0.0,0.0,0.0,0.0,1"
    raw = raw_text(
        33,
        bus="\n".join(f"{i},'B{i}',{230.0 if i % 5 else 20.0},{kinds[i]},1,1,1,1.0,0.0" for i in kinds),
        load="\n".join(f"{i},'1 ',1,1,1,{rng.uniform(1, 10):.3f},{rng.uniform(0, 2):.3f}" for i in high),
        generator="\n".join(
            f"{i},'1 ',22.0,0.0,100.0,-100.0,1.02,0,50.0,0.0,0.2,0.0,0.0,1.0,1" for i in plants
        ),
        branch="\n".join(
            [f"{i},{j},'1 ',0.001,0.01,0.02,{rates}" for i, j in ring]
            + [f"{i},{j},'2 ',0.002,0.02,0.02,{rates}" for i, j in chords]
        ),
        transformer="\n".join(
            f"{i},{i - 1},0,'1 ',1,1,1,0.0,0.0,2,'T',1\n0.0,0.1,100.0\n1.0,0.0,0.0\n1.0,0.0" for i in plants
        ),
        fixed_shunt="",
        switched_shunt="",
    )
    dyr = "\n".join(
        f"{i} 'GENROU' 1 8.0 0.03 0.4 0.05 6.5 0.0 1.8 1.7 0.3\n 0.55 0.25 0.06 0.0 0.0 /\n"
        f"{i} 'TGOV1' 1 0.05 0.49 33.0 0.0 2.1 7.0 0.0 /\n{i} 'SEXS' 1 0.1 10.0 100.0 0.1 -5.0 5.0 /"
        for i in plants
    )
    return raw, dyr


@pytest.mark.slow
def test_reading_and_building(tmp_path):
    """2,000 buses with 400 plants; `tests/programs/benchmarks/reading.py` times it."""
    for name, text in zip(("case.raw", "case.dyr"), texts(), strict=True):
        (tmp_path / name).write_text(text)
    paths = (tmp_path / "case.raw", tmp_path / "case.dyr")
    system = build(read_case(*paths))
    # GENROU six states, TGOV1 and SEXS two each, at 400 plants.
    assert system.n == 4000

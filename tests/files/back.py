"""From a DYR text to a system, and through psmr's own files back."""

import numpy as np

import psmr
from tests.files.raw import raw_text

OTHERS = "2 'GENCLS' 'G1' 4.0 0.0 /\n2 'GENCLS' 'G2' 4.0 0.0 /\n"
"""Records of the generators of `raw_text` that are not at bus 1."""


def there_and_back(folder, text, near=1e-9):
    """Return the system at rest of a DYR text beside `raw_text`, and what is at bus 1 by its type, twice.

    The values are those that are read, and those of the files that psmr writes of them.
    """
    (folder / "case.raw").write_text(raw_text())
    (folder / "case.dyr").write_text(text)
    case = psmr.read_case(folder / "case.raw", folder / "case.dyr")
    system = psmr.build(case)
    assert np.abs(np.r_[system.f(system.x0, system.y0), system.g(system.x0, system.y0)]).max() < near
    psmr.write_case(case, folder / "again.raw")
    again = psmr.read_case(folder / "again.raw", folder / "again.dyr")
    mine, theirs = (
        {d.type: dict(d.parameters) for row in c.generators if row.bus == 1 for d in row.devices}
        for c in (case, again)
    )
    return system, mine, theirs

"""Signals of a run as an xarray.Dataset: every variable with its unit, the run's story as attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psmr.base.optional import optional
from psmr.network.signals.signals import unit_of
from psmr.study.record.recorded import Recorded

if TYPE_CHECKING:
    import xarray


def dataset(
    run: Recorded, names: Sequence[str], times: NDArray[np.float64], values: NDArray[np.float64]
) -> xarray.Dataset:
    """Return (L,) times and (L, j) values of the j signals as a Dataset; see `Run.to_xarray`.

    Raises PsmrError when xarray is not installed.
    """
    xarray = optional("xarray", "to_xarray", "psmr[xarray]", "use run.frame()")
    variables = {
        name: ("t", values[:, k], {"units": unit_of(run.signals, run.units, name), "long_name": name})
        for k, name in enumerate(names)
    }
    story = {
        "system": run.name,
        "scheme": str(run.scheme),
        "outcome": run.judgement.headline,
        "events": "; ".join(f"{t:g} s: {label}" for t, label in run.instants),
    }
    time = ("t", times, {"units": "s", "long_name": "time"})
    return xarray.Dataset(variables, coords={"t": time}, attrs=story)

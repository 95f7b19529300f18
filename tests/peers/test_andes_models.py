"""One model at a time: the eigenvalues of Kundur's two areas with it at every machine, in both programs."""

import pytest

from tests.internals import MODELS, component_for
from tests.peers.andes_system import andes
from tests.peers.pencils import matched
from tests.peers.records import RECORDS, spectra

pytestmark = pytest.mark.peers

# Measured: 3e-8 at most, by the differences of the equations.
TOLERANCE = 1e-7


@pytest.mark.parametrize("model", RECORDS)
def test_eigenvalues(model, tmp_path):
    found, expected = spectra(model, tmp_path)
    assert len(found) == len(expected)
    assert matched(found, expected)[0][0] <= TOLERANCE


def test_every_model_that_both_have_is_compared():
    elsewhere = {"REGCA1", "REECA1", "REECB1", "REPCA1"}  # test_andes_renewables.py
    # ANDES 2.0.0 reads the records of ESST1A and ESAC1A in an order that is not PSS/E's, and starts neither
    # ESDC1A nor EXAC2: these have their block diagrams and PSS/E's traces.
    elsewhere |= {"ESST1A", "ESAC1A", "ESDC1A", "EXAC2"}
    # ANDES reads the values of IEEET3 in an order of its own.
    elsewhere |= {"IEEET3"}
    # Its plants have no exciter where the file says ESAC5A.
    elsewhere |= {"ESAC5A"}
    # The compensator is compared with IDA, in a plant with exciter and stabiliser.
    elsewhere |= {"IEEEVC"}
    # Those of wind turbines too: one of them alone is no plant.
    elsewhere |= {"WTTQA1", "WTPTA1", "WTARA1", "WTDTA1"}
    there = {name for models in andes.models.file_classes for name in models[1]}
    assert set(RECORDS) | elsewhere == {model for model in MODELS if component_for(model) and model in there}

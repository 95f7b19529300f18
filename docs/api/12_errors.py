"""Errors and warnings.

Bad input gets one sentence with place, value and remedy, before time is spent.
"""

# %% psmr.PsmrError
import psmr

try:
    psmr.Fault(bus=5, start=1.0, clear=0.9)
except psmr.PsmrError as error:
    print(error)

# %% psmr.errors
print([name for name in dir(psmr.errors) if name.endswith("Error")])

# %% psmr.errors.InputError, psmr.errors.CaseError, psmr.errors.PowerFlowError
# %% psmr.errors.InitialisationError, psmr.errors.EventError, psmr.errors.SchemeError
# %% psmr.errors.SimulationError, psmr.errors.SingularError
# %% psmr.errors.StudyError, psmr.errors.PsmrWarning, psmr.errors.PsmrDeprecationWarning

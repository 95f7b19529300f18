"""Schemes: how time is stepped.

A scheme is a frozen record of every choice. Without one a run follows a tolerance. [](../choosing.md)
says which one when.
"""

# %% psmr.VariableStep
import partitioning
import psmr

system = psmr.build(psmr.case("wscc9"))
linear = system.linearise()
fault = psmr.Fault(bus=5, start=1.0, clear=1.1, trip="5-7")
run = psmr.simulate(system, psmr.VariableStep(tolerance=1e-4), t_end=5.0, events=[fault])
print(run.scheme)

# %% psmr.SingleRate
fixed = psmr.SingleRate("TM", h=0.005)

# %% psmr.Multirate
split = partitioning.by_participation(linear, delta=20.0)
two_rates = psmr.Multirate(split, h_slow=0.01, ratio=10, predictor="TM", solution="TM")
print(two_rates.h_fast)

# %% psmr.QuasiSteadyState
hours = psmr.QuasiSteadyState()

# %% psmr.SampledMultirate
sampled = psmr.SampledMultirate(tolerance=1e-4)

# %% psmr.Smes
projective = psmr.Smes(h=0.05, delta=0.001, micro=3)

# %% psmr.SlowManifold
manifold = psmr.SlowManifold(split, h=0.01)

# %% psmr.Adaptive
explicit = psmr.Adaptive("RK54", rtol=1e-6)

# %% psmr.ArcLength
along = psmr.ArcLength("RK4", h=0.1)

# %% psmr.tune, psmr.study.tuning.tuning.Tuning (minutes)
tuning = psmr.tune(system, up_to=2.0, accuracy=0.01)
print(tuning.winner.scheme)

# %% psmr.study.tuning.tuning.Target, psmr.study.tuning.tuning.Candidate
# %% psmr.study.tuning.tune.confirm, psmr.study.tuning.tune.Confirmation
# %% psmr.study.tuning.tune.write_study
# %% psmr.figures.run.plots.pareto
# %% psmr.explain, psmr.study.explain.Explanation
print(str(psmr.explain(system, two_rates))[:300], "...")
